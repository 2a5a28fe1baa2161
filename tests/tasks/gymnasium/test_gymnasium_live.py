"""Gymnasium's own tasks are the oracle: the same seeds and actions give the same bits.

Single and in a batch, with every keyword argument at its default and away from it, from the start
and in the middle of an episode.
"""

import inspect

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import mjgym
from helpers.lanes import mostly_nightly, mostly_slow
from helpers.rollouts import equal
from mjgym import registry

IDS = registry.ids(namespace="gymnasium")
QUICK = ["gymnasium/Hopper-v5"]
every_id = pytest.mark.parametrize("id", mostly_slow(IDS, QUICK))

# Keyword arguments of the classes, away from their defaults; some in two ways.
AWAY = {
    "xml_file": ["./{assets}"],  # a copy of the usual file, elsewhere
    "frame_skip": [3],
    "default_camera_config": [{"distance": 3.0}],
    "forward_reward_weight": [0.7],
    "ctrl_cost_weight": [0.3],
    "contact_cost_weight": [0.01],
    "contact_cost_range": [(-1.0, 0.2)],
    "contact_force_range": [(-0.3, 0.4)],
    "healthy_reward": [2.5],
    "main_body": [5, "front_left_leg"],
    "terminate_when_unhealthy": [False],
    "healthy_state_range": [(-1.5, 1.5)],
    "healthy_z_range": [(0.5, 1.25)],
    "healthy_angle_range": [(-0.05, 0.05)],
    "reset_noise_scale": [0.02],
    "exclude_current_positions_from_observation": [False],
    "include_cfrc_ext_in_observation": [False],
    "include_cinert_in_observation": [False],
    "include_cvel_in_observation": [False],
    "include_qfrc_actuator_in_observation": [False],
    "uph_cost_weight": [2.0],
    "impact_cost_weight": [0.01],
    "impact_cost_range": [(-1.0, 0.2)],
    "reward_dist_weight": [0.6],
    "reward_near_weight": [0.3],
    "reward_control_weight": [0.4],
}


def theirs(id, **arguments):
    return gymnasium.make(id.removeprefix("gymnasium/"), **arguments)


def arguments_of(id):
    """The keyword arguments of Gymnasium's class, with their defaults."""
    cls = gymnasium.envs.registration.load_env_creator(
        gymnasium.spec(id.removeprefix("gymnasium/")).entry_point
    )
    parameters = inspect.signature(cls.__init__).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not p.empty}


CASES = [(id, name, value) for id in IDS for name in arguments_of(id) for value in AWAY[name]]


def actions(env, steps, seed=0):
    """Actions in the space's precision and, every other one, in double precision."""
    rng = np.random.default_rng(seed)
    space = env.action_space
    for t in range(steps):
        action = rng.uniform(space.low, space.high)
        yield action.astype(np.float32) if t % 2 else action


def assert_same_info(published, here):
    for name, value in published.items():
        assert np.array_equal(value, here[name]), name
    assert {name for name in here if "/" not in name} <= {*published, "diverged"}


def assert_same_episodes(published, here, steps, seed=0):
    """Two single environments do the same, into following episodes."""
    first, second = published.reset(seed=seed), here.reset(seed=seed)
    ends = 0
    for action in actions(here, steps, seed):
        assert equal(first[0], second[0])
        assert_same_info(first[-1], second[-1])
        assert first[1:-1] == second[1:-1]
        if len(first) > 2 and (first[2] or first[3]):
            first, second = published.reset(), here.reset()
            ends += 1
        else:
            first, second = published.step(action), here.step(action)
    return ends


@every_id
def test_a_thousand_steps(id):
    published, here = theirs(id), gymnasium.make(id)
    assert here.observation_space == published.observation_space
    assert here.action_space == published.action_space
    assert here.spec.max_episode_steps == published.spec.max_episode_steps
    assert here.unwrapped.control_timestep == published.unwrapped.dt
    assert_same_episodes(published, here, 1000)
    published.close()
    here.close()


@every_id
def test_keyword_arguments_have_their_names_and_defaults(id):
    defaults = arguments_of(id)
    task = gymnasium.make(id).unwrapped.task
    del defaults["default_camera_config"]  # None stands for theirs
    assert {name: getattr(task, name) for name in defaults} == defaults


@pytest.mark.parametrize(
    ("id", "name", "value"),
    mostly_nightly(CASES, 7),
    ids=lambda x: str(x).removeprefix("gymnasium/"),
)
def test_each_keyword_away_from_its_default(id, name, value, tmp_path):
    if name == "xml_file":
        path = tmp_path / "elsewhere.xml"
        folder = gymnasium.__path__[0] + "/envs/mujoco/assets/"
        with open(folder + arguments_of(id)[name], encoding="utf-8") as file:
            path.write_text(file.read(), encoding="utf-8")
        value = str(path)
    published, here = theirs(id, **{name: value}), gymnasium.make(id, **{name: value})
    assert here.observation_space == published.observation_space
    assert here.unwrapped.control_timestep == published.unwrapped.dt
    assert_same_episodes(published, here, 60, seed=1)
    envs = gymnasium.make_vec(id, num_envs=2, autoreset_mode="SameStep", **{name: value})
    assert_batch_equals(envs, [theirs(id, **{name: value}) for _ in range(2)], 15)
    published.close()
    here.close()


