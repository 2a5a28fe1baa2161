"""The setting `activation`: PyTorch's, NumPy's and ONNX's are one, in all that acts."""

import typing

import numpy as np
import pytest
import torch

from helpers.lanes import mostly_nightly
from mjgym.policies import activations
from mjgym.policies import network as policy
from mjgym.policies.network import Policy, PolicyError
from mjgym.policies.run_errors import ConfigError
from mjgym_train import config, onnx_graph
from mjgym_train.learn import algorithms, networks
from mjgym_train.learn.algorithms.ensemble import Ensemble

pytestmark = pytest.mark.torch

NAMES = typing.get_args(typing.get_type_hints(config.Config)["activation"])
SIZE, ACTIONS = 5, 3
LOW, HIGH = np.array([-1, 0, -3], np.float32), np.array([1, 5, 2], np.float32)
X = np.concatenate([np.linspace(-6, 6, 201), [-200, 200]]).astype(np.float32)
FROM_LEARNING = ("td3", "ddpg", "d4pg", "sac", "ppo", "a2c", "td3_bc", "iql", "bc", "dagger")


def made(algorithm: str, *settings: str):
    """An agent that has learned nothing, but whose networks are far from their start."""
    torch.manual_seed(0)
    cls = algorithms.find(algorithm)
    offline = ["data=x"] if algorithm in ("td3_bc", "iql", "bc") else []
    given = ["hidden=[8, 7]", *offline, *settings]
    if algorithm == "bc":
        given.append("chunk=1")
    read = config.read(cls.Config, (), given, algorithm=algorithm)
    whole = Ensemble if getattr(read, "ensemble", ()) else None
    agent = whole(cls, read, SIZE, ACTIONS) if whole else cls(read, SIZE, ACTIONS)
    with torch.no_grad():
        for parameter in agent.parameters():
            parameter.add_(torch.randn_like(parameter) / 2)
    agent.normalizer.update(torch.randn(30, SIZE) * 2 + 1)
    return agent


def test_every_name_is_everywhere() -> None:
    assert set(NAMES) == set(activations.ACTIVATIONS) == set(networks.ACTIVATIONS)


@pytest.mark.parametrize("name", NAMES)
def test_numpy_has_pytorchs_formula(name: str) -> None:
    wanted = networks.ACTIVATIONS[name]()(torch.tensor(X)).numpy()
    with np.errstate(all="raise", under="ignore"):
        found = activations.ACTIVATIONS[name](X)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("layer_norm", [True, False])
@pytest.mark.parametrize("name", mostly_nightly(NAMES, quick=3))
def test_a_policy_file_acts_as_the_agent_does(name, layer_norm, tmp_path) -> None:
    agent = made("td3", f"activation={name}", f"layer_norm={layer_norm}", "history=2")
    agent.policy(LOW, HIGH).save(tmp_path / "policy.npz")
    acting = policy.load(tmp_path / "policy.npz")
    rows = torch.randn(20, SIZE)
    wanted = agent.mean_action(rows[:, None].repeat(1, 2, 1)).numpy()
    np.testing.assert_allclose(acting(rows.numpy()), acting.scaled(wanted), atol=1e-5)


@pytest.mark.parametrize("algorithm", FROM_LEARNING)
def test_every_algorithm_has_it(algorithm: str) -> None:
    """In all networks, and in what acts for them; the same weights act otherwise by ReLUs."""
    agent = made(algorithm, "activation=tanh")
    kinds = {type(module) for module in agent.modules()}
    assert torch.nn.Tanh in kinds
    assert not kinds & {torch.nn.ReLU, torch.nn.SiLU, torch.nn.GELU, torch.nn.ELU}
    rows = torch.randn(20, SIZE)
    acting = agent.policy(LOW, HIGH)
    wanted = acting.scaled(agent.mean_action(rows[:, None]).numpy())
    np.testing.assert_allclose(acting(rows.numpy()), wanted, atol=1e-5)
    acting.activation = "relu"
    assert np.abs(acting(rows.numpy()) - wanted).max() > 0.05


@pytest.mark.parametrize("critic", ["mean", "categorical"])
def test_critics_of_a_file_value_as_the_agents_do(critic: str, tmp_path) -> None:
    agent = made("td3", "activation=elu", f"critic={critic}", "atoms=5")
    agent.valuation().save(tmp_path / "critics.npz")
    seen, action = torch.randn(6, SIZE), torch.rand(6, ACTIONS) * 2 - 1
    with torch.no_grad():
        wanted = agent.acting_value(agent.critics(seen[:, None], action)).mean(0).numpy()
    inputs = np.concatenate([seen.numpy(), action.numpy()], 1)[:, None]
    found = policy.load_valuation(tmp_path / "critics.npz")(inputs)[:, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-4)


def test_members_of_an_ensemble_differ_in_it(tmp_path) -> None:
    agent = made("td3", "ensemble=[{activation: silu}, {}, {activation: elu}]", "atoms=5")
    agent.policy(LOW, HIGH).save(tmp_path / "policy.npz")
    acting = policy.load(tmp_path / "policy.npz")
    assert [own.activation for own in acting.policies] == ["silu", "relu", "elu"]
    assert [own.activation for own in acting.valuations] == ["silu", "relu", "elu"]


@pytest.mark.parametrize("name", NAMES)
def test_a_graph_acts_as_the_policy_does(name: str) -> None:
    runtime = pytest.importorskip("onnxruntime")
    acting = made("sac", f"activation={name}").policy(LOW, HIGH)
    content = onnx_graph.graph_of(acting, "test").SerializeToString()
    session = runtime.InferenceSession(content, providers=["CPUExecutionProvider"])
    rows = np.random.default_rng(0).normal(size=(20, SIZE)).astype(np.float32)
    (found,) = session.run(None, {onnx_graph.INPUT: rows})
    np.testing.assert_allclose(found, acting(rows), atol=1e-5)


def test_mistakes_are_named(tmp_path) -> None:
    with pytest.raises(ConfigError, match=r"must be one of relu, leaky_relu, .*, got 'rel'"):
        config.read(algorithms.find("td3").Config, (), ["activation=rel"])
    zeros = np.zeros(2, np.float32)
    layer = {"weight": np.zeros((2, 2)), "bias": zeros}
    Policy([layer], zeros, zeros + 1, zeros, zeros, activation="silo").save(tmp_path / "p.npz")
    with pytest.raises(PolicyError, match="no activation 'silo'; did you mean silu"):
        policy.load(tmp_path / "p.npz")
