"""Time the manipulation family against dm_control and the engine, here.

    python benchmarks/manipulation.py                                  # all ids with features
    python benchmarks/manipulation.py manipulation/reach_site_features-v0 --seconds 5
    python benchmarks/manipulation.py --venv FOLDER                    # one that is there

It makes a virtual environment of its own (or takes the one that is there), installs this checkout
and dm_control into it, and runs itself there. Four things are measured for each id:

- **steps of a batch**, against `mj_step` on the same models in a loop of C++ on as many threads
  (see `mjgym.benchmark.engine`);
- **steps of a single environment**, against dm_control's;
- **resets** of a single environment and of each simulation of a batch, against dm_control's, which
  compiles its model anew; with the physics steps that a reset makes while things settle, and their
  share of its time;
- **memory** of a batch of 256, for each simulation.

Each subject has a process of its own, which is stopped while another one is timed. A repeat times
all of them one after the other (the next one in the opposite order): ratios are taken within a
repeat, and the median of the repeats is shown.
"""

import argparse
import dataclasses
import importlib
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from comparison import footprint, installation, report, subjects
from comparison.subjects import Settings, Subject
from comparison.worker import BUILD_TIMEOUT, Worker, WorkerError, time_subject
from locomotion import answer_resets, by_turns
from peers import RESULTS, episode_steps

NUM_ENVS = 64
WEIGHED = 256  # simulations of the batch whose memory is looked at
STEPPED = ("batch", "limit", "single", "dm_control")
RESET = ("single", "batch", "dm_control")
SETTLED = 20  # resets whose physics steps are counted


def dm_control(settings: Settings) -> Subject:
    """dm_control's environment of the same name."""
    from mjgym.cli.peers import drop_stale_fields

    os.environ.setdefault("MUJOCO_GL", "egl")
    drop_stale_fields()
    manipulation = importlib.import_module("dm_control.manipulation")
    name = settings.id.partition("/")[2].removesuffix("-v0")
    env = manipulation.load(name, seed=settings.seed)
    return subjects.with_time_steps(env, env.action_spec().dtype, settings)


BUILDERS: dict[str, Callable[[Settings], Subject]] = {
    "single": subjects.single,
    "batch": subjects.batch,
    "dm_control": dm_control,
}


def time_steps(connection: Connection, name: str, settings: Settings) -> None:
    """Target of a worker: `time_subject`, with dm_control's environment of this family."""
    subjects.SUBJECTS["dm_control"] = dm_control
    time_subject(connection, name, settings)


def time_resets(connection: Connection, name: str, settings: Settings) -> None:
    """Target of a worker: build a subject, then answer as `answer_resets` does."""
    connection.recv()
    answer_resets(connection, BUILDERS[name](settings))


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


def medians(seconds: dict[str, list[float]], theirs: str, ours: str) -> float | None:
    """The median of the ratios within repeats of two subjects' seconds."""
    if theirs not in seconds or ours not in seconds:
        return None
    pairs = zip(seconds[theirs], seconds[ours], strict=True)
    return statistics.median(a / b for a, b in pairs)


def compare_steps(settings: Settings, options: argparse.Namespace) -> report.Result:
    """Control steps per second of all subjects."""
    prepared, windows, errors = by_turns(time_steps, STEPPED, settings, options)
    measured: dict[str, dict[str, Any]] = {name: {"error": e} for name, e in errors.items()}
    for name, answers in windows.items():
        resets, simulations, control_steps = prepared[name]
        measured[name] = {
            "simulations": simulations,
            "control_steps": control_steps,
            "resets": resets,
            "windows": [dataclasses.asdict(window) for window in answers],
        }
    return report.result(settings.id, settings.num_envs, episode_steps(settings.id), measured)


