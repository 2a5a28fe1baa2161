"""Training on the tensors of a device: the same transitions as of the processor, not copied."""

import json

import pytest

pytest.importorskip("mujoco_warp", reason='needs MuJoCo Warp: pip install -e ".[gpu]"')
pytest.importorskip("yaml", reason='needs PyYAML: pip install -e ".[train]"')

import torch
from typer.testing import CliRunner

from helpers.devices import DEVICE
from helpers.lanes import mostly_nightly
from mjgym.cli.app import app
from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.collector import Collector
from mjgym_train.run import Run

pytestmark = pytest.mark.warp

ID = "dmc/cartpole-balance-v0"
N, LIMIT = 4, 13  # sub-environments, and steps of an episode
SMALL = (
    "num_envs=4",
    "hidden=[16]",
    "evaluations=1",
    "evaluation_episodes=2",
    "log_every=40",
    "tensorboard=false",
    "history=2",
    f"env.max_episode_steps={LIMIT}",
)
OF_ALGORITHM = {
    "td3": ("batch_size=16", "learning_starts=40", "updates_per_step=0.1"),
    "ppo": ("rollout_steps=10",),
}
WARP = ("env.backend=warp", f"env.device={DEVICE}", "env.nconmax=16", "env.njmax=32")


def settings(*more):
    cls = algorithms.find("td3").Config
    return config.read(cls, (), [*SMALL, *more], algorithm="td3", id=ID, seed=3)


def test_transitions_are_those_of_the_processor():
    ours, theirs = Collector(settings(*WARP)), Collector(settings("threads=1"))
    assert ours.begin().cpu().allclose(theirs.begin(), atol=1e-5)
    ended = 0
    for _ in range(2 * LIMIT):
        action = torch.rand(N, 1) * 2 - 1
        one, other = ours.step(action.to(ours.device)), theirs.step(action)
        for name, value in vars(other).items():
            found = getattr(one, name).cpu()
            assert found.dtype == value.dtype, name
            assert torch.allclose(found.double(), value.double(), atol=1e-4), name
        assert ours.stack.cpu().allclose(theirs.stack, atol=1e-4)
        assert ours.returns == pytest.approx(theirs.returns, abs=1e-3)
        ended += int(one.ended.sum())
    assert ended == 2 * N  # at different steps
    ours.close()
    theirs.close()


def test_observations_are_not_copied():
    collector = Collector(settings(*WARP, "stagger=false"))
    collector.begin()
    given = []
    step = collector.envs.step

    def noting(actions):
        assert isinstance(actions, torch.Tensor)
        result = step(actions)
        given.append(result)
        return result

    collector.envs.step = noting
    transition = collector.step(torch.zeros(N, 1, device=collector.device))
    observation, reward, terminated, *_ = given[0]
    assert transition.following.data_ptr() == observation.data_ptr()
    assert transition.reward.data_ptr() == reward.data_ptr()
    assert transition.terminated.data_ptr() == terminated.data_ptr()
    collector.close()


def test_images_at_the_end_of_an_episode_are_its_last():
    images = ("env.observation=pixels", "env.pixels={width: 32, height: 33}", "stagger=false")
    collector = Collector(settings(*WARP, *images))
    start = collector.begin()
    for _ in range(LIMIT):
        transition = collector.step(torch.ones(N, 1, device=collector.device))
    assert transition.ended.all()
    assert transition.following.shape == (N, 33, 32, 3)
    before = [torch.equal(a, b) for a, b in zip(transition.following, start, strict=True)]
    assert before == [False] * N
    assert transition.following.dtype == collector.observation.dtype == torch.uint8
    assert not torch.equal(transition.following, collector.observation)
    collector.close()


@pytest.mark.parametrize("algorithm", mostly_nightly(OF_ALGORITHM, 2))
def test_the_command_trains_goes_on_and_evaluates(algorithm, tmp_path):
    run = str(tmp_path / "run")
    command = ["train", algorithm, ID, *SMALL, *OF_ALGORITHM[algorithm], *WARP, "--out", run]
    for steps, *more in (["120"], ["240", "--resume"]):
        result = CliRunner().invoke(app, [*command, "--steps", steps, *more])
        assert result.exit_code == 0, result.output
    rows = Run(run).metrics()
    assert max(row.env_step for row in rows) == 240
    assert max(row.updates for row in rows) > 10
    result = CliRunner().invoke(app, ["evaluate", run, "--json"])  # on the processor
    assert result.exit_code == 0, result.output
    assert 0 < json.loads(result.stdout)["mean"] <= LIMIT
