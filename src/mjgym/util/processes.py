"""Available cores, and Python code in a child process, which may crash or use much memory."""

import contextlib
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


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
