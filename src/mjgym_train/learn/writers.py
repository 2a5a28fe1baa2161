"""Writers of metrics in addition to the run's file: TensorBoard, Weights & Biases, Trackio."""

import dataclasses
import hashlib
import importlib
import importlib.util
from typing import Any

from mjgym.policies.run_errors import RunError
from mjgym.util.packaged import install
from mjgym_train.config import Config
from mjgym_train.run import Run

TRACKERS = {"wandb": "Weights & Biases", "trackio": "Trackio"}
"""Packages with the interface of wandb; a setting of the same name has the project."""


def check(config: Config) -> None:
    """Raise RunError if a package of the chosen writers is not installed."""
    if config.tensorboard and importlib.util.find_spec("tensorboard") is None:
        raise RunError(
            f"TensorBoard is not installed: {install('train')}, or set tensorboard=false"
        )
    for tracker, name in TRACKERS.items():
        if getattr(config, tracker) and importlib.util.find_spec(tracker) is None:
            raise RunError(f"{name} is not installed: {install(tracker)}")


def writers(run: Run, config: Config, env_step: int) -> list[Any]:
    """The writers that the settings name, each with the methods of `Tracker`."""
    check(config)
    trackers = [Tracker(name, run, config) for name in TRACKERS if getattr(config, name)]
    if not config.tensorboard:
        return trackers
    from torch.utils.tensorboard import SummaryWriter

    # Later events of a resumed run are dropped.
    return [SummaryWriter(str(run.tensorboard), purge_step=env_step or None), *trackers]


class Tracker:
    """A run of a tracker, named after the folder; a resumed run continues it.

    WANDB_MODE=offline keeps a run of Weights & Biases in the folder for a later `wandb sync`; runs
    of Trackio lie in TRACKIO_DIR.
    """

    def __init__(self, tracker: str, run: Run, config: Config) -> None:
        package = importlib.import_module(tracker)
        run.path.mkdir(parents=True, exist_ok=True)
        arguments: dict[str, Any] = {"name": run.path.name, "resume": "allow"}
        if tracker == "wandb":  # Trackio knows runs by project and name
            id = hashlib.sha256(str(run.path.absolute()).encode()).hexdigest()[:16]
            arguments |= {"dir": str(run.path), "id": id}
        try:
            self._run = package.init(
                project=getattr(config, tracker), config=dataclasses.asdict(config), **arguments
            )
        except Exception as error:  # of its own kinds
            raise RunError(f"{TRACKERS[tracker]}: {error}") from error

    def add_scalar(self, name: str, value: float, step: int) -> None:
        self._run.log({name: value}, step=step)

    def close(self) -> None:
        self._run.finish()
