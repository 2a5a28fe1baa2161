"""Algorithms: one file each, with the update as in the paper."""

from typing import TYPE_CHECKING

from mjgym.policies.run_errors import ConfigError
from mjgym.util import code_references
from mjgym.util.suggestions import or_else

if TYPE_CHECKING:
    from mjgym_train.learn.algorithms.agent import Agent

ALGORITHMS = {
    "td3": "TD3",
    "ddpg": "DDPG",
    "d4pg": "D4PG",
    "sac": "SAC",
    "dqn": "DQN",
    "rainbow": "Rainbow",
    "ppo": "PPO",
    "a2c": "A2C",
    "a3c": "A3C",
    "reinforce": "Reinforce",
    "bc": "BC",
    "td3_bc": "TD3BC",
    "iql": "IQL",
}


def find(name: str) -> "type[Agent]":
    """Look up an algorithm by name, or a custom one as "module:Class"."""
    reference = name
    if ":" not in name:
        if name.lower() not in ALGORITHMS:
            raise ConfigError(f"there is no algorithm {name!r}{or_else(name, ALGORITHMS)}")
        reference = f"{__name__}.{name.lower()}:{ALGORITHMS[name.lower()]}"
    from mjgym_train.learn.algorithms.agent import Agent

    try:
        algorithm = code_references.load(reference)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"algorithm {name}: {error}") from error
    if not (isinstance(algorithm, type) and issubclass(algorithm, Agent)):
        raise ConfigError(f"algorithm {name}: it is no subclass of {Agent.__module__}:Agent")
    return algorithm
