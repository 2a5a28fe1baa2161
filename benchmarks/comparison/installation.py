"""The benchmark's virtual environment, with this checkout and the peers."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXTRAS = "[fast]"  # of this checkout
OURS = ("mujoco==4.0.0", "matplotlib>=3.8")
PEERS = {"envpool": "envpool==1.2.5", "dm_control": "dm_control==1.0.50"}
INSTALLED = "mjgym-benchmark.json"  # in the environment's folder: installed packages


def python_of(folder: Path) -> Path:
    """The interpreter of a virtual environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def is_inside(folder: Path) -> bool:
    """Tell whether this process runs in a virtual environment."""
    return Path(sys.prefix).resolve() == folder.resolve()


def enter(
    folder: Path, python: str = sys.executable, peers: Mapping[str, str] = PEERS
) -> int | None:
    """Rerun the command in the environment, made on demand; see `make`.

    Returns:
        None inside the environment; otherwise the exit status.
    """
    if is_inside(folder):
        return None
    try:
        make(folder, python, peers)
    except RuntimeError as error:
        print(f"{folder}: {error}", file=sys.stderr)
        return 1
    command = [str(python_of(folder)), *sys.argv]
    if os.name == "posix":  # the same process, so that ending it ends everything
        sys.stdout.flush()
        os.execv(command[0], command)
    return subprocess.run(command, check=False).returncode


def make(folder: Path, python: str = sys.executable, peers: Mapping[str, str] = PEERS) -> None:
    """Make or complete the environment.

    This checkout is installed editable, so that later runs measure the current files. A peer that
    cannot be installed is recorded with the reason, see `refusals`, and retried in the next run.

    Args:
        folder: of the environment.
        python: the interpreter that makes it.
        peers: packages to install beside this checkout, by name.

    Raises:
        RuntimeError: the environment cannot be made, or this checkout cannot be installed in it.
    """
    if not python_of(folder).exists():
        print(f"making a virtual environment in {folder}", flush=True)
        _run([python, "-m", "venv", str(folder)])
    done = _installed(folder)
    project = hashlib.sha256((ROOT / "pyproject.toml").read_bytes()).hexdigest()
    ours = [f"{ROOT}{EXTRAS}", project, *OURS]
    if done.get("ours") != ours:
        print("installing this checkout", flush=True)
        _run([*_pip(folder), *OURS, "-e", f"{ROOT}{EXTRAS}"])
        done["ours"] = ours
    refused = {}
    for name, requirement in peers.items():
        if done.get(name) == requirement:
            continue
        print(f"installing {requirement}", flush=True)
        try:
            _run([*_pip(folder), *OURS, requirement])
        except RuntimeError as error:
            refused[name] = f"{requirement} cannot be installed: {error}"
        else:
            done[name] = requirement
    done["refused"] = refused
    (folder / INSTALLED).write_text(json.dumps(done, indent=2))


def make_apart(name: str, folder: Path, requirements: Sequence[str]) -> dict[str, str]:
    """Make or reuse a separate environment for an incompatible peer.

    Args:
        name: of the peer.
        folder: of the environment.
        requirements: packages to install.

    Returns:
        The reason by the peer's name if it cannot be installed; otherwise empty.
    """
    try:
        if not python_of(folder).exists():
            print(f"making a virtual environment in {folder}", flush=True)
            _run([sys.executable, "-m", "venv", str(folder)])
        if _installed(folder).get("apart") != list(requirements):
            print(f"installing {', '.join(requirements)}", flush=True)
            _run([*_pip(folder), *requirements])
            (folder / INSTALLED).write_text(json.dumps({"apart": list(requirements)}, indent=2))
    except RuntimeError as error:
        return {name: f"cannot be installed: {error}"}
    return {}


def refusals(folder: Path) -> dict[str, str]:
    """Reasons why peers could not be installed, by name."""
    refused = _installed(folder).get("refused", {})
    return refused if isinstance(refused, dict) else {}


def _installed(folder: Path) -> dict[str, object]:
    try:
        content = json.loads((folder / INSTALLED).read_text())
    except (OSError, json.JSONDecodeError):
        return {}
    return content if isinstance(content, dict) else {}


def _pip(folder: Path) -> list[str]:
    return [str(python_of(folder)), "-m", "pip", "install", "--quiet"]


def _run(command: list[str]) -> None:
    """Run a command; its error output is the message of a failure."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise RuntimeError(f"there is no program {command[0]!r}") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"it ended with {done.returncode}"]
        errors = [line for line in lines if line.lower().startswith("error")] or lines[-1:]
        raise RuntimeError(" ".join(" ".join(errors).split()))
