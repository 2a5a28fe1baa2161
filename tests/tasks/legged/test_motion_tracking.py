"""Motion tracking against recorded control steps of mjlab, its start, ends, and motions."""

import dataclasses

import gymnasium
import mujoco
import numpy as np
import pytest

from helpers.lanes import mostly_slow
from helpers.legged_records import Errors, Placed, assert_noise, record
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.mocap import Trajectory, velocities
from mjgym.robots.legged_robots import legged_robots
from mjgym.tasks.legged import motion_tracking, servos
from mjgym.tasks.legged.motion_tracking import MotionTracking
from mjgym.tasks.legged.motions import load_motion

BOUND = 1e-5
TERMS = (
    "motion_global_root_pos", "motion_global_root_ori", "motion_body_pos", "motion_body_ori",
    "motion_body_lin_vel", "motion_body_ang_vel",
)  # fmt: skip
PENALTIES = ("action_rate_l2", "joint_limit", "self_collisions")
ROBOTS = ("g1", "go1", "go2")


def published(**fields):
    return MotionTracking(**{"robot": "g1", **fields})


class Replayed(Placed):
    """The task in mjlab's recorded states."""

    def __init__(self, **fields):
        super().__init__(published(privileged=True, **fields))
        self.record = record("mjlab_g1_tracking")

    def begin_step(self, t, i):
        """Go to the start of a control step, and let the task remember it."""
        z = self.record
        self.stand(z["pre/qpos"][t, i], z["pre/qvel"][t, i])
        self.remember(frame=z["rew/frame"][t, i] - 1)
        self.remember(**self.task.update(self.view))
        self.remember(action=z["rew/action"][t, i], last_action=z["rew/prev_action"][t, i])

    def take_step(self, t, i):
        """Go to where rewards are computed."""
        z = self.record
        self.begin_step(t, i)
        middle = [(z["sub/qpos"][t, k, i], z["sub/qvel"][t, k, i]) for k in range(4)]
        order = [z.meta["ctrl_joints"].index(name) for name in self.task.body.joints]
        start = (z["pre/qpos"][t, i], z["pre/qvel"][t, i])
        self.play([start, *middle], z["rew/ctrl"][t, i][order])
        self.overwrite_past(servos.ITSELF, z["rew/self_force"][t, i, 0][::-1])


@pytest.fixture(scope="module")
def replayed():
    return Replayed()


# Against the recording.


def test_the_definition_is_the_recorded_one(replayed):
    task, meta = replayed.task, replayed.record.meta
    assert {name: getattr(task, name) for name in meta["weights"]} == meta["weights"]
    assert list(task.tracked) == meta["tracked"]
    assert task.body.trunk == meta["anchor"]
    assert list(task.reference.bodies) == meta["body_names"]
    assert np.abs(task.scales - meta["action_scale"]).max() < 1e-7


def test_terms_and_rewards_are_the_recorded_ones(replayed):
    z, errors = replayed.record, Errors()
    for t, i in z.rows():
        replayed.take_step(t, i)
        terms = replayed.task.terms(replayed.view)
        assert tuple(terms) == (*TERMS, *PENALTIES)
        for name, term in terms.items():
            weight = z.meta["weights"][name]
            errors.note(name, weight * term, z[f"terms/{name}"][t, i])
        errors.note("reward", replayed.task.reward(terms), z["reward"][t, i])
    assert errors.beyond(BOUND) == {}
    assert all(np.ptp(z[f"terms/{name}"]) > 0.1 for name in errors if name != "reward")


def test_episodes_end_where_the_recorded_ones_do(replayed):
    z = replayed.record
    for t, i in z.rows():
        replayed.take_step(t, i)
        assert bool(replayed.task.terminated(replayed.view)) == z["terminated"][t, i]
    for reason in ("anchor_pos", "anchor_ori", "ee_body_pos"):
        assert z[f"ends/{reason}"].any()


