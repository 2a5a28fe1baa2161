"""Time the manipulation family against dm_control and the engine, here.

    python benchmarks/manipulation.py                                  # all ids with features
    python benchmarks/manipulation.py manipulation/reach_site_features-v0 --seconds 5
    python benchmarks/manipulation.py --venv FOLDER                    # one that is there

It makes a separate virtual environment (or reuses an existing one), installs this checkout
and dm_control into it, and runs itself there. Four things are measured for each id:

- **steps of a batch**, against `mj_step` on the same models in a loop of C++ on as many threads
  (see `mjgym.checks.benchmark.engine`);
- **steps of a single environment**, against dm_control's;
- **resets** of a single environment and of each simulation of a batch, against dm_control's, which
  recompiles its model; with the physics steps of settling in a reset, and their
  share of its time;
- **memory** of a batch of 256, for each simulation.

Each subject has a separate process, stopped while another one is timed. Repeats time all subjects
in alternating order: ratios are taken within a repeat, and their median is shown.
"""

import argparse
import dataclasses
import importlib
import os
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import Any

from comparison import command, footprint, report, subjects
from comparison.subjects import Builder, Settings, Subject
from comparison.turns import compare_resets, compare_steps, missing
from comparison.worker import BUILD_TIMEOUT, Worker, WorkerError

NUM_ENVS = 64
WEIGHED = 256  # simulations of the batch for memory
SETTLED = 20  # resets with counted physics steps


def dm_control(settings: Settings) -> Subject:
    """dm_control's environment of the same name."""
    from comparison.other_suites import drop_stale_fields

    os.environ.setdefault("MUJOCO_GL", "egl")
    drop_stale_fields()
    manipulation = importlib.import_module("dm_control.manipulation")
    name = settings.id.partition("/")[2].removesuffix("-v0")
    env = manipulation.load(name, seed=settings.seed)
    return subjects.with_time_steps(env, env.action_spec().dtype, settings)


STEPPED: dict[str, Builder] = {
    "batch": subjects.batch,
    "limit": subjects.limit,
    "single": subjects.single,
    "dm_control": dm_control,
}
RESET = {name: STEPPED[name] for name in ("single", "batch", "dm_control")}
STEP_RATIOS = ("batch / limit", "single / dm_control")
RESET_RATIOS = ("dm_control / single", "dm_control / batch")


def count_settling(connection: Connection, settings: Settings) -> None:
    """Target of a worker: physics steps of a reset, and their share of its time."""
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)
    from mjgym.sim.single import SingleView

    connection.recv()
    env = gymnasium.make(settings.id)
    env.reset(seed=settings.seed)
    steps, seconds = 0, 0.0
    physics = {name: getattr(SingleView, name) for name in ("step", "forward")}

    def timed(name: str) -> Callable[..., None]:
        def call(*arguments: Any, **options: Any) -> None:
            nonlocal steps, seconds
            started = time.perf_counter()
            physics[name](*arguments, **options)
            seconds += time.perf_counter() - started
            steps += name == "step"

        return call

    for name in physics:
        setattr(SingleView, name, timed(name))
    started = time.perf_counter()
    for _ in range(SETTLED):
        env.reset()
    connection.send((True, (steps / SETTLED, seconds / (time.perf_counter() - started))))


def compare(id: str, options: argparse.Namespace, threads: int) -> dict[str, Any]:
    """All measurements of an id."""
    settings = Settings(id, options.num_envs, threads, cpu=options.cpu)
    found: dict[str, Any] = {
        "id": id,
        "resets": compare_resets(RESET, settings, options, "dm_control"),
        "steps": compare_steps(STEPPED, settings, options),
    }
    try:
        with Worker(count_settling, settings) as worker:
            found["settling_steps"], found["settling_share"] = worker.ask("count", BUILD_TIMEOUT)
        of_256 = dataclasses.replace(settings, num_envs=WEIGHED)
        found["bytes_per_env"] = footprint.of_batch(subjects.batch, of_256).bytes_per_env
    except WorkerError as error:
        found["resets"]["errors"]["settling and memory"] = str(error)
    return found


def text(results: Sequence[dict[str, Any]]) -> str:
    """Table, and missing measurements with reasons."""

    def number(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    def row(found: dict[str, Any]) -> tuple[str, ...]:
        steps, resets = found["steps"]["ratios"], found["resets"]["ratios"]
        times = {n: statistics.median(t) for n, t in found["resets"]["seconds"].items()}
        weight = found.get("bytes_per_env")
        return (
            found["id"],
            *(number(steps.get(n, {}).get("median"), ".2f") for n in STEP_RATIOS),
            *(number(times[n] * 1000 if n in times else None, ".1f") for n in RESET),
            *(number(resets.get(n, {}).get("median"), ".1f") for n in RESET_RATIOS),
            number(found.get("settling_steps"), ".0f"),
            number(found.get("settling_share"), ".2f"),
            number(None if weight is None else weight / footprint.MEGABYTE, ".2f"),
        )

    header = (
        "id",
        *STEP_RATIOS,
        *(f"reset ms, {name}" for name in RESET),
        *RESET_RATIOS,
        "physics steps of a reset",
        "their share",
        f"MB/env of {WEIGHED}",
    )
    steps, resets = [found["steps"] for found in results], [found["resets"] for found in results]
    means = report.summary(steps).get("single / dm_control")
    parts = [report.table(header, map(row, results))]
    if means:
        parts.append(f"single / dm_control: geometric mean {means['geometric_mean']:.2f}")
    return "\n\n".join([*parts, *filter(None, [missing(steps, resets)])])


def main() -> int:
    """Run the command; returns its status."""
    options = command.entered(command.family_parser(__doc__ or "", NUM_ENVS))
    from mjgym import registry
    from mjgym.envs.vector import allowed_cores

    known = [i for i in registry.ids(namespace="manipulation") if "_features-" in i]
    ids = command.chosen(options.ids, known)
    threads = allowed_cores()
    content: dict[str, Any] = {**report.circumstances(threads, options), "results": []}
    options.out.mkdir(parents=True, exist_ok=True)
    for id in ids:
        content["results"].append(compare(id, options, threads))
        report.write_json(options.out / "manipulation.json", content)
        print(id, flush=True)
    print(f"\n{text(content['results'])}\n\nWritten: {options.out / 'manipulation.json'}")
    return 0 if all(result["steps"]["ratios"] for result in content["results"]) else 1


if __name__ == "__main__":
    sys.exit(main())
