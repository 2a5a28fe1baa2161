"""Choice of the trainer for an algorithm."""

from collections.abc import Callable
from typing import Any

from mjgym.policies.run_errors import ConfigError
from mjgym_train.config import Config, DAggerConfig, OfflineSettings, OffPolicyConfig
from mjgym_train.learn import algorithms
from mjgym_train.learn.algorithms import members
from mjgym_train.learn.algorithms.off_policy_agent import OffPolicyAgent
from mjgym_train.learn.algorithms.on_policy_agent import OnPolicyAgent
from mjgym_train.learn.led_by_script import DAggerTrainer
from mjgym_train.learn.off_policy import OffPolicyTrainer
from mjgym_train.learn.offline import OfflineTrainer
from mjgym_train.learn.on_policy import OnPolicyTrainer
from mjgym_train.learn.trainer import Progress, Trainer
from mjgym_train.run import Run


def check(config: Config) -> None:
    """Raise ConfigError if the settings of an ensemble's agents do not fit."""
    algorithm = algorithms.find(config.algorithm)
    if issubclass(algorithm, OffPolicyAgent) and isinstance(config, OffPolicyConfig):
        members.for_config(config, algorithm)


def make_trainer(
    run: Run,
    config: Config,
    *,
    resume: bool = False,
    show: Callable[[Progress], None] | None = None,
) -> Trainer:
    """The trainer of a run: off-policy, on-policy or offline, according to its algorithm."""
    algorithm = algorithms.find(config.algorithm)
    trainer: Any = OffPolicyTrainer if issubclass(algorithm, OffPolicyAgent) else OnPolicyTrainer
    if isinstance(config, OfflineSettings):
        trainer = OfflineTrainer
    elif isinstance(config, DAggerConfig):
        trainer = DAggerTrainer
    elif not issubclass(algorithm, OffPolicyAgent | OnPolicyAgent):
        raise ConfigError(
            f"algorithm: {config.algorithm} is a subclass of neither OffPolicyAgent nor"
            " OnPolicyAgent"
        )
    try:
        made: Trainer = trainer(run, config, algorithm, resume=resume, show=show)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, MemoryError) or "can't allocate memory" in str(error):
            raise ConfigError(f"the settings take more memory than there is: {error}") from error
        raise
    return made
