"""Datasets of recorded episodes: one protocol, a file for each format."""

from typing import Any

import gymnasium

from mjgym.datasets.demonstration import (
    Demonstration,
    DemonstrationError,
    Demonstrations,
    Recorder,
    Replayed,
)
from mjgym.datasets.minari import MinariDemonstrations, MinariRecorder


def load(name: str) -> Demonstrations:
    """Open a dataset by its name.

    Raises:
        DemonstrationError: there is none, it has no states, or a package is missing.
    """
    return MinariDemonstrations(name)


def record(env: gymnasium.Env[Any, Any], name: str) -> MinariRecorder:
    """Wrap an environment in a recorder that writes a new dataset.

    Raises:
        DemonstrationError: the name is taken or is none, or a package is missing.
    """
    return MinariRecorder(env, name)


__all__ = [
    "Demonstration",
    "DemonstrationError",
    "Demonstrations",
    "MinariDemonstrations",
    "MinariRecorder",
    "Recorder",
    "Replayed",
    "load",
    "record",
]
