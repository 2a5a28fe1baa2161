"""Following of recorded motion under dm_control's names: clips, tasks, rewards."""

import numpy as np
import pytest

from helpers import fitted_clips
from helpers.fitted_clips import NAMES
from helpers.places import DATA
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.locomotion import arenas, walkers
from mjgym_compat.dm_control.locomotion.mocap import loader, props
from mjgym_compat.dm_control.locomotion.tasks.reference_pose import rewards, tracking, types

QUARTER = np.array([np.sqrt(0.5), 0, 0, np.sqrt(0.5)])  # a quarter turn
HERE = {
    "center_of_mass": np.zeros(3),
    "joints_velocity": np.zeros(2),
    "appendages": np.zeros(6),
    "body_quaternions": np.array([[1.0, 0, 0, 0], [0, 0, 0, 2]]),
}
THERE = {
    "center_of_mass": np.array([0.3, 0, 0]),
    "joints_velocity": np.array([1.0, 2]),
    "appendages": np.full(6, 0.1),
    "body_quaternions": np.array([QUARTER, [0, 0, 0, -1]]),
}


def test_differences_are_summed_and_quaternions_are_angles():
    squared = rewards.compute_squared_differences(HERE, THERE, exclude_keys=("appendages",))
    assert squared == pytest.approx(
        {"center_of_mass": 0.09, "joints_velocity": 5.0, "body_quaternions": (np.pi / 4) ** 2}
    )


def test_terms_are_weighted_and_the_two_rewards_are_averaged():
    pose = rewards.get_reward("multi_term_pose_reward")(
        walker_features=HERE, reference_features=THERE
    )
    assert pose.reward_terms == pytest.approx(
        {
            "appendages": 0.15 * np.exp(-40 * 0.06),
            "body_quaternions": 0.65 * np.exp(-2 * (np.pi / 4) ** 2),
            "center_of_mass": 0.1 * np.exp(-10 * 0.09),
            "joints_velocity": np.exp(-0.1 * 5),
        }
    )
    comic = rewards.get_reward("comic")(
        termination_error=0.1,
        termination_error_threshold=0.4,
        walker_features=HERE,
        reference_features=THERE,
    )
    assert comic.reward == pytest.approx(0.5 * 0.75 + 0.5 * pose.reward)
    assert comic.reward == pytest.approx(sum(comic.reward_terms.values()))
    assert tuple(comic.reward_terms) == rewards.get_reward_channels("comic")


def test_a_wrong_name_names_the_nearest():
    with pytest.raises(ValueError, match="comic"):
        rewards.get_reward("comix")


# Tasks on clips.


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    return str(fitted_clips.write(tmp_path_factory.mktemp("clips") / "clips.h5"))


def tracking_task(clips, **fields):
    usual = {
        "dataset": types.ClipCollection(ids=NAMES, start_steps=(2, 0), end_steps=(10, 9)),
        "ref_steps": (1, 2),
        "min_steps": 1,
        "reward_type": "comic",
        "always_init_at_clip_start": True,
    }
    return tracking.MultiClipMocapTracking(
        walkers.CMUHumanoidPositionControlled, arenas.Floor(), clips, **{**usual, **fields}
    )


def environment(task, seed=1):
    return composer.Environment(task, random_state=np.random.RandomState(seed))


def test_an_episode_is_that_of_dm_control(clips):
    """Rewards, state and observations of dm_control 1.0.50 after five random actions."""
    with np.load(DATA / "locomotion" / "fitted_episode.npz") as file:
        recorded = dict(file)
    env = environment(tracking_task(clips))
    timestep = env.reset()
    rewards_seen = []
    for action in recorded.pop("actions"):
        timestep = env.step(action)
        rewards_seen.append(timestep.reward)
    assert timestep.last()
    assert timestep.discount == 1  # the clip is over
    np.testing.assert_allclose(rewards_seen, recorded.pop("rewards"), atol=1e-8)
    np.testing.assert_allclose(env.physics.data.qpos, recorded.pop("qpos"), atol=1e-12)
    for name, values in recorded.items():
        own = timestep.observation[f"walker/{name}"]
        np.testing.assert_allclose(own[0], values, atol=1e-11, err_msg=name)


def test_a_deviation_ends_the_episode(clips):
    env = environment(tracking_task(clips, termination_error_threshold=0.065))
    env.reset()
    timestep = env.step(np.ones(env.action_spec().shape))
    assert timestep.last()
    assert timestep.discount == 0


def test_starts_follow_the_collection(clips):
    task = tracking_task(clips, always_init_at_clip_start=False)
    assert task._possible_starts == [(0, k) for k in range(2, 7)] + [(1, k) for k in range(7)]
    weighted = types.ClipCollection(ids=NAMES, weights=(0, 1))
    env = environment(tracking_task(clips, dataset=weighted))
    assert {int(env.reset().observation["walker/clip_id"][0, 0]) for _ in range(5)} == {1}
    with pytest.raises(ValueError, match="ClipCollection"):
        types.ClipCollection(ids=NAMES, end_steps=(10,))
    with pytest.raises(ValueError, match="dataset: no 'walk_tyny'; did you mean walk_tiny"):
        tracking_task(clips, dataset="walk_tyny")


