"""Learning itself: two tasks of the suite, from nothing to a good score, in minutes."""

import pytest

from mjgym.train import algorithms, config, evaluation, metrics
from mjgym.train.run import Run
from mjgym.train.trainer import Trainer

pytestmark = [pytest.mark.slow, pytest.mark.torch]

# Small networks: what learns within few updates and seconds.
QUICK = (
    "hidden=[64,64]",
    "num_envs=16",
    "evaluations=1",
    "evaluation_episodes=2",
    "threads=1",
    "torch_threads=1",
    "tensorboard=false",
)

TD3 = ("atoms=51", "batch_size=128", "n_step=5")
PPO = ("rollout_steps=32", "minibatch_size=128", "discount=0.97", "learning_rate=1e-3")


# Random actions have 340, 50 and 30, zero actions 760, 0 and 0. Other processors round otherwise,
# and a run that has learnt still swings between evaluations: the scores have room for that.
@pytest.mark.parametrize(
    ("algorithm", "more", "id", "steps", "risen", "score"),
    [
        ("td3", TD3, "dmc/cartpole-balance-v0", 60_000, 900, 850),
        ("td3", TD3, "dmc/reacher-easy-v0", 40_000, 800, 400),
        ("ppo", PPO, "dmc/cartpole-swingup-v0", 32_000, 50, 100),
    ],
)
def test_learns(algorithm, more, id, steps, risen, score, tmp_path):
    """Returns of training rise above a value, and the policy without noise has a score."""
    run = Run(tmp_path / "run")
    settings = config.read(
        algorithms.find(algorithm).Config,
        settings=[*QUICK, *more],
        algorithm=algorithm,
        id=id,
        steps=steps,
    )
    run.create(settings)
    Trainer(run, settings).train()
    returns = [
        m.value for m in metrics.read(run.metrics_file) if m.metric == metrics.TRAINING_RETURN
    ]
    assert max(returns) > risen, returns
    envs = evaluation.make(id, 50, 1)
    result = evaluation.evaluate(run.policy(), envs, evaluation.SEEDS)
    envs.close()
    assert result.returns.mean() > score, result.returns
