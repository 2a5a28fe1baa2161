"""Time resets and steps of the locomotion family against dm_control and the engine, here.

    python benchmarks/locomotion.py                                 # all ids that dm_control has
    python benchmarks/locomotion.py locomotion/rodent-run_gaps-v0 --seconds 5
    python benchmarks/locomotion.py --venv FOLDER                   # an environment that is there

It makes a virtual environment of its own (or takes the one that is there), installs this checkout
and dm_control into it, and runs itself there. Two things are timed:

- **resets**: what an episode in a new random scene costs to begin, for one environment
  (`single`), for each sub-environment of a batch (`batch`), and in dm_control's example of the same
  task (`dm_control`), which compiles its model anew. Nobody draws anything: dm_control's egocentric
  camera is switched off (it is drawn with once before, so that OpenGL must work here).
- **steps**: a batch of humanoids in corridors with walls, against `mj_step` on the same models in a
  loop of C++ on as many threads (see `mjgym.benchmark.engine`). Random actions make a humanoid fall
  soon. The published id begins a new episode then, which costs a reset that the loop does not make;
  the second row goes on with the fallen, as the loop does.

Each subject has a process of its own, which is stopped while another one is timed. A repeat times
all of them one after the other (the next one in the opposite order): ratios are taken within a
repeat, and the median of the repeats is shown.
"""

import argparse
import dataclasses
import importlib
import itertools
import os
import signal
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from comparison import installation, report, subjects
from comparison.subjects import Settings, Subject
from comparison.worker import BUILD_TIMEOUT, Worker, WorkerError, time_subject
from peers import RESULTS, episode_steps

# dm_control's examples by module; a task is a function of the id's name there.
EXAMPLES = {
    "basic_cmu_2019": (
        "cmu_humanoid-run_walls",
        "cmu_humanoid-run_gaps",
        "cmu_humanoid-go_to_target",
        "cmu_humanoid-maze_forage",
        "cmu_humanoid-heterogeneous_forage",
    ),
    "basic_rodent_2020": (
        "rodent-escape_bowl",
        "rodent-run_gaps",
        "rodent-maze_forage",
        "rodent-two_touch",
    ),
}
MODULES = {f"locomotion/{n}-v0": module for module, names in EXAMPLES.items() for n in names}
STEPPED = "locomotion/cmu_humanoid-run_walls-v0"
GOING_ON = "benchmark/cmu_humanoid-run_walls_without_end-v0"  # the same, whoever falls
NUM_ENVS = 64
ORDER = ("single", "batch", "dm_control")


def dm_control(settings: Settings) -> Subject:
    """dm_control's example of the same task, without its camera."""
    from mjgym.cli.peers import drop_stale_fields

    os.environ.setdefault("MUJOCO_GL", "egl")
    drop_stale_fields()
    module = importlib.import_module(f"dm_control.locomotion.examples.{MODULES[settings.id]}")
    name = settings.id.partition("/")[2].removesuffix("-v0").replace("-", "_")
    env = getattr(module, name)(random_state=settings.seed)
    for entity in env.task.root_entity.iter_entities():
        for key, observable in entity.observables.as_dict().items():
            if key.endswith("camera"):
                observable.enabled = False
    # A terrain is sent to the renderer at each reset, unless there is none.
    physics: Any = importlib.import_module("dm_control.mujoco").Physics
    physics.contexts = None
    return subjects.with_time_steps(env, env.action_spec().dtype, settings)


BUILDERS: dict[str, Callable[[Settings], Subject]] = {
    "single": subjects.single,
    "batch": subjects.batch,
    "dm_control": dm_control,
}


def time_resets(connection: Connection, name: str, settings: Settings) -> None:
    """Target of a worker: build a subject, then answer with what a reset takes.

    The first request is "prepare"; the others are those of `answer_resets`.
    """
    connection.recv()
    answer_resets(connection, BUILDERS[name](settings))


def answer_resets(connection: Connection, subject: Subject) -> None:
    """Answer each request, a number of seconds to reset for, with what a reset takes.

    Between two resets there is a step, as no user resets twice in a row; it does not count. An
    answer is the median of the resets in seconds for each simulation.
    """
    assert subject.reset is not None
    actions = iter(subject.actions)
    subject.reset()
    connection.send((True, None))
    try:
        while True:
            seconds = connection.recv()
            durations: list[float] = []
            while sum(durations) < seconds or not durations:
                subject.advance(next(actions))
                started = time.perf_counter()
                subject.reset()
                durations.append(time.perf_counter() - started)
            connection.send((True, statistics.median(durations) / subject.simulations))
    finally:
        subject.release()


def time_steps(connection: Connection, name: str, settings: Settings) -> None:
    """Target of a worker: `time_subject`, where the id that never ends is known too."""
    import mjgym
    from mjgym.tasks.locomotion.run import HUMAN, RunThroughCorridor

    fields = {**HUMAN, "arena": "walls", "ends_on_fall": False}
    mjgym.register(GOING_ON, **fields)(RunThroughCorridor)
    time_subject(connection, name, settings)


