"""The single environment on every id: Gymnasium's checker, determinism, snapshots, faults."""

import copy
import pickle
import resource

import gymnasium
import mujoco
import numpy as np
import pytest
from suite import IDS, TASKS, gymnasium_checker, relative_error, within

import mjgym

SOME = [
    "dmc/cartpole-swingup-v0",  # RK4, one actuator
    "dmc/finger-turn_hard-v0",  # varies site_pos
    "dmc/humanoid-run-v0",  # a free joint, contacts
    "dmc/quadruped-fetch-v0",  # activations
    "dmc/swimmer-swimmer6-v0",  # varies geom_pos and light_pos
    "dmc/lqr-lqr_2_1-v0",  # terminates
]


def rollout(env, steps, seed=0):
    """Observations, rewards and ends of an episode with random actions."""
    rng = np.random.default_rng(seed)
    low, high = np.maximum(env.action_space.low, -1), np.minimum(env.action_space.high, 1)
    out = []
    for _ in range(steps):
        out.append(env.step(rng.uniform(low, high))[:4])
    return out


def same(a, b):
    return all(np.array_equal(x[0], y[0]) and x[1:] == y[1:] for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("observation", ["flat", "dict"])
@pytest.mark.parametrize("id", IDS)
def test_gymnasium_checker(id, observation):
    env = gymnasium.make(id, observation=observation)
    gymnasium_checker(env)
    env.close()


@pytest.mark.parametrize("id", IDS)
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


@pytest.mark.parametrize("id", IDS)
def test_seeded_episodes_repeat_also_after_another_one(id):
    env = gymnasium.make(id)
    first = env.reset(seed=5)[0]
    episode = rollout(env, 8)
    env.reset(seed=6)
    rollout(env, 5, seed=1)
    again = env.reset(seed=5)[0]
    assert np.array_equal(first, again)
    assert same(episode, rollout(env, 8))
    fresh = gymnasium.make(id)
    assert np.array_equal(fresh.reset(seed=5)[0], first)
    assert same(episode, rollout(fresh, 8))
    assert not np.array_equal(fresh.reset(seed=6)[0], first)
    for one in (env, fresh):
        one.close()


@pytest.mark.parametrize("id", SOME)
def test_flat_is_the_entries_joined(id):
    flat = gymnasium.make(id, dtype="float64")
    entries = gymnasium.make(id, dtype="float64", observation="dict")
    joined = np.concatenate([np.ravel(x) for x in entries.reset(seed=2)[0].values()])
    assert np.array_equal(flat.reset(seed=2)[0], joined)
    rounded = gymnasium.make(id)
    assert np.array_equal(rounded.reset(seed=2)[0], joined.astype(np.float32))


def test_time_limit_truncates_and_does_not_terminate():
    env = gymnasium.make("dmc/pendulum-swingup-v0")
    env.reset(seed=0)
    ends = rollout(env, 1000)
    assert [e[3] for e in ends] == [False] * 999 + [True]
    assert not any(e[2] for e in ends)
    env = gymnasium.make("dmc/pendulum-swingup-v0", max_episode_steps=3)
    env.reset(seed=0)
    assert [e[3] for e in rollout(env, 3)] == [False, False, True]


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


@pytest.mark.parametrize("id", SOME)
def test_state_restores_bit_for_bit(id):
    env = gymnasium.make(id, dtype="float64").unwrapped
    env.reset(seed=3)
    rollout(env, 7)
    state = env.get_state()
    here = env.observe()
    then = rollout(env, 9, seed=4)
    after = env.reset()[0]
    env.reset(seed=11)
    rollout(env, 3)
    env.set_state(state)
    again = env.observe()
    assert all(np.array_equal(here[name], again[name]) for name in here)
    assert same(then, rollout(env, 9, seed=4))
    assert np.array_equal(after, env.reset()[0])  # the random generator too
    other = gymnasium.make(id, dtype="float64").unwrapped
    other.reset(seed=99)
    other.set_state(state)
    assert same(then, rollout(other, 9, seed=4))


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
@pytest.mark.parametrize("id", SOME)
def test_pickle_and_deepcopy_continue_bit_for_bit(id, duplicate):
    env = gymnasium.make(id, max_episode_steps=12)
    env.reset(seed=3)
    rollout(env, 5)
    twin = duplicate(env)
    assert twin.spec == env.spec
    assert same(rollout(env, 7, seed=2), rollout(twin, 7, seed=2))
    assert np.array_equal(env.reset()[0], twin.reset()[0])


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
        ({"poles": 0}, ValueError, "poles"),
        ({"thread": 3}, TypeError, "thread"),
    ],
)
def test_wrong_arguments_name_the_nearest(kwargs, error, words):
    with pytest.raises(error, match=words):
        gymnasium.make("dmc/cartpole-balance-v0", **kwargs)


def test_unknown_id_names_the_nearest():
    with pytest.raises(gymnasium.error.NameNotFound, match="walker-walk"):
        gymnasium.make("dmc/walker-wakl-v0")


@pytest.mark.parametrize("id", ["dmc/walker-walk-v0", "dmc/cartpole-swingup-v0"])
def test_divergence_truncates_with_the_last_finite_observation(id, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    env = gymnasium.make(id, dtype="float64").unwrapped
    env.reset(seed=0)
    env.step(env.action_space.sample() * 0)
    last = env.observe()
    env.data.qvel[:] = 1e30
    observation, reward, terminated, truncated, info = env.step(env.action_space.sample() * 0)
    joined = np.concatenate([np.ravel(x) for x in last.values()])
    assert np.array_equal(observation, joined)
    assert (reward, terminated, truncated, info["diverged"]) == (0.0, False, True, True)
    assert list(tmp_path.iterdir()) == []
    assert capfd.readouterr() == ("", "")
    env.reset(seed=1)
    other = gymnasium.make(id, dtype="float64").unwrapped
    other.reset(seed=1)
    assert same(rollout(env, 5), rollout(other, 5))


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


@pytest.mark.slow
def test_ten_thousand_resets_leave_memory_flat():
    env = gymnasium.make("dmc/finger-turn_hard-v0").unwrapped
    for _ in range(1000):
        env.reset()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(10_000):
        env.reset()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2048  # KiB


@pytest.mark.parametrize("id", IDS)
def test_rewards_stay_in_their_range(id):
    env = gymnasium.make(id)
    env.reset(seed=0)
    rewards = [r for _, r, _, _ in rollout(env, 20)]
    assert max(rewards) <= 1.0 + 1e-12
    if not id.startswith("dmc/lqr"):
        assert min(rewards) >= 0.0


def test_relative_error_sees_differences():
    assert relative_error([1.0, 2.0], [1.0, 2.0]) == 0
    assert relative_error([1.0, 2.1], [1.0, 2.0]) == pytest.approx(0.05)
