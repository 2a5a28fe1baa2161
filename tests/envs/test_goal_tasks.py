"""Tasks with goals: Gymnasium-Robotics' form of their environments, single and batched."""

from dataclasses import dataclass

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode

import mjgym
from helpers import toys
from helpers.equivalence import assert_every_slot_equals_a_single_env, assert_states_go_on
from helpers.lanes import mostly_nightly
from helpers.suite import gymnasium_checker

IDS = [
    "dmc/reacher-easy-v0",
    "dmc/reacher-hard-v0",
    "dmc/point_mass-easy-v0",
    "dmc/point_mass-hard-v0",
    *(
        pytest.param(f"robosuite/{name}-v0", marks=pytest.mark.slow)
        for name in ("Lift", "Stack", "PickPlace", "PickPlaceSingle", "PickPlaceCan")
    ),
]
REACHER = "dmc/reacher-easy-v0"


@dataclass(frozen=True)
class Middle(toys.Cart, mjgym.GoalTask):
    """A cart that is to come to the middle."""

    goal_shape: tuple[int, ...] = (1,)

    def achieved(self, v):
        return v.qpos

    def desired(self, v):
        return v.xp.zeros((*v.lead, *self.goal_shape))

    def reached(self, achieved, desired):
        return abs(achieved - desired)[..., 0] < 0.3


@dataclass(frozen=True)
class Misspelt(Middle):
    """A cart with a mistake."""

    shows_goal = ("positon",)


def make(id=REACHER, **kwargs):
    return gymnasium.make(id, observation="goal", **kwargs)


def make_vec(id=REACHER, n=3, **kwargs):
    return gymnasium.make_vec(id, n, observation="goal", threads=1, **kwargs)


@pytest.mark.parametrize("id", IDS)
def test_environments_have_the_form_of_gymnasium_robotics(id):
    env = make(id)
    gymnasium_checker(env)
    assert list(env.observation_space.spaces) == ["observation", "achieved_goal", "desired_goal"]
    parts = gymnasium.make(id, observation="dict")
    hidden = env.unwrapped.task.shows_goal

    def wanted(entries):
        return np.concatenate([x.ravel() for name, x in entries.items() if name not in hidden])

    seen, _ = env.reset(seed=3)
    np.testing.assert_array_equal(seen["observation"], wanted(parts.reset(seed=3)[0]))
    action = env.action_space.sample()
    (seen, *_, info), (entries, *_, other) = env.step(action), parts.step(action)
    np.testing.assert_array_equal(seen["observation"], wanted(entries))
    assert {name for name in info if "/" in name} == {name for name in other if "/" in name}


def test_what_tells_the_goal_is_left_out():
    """The observation is the same wherever the target is."""
    env = make(observables={"velocity": mjgym.Observable(buffer_size=2)})
    assert make().observation_space["observation"].shape == (4,)
    assert env.observation_space["observation"].shape == (6,)
    seen, _ = env.reset(seed=0)
    state = env.unwrapped.get_state()
    moved = env.unwrapped.set_state({"geom_pos": state["geom_pos"] + 0.01})
    np.testing.assert_array_equal(moved["observation"], seen["observation"])
    assert (moved["desired_goal"] != seen["desired_goal"]).all()
    described = {row["entry"] for row in make().unwrapped.describe()["observation"]}
    assert described == {"position", "velocity"}


def test_an_entry_that_is_not_there_cannot_tell_the_goal():
    with pytest.raises(ValueError, match="no 'positon'; did you mean"):
        mjgym.Env(Misspelt(), observation="goal")


@pytest.mark.parametrize("dtype", mostly_nightly(["float32", "float64"], quick=2))
@pytest.mark.parametrize("id", IDS)
def test_rewards_are_those_of_the_observed_goals(id, dtype):
    envs = make_vec(id, 4, dtype=dtype)
    envs.reset(seed=0)
    envs.action_space.seed(0)
    compute = envs.unwrapped.compute_reward
    for _ in range(5):
        seen, rewards, *_, info = envs.step(envs.action_space.sample())
        goals = seen["achieved_goal"], seen["desired_goal"]
        np.testing.assert_array_equal(rewards, compute(*goals, info))
        np.testing.assert_array_equal(
            rewards, [compute(a, d, {}) for a, d in zip(*goals, strict=True)]
        )
        np.testing.assert_array_equal(info["success"], rewards == 0)
        in_hindsight = compute(goals[0], goals[0], info)
        np.testing.assert_array_equal(in_hindsight, np.zeros(4))
        wide = compute(np.stack([goals[0]] * 2), np.stack([goals[1]] * 2), info)
        np.testing.assert_array_equal(wide, np.stack([rewards] * 2))


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_a_batch_equals_single_environments(mode):
    kwargs = {"observation": "goal", "max_episode_steps": 4}
    assert_every_slot_equals_a_single_env(REACHER, 3, 9, mode, **kwargs)
    grouped = make_vec(n=4, overlap=2)
    seen, _ = grouped.reset(seed=5)
    np.testing.assert_array_equal(
        grouped.unwrapped.compute_reward(seen["achieved_goal"], seen["desired_goal"], {}),
        grouped.step(np.zeros((4, 2)))[1],
    )
    grouped.close()


