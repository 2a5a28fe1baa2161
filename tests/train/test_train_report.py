"""The learners of the control suite's report of 2018."""

import pytest
import torch

from helpers.training_runs import ID, SMALL
from mjgym.mjcf import asset_path
from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.algorithms.ddpg import DDPG
from mjgym_train.learn.exploration import OrnsteinUhlenbeck
from mjgym_train.learn.training import make_trainer
from mjgym_train.run import Run

pytestmark = pytest.mark.torch

QUICK = [s for s in SMALL if not s.startswith(("num_envs", "hidden"))]


def read(algorithm, *files, more=(), steps=640):
    given = {"algorithm": algorithm, "id": ID, "steps": steps}
    paths = [asset_path(f"training/{file}_2018.yaml") for file in files]
    cls = algorithms.find(algorithm).Config
    return config.read(cls, paths, [*QUICK, "learning_starts=320", *more], **given)


def trained(folder, settings):
    run = Run(folder)
    run.create(settings)
    made = make_trainer(run, settings)
    made.train()
    return made


def widths(body):
    return [tuple(layer.weight.shape) for layer in body if isinstance(layer, torch.nn.Linear)]


@pytest.mark.weekly
@pytest.mark.parametrize("file", ["d4pg", "ddpg"])
def test_networks_are_the_reports(file, tmp_path):
    made = trained(tmp_path, read(file, file, more=["updates_per_step=0.05"]))
    agent, size, atoms = made.agent, 5, 1 if file == "ddpg" else 101
    assert widths(agent.actor.body) == [(300, size), (200, 300), (1, 200)]
    assert widths(agent.critics.bodies[0]) == [(400, size), (300, 401), (atoms, 300)]
    assert made.updates >= 16
    assert made.engine[0] == "torch"
    assert not (tmp_path / "critics.npz").exists()  # the action enters late


@pytest.mark.weekly
def test_actors_of_d4pg_have_scales_of_their_own(tmp_path):
    made = trained(tmp_path, read("d4pg", "d4pg", steps=640, more=["updates_per_step=0.05"]))
    scales = made.agent.exploration.scales[:, 0]
    torch.testing.assert_close(scales, torch.arange(1, 33) / 32)
    assert made.agent.critic.bounds == (-150, 150)
    assert made.buffer.sample(9).weight.max() == 1


def test_the_action_enters_at_its_layer():
    settings = DDPG.Config(hidden=(4,), critic_hidden=(6, 5), action_layer=1, layer_norm=False)
    agent = DDPG(settings, 3, 2)
    first, act, second, _, last = agent.critics.bodies[0]
    observation, action = torch.randn(7, 1, 3), torch.randn(7, 2)
    x = act(first(observation[:, 0]).clone())
    wanted = last(torch.relu(x @ second.weight[:, :6].T + action @ second.weight[:, 6:].T
                             + second.bias))  # fmt: skip
    torch.testing.assert_close(agent.critics(observation, action)[0, :, 0], wanted)


def test_ornstein_uhlenbeck_noise():
    settings = DDPG.Config(ou_damping=0.2, ou_scale=0.3)
    noise = OrnsteinUhlenbeck(settings, 4000, 1)
    still, states = torch.zeros(4000, 1), []
    for _ in range(60):
        states.append(noise(still, still, 1.0).clone())
    deviation = 0.3 / (1 - 0.8**2) ** 0.5  # of an autoregression with the factor 0.8
    assert float(states[-1].std()) == pytest.approx(deviation, rel=0.05)
    both = torch.cat(states[-2:], 1).T
    assert float(torch.corrcoef(both)[0, 1]) == pytest.approx(0.8, abs=0.03)
    noise.begin(torch.arange(4000) < 1)
    assert noise.state[0] == 0
    assert noise.state[1] != 0


@pytest.mark.weekly
@pytest.mark.gl
def test_from_images(tmp_path):
    more = ["num_envs=2", "batch_size=4", "learning_starts=20", "updates_per_step=0.1"]
    more += ["buffer_size=100", "env.render_quality=fast"]
    made = trained(tmp_path, read("d4pg", "d4pg", "d4pg_pixels", steps=60, more=more))
    layers = made.run_folder.policy().encoder
    assert [layer["weight"].shape for layer in layers[:2]] == [(32, 9, 3, 3), (32, 32, 3, 3)]
    stack = made.collector.stack
    policy = made.run_folder.policy()
    for k in range(3):
        acted = policy(stack[:, k].numpy())
    seen = made.agent.mean_action(stack).numpy()
    assert abs(acted - seen).max() < 1e-4
