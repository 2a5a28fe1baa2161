"""The program `mjgym` for the tests: each command in a process of its own.

The first time that a command is run, it is from the console script. Later ones are forked from a
process that has imported what they all import, which takes longer than most commands do.
"""

import atexit
import functools
import gc
import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

SCRIPT = Path(sys.executable).with_name("mjgym")
PATIENCE = 180  # s, for a command
_READ_WHEN_IMPORTED = ("MUJOCO_GL", "PYTHONPATH")  # variables

_from_script: set[str] = set()  # commands that have been run from it


def run(
    *arguments: str, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """What a command did, without an input.

    Args:
        *arguments: the command and its own.
        folder: to run in; by default this process's.
        environment: variables; by default this process's.
    """
    variables = dict(os.environ if environment is None else environment)
    name = next(iter(arguments), "")
    if name in _from_script and hasattr(os, "fork"):
        forks = _forks()
        if forks.imported_with == _of_import(variables):
            return forks.run(arguments, folder or Path.cwd(), variables)
    _from_script.add(name)
    return subprocess.run(
        [str(SCRIPT), *arguments],
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )


def _of_import(variables: Mapping[str, str]) -> list[str | None]:
    return [variables.get(name) for name in _READ_WHEN_IMPORTED]


class _Forks:
    """The process that commands are forked from: `_serve`, below."""

    def __init__(self) -> None:
        variables = {name: value for name, value in os.environ.items() if name != "MUJOCO_GL"}
        self.imported_with = _of_import(variables)
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__],
            env=variables,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(self._process.kill)

    def run(
        self, arguments: tuple[str, ...], folder: Path, variables: dict[str, str]
    ) -> "subprocess.CompletedProcess[str]":
        command = [str(SCRIPT), *arguments]
        with tempfile.TemporaryDirectory() as place:
            outputs = [Path(place, name) for name in ("out", "err")]
            asked = [command, str(folder), variables, [str(path) for path in outputs]]
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            print(json.dumps(asked), file=self._process.stdin, flush=True)
            code = int(self._process.stdout.readline())
            return subprocess.CompletedProcess(
                command, code, *(path.read_text() for path in outputs)
            )


_forks = functools.cache(_Forks)


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
    from typer.testing import CliRunner

    import mjgym  # noqa: F401  (what takes long)
    from mjgym.cli.app import app, main

    for words in (["list", "walker"], ["info", "nothing"]):  # what commands import by and by
        CliRunner().invoke(app, words)
    gc.freeze()  # or each fork, at its end, has all of that copied to look through it
    if _serve():
        main()
