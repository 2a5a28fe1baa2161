"""Datasets of recorded episodes: one protocol, and a module for each format."""

import importlib
from typing import Any

import gymnasium

from mjgym.datasets.collecting import Attempt, attempts
from mjgym.datasets.formats import LEROBOT, SUFFIXES, VERSION, About, Demonstrations, Writer, about
from mjgym.datasets.recorder import Recorder
from mjgym.datasets.recording import DemonstrationError, Episode, Recording, Replayed
from mjgym.version import __version__

__all__ = [
    "About",
    "Attempt",
    "DemonstrationError",
    "Demonstrations",
    "Episode",
    "Recorder",
    "Recording",
    "Replayed",
    "Writer",
    "attempts",
    "create",
    "load",
    "record",
    "require_named",
]


def _module(name: str) -> Any:
    require_named(name)
    if name.startswith(LEROBOT):
        return importlib.import_module("mjgym.datasets.lerobot_dataset")
    if name.endswith(SUFFIXES):
        return importlib.import_module("mjgym.datasets.robomimic_hdf5")
    return importlib.import_module("mjgym.datasets.minari")


def require_named(name: str) -> None:
    """Raise DemonstrationError unless a name is that of a file or dataset of some format."""
    if not name.strip():
        raise DemonstrationError("the dataset's name is empty")
    if not (name.startswith(LEROBOT) or name.endswith(SUFFIXES) or VERSION.search(name)):
        raise DemonstrationError(
            f"{name!r} is neither a file, {name}.hdf5, nor a Minari dataset with its version,"
            f" {name}-v0"
        )


def load(name: str) -> Demonstrations:
    """Open a dataset by its name; DemonstrationError if that fails."""
    demonstrations: Demonstrations = _module(name).load(name)
    return demonstrations


def create(
    name: str, env: gymnasium.Env[Any, Any], *, algorithm: str = "", description: str = ""
) -> Writer:
    """Begin a new dataset, which is written with its first episode.

    Args:
        env: a single environment from `gymnasium.make`, like the one of the episodes.
        algorithm: that chooses the actions: "teleoperation", "scripted", ...
        description: a sentence; the id by default.

    Raises:
        DemonstrationError: the name is taken or invalid, or a package is missing.
        TypeError: `env` is no single environment.
    """
    if not isinstance(env, gymnasium.Env):
        kind = "batch" if isinstance(env, gymnasium.vector.VectorEnv) else type(env).__name__
        raise TypeError(f"env: expected a single environment of gymnasium.make, not a {kind}")
    facts = about(
        env.spec,
        version=__version__,
        algorithm=algorithm,
        description=description or ("" if env.spec is None else env.spec.id),
    )
    writer: Writer = _module(name).create(name, env, facts)
    return writer


def record(
    env: gymnasium.Env[Any, Any], name: str, *, algorithm: str = "", description: str = ""
) -> Recorder:
    """Wrap an environment in a recorder that writes a new dataset; see `create`."""
    return Recorder(env, create(name, env, algorithm=algorithm, description=description))