def assert_batch_equals(envs, singles, steps):
    """A batch that resets in the same step does what Gymnasium's `SyncVectorEnv` does."""
    published = SyncVectorEnv(
        [lambda env=env: env for env in singles], autoreset_mode=AutoresetMode.SAME_STEP
    )
    first, second = published.reset(seed=7), envs.reset(seed=7)
    rng = np.random.default_rng(0)
    for _ in range(steps):
        assert equal(first[:-1], second[:-1])
        info, ours = first[-1], second[-1]
        for name, values in info.items():
            if not name.startswith(("_", "final")):
                mask = info[f"_{name}"]
                assert np.array_equal(mask, ours[f"_{name}"]), name
                assert np.array_equal(values[mask], ours[name][mask]), name
        ended = info.get("_final_obs")
        if ended is not None:
            for i in np.flatnonzero(ended):
                assert equal(info["final_obs"][i], ours["final_obs"][i])
            for name, values in info["final_info"].items():
                assert np.array_equal(values[ended], ours["final_info"][name][ended]), name
        action = rng.uniform(envs.single_action_space.low, envs.single_action_space.high,
                             envs.action_space.shape).astype(np.float32)  # fmt: skip
        first, second = published.step(action), envs.step(action)
    published.close()
    envs.close()


@every_id
def test_a_batch_equals_their_vector_environment(id):
    """Into following episodes, whose starts come from the same generators."""
    limits = {"max_episode_steps": 40}
    envs = gymnasium.make_vec(id, num_envs=3, autoreset_mode="SameStep", threads=2, **limits)
    assert_batch_equals(envs, [theirs(id, **limits) for _ in range(3)], 100)


@every_id
def test_the_middle_of_an_episode(id):
    """Their state, put into ours in the middle of an episode, goes on alike, single and batched."""
    published = theirs(id)
    published.reset(seed=3)
    for action in actions(published, 12):
        result = published.step(action)
    data = published.unwrapped.data
    here, envs = gymnasium.make(id), gymnasium.make_vec(id, num_envs=2)
    here.reset(seed=4)
    envs.reset(seed=5)
    names = here.unwrapped.get_state().keys()
    state = {name: np.array(getattr(data, name)) for name in names if hasattr(data, name)}
    assert equal(result[0], here.unwrapped.set_state(state))
    assert equal(np.stack([result[0]] * 2), envs.set_state(state))
    for action in actions(published, 12, seed=2):
        result, ours = published.step(action), here.step(action)
        both = envs.step(np.stack([action] * 2))
        assert equal(result[0], ours[0])
        assert result[1:3] == ours[1:3]
        assert equal(result[0], both[0][1])
        assert result[1:3] == (both[1][1], both[2][1])
        if result[2]:
            break
    for env in (published, here, envs):
        env.close()


@pytest.mark.slow
@pytest.mark.parametrize("id", ["gymnasium/Ant-v5", "gymnasium/Reacher-v5"])
def test_rollouts_and_snapshots_hold_what_lags(id):
    """From states in mid-episode, whose observations and first velocities lag behind them."""
    env, envs = gymnasium.make(id).unwrapped, gymnasium.make_vec(id, num_envs=70, threads=2)
    env.reset(seed=0)
    for action in actions(env, 5):
        here = env.step(action)[0]
    state = env.get_state()
    plans = np.stack([list(actions(env, 4, seed=i)) for i in range(70)])
    found = env.rollout(state, plans, observations=True)
    envs.reset(seed=1)
    assert equal(envs.set_state(state), np.stack([here] * 70))
    for t in range(4):
        observations, rewards, *_ = envs.step(plans[:, t])
        assert equal(found.observations[:, t], observations)
        assert equal(found.rewards[:, t], rewards)
    for i in (0, 69):
        assert equal(env.set_state(state), here)
        assert [env.step(action)[1] for action in plans[i]] == found.rewards[i].tolist()
    env.close()
    envs.close()


def test_bodies_that_vary_are_those_of_each_sub_environment():
    """Where contact forces are read, simulations run apart from the engine's batch."""
    id, vary = "gymnasium/Ant-v5", {"body_mass[torso]": mjgym.variation.Uniform(0.1, 2.0)}
    envs = gymnasium.make_vec(id, num_envs=3, vary=vary)
    singles = [gymnasium.make(id, vary=vary) for _ in range(3)]
    first = envs.reset(seed=5)[0]
    starts = [env.reset(seed=5 + i)[0] for i, env in enumerate(singles)]
    assert equal(first, np.stack(starts))
    for action in actions(singles[0], 10):
        result = envs.step(np.stack([action] * 3))
        alone = [env.step(action) for env in singles]
        assert equal(result[0], np.stack([each[0] for each in alone]))
        assert result[1].tolist() == [each[1] for each in alone]
    envs.close()


def test_a_diverging_simulation_ends_alone():
    envs = gymnasium.make_vec("gymnasium/Ant-v5", num_envs=3)
    envs.reset(seed=0)
    bad = np.full((1, envs.model.nv), 9e9)
    envs.set_state({"qvel": bad}, ids=[1])
    result = envs.step(np.zeros(envs.action_space.shape, dtype=np.float32))
    assert result[3].tolist() == [False, True, False]
    assert result[4]["diverged"].tolist() == [False, True, False]
    assert np.isfinite(result[0]).all()
    result = envs.step(np.zeros(envs.action_space.shape, dtype=np.float32))
    assert result[3].tolist() == [False, False, False]
    envs.close()
