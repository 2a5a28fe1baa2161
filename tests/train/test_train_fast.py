"""The fast engine's updates, held to PyTorch's."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("numba")

from helpers import training_runs  # noqa: E402
from helpers.lanes import mostly_nightly  # noqa: E402
from mjgym.policies.run_errors import ConfigError, DivergedError  # noqa: E402
from mjgym_train.learn import algorithms, engines  # noqa: E402
from mjgym_train.learn.buffer import Batch  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.compiled]

OBSERVATIONS, ACTIONS, ROWS, N_STEP = 7, 3, 32, 3


def agent_of(algorithm, **settings):
    cls = algorithms.find(algorithm)
    config = cls.Config(
        id="dmc/walker-walk-v0",
        algorithm=algorithm,
        steps=1000,
        batch_size=ROWS,
        hidden=(24, 16),
        n_step=N_STEP,
        **settings,
    )
    torch.manual_seed(3)
    return cls(config, OBSERVATIONS, ACTIONS)


def batches(count):
    generator = torch.Generator().manual_seed(5)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    return [
        Batch(
            normal(ROWS, 1, OBSERVATIONS),
            torch.tanh(normal(ROWS, ACTIONS)),
            torch.rand(ROWS, N_STEP, generator=generator),
            torch.randint(1, N_STEP + 1, (ROWS,), generator=generator),
            normal(ROWS, 1, OBSERVATIONS),
            torch.rand(ROWS, generator=generator) < 0.2,
        )
        for _ in range(count)
    ]


def learned(agent, update, drawn):
    torch.manual_seed(11)
    metrics = [update(batch) for batch in drawn]
    return metrics, {name: value.clone() for name, value in agent.state_dict().items()}


PLAIN = [
    *((algorithm, critic, True, {}) for algorithm in ("td3", "ddpg", "sac")
      for critic in ("mean", "categorical", "quantile")),
    ("td3", "categorical", False, {}),
    ("sac", "mean", False, {}),
]  # fmt: skip
COUNTS = [("td3", "categorical", True, {"critics": count}) for count in (1, 3)]
HEADS = [
    (algorithm, critic, True, {"discounting": "hyperbolic", "heads": 4, "acting_value": acting})
    for algorithm, critic, acting in (
        ("td3", "quantile", "largest"),
        ("td3", "categorical", "hyperbolic"),
        ("ddpg", "mean", "mean"),
        ("sac", "quantile", "mean"),
        ("sac", "categorical", "largest"),
    )
]
CASES = [
    *PLAIN,
    *COUNTS,
    *HEADS,
    ("td3", "categorical", True, {"max_gradient_norm": 0.1}),
    ("d4pg", "categorical", False, {}),
    ("td3", "categorical", True, {"average_rate": 0.1}),
    ("ddpg", "mean", True, {"average_rate": 0.1}),
]


@pytest.mark.parametrize(("algorithm", "critic", "norm", "others"), mostly_nightly(CASES, 5))
def test_updates_are_pytorchs(algorithm, critic, norm, others):
    """Twenty updates leave every weight where PyTorch's leave it, and report the same losses."""
    agent = agent_of(algorithm, critic=critic, layer_norm=norm, **others)
    twin = agent_of(algorithm, critic=critic, layer_norm=norm, **others)
    drawn = batches(20)
    expected, weights = learned(agent, agent.update, drawn)
    found, moved = learned(twin, engines.update_of("fast", twin), drawn)
    for ours, theirs in zip(found, expected, strict=True):
        assert set(ours) == set(theirs)
        for name, value in theirs.items():
            assert float(ours[name]) == pytest.approx(float(value), rel=2e-4, abs=2e-5), name
    for name, value in weights.items():
        torch.testing.assert_close(moved[name], value, rtol=1e-4, atol=1e-4, msg=name)


@pytest.mark.parametrize("name", ["fast", "torch"])
def test_the_policy_is_the_averaged_actor(name):
    agent = agent_of("td3", average_rate=0.25)
    update = engines.update_of(name, agent)
    start = agent.actor.body[0].weight.detach().clone()
    first, second = batches(2)
    update(first)  # of the critics alone
    update(second)
    bounds = -np.ones(ACTIONS), np.ones(ACTIONS)
    found = agent.policy(*bounds).layers[0]["weight"]
    now = agent.actor.body[0].weight.detach()
    expected = start + 0.25 * (now - start)
    assert not torch.allclose(now, start)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


SMALL = training_runs.SMALL_REPLAY


@pytest.mark.weekly
@pytest.mark.parametrize("algorithm", ["td3", "sac"])
def test_an_interrupted_run_ends_as_one_that_was_not(algorithm, tmp_path):
    """Bit for bit, though the arrays of a checkpoint move into new memory."""
    settings = (*SMALL, "engine=fast")
    whole, second = training_runs.interrupted(tmp_path, *settings, algorithm=algorithm, at=140)
    assert whole.about()["learner"]["engine"] == "fast"
    for name in ("critic_optimizer", "actor_optimizer"):
        states = [getattr(made.agent, name).state_dict()["state"] for made in (whole, second)]
        for one, other in zip(states[0].values(), states[1].values(), strict=True):
            assert all(torch.equal(one[key], other[key]) for key in one)


def test_a_support_moves_with_what_was_learned(tmp_path):
    """Rewards beyond the support move it; the fast engine goes on with the mapped logits."""
    made = training_runs.trainer(
        tmp_path / "run", *SMALL, "engine=fast", "value_max=null", algorithm="td3"
    )
    made.train()
    agent = made.agent
    observation, action = torch.zeros(1, 1, made.collector.observation_size), torch.zeros(1, 1)
    before = agent.critic.value(agent.critics(observation, action))
    low, high = agent.critic.bounds
    made.range.add(torch.tensor([high]), torch.tensor([3 * high]))
    agent.fit_support(made.range, begun=True)
    assert agent.critic.bounds[1] > high
    after = agent.critic.value(agent.critics(observation, action))
    assert float((after - before).detach().abs().max()) < 0.1 * (high - low)
    parameters = made.update.__self__.critic_optimizer.parameters
    assert np.shares_memory(parameters, next(agent.critics.parameters()).detach().numpy())


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (("activation=tanh",), "activation=tanh"),
        (("ensemble=[{}, {history: 2}]",), "Ensemble has no fast update"),
    ],
)
def test_settings_that_need_pytorch(settings, reason, tmp_path):
    made = training_runs.trainer(tmp_path / "auto", *SMALL, *settings, algorithm="td3")
    assert made.engine == ("torch", reason)
    assert made.about()["learner"]["engine_reason"] == reason
    with pytest.raises(ConfigError, match=f"engine: no fast updates here: {reason}"):
        training_runs.trainer(tmp_path / "fast", *SMALL, *settings, "engine=fast", algorithm="td3")


def test_a_loss_that_is_not_finite_changes_nothing():
    agent = agent_of("td3")
    update = engines.update_of("fast", agent)
    (batch,) = batches(1)
    batch.rewards[:] = float("nan")
    before = {name: value.clone() for name, value in agent.critics.state_dict().items()}
    with pytest.raises(DivergedError, match="a loss is nan"):
        update(batch)
    assert all(torch.equal(value, agent.critics.state_dict()[n]) for n, value in before.items())
