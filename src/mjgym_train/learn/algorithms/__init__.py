"""Algorithms: one file each, with the update as in the paper."""

from typing import TYPE_CHECKING

from mjgym.policies.run_errors import ConfigError
from mjgym_train.learn.named_classes import imported

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
    "dagger": "DAgger",
    "td3_bc": "TD3BC",
    "iql": "IQL",
}


def find(name: str) -> "type[Agent]":
    """Look up an algorithm by name, or a custom one as "module:Class"."""
    own = ALGORITHMS.get(name.lower())
    reference = f"{__name__}.{name.lower()}:{own}" if own else name
    algorithm = imported(reference, "algorithm", ALGORITHMS)
    from mjgym_train.learn.algorithms.agent import Agent

    if not issubclass(algorithm, Agent):
        raise ConfigError(f"algorithm {name}: it is no subclass of {Agent.__module__}:Agent")
    return algorithm
