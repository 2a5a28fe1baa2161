"""The single environment: published dimensions and rewards, info, states, faults."""

import sys
from pathlib import Path

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym
from helpers.divergence import assert_divergence_truncates_with_the_last_finite_observation
from helpers.lanes import mostly_nightly
from helpers.rollouts import rollout
from helpers.suite import IDS, TASKS, relative_error, within
from mjgym.envs.spaces import check_action


@pytest.mark.parametrize("id", mostly_nightly(IDS, quick=4))
def test_dimensions_are_the_published_ones(id):
    facts = TASKS[id.removeprefix("dmc/").removesuffix("-v0")]
    env = gymnasium.make(id, observation="dict")
    shapes = {name: list(box.shape) for name, box in env.observation_space.items()}
    published = facts["observation"]
    assert shapes == {name: shape or [1] for name, shape in published.items()}
    assert env.unwrapped.entry_shapes == {name: tuple(shape) for name, shape in published.items()}
    assert list(shapes) == list(facts["observation"])
    assert env.action_space.low.tolist() == np.float32(facts["action"]["minimum"]).tolist()
    assert env.action_space.high.tolist() == np.float32(facts["action"]["maximum"]).tolist()
    assert env.spec.max_episode_steps == facts["step_limit"]
    assert env.unwrapped.physics_timestep == facts["physics_timestep"]
    assert env.unwrapped.control_timestep == pytest.approx(facts["control_timestep"], rel=1e-12)
    flat = gymnasium.make(id)
    assert flat.observation_space.shape == (sum(int(np.prod(s)) for s in shapes.values()),)
    assert flat.observation_space.dtype == np.float32


def test_info_has_terms_success_and_divergence():
    env = gymnasium.make("dmc/reacher-easy-v0")
    _, info = env.reset(seed=0)
    assert info == {}
    _, reward, _, _, info = env.step(np.zeros(2))
    assert set(info) == {"terms/reached", "success", "success_once", "diverged"}
    assert reward == np.prod(list(within(info, "terms").values()))
    target = env.unwrapped.data.geom("target").xpos
    env.unwrapped.set_state({"geom_pos": _moved(env, env.unwrapped.data.geom("finger").xpos)})
    _, _, _, _, info = env.step(np.zeros(2))
    assert info["success"]
    assert info["success_once"]
    env.unwrapped.set_state({"geom_pos": _moved(env, target + 1.0)})
    _, _, _, _, info = env.step(np.zeros(2))
    assert not info["success"]
    assert info["success_once"]
    env.reset(seed=1)
    env.unwrapped.set_state({"geom_pos": _moved(env, target + 1.0)})
    assert not env.step(np.zeros(2))[4]["success_once"]


def _moved(env, place):
    geom_pos = env.unwrapped.model.geom_pos.copy()
    geom_pos[env.unwrapped.model.geom("target").id, :2] = place[:2]
    return geom_pos


def test_float64_actions_are_used_as_given():
    env = gymnasium.make("dmc/cartpole-swingup-v0").unwrapped
    env.reset(seed=0)
    action = np.array([0.1234567890123456])
    env.step(action)
    assert env.data.ctrl[0] == action[0]
    env.step(np.array([1.5]))  # not clipped: the engine limits the force
    assert env.data.ctrl[0] == 1.5


def test_partial_state():
    env = gymnasium.make("dmc/reacher-easy-v0", observation="dict", dtype="float64").unwrapped
    env.reset(seed=0)
    observation = env.set_state({"qpos": np.array([0.5, -0.25])})
    assert observation["position"].tolist() == [0.5, -0.25]
    assert observation in env.observation_space


@pytest.mark.parametrize(
    ("state", "error", "words"),
    [
        ({"qpso": np.zeros(2)}, ValueError, "qpso.*qpos"),
        ({"qpos": np.zeros(3)}, ValueError, r"qpos.*\(3,\).*\(2,\)"),
        ({"qpos": [np.nan, 0]}, ValueError, "qpos.*finite"),
        ({"qpos": "left"}, ValueError, "qpos"),
        ([0, 0], TypeError, "dict"),
    ],
)
def test_malformed_state_is_refused_before_anything_is_written(state, error, words):
    env = gymnasium.make("dmc/reacher-easy-v0").unwrapped
    env.reset(seed=0)
    before = env.get_state()
    if isinstance(state, dict):
        state = {"qvel": np.ones(2), **state}
    with pytest.raises(error, match=words):
        env.set_state(state)
    after = env.get_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


@pytest.mark.parametrize("count", [1, 2, 24, 25, 300])  # few and many are looked through otherwise
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_number_of_an_action_is_looked_at(count, dtype):
    huge = np.full(count, np.finfo(dtype).max)  # whose square is none
    checked = check_action(huge, (count,))
    assert checked.dtype == np.float64
    assert np.array_equal(checked, huge)
    for value in (np.nan, np.inf, -np.inf):
        for i in (0, count - 1):
            bad = huge.copy()
            bad[i] = value
            with pytest.raises(ValueError, match=f"action: {value} at index {i}; nothing"):
                check_action(bad, (count,))


