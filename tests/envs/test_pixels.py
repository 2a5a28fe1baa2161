"""Pictures as observations, and render(): single, batched, with Gymnasium's own wrappers."""

import itertools
import warnings

import gymnasium
import imageio.v3 as iio
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers.vector import RecordVideo

from helpers.equivalence import assert_copies_go_on, assert_every_slot_equals_a_single_env
from helpers.lanes import lane, mostly_nightly

pytestmark = pytest.mark.gl

FAST = {"render_quality": "fast", "pixels": {"width": 32, "height": 24}}
ID = "dmc/reacher-easy-v0"
KINDS = itertools.product(
    (ID, "dmc/swimmer-swimmer6-v0", "dmc/quadruped-escape-v0"),
    ("pixels", "flat+pixels", "dict+pixels"),
    ("rgb", "depth"),
)


@pytest.mark.parametrize(("id", "observation", "kind"), mostly_nightly(KINDS, 6))
def test_checker(id, observation, kind):
    pixels = {"width": 32, "height": 24, "kind": kind}
    env = gymnasium.make(id, observation=observation, render_quality="fast", pixels=pixels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", ".*(-?infinity|symmetric and normalized)")
        check_env(env.unwrapped, skip_render_check=True)
    env.close()


def test_shapes_and_keys():
    env = gymnasium.make(ID, observation="pixels")
    assert env.observation_space == gymnasium.spaces.Box(0, 255, (84, 84, 3), np.uint8)
    both = gymnasium.make(ID, observation="flat+pixels", **FAST)
    assert {k: s.shape for k, s in both.observation_space.items()} == {
        "flat": (6,),
        "pixels": (24, 32, 3),
    }
    cameras = {"camera": ["fixed", -1], "width": 16, "height": 12, "kind": "depth"}
    several = gymnasium.make(ID, observation="dict+pixels", pixels=cameras)
    assert list(several.observation_space) == [
        "position",
        "to_target",
        "velocity",
        "pixels_fixed",
        "pixels_-1",
    ]
    observation, _ = several.reset(seed=0)
    assert several.observation_space.contains(observation)
    assert not np.array_equal(observation["pixels_fixed"], observation["pixels_-1"])
    for each in (env, both, several):
        each.close()


@lane(4, 5)
def test_a_batch_of_16_equals_16_singles():
    options = {"observation": "flat+pixels", "max_episode_steps": 3, **FAST}
    assert_every_slot_equals_a_single_env("dmc/finger-turn_easy-v0", 16, **options)


@pytest.mark.weekly
def test_pictures_of_an_ended_episode_come_with_it():
    envs = gymnasium.make_vec(
        ID, num_envs=2, observation="pixels", max_episode_steps=2, autoreset_mode="SameStep", **FAST
    )
    envs.reset(seed=0)
    envs.step(np.ones((2, 2)))
    fresh, _, _, truncations, info = envs.step(np.ones((2, 2)))
    assert truncations.all()
    for i in range(2):
        assert info["final_obs"][i].shape == (24, 32, 3)
        assert not np.array_equal(info["final_obs"][i], fresh[i])
    envs.close()


@pytest.mark.weekly
def test_pickle_and_deepcopy():
    env = gymnasium.make(ID, observation="pixels", **FAST)
    env.reset(seed=0)
    assert_copies_go_on(env)


def test_render_and_camera():
    env = gymnasium.make(ID, render_mode="rgb_array", width=48, height=36, render_quality="fast")
    env.reset(seed=0)
    frame = env.render()
    assert frame.shape == (36, 48, 3)
    assert np.array_equal(frame, env.unwrapped.camera(0))
    assert np.array_equal(frame, env.unwrapped.camera("fixed"))
    assert not np.array_equal(frame, env.unwrapped.camera("hand"))
    depth = env.unwrapped.camera(kind="depth", width=20, height=10)
    assert (depth.shape, depth.dtype) == ((10, 20), np.float32)
    assert depth.min() > 0
    objects = env.unwrapped.camera(kind="segmentation")
    assert objects.shape == (36, 48, 2)
    assert env.unwrapped.model.geom("finger").id in objects[..., 0]
    env.step(np.ones(2))
    assert not np.array_equal(frame, env.render())
    env.close()
    env.close()
    assert env.metadata["render_fps"] == pytest.approx(50)


def test_a_list_of_frames():
    env = gymnasium.make(ID, render_mode="rgb_array_list", render_quality="fast")
    env.reset(seed=0)
    env.step(np.zeros(2))
    assert len(env.render()) == 2
    env.close()


def test_vector_render_records_a_video(tmp_path):
    envs = gymnasium.make_vec(
        ID, num_envs=4, render_mode="rgb_array", width=32, height=32, render_quality="fast"
    )
    envs.reset(seed=0)
    frames = envs.render()
    assert isinstance(frames, tuple)
    assert [f.shape for f in frames] == [(32, 32, 3)] * 4
    pytest.importorskip("moviepy")
    folder = tmp_path / "new"
    recorded = RecordVideo(envs, str(folder), video_length=5, step_trigger=lambda s: s == 0)
    recorded.reset(seed=0)
    for _ in range(8):
        recorded.step(np.ones((4, 2)))
    recorded.close()
    (video,) = folder.glob("*.mp4")
    assert len(iio.imread(video)) >= 4


@pytest.mark.weekly
def test_rewards_show_in_the_colours():
    kwargs = {"render_mode": "rgb_array", "render_quality": "fast"}
    env = gymnasium.make("dmc/pendulum-swingup-v0", visualize_reward=True, **kwargs)
    plain = gymnasium.make("dmc/pendulum-swingup-v0", **kwargs)
    for each in (env, plain):
        each.reset(seed=0)
        each.unwrapped.set_state({"qpos": np.zeros(1), "qvel": np.zeros(1)})  # upright: reward 1
    assert not np.array_equal(env.render(), plain.render())
    for each in (env, plain):
        each.unwrapped.set_state({"qpos": np.array([np.pi])})  # hanging: reward 0
    assert np.array_equal(env.render(), plain.render())
    for each in (env, plain):
        each.close()


def test_render_without_a_mode_says_how():
    env = gymnasium.make(ID).unwrapped
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert env.render() is None
    envs = gymnasium.make_vec(ID, num_envs=2)
    envs.reset(seed=0)
    with pytest.warns(UserWarning, match="render_mode"):
        assert envs.render() is None


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        ({"observation": "pixels", "pixels": {"camera": "fixd"}}, "camera.*fixd.*fixed"),
        ({"observation": "pixels", "pixels": {"camera": 7}}, "camera.*7"),
        ({"observation": "pixels", "pixels": {"camera": []}}, "camera"),
        ({"observation": "pixels", "pixels": {"wdth": 8}}, "wdth.*width"),
        ({"observation": "pixels", "pixels": {"width": 0}}, "width"),
        ({"observation": "pixels", "pixels": {"kind": "rgba"}}, "rgba.*rgb"),
        ({"pixels": {"width": 8}}, "pixels.*flat"),
        ({"render_mode": "ansi"}, "render_mode.*ansi.*rgb_array"),
        ({"render_quality": "best"}, "render_quality.*best.*reference"),
        ({"camera": "fixd"}, "camera.*fixd.*fixed"),
        ({"width": 0}, "width"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*render_mode")
def test_wrong_arguments_name_the_nearest(kwargs, words):
    with pytest.raises(ValueError, match=words):
        gymnasium.make(ID, **kwargs)
    with pytest.raises(ValueError, match=words):
        gymnasium.make_vec(ID, num_envs=2, **kwargs)


def test_unknown_pixels_type_and_human_batches():
    with pytest.raises(TypeError, match="pixels"):
        gymnasium.make(ID, observation="pixels", pixels=84)
    with pytest.raises(ValueError, match="human"):
        gymnasium.make_vec(ID, num_envs=2, render_mode="human")
