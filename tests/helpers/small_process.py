"""Programs in small processes, which can fork: one that holds many batches may not."""

import os
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

from helpers.forks import forks


def run_small(program: str, *arguments: str, folder: Path | None = None) -> str:
    """Run Python in a process that has this package imported, and little else.

    Args:
        program: code, which finds the modules that the tests find.
        *arguments: of its command line.
        folder: to run in; by default this process's.

    Returns:
        All output. The program must end well.
    """
    variables = {name: value for name, value in os.environ.items() if name != "MUJOCO_GL"}
    with tempfile.TemporaryDirectory() as place:
        script = Path(place, "program.py")
        script.write_text(f"import sys; sys.path.extend({sys.path!r})\n{program}")
        folder = folder or Path.cwd()
        done = forks().run(script, *arguments, folder=folder, environment=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def fresh(
    program: str, *arguments: str | Path, folder: Path | None = None, **environment: str
) -> str:
    """Run Python in an interpreter of its own, which has imported nothing.

    Args:
        program: code.
        *arguments: of its command line.
        folder: to run in; by default this process's.
        **environment: variables beside this process's.

    Returns:
        All output. The program must end well.
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


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
