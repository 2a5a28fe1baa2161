"""Learning itself: two tasks of the suite, from nothing to a good score, in minutes."""

import pytest

from mjgym.train import algorithms, config, evaluation
from mjgym.train.run import Run
from mjgym.train.trainer import Trainer

pytestmark = [pytest.mark.slow, pytest.mark.torch]

# Small networks and long returns: what learns within few updates and seconds.
QUICK = (
    "hidden=[64,64]",
    "atoms=51",
    "batch_size=128",
    "learning_rate=1e-3",
    "target_rate=0.02",
    "n_step=5",
    "num_envs=16",
    "updates_per_step=0.25",
    "evaluations=1",
    "evaluation_episodes=2",
    "threads=1",
    "torch_threads=1",
    "tensorboard=false",
)


# Random policies have about 300 and 50. Other processors round otherwise, and a run that has learnt
# still swings between evaluations: the bounds leave room for that.
@pytest.mark.parametrize(
    ("id", "steps", "least"),
    [("dmc/cartpole-balance-v0", 60_000, 700), ("dmc/reacher-easy-v0", 72_000, 250)],
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
    assert result.returns.mean() > least, result.returns
