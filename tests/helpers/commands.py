"""The program `mjgym` for the tests: each command once from the script, then in this process.

What needs a process of its own is forked from one that has imported what all commands import.
"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from helpers.forks import forks, run_alone

SCRIPT = Path(sys.executable).with_name("mjgym")

TEMPORARY = tempfile.gettempdir()

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
    name, folder = next(iter(arguments), ""), folder or Path.cwd()
    if name in _from_script:
        return forks().run(SCRIPT, *arguments, folder=folder, environment=variables)
    _from_script.add(name)
    return run_alone([str(SCRIPT), *arguments], folder, variables)


def mjgym_(*arguments: str, code: int = 0, **environment: str) -> Any:
    """Run the program; it must end with `code`.

    A command is run from the console script once, and with environment variables that count when
    the program starts; else in this process, where nothing of what it registers stays. Those that
    train set threads and seeds for good, and have a process each time.
    """
    from mjgym.cli.app import COMMANDS

    name = next(iter(arguments), "")
    here = name in _from_script and any(name in commands for commands in COMMANDS.values())
    if here and not environment.keys() - {"COLUMNS"}:
        done = called(*arguments, code=code, **environment)
    else:
        inherited = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "MUJOCO_GL")}
        done = run(*arguments, environment={**inherited, **environment})
        assert done.returncode == code, f"{done.stdout}\n{done.stderr}"
    assert "Traceback" not in done.stderr
    return done


def data(*arguments: str, code: int = 0) -> Any:
    """What a command prints as JSON, and nothing else."""
    return json.loads(mjgym_(*arguments, "--json", code=code).stdout)


def refused(*arguments: str) -> str:
    """What a command says, in one line, that has been called wrongly."""
    done = mjgym_(*arguments, code=2)
    assert done.stdout == ""
    return re.sub(r"[│\s]+", " ", done.stderr)


def called(*arguments: str, code: int = 0, **environment: str) -> Any:
    """A command in this process, without a program's start; it must end with `code`."""
    from mjgym.cli.app import app

    variables = {"COLUMNS": None, "MUJOCO_GL": None, **environment}
    with _unregistered():
        result = CliRunner().invoke(app, list(arguments), env=variables)
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


@contextlib.contextmanager
def _unregistered() -> Iterator[None]:
    """Forget the ids and modules that come within."""
    import gymnasium

    from mjgym.task import registrations

    registries: tuple[dict[str, Any], ...] = (registrations, gymnasium.registry)
    before, path, modules = [dict(each) for each in registries], list(sys.path), set(sys.modules)
    try:
        yield
    finally:
        for present, earlier in zip(registries, before, strict=True):
            present.clear()
            present.update(earlier)
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(TEMPORARY):
                del sys.modules[name]


def refused_call(*arguments: str) -> str:
    """What a command says, in one line, that has been called wrongly in this process."""
    result = called(*arguments, code=2)
    assert result.stdout == ""
    return re.sub(r"[│\s]+", " ", result.stderr)