def test_observations_are_the_recorded_ones(replayed):
    z, errors, seen = replayed.record, Errors(), 0
    for t, i in z.rows():
        replayed.begin_step(t, i)
        if t and not np.array_equal(z["pre/qpos"][t, i], z["sub/qpos"][t - 1, 3, i]):
            continue  # another state was put in place after the observation, or an episode began
        replayed.remember(action=z["rew/action"][t - 1, i] if t else np.zeros(29))
        for name, value in replayed.task.observation(replayed.view).items():
            scale = max(1.0, np.abs(z[f"obs/{name}"][t, i]).max())
            errors.note(name, value / scale, z[f"obs/{name}"][t, i] / scale)
        seen += 1
    assert seen > 70
    assert errors.beyond(BOUND) == {}
    assert list(errors)[:8] == [
        "command", "motion_anchor_pos_b", "motion_anchor_ori_b", "base_lin_vel", "base_ang_vel",
        "joint_pos", "joint_vel", "actions",
    ]  # fmt: skip


def test_frames_follow_one_another_as_recorded(replayed):
    z = replayed.record
    for t, i in z.rows():
        replayed.take_step(t, i)
        if not (z["terminated"][t, i] or z["truncated"][t, i]):
            assert replayed.task.update(replayed.view)["frame"] == z["mem/frame"][t + 1, i]


# By hand.


def matrices(quaternions):
    """Rotation matrices by the engine, (n, 3, 3)."""
    flat = np.zeros((len(quaternions), 9))
    for row, quaternion in zip(flat, quaternions, strict=True):
        mujoco.mju_quat2Mat(row, quaternion)
    return flat.reshape(-1, 3, 3)


@pytest.mark.parametrize("robot", mostly_slow(ROBOTS, 3))
def test_a_perfect_follower_has_all_terms_at_one(robot):
    placed = Placed(published(robot=robot))
    task, motion = placed.task, placed.task.reference
    for frame in range(1, len(motion), 25):
        state = motion.qpos[frame], motion.qvel[frame]
        placed.stand(*state)
        placed.remember(frame=frame - 1)
        placed.remember(**task.update(placed.view))
        placed.play([state] * 5, np.zeros(placed.model.nu))
        terms = task.terms(placed.view)
        for name in TERMS:
            assert terms[name] == pytest.approx(1.0, abs=1e-10), (name, frame)
        assert terms["joint_limit"] == terms["action_rate_l2"] == terms["self_collisions"] == 0
        assert not task.terminated(placed.view)


@pytest.mark.parametrize(
    ("change", "ends"),
    mostly_slow(
        [
            ({"height": 0.24}, False),
            ({"height": 0.26}, True),
            ({"aside": 3.0}, False),  # only heights count
            ({"tilt": np.arccos(1 - 0.79)}, False),
            ({"tilt": np.arccos(1 - 0.81)}, True),
        ],
        3,
    ),
)
def test_an_episode_ends_far_from_the_motion(change, ends):
    """The trunk's height and tilt, for a robot whose limbs are not watched."""

    @dataclasses.dataclass(frozen=True)
    class Armless(type(legged_robots.find("go1"))):
        tips: tuple[str, ...] = ()

    placed = Placed(published(robot=Armless(), motion="go1"))
    qpos, qvel = placed.task.reference.qpos[0].copy(), np.zeros(18)
    qpos[1] += change.get("aside", 0.0)
    qpos[2] += change.get("height", 0.0)
    half = change.get("tilt", 0.0) / 2
    qpos[3:7] = [np.cos(half), np.sin(half), 0, 0]
    placed.remember(frame=1)
    placed.play([(qpos, qvel)] * 5, np.zeros(12))
    assert bool(placed.task.terminated(placed.view)) is ends


def test_an_episode_ends_when_the_end_of_a_limb_is_too_high():
    placed = Placed(published())
    qpos = placed.task.reference.qpos[0].copy()
    placed.remember(frame=1)
    for lift, ends in ((0.0, False), (-2.5, True)):
        qpos[placed.view.rows("qpos", ("left_shoulder_pitch_joint",))] += lift
        placed.play([(qpos, np.zeros(35))] * 5, np.zeros(29))
        assert bool(placed.task.terminated(placed.view)) is ends


# Episodes.


