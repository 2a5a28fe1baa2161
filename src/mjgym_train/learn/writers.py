"""Writers of metrics in addition to the run's file: TensorBoard, Weights & Biases."""

import dataclasses
import hashlib
import importlib.util
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

    Raises:
        RunError: Weights & Biases cannot be begun.
    """
    check(config)
    result: list[Writer] = []
    if config.tensorboard:
        from torch.utils.tensorboard import SummaryWriter

        # Later events of a resumed run are dropped.
        summary: Any = SummaryWriter(str(run.tensorboard), purge_step=env_step or None)
        result.append(summary)
    if config.wandb:
        result.append(WeightsAndBiases(run, config))
    return result


class WeightsAndBiases:
    """A Weights & Biases run named after the folder; a resumed run continues it.

    WANDB_MODE=offline keeps it in the folder for a later `wandb sync`.

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
        self._run.log({name: value}, step=step)

    def close(self) -> None:
        self._run.finish()