@pytest.mark.parametrize("face", [False, True], ids=["moved bodies", "more bodies"])
def test_another_walker_is_refused(clips, face):
    def large(name):
        return walkers.CMUHumanoidPositionControlledV2020(name=name, include_face=face)

    with pytest.raises(ValueError, match="proto/walker"):
        environment(
            tracking.MultiClipMocapTracking(
                large, arenas.Floor(), clips, (1,), types.ClipCollection(ids=NAMES), min_steps=1
            )
        ).reset()


def test_props_and_a_ghost_show_the_reference(clips):
    task = tracking_task(
        clips, prop_factory=props.Prop, disable_props=False, ghost_offset=(0, 0, 1.0)
    )
    env = environment(task)
    env.reset()
    timestep = env.step(np.zeros(env.action_spec().shape))
    box = timestep.observation["box/position"][0]
    np.testing.assert_allclose(box, [2, 0, 0.18], atol=1e-2)  # it settles on the ground
    wanted = timestep.observation["reference_props_pos_global"][0][:3]
    np.testing.assert_array_equal(wanted, [2, 0, 0.18])
    shown, _ = task._ghost.get_pose(env.physics)
    reference = task._current_reference_features["position"]
    np.testing.assert_allclose(shown - reference, [0, 0, 1])
    assert env.action_spec().shape == (56,)


def test_playback_shows_clip_after_clip(clips):
    task = tracking.PlaybackTask(
        walkers.CMUHumanoidPositionControlled,
        arenas.Floor(),
        clips,
        types.ClipCollection(ids=NAMES),
    )
    env = environment(task)
    for name in (*NAMES, NAMES[0]):
        timestep = env.reset()
        clip = loader.HDF5TrajectoryLoader(clips).get_trajectory(name).as_dict()
        for step in range(1, 4):
            timestep = env.step(np.zeros(env.action_spec().shape))
            assert timestep.reward == 0
            joints = env.physics.bind(task._walker.mocap_joints).qpos
            np.testing.assert_array_equal(joints, clip["walker/joints"][step])


def test_parts_of_a_clip(clips):
    source = loader.HDF5TrajectoryLoader(clips)
    assert source.keys() == NAMES
    whole = source.get_trajectory(NAMES[0])
    assert (whole.num_steps, whole.end_step, whole.duration) == (10, 10, pytest.approx(0.45))
    part = source.get_trajectory(NAMES[0], start_time=0.1, end_time=0.3)
    assert (part.start_step, part.end_step, part.num_steps) == (2, 7, 5)
    assert part.as_dict()["walker/body_positions"].shape == (5, 30, 3)
    last = part.get_timestep_data(0.2).walkers[0]
    assert list(last.velocity) == [0, 0, 0]
    moving = source.get_trajectory(NAMES[0], zero_out_velocities=False).get_timestep_data(0.3)
    assert np.linalg.norm(moving.walkers[0].velocity) > 1
    with pytest.raises(ValueError, match="times or as steps, not both"):
        source.get_trajectory(NAMES[0], start_time=0.1, start_step=2)
    with pytest.raises(ValueError, match="no multiple of the clip's step"):
        part.get_timestep_data(0.12)
    with pytest.raises(KeyError, match="no clip 'cmu'"):
        source.get_trajectory("cmu")


def test_modifiers_change_a_copy(clips):
    clip = loader.HDF5TrajectoryLoader(clips).get_trajectory(NAMES[0])
    lifted = clip.get_modified_trajectory(loader.ZOffsetter(0.5)).as_dict()
    for name in ("walker/position", "walker/body_positions", "prop/position"):
        np.testing.assert_allclose(
            lifted[name], clip.as_dict()[name] + np.array([0, 0, 0.5]), err_msg=name
        )
    (heavy,) = clip.create_props(loader.PropResizer(size_factor=2, mass=10), priority_friction=True)
    np.testing.assert_allclose(heavy.geom.size, (0.36, 0.26, 0.36))
    np.testing.assert_allclose(heavy.geom.friction, (0.7, 0.09, 0.18))
    np.testing.assert_allclose(heavy.geom.rgba, (0.77, 0.34, 0.21, 1))
    (limited,) = clip.create_props(loader.PropMassLimiter(1.5))
    assert limited.geom.mass == 1.5
    (same,) = clip.create_props()
    assert same.geom.mass == 3


@pytest.mark.parametrize(
    ("version", "scaled", "mass", "head"),
    [("2019", False, 39.6254, 0.5212), ("2019", True, 70.0, 0.6254),
     ("2020", False, 66.9545, 0.5612), ("2020", True, 70.0, 0.6734)],
)  # fmt: skip
def test_sizes_of_the_humanoid(version, scaled, mass, head):
    """Mass and height of the head above the root, as dm_control 1.0.50 has them."""
    walker = walkers.CMUHumanoidPositionControlled(model_version=version, scale_default=scaled)
    physics = mjcf.Physics.from_mjcf_model(walker.mjcf_model)
    assert physics.model.body_mass.sum() == pytest.approx(mass, abs=1e-4)
    assert physics.named.data.xpos["head"][1] == pytest.approx(head, abs=1e-4)
