"""Noise that actors explore with: what is drawn, how far it moves actions, how it goes on."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from helpers import own_noise
from helpers.lanes import mostly_nightly
from helpers.training_runs import SMALL_REPLAY, interrupted, mjgym_
from mjgym.policies.run_errors import ConfigError
from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.algorithms.td3 import TD3Config
from mjgym_train.learn.exploration import STRATEGIES, Exploration
from mjgym_train.learn.networks import perceptron

pytestmark = pytest.mark.torch

INPUTS, ACTIONS = 6, 3
PARAMETER = {"exploration": {"parameter": 1}}


def made(*, hidden=(32, 32), layer_norm=True, exploration=None, **settings):
    body = perceptron(INPUTS, hidden, ACTIONS, layer_norm=layer_norm)
    exploration = exploration or {"gaussian": 1}
    config = TD3Config(hidden=hidden, exploration=exploration, **settings)
    return body, Exploration(config, config.num_envs, body)


def every(n):
    return torch.ones(n, dtype=torch.bool)


@torch.no_grad()
def still(body, inputs):
    return torch.tanh(body(inputs))


def own_noise_of(explore):
    """The only module of a user's own noise."""
    (noise,) = (m for m in explore.modules() if isinstance(m, own_noise.OrnsteinUhlenbeck))
    return noise


def distance(one, other):
    return (one - other).square().mean().sqrt().item()


class TestDraws:
    @pytest.mark.slow
    def test_strategies_have_their_shares(self):
        shares = {"gaussian": 0.7, "parameter": 0.2, "none": 0.1}
        body, explore = made(hidden=(4,), num_envs=3_000, exploration=shares)
        explore(body, torch.randn(3_000, INPUTS))
        for number, name in enumerate(STRATEGIES):
            expected = 3_000 * shares[name]
            found = int((explore.strategies == number).sum())
            assert abs(found - expected) < 5 * math.sqrt(expected * (1 - shares[name]))
        assert torch.equal(explore.scales[:, 0] > 0, explore.strategies == 0)
        assert torch.equal(explore.sigmas > 0, explore.strategies == 1)

    def test_scales_lie_between_their_bounds(self):
        body, explore = made(num_envs=2_000, noise_min=0.1, noise_max=0.3)
        explore(body, torch.randn(2_000, INPUTS))
        assert explore.scales.min() >= 0.1
        assert explore.scales.max() <= 0.3
        assert explore.scales.mean().item() == pytest.approx(0.2, abs=0.01)

    def test_only_episodes_that_begin_draw(self):
        body, explore = made(num_envs=8, exploration={"gaussian": 1, "parameter": 1})
        inputs = torch.randn(8, INPUTS)
        explore(body, inputs)
        before = {name: value.clone() for name, value in explore.named_buffers()}
        begun = torch.arange(8) % 2 == 0
        explore.begin(begun)
        explore(body, inputs)
        for name in ("strategies", "scales", "sigmas", "_weights0", "_biases2"):
            assert torch.equal(explore.get_buffer(name)[~begun], before[name][~begun]), name
        assert not torch.equal(explore.scales[begun], before["scales"][begun])

    @pytest.mark.slow
    def test_noise_of_actions_has_its_scale(self):
        body, explore = made(num_envs=4, noise_min=0.02, noise_max=0.2)
        inputs = torch.randn(4, INPUTS)
        moved = torch.stack([explore(body, inputs) for _ in range(2_000)]) - still(body, inputs)
        torch.testing.assert_close(moved.std((0, 2)), explore.scales[:, 0], rtol=0.08, atol=1e-3)


class TestNoisyWeights:
    @pytest.mark.parametrize("layer_norm", [True, False])
    @pytest.mark.parametrize("goal", mostly_nightly([0.05, 0.2, 0.5], quick=3))
    def test_actions_move_by_the_distance_that_is_wanted(self, goal, layer_norm):
        """On the last observations, which sigma was found by: in every sub-environment."""
        body, explore = made(num_envs=64, layer_norm=layer_norm, parameter_noise=goal, **PARAMETER)
        inputs = torch.randn(64, INPUTS)
        explore(body, inputs)
        for env in range(64):
            one = torch.tensor([env])
            with torch.no_grad():
                moved = explore.perturbed(body, inputs[None], one, explore.sigmas[one])[0]
            assert distance(moved, still(body, inputs)) == pytest.approx(goal, rel=0.02)

    @torch.no_grad()
    def test_the_perturbed_actor_is_one_with_other_weights(self):
        """Brute force: a copy whose linear layers have the noise added; the others stay."""
        body, explore = made(num_envs=3, **PARAMETER)
        inputs = torch.randn(3, INPUTS)
        action = explore(body, inputs)
        for env in range(3):
            copy = perceptron(INPUTS, (32, 32), ACTIONS, layer_norm=True)
            copy.load_state_dict(body.state_dict())
            linear = [layer for layer in copy if isinstance(layer, nn.Linear)]
            for k, layer in enumerate(linear):
                sigma = explore.sigmas[env]
                layer.weight += sigma * explore.get_buffer(f"_weights{k}")[env].T
                layer.bias += sigma * explore.get_buffer(f"_biases{k}")[env, 0]
            torch.testing.assert_close(action[env], still(copy, inputs[env]), atol=1e-5, rtol=1e-5)
        norms = sum(isinstance(layer, nn.LayerNorm) for layer in body)
        assert norms == 2
        noises = [name for name, _ in explore.named_buffers() if name.startswith("_weights")]
        assert len(noises) == 3  # one for each linear layer, none for the normalisations

    def test_an_episode_keeps_its_noise(self):
        body, explore = made(num_envs=2, **PARAMETER)
        inputs = torch.randn(2, INPUTS)
        assert torch.equal(explore(body, inputs), explore(body, inputs))
        explore.begin(torch.tensor([True, False]))
        before, after = (explore(body, inputs) for _ in range(2))
        assert torch.equal(before, after)

    def test_the_actor_itself_is_left_alone(self):
        body, explore = made(num_envs=2, **PARAMETER)
        before = {name: value.clone() for name, value in body.state_dict().items()}
        explore(body, torch.randn(2, INPUTS))
        assert all(torch.equal(before[name], value) for name, value in body.state_dict().items())


