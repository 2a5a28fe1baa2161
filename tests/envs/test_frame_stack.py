"""`frame_stack` against Gymnasium's `FrameStackObservation`, bit for bit, single and batched."""

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import FrameStackObservation

import mjgym
from helpers.equivalence import assert_same_episodes, assert_states_go_on
from helpers.lanes import mostly_nightly
from helpers.rollouts import actions_for, equal, row

ID = "dmc/reacher-easy-v0"
PLAYED = "soccer/boxhead-1v1-v0"
N = 3


def wrapped(stack=N, **options):
    return FrameStackObservation(gymnasium.make(ID, **options), stack)


@pytest.mark.parametrize("stack", [1, 2, 4])
@pytest.mark.parametrize("observation", ["flat", "dict"])
def test_a_single_environment_is_as_gymnasiums_wrapper(observation, stack):
    ours = gymnasium.make(ID, observation=observation, frame_stack=stack, max_episode_steps=5)
    theirs = wrapped(stack, observation=observation, max_episode_steps=5)
    assert ours.observation_space == theirs.observation_space
    for seed in (3, None):
        assert equal(ours.reset(seed=seed), theirs.reset(seed=seed))
        for action in np.random.default_rng(0).uniform(-1, 1, (5, 2)):
            assert equal(ours.step(action)[:4], theirs.step(action)[:4])


@pytest.mark.weekly
@pytest.mark.gl
@pytest.mark.parametrize("observation", ["pixels", "flat+pixels"])
def test_pictures_are_as_in_gymnasiums_wrapper(observation):
    options = {"observation": observation, "pixels": {"width": 16, "height": 12}}
    ours, theirs = gymnasium.make(ID, frame_stack=N, **options), wrapped(**options)
    envs = gymnasium.make_vec(ID, num_envs=2, frame_stack=N, **options)
    assert ours.observation_space == theirs.observation_space == envs.single_observation_space
    assert equal(ours.reset(seed=1), theirs.reset(seed=1))
    envs.reset(seed=1)
    for action in np.random.default_rng(0).uniform(-1, 1, (4, 2)):
        seen = ours.step(action)[0]
        assert equal(seen, theirs.step(action)[0])
        assert equal(seen, row(envs.step(np.stack([action] * 2))[0], 0))


@pytest.mark.parametrize("overlap", mostly_nightly([2, 1], quick=2))
@pytest.mark.parametrize("mode", AutoresetMode)
@pytest.mark.parametrize("observation", mostly_nightly(["flat", "dict"], quick=2))
def test_a_batch_is_as_gymnasiums_own_of_wrapped_environments(observation, mode, overlap):
    options = {"observation": observation, "max_episode_steps": 4}
    ours = gymnasium.make_vec(
        ID, num_envs=3, frame_stack=N, autoreset_mode=mode, overlap=overlap, **options
    )
    sync = SyncVectorEnv([lambda: wrapped(**options)] * 3, autoreset_mode=mode)
    assert_same_episodes(ours, sync, 11)


@pytest.mark.parametrize("observation", ["flat", "dict"])
def test_groups_go_on_from_their_state(observation):
    options = {"observation": observation, "frame_stack": N, "overlap": 2}
    envs, others = (gymnasium.make_vec(ID, num_envs=3, **options) for _ in range(2))
    envs.reset(seed=0)
    actions = actions_for(envs, 8)
    for each in actions[:4]:
        last = envs.step(each)[0]
    state = envs.get_state()
    others.reset(seed=5)
    assert equal(others.set_state(state), last)
    for each in actions[4:]:
        assert equal(envs.step(each)[0], others.step(each)[0])


def test_a_state_of_some_leaves_the_others_frames():
    envs = gymnasium.make_vec(ID, num_envs=3, frame_stack=N)
    envs.reset(seed=0)
    for each in actions_for(envs, 4):
        before = envs.step(each)[0]
    kept = envs.get_state()
    moved = envs.set_state({"qpos": np.zeros((1, 2))}, ids=[1])
    assert all(np.array_equal(frame, moved[0, 0]) for frame in moved[0])  # its past is unknown
    after = envs.get_state()
    name = "frames.observation"
    assert np.array_equal(after[name][[0, 2]], kept[name][[0, 2]])
    assert not np.array_equal(after[name][1], kept[name][1])
    assert np.array_equal(before[:, :-1], kept[name])


def test_an_environment_goes_on_from_its_state_and_its_copies():
    assert_states_go_on(ID, frame_stack=N)


@pytest.mark.parametrize("mode", AutoresetMode)
def test_where_a_simulation_diverges_the_last_frame_is_shown_again(mode):
    envs = gymnasium.make_vec(ID, num_envs=2, frame_stack=N, autoreset_mode=mode)
    env = wrapped()
    envs.reset(seed=0)
    env.reset(seed=1)
    action = np.zeros((2, 2))
    for _ in range(3):
        envs.step(action)
        env.step(action[0])
    envs.view.qvel[1] = 1e300
    env.unwrapped.data.qvel[:] = 1e300
    observations, _, _, truncated, info = envs.step(action)
    expected = env.step(action[0])[0]
    assert truncated.tolist() == [False, True]
    seen = info["final_obs"] if mode == AutoresetMode.SAME_STEP else observations
    assert np.array_equal(seen[1], expected)
    assert np.isfinite(observations).all()


def test_players_stack_their_own_frames():
    plain = gymnasium.make_vec(PLAYED, num_envs=2)
    stacked = gymnasium.make_vec(PLAYED, num_envs=2, frame_stack=2)
    shape = plain.single_observation_space.shape
    assert stacked.single_observation_space.shape == (2, *shape)
    before, _ = plain.reset(seed=0)
    assert np.array_equal(stacked.reset(seed=0)[0], np.stack([before, before], 1))
    for actions in actions_for(plain, 2):
        now = plain.step(actions)[0]
        assert np.array_equal(stacked.step(actions)[0], np.stack([before, now], 1))
        before = now


def test_dm_env_shows_the_stack():
    from mjgym_compat import dm_env

    for observation in ("flat", "dict"):
        env = dm_env.from_env(gymnasium.make(ID, observation=observation, frame_stack=2), 0)
        specs, seen = env.observation_spec(), env.reset().observation
        assert "pixels" not in specs
        for name, spec in specs.items():
            spec.validate(seen[name])
            assert spec.shape[0] == 2


@pytest.mark.parametrize("stack", [0, -1, 2.5, True, "2"])
def test_a_wrong_number_of_frames_is_refused(stack):
    with pytest.raises(ValueError, match="frame_stack: must be"):
        gymnasium.make_vec(ID, num_envs=2, frame_stack=stack)
    task = gymnasium.make(ID).unwrapped.task
    with pytest.raises(ValueError, match="frame_stack: must be"):
        mjgym.Env(task, frame_stack=stack)


def test_goals_show_one_frame():
    with pytest.raises(ValueError, match='frame_stack: observation="goal" shows one frame'):
        gymnasium.make("dmc/reacher-easy-v0", observation="goal", frame_stack=2)