@pytest.mark.slow
def test_starts_are_drawn_as_published():
    envs = VectorEnv(published(), num_envs=600)
    envs.reset(seed=0)
    task, state = envs.task, envs.get_state()
    frames = state["userdata"][:, 0].astype(int)
    assert np.array_equal(state["memory.frame"], frames + 1)
    assert frames.min() < 5
    assert frames.max() > 490
    assert abs(frames.mean() - 250) < 20
    motion = task.reference
    moved = state["qpos"][:, :3] - motion.qpos[frames, :3]
    for axis, largest in enumerate((0.05, 0.05, 0.01)):
        assert 0.98 * largest < np.abs(moved[:, axis]).max() <= largest
    theirs, ours = matrices(motion.qpos[frames, 3:7]), matrices(state["qpos"][:, 3:7])
    turn = ours @ np.swapaxes(theirs, -1, -2)
    turned = (
        np.arctan2(turn[:, 2, 1], turn[:, 2, 2]),
        np.arcsin(-turn[:, 2, 0]),
        np.arctan2(turn[:, 1, 0], turn[:, 0, 0]),
    )
    for angle, largest in zip(turned, (0.1, 0.1, 0.2), strict=True):
        assert 0.98 * largest < np.abs(angle).max() <= largest + 1e-9
    spins = np.einsum("nij,nj->ni", ours, state["qvel"][:, 3:6])
    spins -= np.einsum("nij,nj->ni", theirs, motion.qvel[frames, 3:6])
    speeds = np.hstack([state["qvel"][:, :3] - motion.qvel[frames, :3], spins])
    for axis, largest in enumerate((0.5, 0.5, 0.2, 0.52, 0.52, 0.78)):
        assert 0.98 * largest < np.abs(speeds[:, axis]).max() <= largest + 1e-9
    joints = state["qpos"][:, 7:] - motion.qpos[frames, 7:]
    assert 0.099 < np.abs(joints).max() <= 0.1 + 1e-9
    assert np.array_equal(state["qvel"][:, 6:], motion.qvel[frames, 6:])
    limits = servos.servos_of(task.body)
    assert (state["qpos"][:, 7:] >= limits.lower).all()
    assert (state["qpos"][:, 7:] <= limits.upper).all()
    envs.close()


@pytest.mark.slow
def test_an_episode_from_the_start_succeeds_at_the_end_of_the_motion():
    env = Env(published(robot="go1", from_start=True), observation="dict", dtype="float64")
    observation, info = env.reset(seed=0)
    motion, steps = env.task.reference, 0
    assert np.array_equal(env.data.qpos, motion.qpos[0])
    while True:
        steps += 1
        assert np.array_equal(observation["command"][:12], motion.qpos[steps, 7:])
        env.data.qpos[:], env.data.qvel[:] = motion.qpos[steps - 1], motion.qvel[steps - 1]
        env.set_state({"qpos": motion.qpos[steps - 1], "qvel": motion.qvel[steps - 1]})
        observation, _, terminated, truncated, info = env.step(np.zeros(12))
        assert not terminated
        if truncated:
            break
        assert not info["success"]
    assert steps == len(motion) - 1
    assert info["success"]


def test_the_scripted_policy_aims_at_the_motion():
    envs = VectorEnv(published(robot="go1"), num_envs=3, observation="dict", dtype="float64")
    observation, _ = envs.reset(seed=0)
    policy, motion = envs.task.scripted_policy(), envs.task.reference
    envs.step(policy(observation))
    frames = envs.get_state()["userdata"][:, 0].astype(int)
    assert np.allclose(envs.unwrapped.view.ctrl, motion.qpos[frames + 1, 7:])
    envs.close()


@pytest.mark.slow
def test_the_ghost_is_where_the_motion_is():
    envs = VectorEnv(published(robot="go1", ghost=True), num_envs=3)
    plain = VectorEnv(published(robot="go1"), num_envs=3)
    assert np.array_equal(envs.reset(seed=0)[0], plain.reset(seed=0)[0])
    motion, view = envs.task.reference, envs.unwrapped.view
    start = envs.get_state()["userdata"][:, 0].astype(int)
    for step in range(3):
        for k, name in enumerate(motion.bodies):
            assert np.allclose(view.body(f"ghost/{name}").xpos, motion.position[start + step, k])
        action = np.full((3, 12), 0.1)
        assert np.array_equal(envs.step(action)[0], plain.step(action)[0])
    envs.close()
    plain.close()


