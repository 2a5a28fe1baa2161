"""DAgger: labels where the learner leads, whole runs, refusals."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from helpers import training_runs
from helpers.training_runs import interrupted
from mjgym import register
from mjgym.policies.run_errors import ConfigError
from mjgym.tasks.dmc.point_mass import PointMass
from mjgym_train.learn.led_by_script import Labels

pytestmark = pytest.mark.torch

SMALL = ("env.max_episode_steps=20", "learning_starts=64", "evaluations=1", "evaluation_episodes=2")
HARD = "dmc/point_mass-hard-v0"


@register("test/point_mass-scripted-v0")
@dataclass(frozen=True)
class Scripted(PointMass):
    """Bring the mass to the target, as a script does. Reward: as there. Start: anywhere.

    Observation: position and velocity.
    """

    def scripted_policy(self):
        return lambda seen: np.clip(-40 * seen["position"] - 16 * seen["velocity"], -1, 1)


def trainer(folder, *settings, id=HARD, **given):
    return training_runs.trainer(folder, *SMALL, *settings, algorithm="dagger", id=id, **given)


def stepped(made, count):
    made.begin()
    for _ in range(count):
        made.step()
    return made


def test_labels_are_the_scripts_actions_where_the_learner_is(tmp_path) -> None:
    made = stepped(trainer(tmp_path, "led=0", id="test/point_mass-scripted-v0"), 60)
    assert not made.led.any()
    arrays = made.buffer.state_dict()["arrays"]
    seen = arrays["observation"].numpy()
    expected = Scripted().scripted_policy()({"position": seen[:, :2], "velocity": seen[:, 2:]})
    np.testing.assert_allclose(arrays["action"].numpy(), expected, atol=1e-5)
    made.close()


def test_the_script_leads_until_learning_starts_and_its_share_then(tmp_path) -> None:
    made = stepped(trainer(tmp_path, "led=0.5", "num_envs=40", "learning_starts=1600"), 20)
    assert made.led.all()
    stepped(made, 40)
    assert 5 < made.led.sum() < 35
    assert made.updates > 0
    made.close()


def test_a_scripted_leader_acts_as_it_says_but_for_the_noise(tmp_path) -> None:
    settings = ("noise=0", "history_actions=true", "learning_starts=10000")
    made = stepped(trainer(tmp_path, *settings), 15)
    arrays, n = made.buffer.state_dict()["arrays"], made.config.num_envs
    later = arrays["age"][n:] > 0
    np.testing.assert_array_equal(
        arrays["observation"][n:, -2:][later], arrays["action"][:-n][later]
    )
    made.close()


def test_chunks_are_labels_in_a_row_up_to_the_end_of_the_episode() -> None:
    buffer = Labels(60, 2, 1, 1, history=2)
    for t in range(25):  # two episodes of ten steps, in which everything is 10 t + environment
        now = torch.tensor([[10.0 * t], [10.0 * t + 1]])
        age = torch.full((2,), t % 10, dtype=torch.int32)
        ended = torch.full((2,), t % 10 == 9)
        buffer.add(
            observation=now, action=now, reward=now[:, 0], following=now, terminated=ended,
            ended=ended, age=age,
        )  # fmt: skip
    drawn = buffer.chunks(400, 2, 3)
    first = drawn.observation[:, -1, 0]
    t, env = first // 10, first % 10
    for k in range(3):
        there = (t % 10 + k < 10) & (t + k < 25)
        assert (drawn.there[:, k] == there).all()
        assert (drawn.action[there, k, 0] == 10 * (t + k)[there] + env[there]).all()
    before = torch.where(t % 10 > 0, first - 10, first)
    assert (drawn.observation[:, 0, 0] == before).all()
    assert len(set(first.tolist())) == 50


def test_a_checkpoint_has_the_phases_of_reflexes(tmp_path) -> None:
    made = stepped(trainer(tmp_path / "one", id="l2m/walk_planar-fast-v0"), 5)
    other = trainer(tmp_path / "other", id="l2m/walk_planar-fast-v0")
    other.load_state(made.state())
    assert made.script._phases
    for name, phases in made.script._phases.items():
        np.testing.assert_array_equal(other.script._phases[name], phases)
    made.close()
    other.close()


@pytest.mark.parametrize(
    "id", [HARD, "manipulation/reach_site_features-v0", "l2m/walk_planar-fast-v0"]
)
def test_an_interrupted_run_ends_like_a_whole_one(id, tmp_path) -> None:
    """Scripts keep what they know of their episodes, an estimate, a stage or phases."""
    given = {"id": id, "steps": 32 * 15, "at": 32 * 8}
    settings = ("num_envs=32", "history=3", "history_actions=true", "updates_per_step=0.1")
    whole, resumed = interrupted(tmp_path, *settings, make=trainer, **given)
    assert whole.updates == resumed.updates > 0


def test_it_learns_what_the_script_does(tmp_path) -> None:
    made = trainer(
        tmp_path, "hidden=[32,32]", "env.max_episode_steps=200", "learning_starts=3200",
        "batch_size=64", id="test/point_mass-scripted-v0", steps=40_000, files=(),
    )  # fmt: skip
    made.train()
    policy = made.run_folder.policy()
    rng = np.random.default_rng(0)
    seen = {"position": rng.uniform(-0.2, 0.2, (200, 2)), "velocity": np.zeros((200, 2))}
    found = policy(np.concatenate([*seen.values()], 1))
    wrong = np.abs(found - Scripted().scripted_policy()(seen))
    assert wrong.mean() < 0.15


@pytest.mark.parametrize(
    ("settings", "id", "said"),
    [
        ((), "dmc/walker-walk-v0", "dmc/walker-walk-v0 has no scripted policy"),
        ((), "Pendulum-v1", "Pendulum-v1 has no scripted policy"),
        (
            ("env.condensed=false",),
            "robosuite/Wipe-v0",
            "id: robosuite/Wipe-v0: condensed: the script",
        ),
        (("action_repeat=2",), HARD, "action_repeat: a script acts in each control step"),
    ],
)
def test_what_it_refuses(settings, id, said, tmp_path) -> None:
    with pytest.raises(ConfigError, match=said):
        trainer(tmp_path, *settings, id=id)