def by_turns(
    target: Any, names: Sequence[str], settings: Settings, options: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, list[Any]], dict[str, str]]:
    """Ask a worker for each name, in repeats that go through all of them.

    Args:
        target: of the workers.
        names: of the subjects.
        settings: to build them with.
        options: `seconds` of each measurement, and `repeats`.

    Returns:
        By name: the answer to "prepare", those to the repeats, and why there are none.
    """
    prepared: dict[str, Any] = {}
    answers: dict[str, list[Any]] = {}
    errors: dict[str, str] = {}
    workers: dict[str, Worker] = {}
    try:
        for name in names:
            workers[name] = Worker(target, name, settings)
            try:
                prepared[name] = workers[name].ask("prepare", BUILD_TIMEOUT)
                answers[name] = []
            except WorkerError as error:
                errors[name] = str(error)
        for repeat, name in itertools.product(range(options.repeats), range(len(names))):
            asked = names[::-1][name] if repeat % 2 else names[name]
            if asked in errors:
                continue
            try:
                answer = workers[asked].ask(options.seconds, BUILD_TIMEOUT + 10 * options.seconds)
                answers[asked].append(answer)
            except WorkerError as error:
                errors[asked] = str(error)
    finally:
        for worker in workers.values():
            worker.close()
    for name in errors:
        answers.pop(name, None)
    return prepared, answers, errors


def compare_resets(id: str, options: argparse.Namespace, threads: int) -> dict[str, Any]:
    """Seconds of a reset for each simulation, and how many times dm_control's are ours."""
    settings = Settings(id, options.num_envs, threads)
    _, seconds, errors = by_turns(time_resets, ORDER, settings, options)
    ratios = {}
    for name in ("single", "batch"):
        if name in seconds and "dm_control" in seconds:
            pairs = zip(seconds["dm_control"], seconds[name], strict=True)
            repeats = [theirs / ours for theirs, ours in pairs]
            ratios[f"dm_control / {name}"] = {
                "repeats": repeats,
                "median": statistics.median(repeats),
            }
    return {
        "id": id,
        "num_envs": options.num_envs,
        "seconds": seconds,
        "errors": errors,
        "ratios": ratios,
    }


def compare_steps(id: str, options: argparse.Namespace, threads: int) -> report.Result:
    """Control steps per second of a batch and of the engine's loop."""
    settings = Settings(id, options.num_envs, threads)
    prepared, windows, errors = by_turns(time_steps, ("batch", "limit"), settings, options)
    measured: dict[str, dict[str, Any]] = {name: {"error": e} for name, e in errors.items()}
    for name, answers in windows.items():
        resets, simulations, control_steps = prepared[name]
        measured[name] = {
            "simulations": simulations,
            "control_steps": control_steps,
            "resets": resets,
            "windows": [dataclasses.asdict(window) for window in answers],
        }
    return report.result(id, options.num_envs, episode_steps(STEPPED), measured)


def text(resets: Sequence[dict[str, Any]], steps: Sequence[report.Result]) -> str:
    """Both tables, and what is missing and why."""

    def milliseconds(row: dict[str, Any], name: str) -> str:
        times = row["seconds"].get(name)
        return "" if times is None else f"{1000 * statistics.median(times):.3f}"

    def ratio(row: dict[str, Any], name: str) -> str:
        found = row["ratios"].get(name)
        return "" if found is None else f"{found['median']:.2f}"

    header = ("reset of one simulation, ms", *ORDER, "dm_control / single", "dm_control / batch")
    rows = [
        (
            row["id"],
            *(milliseconds(row, name) for name in ORDER),
            *(ratio(row, f"dm_control / {name}") for name in ("single", "batch")),
        )
        for row in resets
    ]
    parts = [report.table(header, rows)] if rows else []
    header = ("control steps per second", "N", "batch", "limit", "batch / limit")
    rows = []
    for row in steps:
        rates = [row["subjects"].get(name, {}).get("rate") for name in ("batch", "limit")]
        shown = ["" if rate is None else f"{rate:,.0f}" for rate in rates]
        rows.append((row["id"], str(row["num_envs"]), *shown, ratio(row, "batch / limit")))
    parts.append(report.table(header, rows))
    missing = [f"{row['id']}, {name}: {e}" for row in resets for name, e in row["errors"].items()]
    missing += [
        f"{row['id']}, {name}: {subject['error']}"
        for row in steps
        for name, subject in row["subjects"].items()
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
    parser.add_argument("ids", nargs="*", default=list(MODULES), help="whose resets are timed")
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
    for id in options.ids:
        if id not in MODULES:
            parser.error(f"dm_control has no {id!r}; it has {', '.join(MODULES)}")
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
    import mjgym  # noqa: F401  (registers the ids)
    from mjgym.vector import allowed_cores

    threads = allowed_cores()
    content: dict[str, Any] = {
        "machine": report.machine(threads),
        "arguments": {
            "num_envs": options.num_envs,
            "seconds": options.seconds,
            "repeats": options.repeats,
        },
    }
    options.out.mkdir(parents=True, exist_ok=True)
    steps: list[report.Result] = []
    resets: list[dict[str, Any]] = []

    def write() -> None:
        """Write the file anew after each id, so that a stop loses nothing."""
        content.update(steps=steps, resets=resets)
        report.write_json(options.out / "locomotion.json", content)

    for id in (STEPPED, GOING_ON):
        steps.append(compare_steps(id, options, threads))
        write()
    for number, id in enumerate(options.ids, 1):
        resets.append(compare_resets(id, options, threads))
        ratios = [f"{name} {r['median']:.2f}" for name, r in resets[-1]["ratios"].items()]
        print(f"{number}/{len(options.ids)} {id}: {', '.join(ratios) or 'nothing'}", flush=True)
        write()
    print(f"\n{text(resets, steps)}")
    print(f"\nWritten: {options.out / 'locomotion.json'}")
    return 0 if all(row["ratios"] for row in (*steps, *resets)) else 1


if __name__ == "__main__":
    sys.exit(main())
