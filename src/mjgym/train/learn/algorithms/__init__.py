"""Algorithms: one file each, which states its update as the paper does."""

import importlib
from typing import TYPE_CHECKING

from mjgym.train.results.run_errors import ConfigError
from mjgym.util.suggestions import or_else

if TYPE_CHECKING:
    from mjgym.train.learn.algorithms.agent import Agent

ALGORITHMS = {
    "td3": "TD3",
    "ddpg": "DDPG",
    "d4pg": "D4PG",
    "sac": "SAC",
    "ppo": "PPO",
    "a2c": "A2C",
    "bc": "BC",
    "td3_bc": "TD3BC",
    "iql": "IQL",
}


def find(name: str) -> "type[Agent]":
    """The algorithm of a name, or of "module:Class" for one's own.

    Raises:
        ConfigError: there is none; the message names the nearest.
    """
    module, colon, cls = name.partition(":")
    if not colon:
        if name.lower() not in ALGORITHMS:
            raise ConfigError(f"there is no algorithm {name!r}{or_else(name, ALGORITHMS)}")
        module, cls = f"{__name__}.{name.lower()}", ALGORITHMS[name.lower()]
    from mjgym.train.learn.algorithms.agent import Agent

    try:
        found = getattr(importlib.import_module(module), cls)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"algorithm {name}: {error}") from error
    if not (isinstance(found, type) and issubclass(found, Agent)):
        raise ConfigError(f"algorithm {name}: it is no subclass of {Agent.__module__}:Agent")
    return found