@pytest.mark.parametrize(
    ("action", "words"),
    [
        (np.array([0.0, np.nan]), "nan at index 1"),
        (np.array([np.inf, 0.0]), "inf at index 0"),
        (np.zeros(3), r"expected shape \(2,\), got \(3,\)"),
        (np.zeros((1, 2)), r"expected shape \(2,\), got \(1, 2\)"),
        (["a", "b"], "not an array of numbers"),
        (np.array([1j, 0]), "complex"),
        (None, "action"),
    ],
)
def test_wrong_action_is_refused_before_anything_is_stepped(action, words):
    env = gymnasium.make("dmc/reacher-easy-v0").unwrapped
    env.reset(seed=0)
    before = env.get_state()
    with pytest.raises(ValueError, match=words):
        env.step(action)
    after = env.get_state()
    assert all(np.array_equal(before[name], after[name]) for name in before)


def test_step_before_reset():
    env = gymnasium.make("dmc/reacher-easy-v0").unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(2))


@pytest.mark.parametrize(
    ("kwargs", "error", "words"),
    [
        ({"sparce": True}, TypeError, "sparce.*sparse"),
        ({"dtype": "float16"}, ValueError, "dtype.*float16.*float32"),
        ({"observation": "flatt"}, ValueError, "observation.*flat"),
        ({"on_divergence": "stop"}, ValueError, "on_divergence"),
        ({"thread": 3}, TypeError, "thread"),
    ],
)
def test_wrong_arguments_name_the_nearest(kwargs, error, words):
    with pytest.raises(error, match=words):
        gymnasium.make("dmc/cartpole-balance-v0", **kwargs)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_a_dtype_of_numpy(kind):
    for make in (gymnasium.make, gymnasium.make_vec):
        env = make("dmc/cartpole-balance-v0", dtype=kind)
        observation, _ = env.reset(seed=0)
        assert observation.dtype == env.observation_space.dtype == kind


@pytest.mark.parametrize("id", ["dmc/walker-walk-v0", "dmc/cartpole-swingup-v0"])
def test_divergence_truncates_with_the_last_finite_observation(id, tmp_path, monkeypatch, capfd):
    assert_divergence_truncates_with_the_last_finite_observation(id, tmp_path, monkeypatch, capfd)


def test_divergence_raises_on_request():
    env = gymnasium.make("dmc/walker-walk-v0", on_divergence="raise").unwrapped
    env.reset(seed=0)
    env.data.qvel[:] = 1e30
    with pytest.raises(mjgym.DivergenceError, match="Walker"):
        env.step(np.zeros(6))
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(np.zeros(6))


def test_live_model_and_data():
    env = gymnasium.make("dmc/pendulum-swingup-v0").unwrapped
    env.reset(seed=0)
    env.data.qpos[0] = 0.0
    env.data.qvel[0] = 0.0
    env.model.opt.gravity[:] = 0.0
    mujoco.mj_forward(env.model, env.data)
    env.step(np.zeros(1))
    assert env.data.qpos[0] == 0.0
    assert env.model.ntex == 0


@pytest.mark.parametrize("observation", ["flat", "dict"])
def test_no_space_is_made_in_a_step_or_a_reset(observation, monkeypatch):
    """Which would take longer than the physics of small models."""
    kwargs = {"observation": observation, "max_episode_steps": 2}
    env = gymnasium.make("dmc/reacher-easy-v0", **kwargs)
    envs = gymnasium.make_vec("dmc/reacher-easy-v0", num_envs=2, **kwargs)
    for each in (env, envs):
        each.reset(seed=0)

    def refuse(*_):
        raise AssertionError("a space has been made")

    monkeypatch.setattr(gymnasium.Space, "__init__", refuse)
    for each in (env, envs):
        for _ in range(4):
            each.step(np.zeros(each.action_space.shape))
        each.reset()


@pytest.mark.weekly
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured by /proc")
def test_ten_thousand_resets_leave_memory_flat():
    """What each reset kept would show in every thousand of them; other growth comes and goes."""
    env = gymnasium.make("dmc/finger-turn_hard-v0").unwrapped
    pages = []
    for _ in range(10):
        for _ in range(1000):
            env.reset()
        pages.append(int(Path("/proc/self/statm").read_text().split()[1]))
    assert min(np.diff(pages)) <= 0


@pytest.mark.parametrize("id", mostly_nightly(IDS, quick=4))
def test_rewards_stay_in_their_range(id):
    env = gymnasium.make(id)
    env.reset(seed=0)
    rewards = [reward for _, reward, *_ in rollout(env, 20)]
    assert max(rewards) <= 1.0 + 1e-12
    if not id.startswith("dmc/lqr"):
        assert min(rewards) >= 0.0


def test_relative_error_sees_differences():
    assert relative_error([1.0, 2.0], [1.0, 2.0]) == 0
    assert relative_error([1.0, 2.1], [1.0, 2.0]) == pytest.approx(0.05)
