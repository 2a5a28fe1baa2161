"""Available cores, and Python code in a child process, which may crash or use much memory."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence


def allowed_cores() -> int:
    """Number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def last_word(
    arguments: Sequence[str], timeout: float, environment: Mapping[str, str] | None = None
) -> str:
    """The last word that a Python process prints.

    Args:
        arguments: of the interpreter.
        timeout: s until the process is killed.
        environment: added to that of this process.

    Raises:
        RuntimeError: it has failed, and the message is its last line, or takes too long.
    """
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
