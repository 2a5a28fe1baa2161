"""Costs of an environment before its first step: memory, creation, import."""

import dataclasses
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from multiprocessing.connection import Connection

from comparison.subjects import Builder, Settings, built
from comparison.worker import BUILD_TIMEOUT, Worker

STEPS = 10  # includes memory that is first touched by stepping
MEGABYTE = 1e6  # bytes

_TIMED_IMPORT = """
{before}
import time
started = time.perf_counter()
{statement}
print(time.perf_counter() - started)
"""


@dataclasses.dataclass(frozen=True)
class Footprint:
    """Cost of making a batch.

    Attributes:
        bytes_per_env: growth of the process per sub-environment.
        seconds: until the batch was made and reset.
    """

    bytes_per_env: float
    seconds: float


def of_batch(builder: Builder, settings: Settings) -> Footprint:
    """Make a batch in a separate process and measure its cost.

    A batch of one is made first, to exclude libraries and shared data; then the batch of
    `settings.num_envs` is made, reset and stepped STEPS times.

    Args:
        builder: of a vectorized subject.
        settings: to build it with.

    Raises:
        WorkerError: the subject cannot be built.
    """
    with Worker(_grow, builder, settings) as worker:
        answer = worker.ask("grow", BUILD_TIMEOUT)
    return Footprint(*answer)


def _grow(connection: Connection, builder: Builder, settings: Settings) -> None:
    from mjgym.checks.benchmark import resident

    connection.recv()
    with built(builder, dataclasses.replace(settings, num_envs=1, threads=1)) as one:
        one.advance(next(iter(one.actions)))
        before = resident()
        started = time.perf_counter()
        with built(builder, settings) as many:
            seconds = time.perf_counter() - started
            for action in itertools.islice(many.actions, STEPS):
                many.advance(action)
            growth = resident() - before
    connection.send((True, (growth / settings.num_envs, seconds)))


def import_time(statement: str, before: str = "", repeats: int = 5) -> float:
    """Median import time in a fresh process, s.

    Args:
        statement: the import.
        before: an untimed statement, such as an import of common dependencies.
        repeats: number of processes.
    """
    code = _TIMED_IMPORT.format(before=before, statement=statement)
    durations = []
    with tempfile.TemporaryDirectory(prefix="mjgym-benchmark-") as cache:
        # Compiled modules are cached, whatever the setting of this process: the first import fills
        # the cache and does not count.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(repeats + 1):
            done = subprocess.run(
                [sys.executable, "-c", code],
                capture_output=True,
                text=True,
                check=True,
                env=environment,
            )
            durations.append(float(done.stdout.split()[-1]))
    return statistics.median(durations[1:])
