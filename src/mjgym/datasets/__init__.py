"""Datasets of recorded episodes: one protocol, and a module for each format."""

from typing import Any

import gymnasium

from mjgym.datasets.access import create, load, require_named
from mjgym.datasets.collecting import Attempt, attempts
from mjgym.datasets.formats import About, Demonstrations, Writer
from mjgym.datasets.recorder import Recorder
from mjgym.datasets.recording import DemonstrationError, Episode, Recording, Replayed


def record(
    env: gymnasium.Env[Any, Any], name: str, *, algorithm: str = "", description: str = ""
) -> Recorder:
    """Wrap an environment in a recorder that writes a new dataset; see `create`."""
    return Recorder(env, create(name, env, algorithm=algorithm, description=description))


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