@pytest.mark.parametrize("id", mostly_nightly(IDS[:4], 4))
def test_success_is_the_published_one_where_that_is_of_places(id):
    modes = ("flat", "goal")
    flat, goal = (gymnasium.make_vec(id, 512, observation=o, threads=1) for o in modes)
    for envs in (flat, goal):
        envs.reset(seed=0)
    if "point_mass" in id:  # near the middle, which a random start hardly ever is
        near = np.random.default_rng(0).uniform(-0.02, 0.02, (512, 2))
        for envs in (flat, goal):
            envs.unwrapped.set_state({"qpos": near})
    zeros = np.zeros(flat.action_space.shape)
    (*_, one), (*_, other) = flat.step(zeros), goal.step(zeros)
    np.testing.assert_array_equal(one["success"], other["success"])
    assert one["success"].any()
    assert not one["success"].all()


def test_goals_never_end_an_episode():
    env, envs = make().unwrapped, make_vec().unwrapped
    one, several = np.zeros(2), np.zeros((5, 2))
    for method in ("compute_terminated", "compute_truncated"):
        assert getattr(env, method)(one, one, {}) is False
        np.testing.assert_array_equal(getattr(envs, method)(several, several, {}), [False] * 5)


def test_sub_environments_have_the_methods():
    envs = make_vec().unwrapped
    seen, _ = envs.reset(seed=0)
    goals = seen["achieved_goal"], seen["desired_goal"]
    (of_one,) = envs.call("compute_reward", *goals, [{}] * 3, ids=[1])
    np.testing.assert_array_equal(of_one, envs.compute_reward(*goals, {}))
    assert len(envs.call("compute_terminated", *goals, {})) == 3


def test_copies_go_on_with_their_goals():
    assert_states_go_on(REACHER, observation="goal")


def test_other_observations_have_no_methods_of_goals():
    """Clients take an environment with `compute_reward` for one with goals."""
    for envs in (gymnasium.make(REACHER), gymnasium.make_vec(REACHER, 2)):
        assert not hasattr(envs.unwrapped, "compute_reward")
        with pytest.raises(AttributeError, match='observation="goal"'):
            envs.unwrapped.compute_terminated  # noqa: B018


def test_a_task_without_goals_is_refused():
    with pytest.raises(ValueError, match="Walker is not"):
        make("dmc/walker-walk-v0")


def test_goals_of_other_shapes_are_refused():
    env = make().unwrapped
    for achieved, desired in ((np.zeros(2), np.zeros(3)), (0.0, 0.0), (np.zeros((4, 2)), [0, 0])):
        with pytest.raises(ValueError, match="same shape"):
            env.compute_reward(achieved, desired, {})


def test_a_hook_with_another_shape_is_named():
    mjgym.Env(Middle(), observation="goal")
    with pytest.raises(ValueError, match=r"Middle\.desired\(\): expected shape \(1?1?,?"):
        mjgym.VectorEnv(Middle(goal_shape=()), 3)
    words = r"Middle\.desired\(\): expected shape \((3, )?1,?\), as of achieved\(\), got"
    for make in (mjgym.Env, lambda task: mjgym.VectorEnv(task, 3)):
        with pytest.raises(ValueError, match=words):
            make(Middle(goal_shape=(2,)))

    class Numbers(Middle):  # a usual mistake: v.qpos[..., 0]
        def achieved(self, v):
            return v.qpos[..., 0]

    with pytest.raises(ValueError, match=r"Numbers\.achieved\(\): expected shape \('k',\), got"):
        mjgym.Env(Numbers())


def test_the_default_reward_is_the_tasks_own():
    env, goal = mjgym.Env(Middle()), mjgym.Env(Middle(), observation="goal")
    rewards = []
    for each in (env, goal):
        each.reset(seed=0)
        each.set_state({"qpos": [0.1]})
        rewards.append(each.step(np.zeros(1))[1])
    assert 0.8 < rewards[0] < 1
    assert rewards[1] == 0
