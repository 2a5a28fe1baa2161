"""Small runs of training, for the tests of several algorithms."""

import os
import signal
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from typer.testing import CliRunner, Result

from mjgym.cli.app import app
from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.trainer import Trainer
from mjgym_train.learn.training import make_trainer
from mjgym_train.run import Run

ID = "dmc/cartpole-balance-v0"

# What makes any run small.
SMALL = (
    "num_envs=4",
    "threads=1",
    "hidden=[16]",
    "evaluations=2",
    "evaluation_episodes=2",
    "log_every=80",
    "tensorboard=false",
    "env.max_episode_steps=30",
)

# The same with a replay buffer.
SMALL_REPLAY = (
    *SMALL,
    "batch_size=16",
    "atoms=21",
    "learning_starts=40",
    "updates_per_step=0.1",
)

# In the folder of such a run.
FILES = {
    *("config.yaml", "metrics.csv", "policy.npz", "checkpoint.pt", "fingerprint.json"),
    *("best.npz", "critics.npz"),
}


def trainer(
    folder: Path,
    *settings: str,
    algorithm: str,
    id: str = ID,
    steps: int | None = 240,
    resume: bool = False,
    files: Sequence[Path] = (),
    **given: Any,
) -> Trainer:
    """A trainer of a small run, in a folder that is made unless a run is resumed."""
    run = Run(folder)
    cls = algorithms.find(algorithm).Config
    read = config.read(
        cls, files, [*SMALL, *settings], algorithm=algorithm, id=id, steps=steps, **given
    )
    if not resume:
        run.create(read)
    return make_trainer(run, read, resume=resume)


def interrupt_at(made: Trainer, env_step: int) -> None:
    """Have SIGINT come when a trainer has made so many steps."""
    step = made.step

    def stop_after_a_while() -> None:
        step()
        if made.env_step == env_step:
            os.kill(os.getpid(), signal.SIGINT)

    made.step = stop_after_a_while  # type: ignore[method-assign]


def weights(trained: Trainer) -> dict[str, torch.Tensor]:
    """All that an agent has learned, and its statistics."""
    return {name: value.clone() for name, value in trained.agent.state_dict().items()}


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    """Weights are the same, bit for bit."""
    assert set(one) == set(other)
    for name, value in one.items():
        assert torch.equal(value, other[name]), name


def interrupted(
    folder: Path, *settings: str, at: int, make: Callable[..., Trainer] = trainer, **given: Any
) -> tuple[Trainer, Trainer]:
    """A run, and the same run interrupted after so many steps and resumed: equal, bit for bit.

    Returns the trainers of `folder/whole` and `folder/parts`, which `make` makes of a folder, the
    settings and the arguments.
    """
    whole = make(folder / "whole", *settings, **given)
    whole.train()
    first = make(folder / "parts", *settings, **given)
    interrupt_at(first, at)
    assert first.train().env_step == at
    resumed = make(folder / "parts", *settings, resume=True, **given)
    assert resumed.env_step == at
    resumed.train()
    assert_equal(weights(whole), weights(resumed))
    return whole, resumed


def mjgym_(*words: Any, code: int | None = 0) -> Result:
    """Result of a command of `mjgym`, which ended with this code, or with any."""
    done = CliRunner(env={"COLUMNS": "200"}).invoke(app, [*map(str, words)])
    assert code in (None, done.exit_code), done.output + done.stderr
    return done
