"""Alternating timings of subjects: control steps and resets.

A family's benchmark names its subjects, each with the function that builds it (see `subjects`), and
gets rates, seconds and ratios:

    builders = {"single": subjects.single, "batch": subjects.batch, "peer": peer}
    steps = compare_steps(builders, settings, options)
    resets = compare_resets(builders, settings, options, "peer")

The builders run in other processes: they must be module-level functions, or `functools.partial` of
such.
"""

import argparse
import contextlib
import dataclasses
import statistics
import time
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from comparison import report
from comparison.subjects import Builder, Settings, built
from comparison.worker import BUILD_TIMEOUT, Worker, WorkerError, time_subject


def episode_steps(id: str) -> float:
    """Control steps in an episode, infinite without an end."""
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)

    limit = gymnasium.spec(id).max_episode_steps
    return float("inf") if limit is None else limit


def by_turns(
    target: Any, builders: Mapping[str, Builder], settings: Settings, options: argparse.Namespace
) -> tuple[dict[str, Any], dict[str, list[Any]], dict[str, str]]:
    """Send requests to a worker per subject, alternating between them in each repeat.

    Every other repeat has the reverse order, so that neighbours in time are so both ways.

    Args:
        target: of the workers: `time_subject`, `time_resets`, or one with the same arguments.
        builders: of the subjects by name, in the order of measurement.
        settings: to build them with.
        options: `seconds` of each measurement, and `repeats`.

    Returns:
        By name: the answer to "prepare", those to the repeats, and any error.
    """
    prepared: dict[str, Any] = {}
    answers: dict[str, list[Any]] = {}
    errors: dict[str, str] = {}
    workers: dict[str, Worker] = {}

    def ask(name: str, request: Any, timeout: float) -> Any:
        try:
            return workers[name].ask(request, timeout)
        except WorkerError as error:
            errors[name] = str(error)
            answers.pop(name, None)
            workers.pop(name).close()
            return None

    with contextlib.ExitStack() as ends:
        ends.callback(lambda: [worker.close() for worker in workers.values()])
        for name, builder in builders.items():
            workers[name] = Worker(target, builder, settings)
            prepared[name] = ask(name, "prepare", BUILD_TIMEOUT)
            if name in workers:
                answers[name] = []
        names = tuple(builders)
        for repeat in range(options.repeats):
            for name in names[:: -1 if repeat % 2 else 1]:
                if name in workers:
                    answer = ask(name, options.seconds, BUILD_TIMEOUT + 10 * options.seconds)
                    if name in workers:
                        answers[name].append(answer)
    return prepared, answers, errors


def compare_steps(
    builders: Mapping[str, Builder],
    settings: Settings,
    options: argparse.Namespace,
    unavailable: Mapping[str, str] | None = None,
    steps: float | None = None,
) -> report.Result:
    """Control steps per second of all subjects; see `report.result`.

    Args:
        builders: of the subjects by name, in the order of measurement.
        settings: to build them with.
        options: `seconds` of each measurement, and `repeats`.
        unavailable: reasons why subjects are left out, by name.
        steps: control steps in an episode; None for the id's.
    """
    unavailable = unavailable or {}
    wanted = {name: builder for name, builder in builders.items() if name not in unavailable}
    prepared, windows, errors = by_turns(time_subject, wanted, settings, options)
    measured: dict[str, dict[str, Any]] = {
        name: {"error": why} for name, why in {**unavailable, **errors}.items() if name in builders
    }
    for name, answers in windows.items():
        resets, simulations, control_steps = prepared[name]
        measured[name] = {
            "simulations": simulations,
            "control_steps": control_steps,
            "resets": resets,
            "windows": [dataclasses.asdict(window) for window in answers],
        }
    limit = episode_steps(settings.id) if steps is None else steps
    return report.result(settings.id, settings.num_envs, limit, measured)


def time_resets(connection: Connection, builder: Builder, settings: Settings) -> None:
    """Target of a worker: build a subject, then answer with the duration of a reset.

    The first request is "prepare"; each other one is a number of seconds to reset for. An untimed
    step follows each reset, as no user resets twice in a row. An answer is the median of the resets
    in seconds per simulation.
    """
    connection.recv()
    with built(builder, settings) as subject:
        assert subject.reset is not None
        clock = subject.cpu if settings.cpu else time.perf_counter
        actions = iter(subject.actions)
        subject.reset()
        connection.send((True, None))
        while True:
            seconds = connection.recv()
            durations: list[float] = []
            while sum(durations) < seconds or not durations:
                subject.advance(next(actions))
                started = clock()
                subject.reset()
                durations.append(clock() - started)
            connection.send((True, statistics.median(durations) / subject.simulations))


def compare_resets(
    builders: Mapping[str, Builder], settings: Settings, options: argparse.Namespace, peer: str
) -> dict[str, Any]:
    """Compare the time of a reset of one simulation with the peer's.

    Args:
        builders: of the subjects by name, in the order of measurement.
        settings: to build them with.
        options: `seconds` of each measurement, and `repeats`.
        peer: name of the reference.

    Returns:
        The id, `seconds` of each repeat and `errors` by name, and `ratios` "<peer> / <name>", each
        with its `repeats` and their `median`.
    """
    _, seconds, errors = by_turns(time_resets, builders, settings, options)
    ratios = {}
    for name in builders:
        if name != peer and name in seconds and peer in seconds:
            pairs = zip(seconds[peer], seconds[name], strict=True)
            repeats = [theirs / ours for theirs, ours in pairs]
            ratios[f"{peer} / {name}"] = {
                "repeats": repeats,
                "median": statistics.median(repeats),
            }
    return {
        "id": settings.id,
        "num_envs": settings.num_envs,
        "seconds": seconds,
        "errors": errors,
        "ratios": ratios,
    }


def missing(steps: list[report.Result], resets: list[dict[str, Any]]) -> str:
    """Missing measurements with their reasons, one per line; empty if none is missing."""
    lines = [f"{row['id']}, {name}: {e}" for row in resets for name, e in row["errors"].items()]
    lines += [
        f"{row['id']}, {name}: {subject['error']}"
        for row in steps
        for name, subject in row["subjects"].items()
        if "error" in subject
    ]
    return "\n".join(["Left empty:", *dict.fromkeys(lines)]) if lines else ""
