"""Learning itself: a task of the suite and a toy, from nothing to a good score, in minutes."""

import pytest

from helpers import toys
from mjgym import register
from mjgym_train import config, evaluation, metrics
from mjgym_train.learn import algorithms
from mjgym_train.learn.training import make_trainer
from mjgym_train.run import Run

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

TD3 = (
    *("critics=2", "updates_per_step=0.25", "average_rate=null"),
    "exploration={gaussian: 1}",
)
PPO = ("rollout_steps=32", "minibatch_size=128", "discount=0.97", "learning_rate=1e-3")
TOY = "test/cart-follow-v0"
# Their episodes end after fewer steps of all, so that their returns are seen earlier.
FEW = "num_envs=8"


# Random actions have 340 and 8, zero actions 760 and 10.
@pytest.mark.parametrize(
    ("algorithm", "more", "id", "steps", "risen", "score", "enough"),
    [
        pytest.param(
            *("td3", (*TD3, FEW), "dmc/cartpole-balance-v0", 60_000, 900, 850, 890),
            marks=pytest.mark.nightly,
        ),
        ("ppo", PPO, TOY, 40_000, 12, 12.5, 14),
    ],
)
@pytest.mark.usefixtures("own_ids")
def test_learns(algorithm, more, id, steps, risen, score, enough, tmp_path):
    """Returns of training rise above a value, and the policy without noise has a score.

    Other processors round otherwise, and a run that has learnt still swings: so it has more steps
    than it needs, and ends as soon as the score is more than enough.
    """
    register(TOY)(toys.Follow)
    run = Run(tmp_path / "run")
    settings = config.read(
        algorithms.find(algorithm).Config,
        settings=[*QUICK, *more],
        algorithm=algorithm,
        id=id,
        steps=steps,
    )
    run.create(settings)
    made = make_trainer(run, settings)
    step, envs, best = made.step, evaluation.make(id, 50, 1), 0.0

    def step_until_learnt():
        nonlocal best
        step()
        best = max(best, made.progress().training_return or 0)
        if best > risen and made.env_step % settings.log_every == 0:
            policy = made.agent.policy(made.low, made.high)
            scored = evaluation.evaluate(policy, envs, evaluation.TRAINING_SEEDS[:50])
            if scored.returns.mean() > enough:
                made.stop()

    made.step = step_until_learnt
    made.train()
    returns = [
        m.value for m in metrics.read(run.metrics_file) if m.metric == metrics.TRAINING_RETURN
    ]
    assert max(returns) > risen, returns
    result = evaluation.evaluate(run.policy(), envs, evaluation.SEEDS)
    envs.close()
    assert result.returns.mean() > score, result.returns