@pytest.mark.slow
def test_noise_is_of_the_published_size():
    assert_noise(published(robot="go1", noise=True), published(robot="go1"), motion_tracking.NOISE)


@pytest.mark.slow
def test_published_variations_and_pushes():
    envs = VectorEnv(published(pushes=True), num_envs=300, vary="published")
    _, info = envs.reset(seed=0)
    for axis, largest in enumerate((0.025, 0.05, 0.05)):
        shift = info[f"variation/body_ipos[torso_link, {axis}]"]
        shift = shift - envs.unwrapped.model.body("torso_link").ipos[axis]
        assert 0.98 * largest < np.abs(shift).max() <= largest
    sliding = info["variation/geom_friction[*_foot*, 0]"]
    assert not np.ptp(sliding, axis=1).any()
    assert 0.3 <= sliding.min() < 0.32
    assert 1.18 < sliding.max() <= 1.2
    pushes = envs.get_state()["userdata"][:, 1:].reshape(-1, 7)
    for column, largest in enumerate((0.5, 0.5, 0.2, 0.52, 0.52, 0.78), start=1):
        assert 0.99 * largest < np.abs(pushes[:, column]).max() <= largest
    envs.close()


# The bundled motions.


@pytest.mark.parametrize("name", ROBOTS)
def test_a_bundled_motion_is_sound(name):
    """Feet stay, joints keep within soft limits, and nothing touches but feet and ground."""
    robot = legged_robots.find(name)
    motion, limits = load_motion(name, robot, 0.02), servos.servos_of(robot)
    assert len(motion) == 501
    assert (motion.qpos[:, 7:] > limits.lower).all()
    assert (motion.qpos[:, 7:] < limits.upper).all()
    assert np.allclose(motion.qvel, velocities(motion.qpos, 0.02), atol=1e-12)
    assert np.abs(motion.qpos[[0, -1], 7:] - robot.pose).max() < 0.1  # go2 stands on all feet
    env = Env(published(robot=name))
    model, data = env.model, mujoco.MjData(env.model)
    feet = []
    for qpos in motion.qpos[::5]:
        data.qpos[:] = qpos
        mujoco.mj_forward(model, data)
        feet.append([data.site(foot).xpos.copy() for foot in robot.ankles])
        for contact in data.contact:
            names = [model.geom(geom).name for geom in contact.geom]
            assert "floor" in names
            assert any("_foot" in geom for geom in names)
            assert contact.dist > -1e-4
    assert np.ptp(feet, axis=0).max() < 2e-5
    assert np.ptp(motion.qpos[:, 2]) > 0.05  # it moves


# Motions of one's own.


def a_motion(robot="go1", frames=60, timestep=0.02):
    """A trajectory, as `Trajectory` keeps it: a robot that rises and turns."""
    ours = legged_robots.find(robot)
    times = np.arange(frames) * timestep
    qpos = np.zeros((frames, 7 + len(ours.pose)))
    qpos[:, 2] = ours.height + 0.1 * times
    qpos[:, 3], qpos[:, 6] = np.cos(times / 4), np.sin(times / 4)
    qpos[:, 7:] = ours.pose
    return Trajectory(qpos, velocities(qpos, timestep), timestep, ours.joints)


def in_mjlabs_form(trajectory, **changes):
    """Arrays of mjlab's files, with a second body."""
    q, v, count = trajectory.qpos, trajectory.qvel, len(trajectory)
    spins = np.einsum("nij,nj->ni", matrices(q[:, 3:7]), v[:, 3:6])
    bodies = {
        "body_pos_w": q[:, :3], "body_quat_w": q[:, 3:7], "body_lin_vel_w": v[:, :3],
        "body_ang_vel_w": spins,
    }  # fmt: skip
    arrays = {name: np.stack([x, np.ones((count, x.shape[1]))], 1) for name, x in bodies.items()}
    arrays |= {"fps": np.array([1 / trajectory.timestep]), "joint_pos": q[:, 7:]}
    return {**arrays, "joint_vel": v[:, 6:], **changes}


