"""Measure what random and zero actions earn, for every registered id.

    python benchmarks/training/random_and_zero.py  # ids that have no baseline yet
    python benchmarks/training/random_and_zero.py dmc/walker-walk-v0  # these, anew
    python scripts/update_tables.py  # then, for the guide's table

Episodes have the fixed seeds of scores that are reported: as many of them, of 100, 20, 5 or 2, as
fit into the given processor time; the table says how many. For as many episodes, the results are
the same with any number of threads.
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from mjgym import registry
from mjgym.cli.policies import load_policy
from mjgym.train.results import baselines, evaluation

EPISODES = (100, 20, 5, 2)
PROBED = (5, 20)  # sub-environments and steps, whose time is taken


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """The command line; a mistake in it ends the program with status 2."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ids", nargs="*", help="default: all that have no baseline yet")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each id and policy")
    parser.add_argument("--threads", type=int, default=1, help="that step the physics")
    parser.add_argument("--out", type=Path, default=baselines.FILE, help="the file")
    return parser.parse_args(arguments)


def measure(id: str, policy: str, episodes: int, threads: int = 1) -> baselines.Baseline:
    """The baseline of a policy over the first seeds."""
    envs = _make(id, episodes, threads)
    act = load_policy(policy, envs, seed=0)
    result = evaluation.evaluate(act, envs, evaluation.SEEDS[:episodes])
    envs.close()
    return baselines.of_evaluation(id, policy, result)


def affordable(id: str, seconds: float) -> int:
    """Number of episodes that fit into so much processor time, of those offered."""
    count, steps = PROBED
    envs = _make(id, count, 1)
    act = load_policy(baselines.RANDOM, envs, seed=0)
    observation, _ = envs.reset(seed=list(evaluation.SEEDS[:count]))
    began = time.process_time()
    for _ in range(steps):
        observation, *_ = envs.step(act(observation))
    per_step = (time.process_time() - began) / (count * steps)
    length = envs.unwrapped.max_episode_steps or evaluation.ENDLESS
    envs.close()
    fit = [n for n in EPISODES if n * length * per_step <= seconds]
    return fit[0] if fit else EPISODES[-1]


def _make(id: str, num_envs: int, threads: int):
    # Pictures that nobody looks at are not drawn.
    return evaluation.make(id, num_envs, threads, observation="flat")


def main() -> None:
    """Measure, and write the file after each id."""
    options = parse()
    found = baselines.read(options.out)
    missing = [id for id in registry.ids() if (id, baselines.ZERO) not in found]
    for id in options.ids or missing:
        episodes = affordable(id, options.seconds)
        for policy in baselines.POLICIES:
            found[id, policy] = measure(id, policy, episodes, options.threads)
        baselines.write(found.values(), options.out)
        means = (found[id, policy].mean for policy in baselines.POLICIES)
        shown = " ".join(itertools.chain([id, f"{episodes}"], (f"{mean:.1f}" for mean in means)))
        print(shown, flush=True)


if __name__ == "__main__":
    main()
