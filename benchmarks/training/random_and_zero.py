"""Measure returns of random and zero actions, for every registered id.

    python benchmarks/training/random_and_zero.py  # ids without a baseline
    python benchmarks/training/random_and_zero.py dmc/walker-walk-v0  # remeasure these
    python scripts/update_tables.py  # then, for the guide's table

Episodes use the 100 fixed seeds of reported scores; the results are the same with any number of
threads. Ids that differ only in their observations are measured once. The file is written after
each id, so that a stopped run can continue.
"""

import argparse
import dataclasses
import itertools
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import mjgym
from mjgym import registry
from mjgym.cli.policy_option import load_policy
from mjgym.util import atomic
from mjgym_train import baselines, evaluation, tables


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line; an error exits with status 2."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ids", nargs="*", help="default: all that have no baseline yet")
    parser.add_argument("--threads", type=int, default=1, help="that step the physics")
    parser.add_argument("--out", type=Path, default=baselines.FILE, help="the file")
    return parser.parse_args(arguments)


def measure(
    id: str, policy: str, seeds: Sequence[int] = evaluation.SEEDS, threads: int = 1
) -> baselines.Baseline:
    """Baseline of a policy over seeds."""
    envs = _make(id, len(seeds), threads)
    act = load_policy(policy, envs, seed=0)
    result = evaluation.evaluate(act, envs, seeds)
    envs.close()
    return of_evaluation(id, policy, result)


def of_evaluation(id: str, policy: str, result: evaluation.Evaluation) -> baselines.Baseline:
    """The baseline that an evaluation measured."""
    returns = result.returns
    numbers = (returns.mean(), returns.std(), returns.min(), returns.max())
    mean, std, lowest, highest = (float(f"{number:.5g}") for number in numbers)
    return baselines.Baseline(
        id, policy, len(returns), int(result.lengths.max()), mean, std, lowest, highest,
        mjgym.fingerprint()["versions"]["mujoco"],
    )  # fmt: skip


def write(found: Iterable[baselines.Baseline], path: Path) -> None:
    """Write baselines to a file, sorted by id and policy."""
    ordered = sorted(found, key=lambda row: (row.id, row.policy))
    atomic.write_text(path, tables.text(ordered, baselines.Baseline))


def alike(id: str) -> list[str]:
    """Ids with the same episodes, some with camera observations, including this one."""
    return [other for other in registry.ids() if _episodes(other) == _episodes(id)]


def _episodes(id: str) -> tuple[object, ...]:
    registration = registry.registration(id)
    fields = {name: value for name, value in registration.fields.items() if name != "vision"}
    return registration.task_class, fields


def _make(id: str, num_envs: int, threads: int) -> Any:
    # Without rendering of unused images.
    return evaluation.make(id, num_envs, threads, observation="flat")


def main() -> None:
    """Measure, and write the file after each id."""
    options = parse()
    found = baselines.read(options.out)
    whole = {key for key, row in found.items() if row.episodes == len(evaluation.SEEDS)}
    wanted = options.ids or [id for id in registry.ids() if (id, baselines.ZERO) not in whole]
    while wanted:
        id = wanted.pop(0)
        for policy in baselines.POLICIES:
            measured = measure(id, policy, threads=options.threads)
            for other in alike(id):
                found[other, policy] = dataclasses.replace(measured, id=other)
        write(found.values(), options.out)
        wanted = [other for other in wanted if other not in alike(id)]
        means = (found[id, policy].mean for policy in baselines.POLICIES)
        print(" ".join(itertools.chain([id], (f"{mean:.1f}" for mean in means))), flush=True)


if __name__ == "__main__":
    main()