@pytest.mark.slow
def test_a_motion_of_ones_own_is_followed(tmp_path):
    a_motion(timestep=0.01, frames=121).save(tmp_path / "rise.npz")
    np.savez(tmp_path / "mjlab.npz", **in_mjlabs_form(a_motion()))
    for name in ("rise", "mjlab"):
        env = gymnasium.make(
            "legged/go1-tracking-v0", motion=str(tmp_path / f"{name}.npz"), from_start=True
        ).unwrapped
        env.reset(seed=0)
        motion = env.task.reference
        assert motion.qpos[:, 2] == pytest.approx(0.278 + 0.1 * 0.02 * np.arange(len(motion)))
        assert motion.velocity[5, 0] == pytest.approx([0, 0, 0.1])
        assert motion.rate[5, 0] == pytest.approx([0, 0, 0.5])
    assert len(motion) == 60
    a_motion(frames=80).save(tmp_path / "rise.npz")  # a changed file is read again
    assert len(load_motion(str(tmp_path / "rise.npz"), env.task.body, 0.02)) == 80


@pytest.mark.parametrize(
    ("trajectory", "message"),
    [
        (a_motion("g1"), r"own\.npz: moves 29 joints, the robot has 12"),
        (dataclasses.replace(a_motion(), joints=a_motion().joints[::-1]),
         r"own\.npz: joint 0 is 'RL_calf_joint', that of the robot is 'FR_hip_joint'"),
        (a_motion(frames=2, timestep=0.005), r"own\.npz: timestep: 0\.02 s is longer than"),
    ],
)  # fmt: skip
def test_a_motion_of_another_robot_is_refused(tmp_path, trajectory, message):
    trajectory.save(tmp_path / "own.npz")
    with pytest.raises(ValueError, match=message):
        Env(published(robot="go1", motion=str(tmp_path / "own.npz")))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"fps": np.array([50, 60])}, r"fps: must be one positive number, got \[50\. 60\.\]"),
        ({"joint_vel": np.zeros((60, 11))}, r"joint_vel: must be \(60, 12\), got \(60, 11\)"),
        ({"body_quat_w": np.ones((60, 2, 3))},
         r"body_quat_w: must be \(60, bodies, 4\), got \(60, 2, 3\)"),
        ({"body_pos_w": np.zeros((60, 0, 3))},
         r"body_pos_w: must be \(60, bodies, 3\), got \(60, 0, 3\)"),
        ({"body_quat_w": np.ones((60, 2, 4))}, r"quaternion of row 0 has length 2"),
        ({"joint_pos": np.array([object()])}, r"joint_pos.npy holds Python objects"),
    ],
)  # fmt: skip
def test_a_malformed_file_of_mjlab_is_refused(tmp_path, changes, message):
    path = tmp_path / "own.npz"
    np.savez(path, **in_mjlabs_form(a_motion(), **changes))
    with pytest.raises(ValueError, match=rf"own\.npz: .*{message}"):
        Env(published(robot="go1", motion=str(path)))


def test_an_incomplete_file_is_refused(tmp_path):
    arrays = in_mjlabs_form(a_motion())
    del arrays["joint_vel"]
    np.savez(tmp_path / "own.npz", **arrays)
    with pytest.raises(ValueError, match=r"own\.npz: no array 'joint_vel'"):
        Env(published(robot="go1", motion=str(tmp_path / "own.npz")))
    (tmp_path / "own.npz").write_text("nothing")
    with pytest.raises(ValueError, match=r"own\.npz: not an NPZ file"):
        Env(published(robot="go1", motion=str(tmp_path / "own.npz")))


def test_an_unknown_motion_names_the_bundled_ones():
    with pytest.raises(ValueError, match=r"motion: no file 'walk'.*g1, go1, go2"):
        Env(published(motion="walk"))
    with pytest.raises(ValueError, match=r"motion: no file 'go3'.*did you mean go2, go1"):
        Env(published(robot="go1", motion="go3"))