class TestSchedule:
    def factors(self, schedule):
        body, explore = made(
            num_envs=10, noise_schedule=schedule, noise_final=0.25, noise_steps=100
        )
        found = []
        for _ in range(15):
            found.append(explore.factor())
            explore(body, torch.zeros(10, INPUTS))
        return found

    @pytest.mark.parametrize(
        ("schedule", "wanted"),
        [
            ("linear", lambda k: 1 - 0.75 * min(k / 10, 1)),
            ("exponential", lambda k: 0.25 ** min(k / 10, 1)),
            ("constant", lambda k: 1),
        ],
    )
    def test_factors(self, schedule, wanted):
        assert self.factors(schedule) == pytest.approx([wanted(k) for k in range(15)])

    @pytest.mark.slow
    def test_scales_all_noise(self):
        settings = {"noise_schedule": "linear", "noise_final": 0.1, "noise_steps": 1}
        body, explore = made(num_envs=200, exploration={"gaussian": 1, "parameter": 1}, **settings)
        inputs = torch.randn(200, INPUTS)
        explore(body, inputs)
        explore.begin(every(200))
        explore(body, inputs)
        gaussian = explore.strategies == 0
        assert explore.scales[gaussian].mean().item() == pytest.approx(0.0225, rel=0.15)
        env = torch.nonzero(~gaussian)[0]
        with torch.no_grad():
            moved = explore.perturbed(body, explore._probes[None], env, explore.sigmas[env])[0]
        assert distance(moved, still(body, explore._probes)) == pytest.approx(0.02, rel=0.03)


def test_goes_on_from_its_state_bit_for_bit():
    settings = {
        "num_envs": 6,
        "exploration": {"gaussian": 0.5, "parameter": 0.5},
        "noise_schedule": "exponential",
        "noise_steps": 60,
    }
    body, whole = made(**settings)
    inputs = torch.randn(12, 6, INPUTS)
    for k in range(6):
        whole.begin(torch.rand(6) < 0.3)
        whole(body, inputs[k])
    _, other = made(**settings)
    other.load_state_dict(whole.state_dict())
    found = []
    for explore in (whole, other):
        torch.manual_seed(7)
        actions = []
        for k in range(6, 12):
            explore.begin(torch.rand(6) < 0.3)
            actions.append(explore(body, inputs[k]))
        found.append(torch.stack(actions))
    assert torch.equal(*found)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("exploration.parametr=1", "there is no 'parametr'; did you mean parameter"),
        ("exploration.gaussian=-1", "exploration.gaussian: must be a share"),
        ("exploration.none=yes", "exploration.none: must be a share"),
        ("exploration={none: 0}", "the shares are all 0"),
        ("parameter_noise=0", "parameter_noise: must lie between 0 and 1"),
        ("noise_final=0", "noise_final: must be positive"),
        ("noise_schedule=cosine", "noise_schedule must be"),
        ("noise_steps=0", "noise_steps: must be at least 1"),
        ("noise_min=0.5", "noise_max: must be at least 0.5"),
    ],
)
def test_mistakes_are_named(settings, message):
    with pytest.raises(ConfigError) as caught:
        config.read(algorithms.find("td3").Config, (), [settings])
    assert message in str(caught.value)


OWN = "helpers.own_noise:OrnsteinUhlenbeck"


