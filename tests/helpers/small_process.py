"""Programs in small processes, which can fork: one that holds many batches may not."""

import os
import subprocess
import sys


def run_small(program: str) -> str:
    """Standard output of a program, which imports what the tests do and must end well."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_on_full_disk(*command: str, size: int = 1000) -> "subprocess.CompletedProcess[str]":
    """Run a command none of whose files can be longer than `size` bytes."""
    limit = f"resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size}))"
    program = f"import os, resource, sys; {limit}; os.execv(sys.argv[1], sys.argv[1:])"
    return subprocess.run(
        [sys.executable, "-c", program, *command],
        # Bytecode that such a disk cuts off would be read by whoever imports that module next.
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