def compare(id: str, options: argparse.Namespace, threads: int) -> dict[str, Any]:
    """All that is measured of an id."""
    settings = Settings(id, options.num_envs, threads)
    _, seconds, errors = by_turns(time_resets, RESET, settings, options)
    found: dict[str, Any] = {
        "id": id,
        "steps": compare_steps(settings, options),
        "reset_seconds": seconds,
        "errors": errors,
        "reset_ratios": {name: medians(seconds, "dm_control", name) for name in RESET[:2]},
    }
    try:
        with Worker(count_settling, settings) as worker:
            found["settling_steps"], found["settling_share"] = worker.ask("count", BUILD_TIMEOUT)
        weighed = footprint.of_batch("batch", dataclasses.replace(settings, num_envs=WEIGHED))
        found["bytes_per_env"] = weighed.bytes_per_env
    except WorkerError as error:
        errors["reset and memory"] = str(error)
    return found


def text(results: Sequence[dict[str, Any]]) -> str:
    """The table, and what is missing and why."""

    def number(value: float | None, form: str) -> str:
        return "" if value is None else format(value, form)

    def row(found: dict[str, Any]) -> tuple[str, ...]:
        ratios = {name: r["median"] for name, r in found["steps"]["ratios"].items()}
        times = {name: statistics.median(t) for name, t in found["reset_seconds"].items()}
        weight = found.get("bytes_per_env")
        return (
            found["id"],
            number(ratios.get("batch / limit"), ".2f"),
            number(ratios.get("single / dm_control"), ".2f"),
            *(number(times[n] * 1000 if n in times else None, ".1f") for n in RESET),
            *(number(found["reset_ratios"][name], ".1f") for name in RESET[:2]),
            number(found.get("settling_steps"), ".0f"),
            number(found.get("settling_share"), ".2f"),
            number(None if weight is None else weight / footprint.MEGABYTE, ".2f"),
        )

    header = (
        "id",
        "batch / limit",
        "single / dm_control",
        *(f"reset ms, {name}" for name in RESET),
        *(f"dm_control / {name}" for name in RESET[:2]),
        "physics steps of a reset",
        "their share",
        f"MB/env of {WEIGHED}",
    )
    parts = [report.table(header, map(row, results))]
    missing = [f"{r['id']}, {name}: {e}" for r in results for name, e in r["errors"].items()]
    missing += [
        f"{r['id']}, {name}: {subject['error']}"
        for r in results
        for name, subject in r["steps"]["subjects"].items()
        if "error" in subject
    ]
    if missing:
        parts.append("\n".join(["Left empty:", *missing]))
    return "\n\n".join(parts)


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; a mistake in it ends the program with status 2."""
    summary, _, description = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=summary,
        epilog=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("ids", nargs="*", help="all with features if none is given")
    parser.add_argument(
        "--num-envs", type=int, default=NUM_ENVS, help=f"of a batch, default {NUM_ENVS}"
    )
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--repeats", type=int, default=3, help="measurements of each subject")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder for JSON")
    parser.add_argument(
        "--venv", type=Path, default=RESULTS / "venv", help="the benchmark's virtual environment"
    )
    options = parser.parse_args(arguments)
    for name in ("num_envs", "repeats"):
        if getattr(options, name) < 1:
            flag = name.replace("_", "-")
            parser.error(f"--{flag}: must be at least 1, got {getattr(options, name)}")
    if not 0 < options.seconds < float("inf"):
        parser.error(f"--seconds: must be more than 0, got {options.seconds}")
    return options


def main() -> int:
    """Run the command; returns its status."""
    options = parse(sys.argv[1:])
    status = installation.enter(options.venv)
    if status is not None:
        return status
    # Stopped processes must not stay behind: let `finally` end them.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    from mjgym import registry
    from mjgym.vector import allowed_cores

    ids = [i for i in registry.ids(namespace="manipulation") if "_features-" in i]
    for id in options.ids:
        if id not in ids:
            print(f"no {id!r}; there are {', '.join(ids)}", file=sys.stderr)
            return 2
    threads = allowed_cores()
    content: dict[str, Any] = {"machine": report.machine(threads), "results": []}
    options.out.mkdir(parents=True, exist_ok=True)
    for id in options.ids or ids:
        content["results"].append(compare(id, options, threads))
        report.write_json(options.out / "manipulation.json", content)
        print(id, flush=True)
    print(f"\n{text(content['results'])}\n\nWritten: {options.out / 'manipulation.json'}")
    return 0 if all(result["steps"]["ratios"] for result in content["results"]) else 1


if __name__ == "__main__":
    sys.exit(main())
