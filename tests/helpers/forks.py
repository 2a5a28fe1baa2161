"""Python programs for the tests, each in a process of its own.

They are forked from a process that has imported what takes long, which is longer than most of them.
"""

import atexit
import functools
import gc
import json
import os
import runpy
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE = 1_200  # s, for a program: other tests may leave it little of the processor
LIBRARIES = """
import contextlib, importlib
for name in ("numpy", "mujoco", "gymnasium", "torch"):
    with contextlib.suppress(ImportError):
        importlib.import_module(name)
"""
"""Imports what programs with the package import, and not the package."""
_READ_WHEN_IMPORTED = ("MUJOCO_GL", "PYTHONPATH")  # variables


def run_alone(
    command: Sequence[str], folder: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """What a program did that begins with nothing imported, without an input."""
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


class Forks:
    """Programs that begin with all that some code has imported.

    The process that they are forked from is made when the first of them is run.

    Args:
        python: that runs them.
        prepare: the code.
        environment: variables that this begins with.
    """

    def __init__(self, python: Path | str, prepare: str, environment: Mapping[str, str]) -> None:
        self._python, self._prepare = str(python), prepare
        self._environment = dict(environment)
        self._process: subprocess.Popen[str] | None = None

    def run(
        self, script: Path | str, *arguments: str, folder: Path, environment: Mapping[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        """What a program did, without an input.

        Args:
            script: its file.
            *arguments: of its command line.
            folder: to run in.
            environment: variables. Where those differ that matter to what is imported, or where
                nothing can be forked, the program begins with nothing.
        """
        command = [str(script), *arguments]
        same = all(
            self._environment.get(name) == environment.get(name) for name in _READ_WHEN_IMPORTED
        )
        if not (same and hasattr(os, "fork")):
            return run_alone([self._python, *command], folder, environment)
        if self._process is None:
            self._process = subprocess.Popen(
                [self._python, "-P", __file__, self._prepare],
                env=self._environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            atexit.register(self._process.kill)
        with tempfile.TemporaryDirectory() as place:
            outputs = [Path(place, name) for name in ("out", "err")]
            asked = [command, str(folder), dict(environment), [str(path) for path in outputs]]
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            print(json.dumps(asked), file=self._process.stdin, flush=True)
            code = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(
                command, code, *(path.read_text() for path in outputs)
            )


@functools.cache
def forks() -> Forks:
    """Programs that begin with this package and its commands imported."""
    variables = {name: value for name, value in os.environ.items() if name != "MUJOCO_GL"}
    return Forks(sys.executable, _COMMANDS, variables)


_COMMANDS = """
from typer.testing import CliRunner

import mjgym  # what takes long
from mjgym.cli.app import app

for words in (["list", "walker"], ["info", "nothing"]):  # what commands import by and by
    CliRunner().invoke(app, words)
"""


def _serve() -> bool:
    """Fork whenever somebody asks; whether this is a process that is to do what was asked."""
    while line := sys.stdin.readline():
        child = os.fork()
        if child == 0:
            sys.argv, folder, variables, outputs = json.loads(line)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for number, path in enumerate(outputs, start=1):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
            os.chdir(folder)
            os.environ.clear()
            os.environ.update(variables)
            signal.alarm(PATIENCE)
            return True
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return False


if __name__ == "__main__":
    exec(sys.argv[1])
    gc.freeze()  # or each fork, at its end, has all of that copied to look through it
    if _serve():
        sys.path.insert(0, str(Path(sys.argv[0]).parent))
        runpy.run_path(sys.argv[0], run_name="__main__")
