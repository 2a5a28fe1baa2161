"""ToolHang against recorded states of robosuite 1.5.2 on MuJoCo 4.0.0."""

import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.robosuite_records import Record, make_task
from mjgym import Env
from mjgym.tasks.robosuite.tool_hang import ToolHang

EXACT = 1e-6
TOUCHING = 48  # states in which fingers touch otherwise than the published ones, which are meshes
ACROSS = np.sqrt(0.5)


@pytest.fixture(scope="module")
def record():
    return Record("ToolHang", paid=("sparse",))


def test_joints_and_entries_are_the_recorded_ones_in_their_order(record):
    record.assert_same_order()


def test_observations_rewards_and_successes_are_the_recorded_ones(record):
    errors, touched = record.compare()
    accelerations = errors.pop("robot0_joint_acc")
    assert {key: worst.max() for key, worst in errors.items() if worst.max() > EXACT} == {}
    assert accelerations[~touched].max() < EXACT
    assert np.count_nonzero(accelerations > EXACT) <= TOUCHING


@pytest.mark.slow
def test_recorded_states_are_the_same_all_at_once(record):
    record.assert_same_all_at_once()


def test_things_lie_where_they_are_published_to():
    env = Env(make_task("ToolHang"))
    poses = {name: [] for name in ("stand", "frame", "tool")}
    for seed in range(60):
        env.reset(seed=seed)
        for name, found in poses.items():
            body = env.data.body(f"{name}_root")
            found.append(np.concatenate([body.xpos, body.xquat]))
    stand, frame, tool = (np.array(found) for found in poses.values())
    np.testing.assert_allclose(stand, np.tile([-0.08, 0, 0.881, 1, 0, 0, 0], (60, 1)), atol=1e-9)
    # The ranges of 60 published starts, of quaternions up to their sign.
    for found, low, high in (
        (
            frame,
            (-0.06, -0.26, 0.8415, 0.1227, 0.1227, 0.6644, 0.6644),
            (-0.02, -0.22, 0.8415, 0.2419, 0.2419, 0.6964, 0.6964),
        ),
        (
            tool,
            (0.02, -0.22, 0.841, 0.4999, 0, 0, 0.766),
            (0.06, -0.18, 0.841, 0.6428, 0, 0, 0.8661),
        ),
    ):
        seen = np.hstack([found[:, :3], np.abs(found[:, 3:])])
        assert (seen >= np.array(low) - 1e-9).all()
        assert (seen <= np.array(high) + 1e-9).all()
        spread = np.ptp(seen, axis=0)
        assert (spread >= 0.8 * (np.array(high) - low)).all()
    # Signs: the frame lies on its side, its tip towards the stand.
    assert (frame[:, 3] * frame[:, 4] < 0).all()
    assert (frame[:, 5] * frame[:, 6] < 0).all()
    assert (frame[:, 3] * frame[:, 5] < 0).all()
    assert (tool[:, 3] * tool[:, 6] < 0).all()


# Predicates. The stand at the origin of the table, the frame in it, the tool on the frame.

STAND = np.array([0.1, 0.1, 0.88])
TIP = np.array([0.04375, 0.0, -0.13445])  # m, in the frame
FOOT_OF_TUBE = np.array([0.0, 0.045, -0.075])  # m, in the stand
ROD = 0.08625  # m, height in the frame
RING = np.array([0.0, 0.0, 0.093532843])  # m, of the ring over the hanging tool's frame
HANGS = -0.0061  # m, of the ring's middle under the rod's: the ring lies on the rod


def built(raised=0.015, aside=0.0, tilt=0.0, along=0.0, under=HANGS):
    """An environment with everything in its place, or as far out of it as that."""
    env = Env(ToolHang(), observation="dict", dtype="float64")
    env.reset(seed=0)
    qpos = env.data.qpos.copy()
    half = tilt / 2
    frame = STAND + FOOT_OF_TUBE - TIP + (aside, 0, raised)
    tool = frame - RING + np.array([along, 0, ROD + under])
    for name, pos, quat in (
        ("stand", STAND, (np.cos(half), np.sin(half), 0, 0)),
        ("frame", frame, (1, 0, 0, 0)),
        ("tool", tool, (ACROSS, 0, ACROSS, 0)),
    ):
        start = env.model.joint(f"{name}_joint0").qposadr[0]
        qpos[start : start + 7] = (*pos, *quat)
    return env, env.set_state({"qpos": qpos})


@pytest.mark.parametrize(
    ("out_of_place", "assembled", "hung"),
    mostly_slow(
        [
            ({}, 1, 1),
            ({"raised": 0.03}, 0, 1),  # the tip is not deep enough
            ({"aside": 0.012}, 0, 1),  # the post is beside the tube
            ({"tilt": np.radians(11)}, 0, 1),
            ({"along": -0.048}, 1, 0),  # off the hook
            ({"along": 0.046}, 1, 0),  # past the post
            ({"along": 0.03}, 1, 1),
            ({"under": -0.02}, 1, 0),  # below the rod, not around it
            ({"under": 0.0}, 1, 0),  # around it, and touches nothing
        ],
        3,
    ),
    ids=str,
)
def test_frame_in_the_stand_and_tool_on_the_frame(out_of_place, assembled, hung):
    env, observation = built(**out_of_place)
    assert observation["frame_is_assembled"] == assembled
    assert observation["tool_on_frame"] == hung
    success = bool(env.task.success(env.view))
    assert success == bool(assembled and hung)
    assert env.task.reward(env.task.terms(env.view)) == float(success)


def test_tool_in_the_hand_does_not_hang():
    env, _ = built()
    qpos = env.data.qpos.copy()
    tool = env.model.joint("tool_joint0").qposadr[0]
    hand = env.data.site(env.task.manipulators[0].tool).xpos
    shift = hand - qpos[tool : tool + 3]
    for name in ("stand", "frame", "tool"):
        start = env.model.joint(f"{name}_joint0").qposadr[0]
        qpos[start : start + 3] += shift
    observation = env.set_state({"qpos": qpos})
    assert observation["frame_is_assembled"] == 1
    assert observation["tool_on_frame"] == 0


def test_dense_reward_is_refused():
    with pytest.raises(ValueError, match="none of sparse"):
        ToolHang(reward_type="dense")
