"""Writers of metrics in addition to the run's file: TensorBoard, Weights & Biases."""

import dataclasses
import hashlib
from typing import Any, Protocol

from mjgym.policies.run_errors import RunError
from mjgym.util.packaged import install
from mjgym_train.config import Config
from mjgym_train.run import Run


class Writer(Protocol):
    """Interface of a writer of scalars."""

    def add_scalar(self, name: str, value: float, step: int) -> None:
        """Record a number at an environment step."""

    def close(self) -> None:
        """Flush and close."""


def writers(run: Run, config: Config, env_step: int) -> list[Writer]:
    """The writers that the settings name.

    Args:
        run: folder to write to.
        config: its settings.
        env_step: step that a resumed run continues from; 0 for a new one.

    Raises:
        RunError: a package is missing.
    """
    result: list[Writer] = []
    if config.tensorboard:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError:
            raise RunError(
                f"TensorBoard is not installed: {install('train')}, or set tensorboard=false"
            ) from None
        # Drop later events of a resumed run.
        tensorboard: Any = SummaryWriter(str(run.tensorboard), purge_step=env_step or None)
        result.append(tensorboard)
    if config.wandb:
        result.append(WeightsAndBiases(run, config))
    return result


class WeightsAndBiases:
    """A Weights & Biases run named after the folder; a resumed run continues it.

    WANDB_MODE=offline keeps it in the folder for a later `wandb sync`.

    Args:
        run: folder to write to.
        config: its settings, logged as the configuration.

    Raises:
        RunError: the package is missing, or the run cannot be started.
    """

    def __init__(self, run: Run, config: Config) -> None:
        try:
            import wandb
        except ImportError:
            raise RunError(f"Weights & Biases is not installed: {install('wandb')}") from None
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
        """Record a number at an environment step."""
        self._run.log({name: value}, step=step)

    def close(self) -> None:
        """Flush and finish."""
        self._run.finish()
