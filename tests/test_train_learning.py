"""Learning itself: two tasks of the suite, from nothing to a good score, in minutes."""

import pytest
import torch

from mjgym.train import algorithms, config, evaluation
from mjgym.train.run import Run
from mjgym.train.trainer import Trainer

pytestmark = [pytest.mark.slow, pytest.mark.torch]

# Small networks, long returns and many updates: what learns within few steps and seconds.
QUICK = (
    "hidden=[64,64]",
    "atoms=51",
    "batch_size=128",
    "learning_rate=1e-3",
    "target_rate=0.02",
    "n_step=10",
    "num_envs=8",
    "updates_per_step=1",
    "learning_starts=800",
    "evaluations=1",
    "evaluation_episodes=2",
    "threads=1",
    "torch_threads=1",
    "tensorboard=false",
)


@pytest.mark.parametrize(
    ("id", "steps", "least"),
    [("dmc/cartpole-balance-v0", 16_000, 900), ("dmc/reacher-easy-v0", 20_000, 800)],
)
def test_learns(id, steps, least, tmp_path):
    run = Run(tmp_path / "run")
    settings = config.read(
        algorithms.find("td3").Config, settings=QUICK, algorithm="td3", id=id, steps=steps
    )
    run.create(settings)
    Trainer(run, settings).train()
    envs = evaluation.make(id, 50, 1)
    result = evaluation.evaluate(run.policy(), envs, evaluation.SEEDS)
    envs.close()
    torch.set_flush_denormal(False)
    assert result.returns.mean() > least, result.returns
