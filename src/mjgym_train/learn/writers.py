"""Writers of metrics beside a run's file: TensorBoard, Weights & Biases."""

import dataclasses
import hashlib
import importlib.util
from typing import Any, Protocol

from mjgym.policies.run_errors import RunError
from mjgym.util.packaged import install
from mjgym_train.config import Config
from mjgym_train.run import Run


class Writer(Protocol):
    """Takes numbers by name."""

    def add_scalar(self, name: str, value: float, step: int) -> None:
        """Add a number at an environment step."""

    def close(self) -> None:
        """Write all that is left."""


def check(config: Config) -> None:
    """See whether the packages of the writers that the settings name are installed.

    Raises:
        RunError: one is missing.
    """
    if config.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise RunError(
            f"TensorBoard is not installed: {install('train')}, or set tensorboard=false"
        )
    if config.wandb and importlib.util.find_spec("wandb") is None:
        raise RunError(f"Weights & Biases is not installed: {install('wandb')}")


def writers(run: Run, config: Config, env_step: int) -> list[Writer]:
    """The writers that the settings name.

    Args:
        run: whose folder they write to.
        config: its settings.
        env_step: from which a resumed run goes on; 0 of a new one.

    Raises:
        RunError: Weights & Biases cannot be begun.
    """
    check(config)
    found: list[Writer] = []
    if config.tensorboard:
        from torch.utils.tensorboard import SummaryWriter

        # Later events of a resumed run are dropped.
        made: Any = SummaryWriter(str(run.tensorboard), purge_step=env_step or None)
        found.append(made)
    if config.wandb:
        found.append(WeightsAndBiases(run, config))
    return found


class WeightsAndBiases:
    """A run of Weights & Biases, named as the folder; a resumed run goes on with its own.

    WANDB_MODE=offline keeps it in the folder, from which `wandb sync` sends it later.

    Args:
        run: whose folder it writes to.
        config: its settings, which are its.

    Raises:
        RunError: it cannot be begun.
    """

    def __init__(self, run: Run, config: Config) -> None:
        import wandb

        run.path.mkdir(parents=True, exist_ok=True)
        try:
            self._run = wandb.init(
                project=config.wandb,
                dir=str(run.path),
                name=run.path.name,
                id=hashlib.sha256(str(run.path.absolute()).encode()).hexdigest()[:16],
                resume="allow",
                config=dataclasses.asdict(config),
            )
        except wandb.Error as error:
            raise RunError(f"Weights & Biases: {error}") from error

    def add_scalar(self, name: str, value: float, step: int) -> None:
        """Add a number at an environment step."""
        self._run.log({name: value}, step=step)

    def close(self) -> None:
        """Send, or keep, all that is left."""
        self._run.finish()
