"""What an environment costs beside time: memory, and how long its import takes."""

import os
import statistics
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

from comparison.subjects import Settings, built
from comparison.worker import BUILD_TIMEOUT, Worker

STEPS = 10  # after which memory that is only touched by stepping counts too
MEGABYTE = 1e6  # bytes
FOLDER = str(Path(__file__).resolve().parents[1])

_TIMED_IMPORT = """
{before}
import time
started = time.perf_counter()
{statement}
print(time.perf_counter() - started)
"""


def resident() -> int:
    """Bytes of memory that this process holds; where the system does not say, held at most."""
    import resource  # not on Windows

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * resource.getpagesize()


def memory_per_env(name: str, settings: Settings) -> float:
    """Bytes by which a process grows for each sub-environment of a vectorized subject.

    A batch of one is made first, so that libraries and whatever all sub-environments share do not
    count; then the batch of `settings.num_envs` is made, reset and stepped STEPS times.

    Raises:
        WorkerError: the subject cannot be built.
    """
    with Worker(_grow, name, settings) as worker:
        return float(worker.ask("grow", BUILD_TIMEOUT))


def _grow(connection: Connection, name: str, settings: Settings) -> None:
    connection.recv()
    one = Settings(settings.id, 1, 1, settings.seed)
    with built(name, one) as subject:
        subject.advance(next(iter(subject.actions)))
        before = resident()
        with built(name, settings) as many:
            actions = iter(many.actions)
            for _ in range(STEPS):
                many.advance(next(actions))
            connection.send((True, (resident() - before) / settings.num_envs))


def import_time(statement: str, before: str = "", repeats: int = 5) -> float:
    """Seconds that a fresh process takes for an import: the median.

    Args:
        statement: that imports.
        before: a statement that does not count, such as an import of what users have anyway.
        repeats: number of processes.
    """
    code = _TIMED_IMPORT.format(before=before, statement=statement)
    durations = []
    with tempfile.TemporaryDirectory(prefix="mjgym-benchmark-") as cache:
        # Compiled modules are kept, whatever this process has been told: the first import fills
        # the cache and does not count.
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONPATH": FOLDER}
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
