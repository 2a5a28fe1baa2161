"""Available cores, signals, and Python in a child process, which may crash or use much memory."""

import contextlib
import math
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any


def allowed_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory() -> tuple[float, float]:
    """Bytes that this process may still use, and may still reserve; inf where nothing says so."""
    used = reserved = math.inf
    with contextlib.suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        used = float(line.split()[1]) * 1024
    with contextlib.suppress(OSError, ValueError):  # "max" without a limit
        most, now = (float((_CGROUP / f"memory.{x}").read_text()) for x in ("max", "current"))
        used = min(used, most - now)
    with contextlib.suppress(ImportError, OSError):
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
            reserved = limit - pages * resource.getpagesize()
    return used, min(used, reserved) if reserved < math.inf else math.inf


_CGROUP = Path("/sys/fs/cgroup")


@contextlib.contextmanager
def answered(answer: Callable[[int, Any], None], *names: str) -> Iterator[None]:
    """Context manager: handle the named signals that the system has.

    Without effect outside the main thread, which alone gets signals.
    """
    before = {}
    if threading.current_thread() is threading.main_thread():
        numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
        before = {number: signal.signal(number, answer) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def last_word(
    arguments: Sequence[str], timeout: float, environment: Mapping[str, str] | None = None
) -> str:
    """The last word that a Python process prints."""
    try:
        done = subprocess.run(
            [sys.executable, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no answer within {timeout:g} s") from None
    words = done.stdout.split()
    if done.returncode or not words:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        raise RuntimeError(lines[-1])
    return words[-1]
