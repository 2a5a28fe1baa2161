"""The program `mjgym` for the tests: each command in a process of its own.

The first time that a command is run, it is from the console script. Later ones are forked from a
process that has imported what they all import, which takes longer than most commands do.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from helpers.forks import forks, run_alone

SCRIPT = Path(sys.executable).with_name("mjgym")

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


def mjgym_(*arguments: str, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the program; it must end with `code`."""
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


def called(*arguments: str, code: int = 0) -> Any:
    """A command in this process, without a program's start; it must end with `code`."""
    from mjgym.cli.app import app

    result = CliRunner().invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result


def refused_call(*arguments: str) -> str:
    """What a command says, in one line, that has been called wrongly in this process."""
    result = called(*arguments, code=2)
    assert result.stdout == ""
    return re.sub(r"[│\s]+", " ", result.stderr)