class TestOfOnesOwn:
    def test_acts_in_its_share_of_the_episodes(self):
        body, explore = made(num_envs=900, exploration={OWN: 1, "none": 2}, noise_max=0.3)
        inputs = torch.randn(900, INPUTS)
        action = explore(body, inputs)
        own = explore.strategies == len(STRATEGIES)
        assert abs(int(own.sum()) - 300) < 5 * math.sqrt(200)
        noise = own_noise_of(explore)
        assert torch.equal(noise.begun, own.long())
        assert torch.equal(action[~own], still(body, inputs)[~own])
        wanted = (still(body, inputs) + noise.state).clamp(-1, 1)
        assert torch.equal(action[own], wanted[own])
        assert noise.state.std().item() == pytest.approx(0.3, rel=0.1)

    def test_only_its_own_episodes_begin_anew(self):
        body, explore = made(num_envs=300, exploration={OWN: 1, "gaussian": 1})
        explore(body, torch.zeros(300, INPUTS))
        before = own_noise_of(explore).begun.clone()
        begun = torch.arange(300) % 3 == 0
        explore.begin(begun)
        explore(body, torch.zeros(300, INPUTS))
        own = explore.strategies == len(STRATEGIES)
        assert torch.equal(own_noise_of(explore).begun - before, (begun & own).long())

    def test_follows_the_schedule(self):
        settings = {"noise_schedule": "linear", "noise_final": 0.01, "noise_steps": 1}
        body, explore = made(num_envs=500, exploration={OWN: 1}, noise_max=0.5, **settings)
        explore(body, torch.zeros(500, INPUTS))
        explore.begin(every(500))
        explore(body, torch.zeros(500, INPUTS))
        assert own_noise_of(explore).state.std().item() == pytest.approx(0.005, rel=0.1)

    @pytest.mark.parametrize(
        ("name", "message"),
        [
            ("helpers.own_noise:Missing", "has no attribute 'Missing'"),
            ("nowhere_at_all:Noise", "No module named 'nowhere_at_all'"),
            (":Noise", "exploration: :Noise: "),
            ("helpers.own_noise:not_a_class", "helpers.own_noise:not_a_class is no class"),
            ("helpers.own_noise:Plain", "helpers.own_noise:Plain is no torch.nn.Module"),
            ("helpers.own_noise:Restless", "helpers.own_noise:Restless has no begin"),
            ("helpers.own_noise:Still", "helpers.own_noise:Still has no forward"),
            (
                "helpers.own_noise:Short",
                "helpers.own_noise:Short.forward takes (action, inputs, factor): ",
            ),
            (
                "helpers.own_noise:Needy",
                "is made with (config, n, action_size): missing a required",
            ),
        ],
    )
    def test_says_what_is_wrong_before_anything_is_made(self, name, message):
        with pytest.raises(ConfigError) as caught:
            made(exploration={name: 1})
        assert message in str(caught.value)
        assert str(caught.value).startswith("exploration: ")

    @pytest.mark.parametrize(
        ("name", "message"),
        [("Narrow", r"Narrow gives \(16, 2\), not actions \(16, 3\)"), ("Endless", "not finite")],
    )
    def test_says_what_is_wrong_with_its_actions(self, name, message):
        body, explore = made(exploration={f"helpers.own_noise:{name}": 1})
        with pytest.raises(ConfigError, match=message):
            explore(body, torch.randn(16, INPUTS))

    @pytest.mark.weekly
    def test_a_run_goes_on_bit_for_bit_and_keeps_its_source(self, tmp_path):
        setting = f"exploration={{{OWN}: 0.6, gaussian: 0.2, parameter: 0.2}}"
        settings = (*SMALL_REPLAY, setting)
        interrupted(tmp_path, *settings, algorithm="td3", at=120)
        kept = tmp_path / "whole" / "source" / "own_noise.py"
        assert kept.read_text() == Path(own_noise.__file__).read_text()

    @pytest.mark.weekly
    def test_from_the_command_line_in_the_working_folder(self, tmp_path, monkeypatch):
        """Named in a file of settings, or going on with it, it takes trust."""
        text = Path(own_noise.__file__).read_text()
        (tmp_path / "noise_of_this_folder.py").write_text(text)
        monkeypatch.chdir(tmp_path)
        name = "noise_of_this_folder:OrnsteinUhlenbeck"
        (tmp_path / "own.yaml").write_text(f"exploration: {{{name}: 1}}\n")
        words = ("train", "td3", "dmc/cartpole-balance-v0", *SMALL_REPLAY, "--out", "run")
        done = mjgym_(*words, "--steps", 80, "--config", "own.yaml", code=2)
        assert name in "".join(done.stderr.split())
        assert not (tmp_path / "run").exists()
        mjgym_(*words, "--steps", 80, "--config", "own.yaml", "--trust")
        assert (tmp_path / "run" / "source" / "noise_of_this_folder.py").read_text() == text
        done = mjgym_(*words, "--steps", 160, "--resume", code=2)
        assert name in "".join(done.stderr.split())
        mjgym_(*words, "--steps", 160, "--resume", "--trust")
        done = mjgym_(*words, "exploration={nosuch_module:Noise: 1}", "--overwrite", code=2)
        assert "nosuch_module" in done.stderr
        assert (tmp_path / "run" / "policy.npz").exists()
