"""The tracking task: references, starts, rewards, ends, playback, and what it refuses."""

import json
import shutil

import gymnasium
import mujoco
import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from helpers.lanes import lane, mostly_slow
from helpers.places import ASSETS
from helpers.rollouts import equal
from helpers.suite import within
from mjgym import checks
from mjgym.cli.mocap import mocap
from mjgym.mocap import SCALE_V2020, Trajectory, find_clips, read_amc, resample, to_trajectory
from mjgym.task.models import compile_model
from mjgym.tasks.locomotion.references import references
from mjgym.tasks.locomotion.tracking import Tracking

ID = "locomotion/cmu_humanoid-tracking-v0"
CLIPS = ASSETS / "locomotion" / "clips"
WALKER, STEP, FUTURE, SHORTEST = "cmu_humanoid_2020", 0.03, 5, 10
NAMES = sorted(path.name for path in CLIPS.iterdir())
TERMS = ("truncation", "center_of_mass", "joints_velocity", "appendages", "body_quaternions")
APPENDAGES = ("rradius", "lradius", "rfoot", "lfoot", "head")


def make(**kwargs):
    return gymnasium.make(ID, dtype="float64", **{"observation": "dict", **kwargs})


@pytest.fixture
def env():
    env = make()
    yield env.unwrapped
    env.close()


@pytest.fixture(scope="module")
def reference():
    return references("", WALKER, STEP)


def place(env):
    """The clip and the frame at which the episode is, and the row of the references."""
    clip, start = env.data.userdata.astype(int)
    frame = start + round(env.data.time / env.control_timestep)
    return clip, frame, env.task.references.first[clip] + frame


def terms(env, **state):
    """The terms, in a state some of whose entries are given."""
    env.set_state(state)
    return {name: float(value) for name, value in env.task.terms(env.view).items()}


def clip_file(folder, frames, name="clip.npz", **changes):
    """A trajectory of the 2020 humanoid that moves on at 1 m/s with its head turning."""
    qpos = np.zeros((frames, 63))
    qpos[:, 0] = np.arange(frames) * STEP
    qpos[:, 2:7] = 1.143, *np.array([0.859, 1, 1, 0.859]) / np.sqrt(2 * (1 + 0.859**2))
    qpos[:, -1] = np.linspace(0, 0.3, frames)
    qvel = np.zeros((frames, 62))
    qvel[:, 0] = 1.0
    trajectory = Trajectory(**{"qpos": qpos, "qvel": qvel, "timestep": STEP, **changes})
    trajectory.save(folder / name)
    return trajectory


# The clips.


def test_references_are_the_clips_on_the_ground(reference):
    assert list(reference.clips) == NAMES
    assert reference.frames.sum() == len(reference.qpos)
    for clip, name in enumerate(NAMES):
        trajectory = to_trajectory(read_amc(CLIPS / name), STEP, SCALE_V2020, "linear")
        first, frames = reference.first[clip], reference.frames[clip]
        rows = slice(first, first + frames)
        assert frames == len(trajectory)
        lift = reference.qpos[rows] - trajectory.qpos
        assert np.ptp(lift[:, 2]) < 1e-15
        assert 0.001 < lift[0, 2] < 0.03
        lift[:, 2] = 0
        assert not lift.any()
        np.testing.assert_array_equal(reference.qvel[rows], trajectory.qvel)


def deepest(model, data, qpos):
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    return min((contact.dist for contact in data.contact), default=np.inf)


def test_no_frame_reaches_into_the_ground(reference):
    model = compile_model(Tracking())
    model.geom_margin[:] = 0.1
    model.geom_margin[model.geom_bodyid != 0] = 0
    data = mujoco.MjData(model)
    lowest = np.array([deepest(model, data, qpos) for qpos in reference.qpos])
    for first, frames in zip(reference.first, reference.frames, strict=True):
        assert lowest[first : first + frames].min() == pytest.approx(0, abs=1e-9)


def test_bodies_are_where_the_engine_has_them(reference):
    model = compile_model(Tracking())
    data = mujoco.MjData(model)
    bodies = [data.body(name) for name in reference.bodies]
    root = data.body("walker/root")
    assert len(bodies) == 31
    assert "walker/root" not in reference.bodies
    assert "walker/" not in reference.bodies
    order = [model.joint(model.actuator_trnid[i, 0]).qposadr[0] for i in range(model.nu)]
    for row in range(0, len(reference.qpos), 7):
        data.qpos[:] = reference.qpos[row]
        mujoco.mj_forward(model, data)
        axes = root.xmat.reshape(3, 3)
        close = {"rtol": 0, "atol": 1e-12}
        np.testing.assert_allclose(reference.position[row], root.xpos, **close)
        np.testing.assert_allclose(reference.quaternion[row], root.xquat, **close)
        np.testing.assert_allclose(reference.center_of_mass[row], root.subtree_com, **close)
        np.testing.assert_allclose(reference.bodies_pos[row], [b.xpos for b in bodies], **close)
        np.testing.assert_allclose(reference.bodies_quats[row], [b.xquat for b in bodies], **close)
        np.testing.assert_array_equal(reference.observed[row], data.qpos[order])
        inside = [(data.body(f"walker/{b}").xpos - root.xpos) @ axes for b in APPENDAGES]
        np.testing.assert_allclose(reference.appendages[row], np.ravel(inside), **close)
        for body, ego in zip(bodies, reference.ego_bodies_quats[row], strict=True):
            np.testing.assert_allclose(ego, turn(root.xquat, body.xquat), **close)


def turn(a, b):
    """The rotation from one orientation to another, in the axes of the first."""
    inverse, found = np.empty(4), np.empty(4)
    mujoco.mju_negQuat(inverse, np.array(a))
    mujoco.mju_mulQuat(found, inverse, np.array(b))
    return found


def test_references_are_read_once_and_again_when_a_file_has_changed(tmp_path):
    clip_file(tmp_path, 20)
    first = references(str(tmp_path), WALKER, STEP)
    assert references(str(tmp_path), WALKER, STEP) is first
    clip_file(tmp_path, 22)
    second = references(str(tmp_path), WALKER, STEP)
    assert (first.frames.tolist(), second.frames.tolist()) == ([20], [22])
    for array in (second.qpos, second.bodies_pos, second.frames):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_a_trajectory_is_as_good_as_its_recording(tmp_path):
    clip = read_amc(CLIPS / "walk.amc")
    to_trajectory(clip, STEP, SCALE_V2020, "linear").save(tmp_path / "walk.npz")
    for name in ("qpos", "qvel", "bodies_pos", "bodies_quats", "appendages"):
        recorded, saved = (
            getattr(references(str(folder), WALKER, STEP), name)
            for folder in (CLIPS / "walk.amc", tmp_path)
        )
        np.testing.assert_array_equal(recorded, saved)


def test_a_trajectory_of_another_timestep_is_resampled(tmp_path):
    trajectory = clip_file(tmp_path, 31, timestep=0.02)
    found = references(str(tmp_path / "clip.npz"), WALKER, STEP)
    assert found.frames.tolist() == [21]  # 0.6 s
    wanted = resample(np.arange(31) * 0.02, trajectory.qpos, STEP, "linear")
    np.testing.assert_allclose(found.qpos, wanted, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.qvel[:, 0], 1.5, rtol=1e-9)  # 0.03 m in 0.02 s


@lane(1, 3)
def test_the_smaller_humanoid_follows_smaller_clips(reference):
    small = references("", "cmu_humanoid", STEP)
    places = (1.2 * small.qpos[:, :2], reference.qpos[:, :2])
    np.testing.assert_allclose(*places, rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(small.qpos[:, 3:], reference.qpos[:, 3:])
    assert len(small.bodies) == 30  # it has no face
    env = make(walker="cmu_humanoid")
    env.reset(seed=0)
    reached = env.unwrapped.task.terms(env.unwrapped.view)
    assert [float(reached[name]) for name in TERMS] == pytest.approx([1.0] * 5)


# Starts.


class Counter:
    """In place of a random generator: says each whole number in turn."""

    def __init__(self):
        self.said, self.limits = -1, set()

    def integers(self, limit):
        self.said += 1
        self.limits.add(int(limit))
        return self.said


def test_every_frame_with_enough_after_it_is_a_start_and_as_likely_as_any_other(env, reference):
    rng, view = Counter(), env.view
    wanted = {
        (clip, start)
        for clip, frames in enumerate(reference.frames)
        for start in range(frames - FUTURE - SHORTEST)
    }
    starts = set()
    for _ in wanted:
        env.task.initialize(view, rng)
        starts.add(tuple(view.userdata.astype(int)))
        row = reference.first[int(view.userdata[0])] + int(view.userdata[1])
        np.testing.assert_array_equal(view.qpos, reference.qpos[row])
        np.testing.assert_array_equal(view.qvel, reference.qvel[row])
    assert starts == wanted
    assert rng.limits == {len(wanted)}


@pytest.mark.slow
def test_from_start_begins_with_the_first_frame():
    env = make(from_start=True)
    clips = set()
    for seed in range(20):
        env.reset(seed=seed)
        clip, frame, _ = place(env.unwrapped)
        clips.add(int(clip))
        assert frame == 0
    assert clips == {0, 1, 2, 3}


def test_the_state_is_the_references(env, reference):
    for seed in range(5):
        env.reset(seed=seed)
        row = place(env)[2]
        np.testing.assert_array_equal(env.data.qpos, reference.qpos[row])
        np.testing.assert_array_equal(env.data.qvel, reference.qvel[row])
        reached = env.task.terms(env.view)
        assert list(reached) == list(TERMS)
        assert [float(x) for x in reached.values()] == pytest.approx([1.0] * 5, rel=1e-12)
        assert not env.task.terminated(env.view)


# What is observed.


def test_at_the_reference_observations_are_the_clips_own_differences(env, reference):
    model, data = env.model, mujoco.MjData(env.model)
    order = [model.joint(model.actuator_trnid[i, 0]).qposadr[0] for i in range(model.nu)]

    def pose(row):
        data.qpos[:] = reference.qpos[row]
        mujoco.mj_forward(model, data)
        names = ("walker/root", *reference.bodies)
        return [np.array([getattr(data.body(n), f) for n in names]) for f in ("xpos", "xquat")]

    for seed in range(3):
        seen, _ = env.reset(seed=seed)
        clip, frame, row = place(env)
        places, quats = pose(row)
        axes = data.body("walker/root").xmat.reshape(3, 3).copy()
        assert seen["walker/clip_id"] == clip
        assert seen["walker/time_in_clip"] == pytest.approx(frame / (reference.frames[clip] - 1))
        for k in range(FUTURE):
            then, later = pose(row + k + 1)
            wanted = {
                "rel_joints": (reference.qpos[row + k + 1] - reference.qpos[row])[order],
                "rel_bodies_pos_global": then[1:] - places[1:],
                "rel_bodies_quats": [turn(a, b) for a, b in zip(quats, later, strict=True)][1:],
                "rel_bodies_pos_local": (then[1:] - places[1:]) @ axes,
                "ego_bodies_quats": [turn(later[0], b) for b in later[1:]],
                "rel_root_quat": turn(quats[0], later[0]),
                "rel_root_pos_local": (then[0] - places[0]) @ axes,
                "appendages_pos": reference.appendages[row + k + 1],
            }
            for name, value in wanted.items():
                found = seen[f"walker/reference_{name}"]
                assert found.shape[0] == FUTURE
                np.testing.assert_allclose(found[k], np.ravel(value), rtol=0, atol=1e-9)


def test_observations_are_relative_to_the_walker_and_go_on_with_the_clip(env, reference):
    env.reset(seed=0)
    row = place(env)[2]
    moved = reference.qpos[row].copy()
    moved[:3] += (0.3, -0.2, 0.1)
    seen = env.set_state({"qpos": moved, "time": np.array(2 * STEP)})
    for k in range(FUTURE):
        way = reference.position[row + 3 + k] - reference.position[row] - (0.3, -0.2, 0.1)
        assert np.linalg.norm(seen["walker/reference_rel_root_pos_local"][k]) == pytest.approx(
            np.linalg.norm(way)
        )
        step = reference.observed[row + 3 + k] - reference.observed[row]
        np.testing.assert_allclose(seen["walker/reference_rel_joints"][k], step, atol=1e-12)
        global_way = seen["walker/reference_rel_bodies_pos_global"][k].reshape(-1, 3)
        bodies = reference.bodies_pos[row + 3 + k] - reference.bodies_pos[row]
        np.testing.assert_allclose(global_way, bodies - (0.3, -0.2, 0.1), atol=1e-9)


def test_quaternions_have_no_sign(env, reference):
    """A root quaternion of the other sign is the same orientation, and observed as such."""
    env.reset(seed=0)
    turned = reference.qpos[place(env)[2]].copy()
    before = env.set_state({"qpos": turned})
    turned[3:7] *= -1
    after = env.set_state({"qpos": turned})
    for name, value in before.items():
        if name.startswith("walker/reference"):
            np.testing.assert_allclose(after[name], value, rtol=0, atol=1e-12)
    assert (after["walker/reference_rel_root_quat"][:, 0] > 0.9).all()


@lane(2, 3)
@pytest.mark.parametrize("future", [1, 3])
def test_as_many_frames_are_observed_as_are_asked_for(future):
    seen, _ = make(future=future).reset(seed=0)
    longer, _ = make().reset(seed=0)
    for name, value in seen.items():
        if name.startswith("walker/reference"):
            assert value.shape == (future, longer[name].shape[1])


@pytest.mark.slow
def test_the_last_frame_stays_where_a_clip_has_no_more(reference):
    env = make(play=True, clips=str(CLIPS / "walk.amc"))
    env.reset(seed=0)
    over = False
    while not over:
        seen, _, _, over, _ = env.step(np.zeros(56))
    for name in ("rel_joints", "rel_root_pos_local", "rel_bodies_pos_local"):
        np.testing.assert_allclose(seen[f"walker/reference_{name}"], 0, atol=1e-9)
    assert seen["walker/time_in_clip"] == 1.0


def test_names_say_what_and_when(env):
    env.reset(seed=0)
    rows = [row for row in env.describe()["observation"] if "reference" in row["entry"]]
    found = {row["entry"].removeprefix("walker/reference_"): [] for row in rows}
    for row in rows:
        found[row["entry"].removeprefix("walker/reference_")].append(row)
    assert found["rel_joints"][0]["name"] == "headrx, 1 frame ahead"
    assert found["rel_joints"][-1]["name"] == "upperneckrz, 5 frames ahead"
    assert found["rel_root_quat"][1]["name"] == "root qx, 1 frame ahead"
    assert found["rel_bodies_quats"][4]["frame"] == "walker/lfemur"
    assert found["rel_bodies_pos_local"][0]["frame"] == "walker/root"
    assert found["appendages_pos"][3]["name"] == "lradius x, 1 frame ahead"


# Reward.


def test_a_shift_sideways(env, reference):
    env.reset(seed=1)
    qpos = reference.qpos[place(env)[2]].copy()
    qpos[0] += 0.2
    found = terms(env, qpos=qpos)
    wanted = {
        "truncation": 1 - 0.5 * (0.2 / 3) / 0.3,
        "center_of_mass": np.exp(-10 * 0.2**2),
        "joints_velocity": 1.0,
        "appendages": 1.0,
        "body_quaternions": 1.0,
    }
    assert found == pytest.approx(wanted, rel=1e-9)


def test_a_turn_of_the_whole(env, reference):
    """About its centre of mass: the root's own view of the appendages stays."""
    env.reset(seed=1)
    row = place(env)[2]
    qpos, angle = reference.qpos[row].copy(), 0.3
    about_z = np.array([np.cos(angle / 2), 0, 0, np.sin(angle / 2)])
    centre = reference.center_of_mass[row]
    arm = qpos[:3] - centre
    mujoco.mju_rotVecQuat(qpos[:3], arm, about_z)
    qpos[:3] += centre
    mujoco.mju_mulQuat(qpos[3:7], about_z, reference.qpos[row, 3:7])
    found = terms(env, qpos=qpos)
    assert found["center_of_mass"] == pytest.approx(1)
    assert found["appendages"] == pytest.approx(1)
    assert found["body_quaternions"] == pytest.approx(np.exp(-2 * 31 * (angle / 2) ** 2))
    offset = reference.bodies_pos[row] - centre
    c, s = np.cos(angle) - 1, np.sin(angle)
    x, y = offset[:, 0], offset[:, 1]
    moved = abs(c * x - s * y).sum() + abs(s * x + c * y).sum()
    assert found["truncation"] == pytest.approx(1 - 0.5 * moved / 93 / 0.3)


def test_a_turn_of_one_thumb(env, reference):
    """It moves no body's frame and turns one."""
    env.reset(seed=1)
    qpos = reference.qpos[place(env)[2]].copy()
    qpos[env.model.joint("walker/lthumbrx").qposadr[0]] += 0.4
    found = terms(env, qpos=qpos)
    assert found["body_quaternions"] == pytest.approx(np.exp(-2 * 0.2**2))
    assert found["truncation"] == pytest.approx(1 - 0.5 * (0.4 / 56) / 0.3)
    assert (found["appendages"], found["joints_velocity"]) == pytest.approx((1, 1))
    assert 0.999 < found["center_of_mass"] < 1 - 1e-12


def test_a_bent_knee_brings_the_foot_elsewhere(env, reference):
    env.reset(seed=1)
    row = place(env)[2]
    qpos = reference.qpos[row].copy()
    qpos[env.model.joint("walker/ltibiarx").qposadr[0]] += 0.1
    found = terms(env, qpos=qpos)
    foot = reference.bodies_pos[row, reference.bodies.index("walker/lfoot")]
    way = env.data.body("walker/lfoot").xpos - foot
    length = np.linalg.norm(env.model.body("walker/lfoot").pos)
    assert np.linalg.norm(way) == pytest.approx(2 * length * np.sin(0.05))
    assert found["appendages"] == pytest.approx(np.exp(-40 * way @ way))
    # The shin, the foot and the toes have turned.
    assert found["body_quaternions"] == pytest.approx(np.exp(-2 * 3 * 0.05**2))


def test_velocities_of_joints_but_not_of_the_root(env, reference):
    env.reset(seed=1)
    qvel = reference.qvel[place(env)[2]].copy()
    qvel[:6] += 1
    assert terms(env, qvel=qvel)["joints_velocity"] == 1
    qvel[6] += 2
    qvel[61] -= 1
    found = terms(env, qvel=qvel)
    assert found["joints_velocity"] == pytest.approx(np.exp(-0.1 * (4 + 1)))
    assert all(found[name] == pytest.approx(1) for name in TERMS if name != "joints_velocity")


def test_the_reward_is_the_published_mean_of_the_terms(env):
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    for _ in range(3):
        _, reward, _, _, info = env.step(rng.uniform(-1, 1, 56))
        assert tuple(within(info, "terms")) == TERMS
        trunc, com, velocity, ends, quats = within(info, "terms").values()
        pose = 0.1 * com + velocity + 0.15 * ends + 0.65 * quats
        assert reward == pytest.approx(0.5 * trunc + 0.5 * pose)
        assert 0 < com < 1
    best = env.task.reward(dict.fromkeys(TERMS, 1.0))
    assert best == pytest.approx(0.5 + 0.5 * 1.9)


# Ends.


@pytest.mark.parametrize(("shift", "over"), [(1.79, False), (1.81, True), (-1.81, True)])
def test_too_far_from_the_reference_is_the_end(env, reference, shift, over):
    """The bodies' mean deviation is a third of a shift along one axis, and half of it counts."""
    env.reset(seed=1)
    qpos = reference.qpos[place(env)[2]].copy()
    qpos[1] += shift
    found = terms(env, qpos=qpos)
    assert bool(env.task.terminated(env.view)) is over
    assert not env.task.success(env.view)
    assert (found["truncation"] < 0) is over


@lane(0, 3)
def test_the_threshold_can_be_set(reference):
    strict, mild = (make(threshold=t).unwrapped for t in (0.01, 10.0))
    qpos = None
    for env, over in ((strict, True), (mild, False)):
        env.reset(seed=1)
        qpos = reference.qpos[place(env)[2]].copy()
        qpos[0] += 0.1
        env.set_state({"qpos": qpos})
        assert bool(env.task.terminated(env.view)) is over


@lane(0, 3)
def test_the_end_of_a_clip_is_the_success(reference):
    env = make(from_start=True, threshold=1e9, clips=str(CLIPS / "walk.amc"))
    env.reset(seed=0)
    steps = 34 - 1 - FUTURE
    for step in range(1, steps + 1):
        _, _, terminated, truncated, info = env.step(np.zeros(56))
        assert truncated == info["success"] == (step == steps)
        assert not terminated


@pytest.mark.slow
@pytest.mark.parametrize("ends", [True, False])
def test_a_fall_ends_it_if_asked_for(ends, reference):
    env = make(ends_on_fall=ends).unwrapped
    env.reset(seed=1)
    qpos = reference.qpos[place(env)[2]].copy()
    env.set_state({"qpos": qpos})
    assert not env.task.terminated(env.view)
    qpos[2] -= 0.5  # into the floor up to the knees
    env.set_state({"qpos": qpos})
    assert bool(env.task.terminated(env.view)) is ends
    assert not env.task.success(env.view)


# Playback.


@pytest.mark.parametrize("clip", mostly_slow(NAMES, 4))
def test_played_the_humanoid_follows_the_clip_exactly(clip):
    env = make(play=True, clips=str(CLIPS / clip))
    reference = references(str(CLIPS / clip), WALKER, STEP)
    rng = np.random.default_rng(0)
    env.reset(seed=0)
    data = env.unwrapped.data
    for row in range(1, len(reference.qpos)):
        _, _, terminated, truncated, info = env.step(rng.uniform(-1, 1, 56))
        np.testing.assert_allclose(data.qpos, reference.qpos[row], rtol=0, atol=1e-9)
        np.testing.assert_allclose(data.qvel, reference.qvel[row - 1], rtol=0, atol=1e-9)
        assert info["terms/truncation"] == pytest.approx(1, abs=1e-9)
        assert info["terms/body_quaternions"] == pytest.approx(1, abs=1e-9)
        assert not terminated
        assert truncated == info["success"] == (row == len(reference.qpos) - 1)


@pytest.mark.slow
def test_a_short_clip_can_be_played_but_not_followed(tmp_path):
    clip_file(tmp_path, 3)
    env = make(play=True, clips=str(tmp_path))
    env.reset(seed=0)
    assert [env.step(np.zeros(56))[3] for _ in range(2)] == [False, True]
    with pytest.raises(ValueError, match=r"clip.npz has 3 frames"):
        make(clips=str(tmp_path))


# The ghost.


@lane(2, 3)
def test_the_ghost_is_where_the_reference_is(reference):
    envs = gymnasium.make_vec(ID, num_envs=3, ghost=True)
    envs.reset(seed=0)
    view, model = envs.unwrapped.view, envs.unwrapped.model
    start = reference.first[view.userdata[:, 0].astype(int)] + view.userdata[:, 1].astype(int)
    names = ("ghost/root", *(name.replace("walker/", "ghost/") for name in reference.bodies))
    for step in range(4):
        rows = start + step
        for i, name in enumerate(names):
            place, quat = (
                (reference.position[rows], reference.quaternion[rows])
                if i == 0
                else (reference.bodies_pos[rows, i - 1], reference.bodies_quats[rows, i - 1])
            )
            np.testing.assert_allclose(view.body(name).xpos, place, atol=1e-12)
            np.testing.assert_allclose(view.body(name).xquat, quat, atol=1e-12)
        envs.step(np.zeros((3, 56)))
    body = model.geom_bodyid
    ghosts = [i for i in range(model.ngeom) if model.body(body[i]).name.startswith("ghost/")]
    own = [i for i in range(model.ngeom) if model.body(body[i]).name.startswith("walker/")]
    assert 40 < len(ghosts) <= len(own)
    assert not model.geom_contype[ghosts].any()
    assert not model.geom_conaffinity[ghosts].any()


@pytest.mark.slow
def test_the_ghost_changes_nothing():
    plain, haunted = make(), make(ghost=True)
    for seed in range(2):
        assert equal(plain.reset(seed=seed)[0], haunted.reset(seed=seed)[0])
        for _ in range(4):
            action = plain.action_space.sample()
            assert equal(plain.step(action), haunted.step(action))


# One and many.


@pytest.mark.parametrize("fields", [{}, {"ghost": True}, {"walker": "cmu_humanoid", "future": 2}])
@lane(1, 3)
def test_all_checks_pass(fields):
    assert {f.check: f.reason for f in checks.check(ID, **fields) if f.status != "pass"} == {}


# Mistakes.


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"future": 0}, "future: must be at least 1, got 0"),
        ({"shortest": 0}, "shortest: must be at least 1, got 0"),
        ({"threshold": 0.0}, "threshold: must be positive"),
        ({"threshold": float("nan")}, "threshold must be a number"),
        ({"clips": "nowhere"}, "clips: no file or folder 'nowhere'"),
        ({"shortest": 12}, r"clips: reach.amc has 17 frames, 0.48 s; the task needs 18, 0.51 s"),
        ({"walker": "rodent", "physics_timestep": 0.001},
         r"amc: moves the joints of the CMU humanoids.*'rodent' has no joint 'lfemurrz'"),
        ({"walker": "rolling_ball"}, "walker: clips move a free joint.*'rolling_ball'.*cmu_humano"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be(fields, words):
    for build in (gymnasium.make, gymnasium.make_vec):
        with pytest.raises(ValueError, match=words):
            build(ID, **fields)


@pytest.mark.slow
def test_the_shortest_clip_that_will_do(tmp_path):
    clip_file(tmp_path, 1 + SHORTEST + FUTURE)
    env = make(clips=str(tmp_path))
    env.reset(seed=0)
    assert place(env.unwrapped)[:2] == (0, 0)
    clip_file(tmp_path, SHORTEST + FUTURE)
    with pytest.raises(ValueError, match=r"clip.npz has 15 frames, 0.42 s; .* 16, 0.45 s"):
        make(clips=str(tmp_path))


def test_folders_and_files_that_hold_no_clip(tmp_path):
    (tmp_path / "notes.txt").write_text("none")
    (tmp_path / "empty").mkdir()
    words = r"clips: no .amc, .npz, .h5 or .hdf5 file in the folder '.*empty'"
    with pytest.raises(ValueError, match=words):
        make(clips=str(tmp_path / "empty"))
    with pytest.raises(ValueError, match=r"notes.txt' is no .amc, .npz, .h5 or"):
        make(clips=str(tmp_path / "notes.txt"))
    shutil.copy(CLIPS / "walk.amc", tmp_path / "walk.amc")
    with pytest.raises(ValueError, match=r"no file or folder '.*wlk.amc'; did you mean walk.amc"):
        make(clips=str(tmp_path / "wlk.amc"))
    with pytest.raises(ValueError, match=r"no file or folder '.*empt'; did you mean empty"):
        make(clips=str(tmp_path / "empt"))
    assert [p.name for p in find_clips(str(tmp_path))] == ["walk.amc"]  # of a mixed folder


def test_files_that_are_no_clips(tmp_path):
    def refused(name, words):
        with pytest.raises(ValueError, match=rf"{name}.*{words}"):
            make(clips=str(tmp_path / name))

    (tmp_path / "bad.amc").write_text("1\nroot 0 0 0 0 0 0\nlfemor 1 2 3\n")
    refused("bad.amc", ":3: unknown bone 'lfemor'; did you mean lfemur")
    (tmp_path / "still.amc").write_text("1\nroot 0 17 0 0 0 0\n")
    refused("still.amc", "lasts 0 s, less than one timestep")
    (tmp_path / "text.npz").write_text("none")
    refused("text.npz", "not an NPZ file")
    qpos = np.zeros((20, 10))
    qpos[:, 3] = 1
    Trajectory(qpos, np.zeros((20, 9)), STEP).save(tmp_path / "other.npz")
    refused("other.npz", "has 10 positions in a frame, the walker 'cmu_humanoid_2020' has 63")
    clip_file(tmp_path, 2, "brief.npz", timestep=0.01)
    refused("brief.npz", "longer than the whole")


# The command line.


def invoke(*arguments):
    command = typer.Typer()
    command.command()(mocap)
    return CliRunner().invoke(command, [str(a) for a in arguments])


@pytest.mark.slow
def test_the_command_exports_what_the_task_can_follow(tmp_path, reference):
    out = tmp_path / "walk.npz"
    done = invoke(CLIPS / "walk.amc", "--out", out)
    assert done.exit_code == 0, done.output
    for word in ("121, 120 a second", "1 s", "12: root, ", "34 of the 2020", str(out)):
        assert word.replace(" ", "") in "".join(done.output.split()), word  # lines wrap
    saved = Trajectory.load(out)
    wanted = to_trajectory(read_amc(CLIPS / "walk.amc"), STEP, SCALE_V2020)
    np.testing.assert_array_equal(saved.qpos, wanted.qpos)
    np.testing.assert_array_equal(saved.qvel, wanted.qvel)
    make(clips=str(out)).reset(seed=0)


def test_the_command_in_json(tmp_path):
    done = invoke(CLIPS / "reach.amc", "--json")
    data = json.loads(done.output)
    bones = read_amc(CLIPS / "reach.amc").bones
    assert data["bones"] == list(bones)
    assert (data["frames"], data["rate"], data["duration"]) == (61, 120, 0.5)
    assert (data["body"], data["states"], data["timestep"]) == ("2020", 17, 0.03)
    assert data["written"] is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((CLIPS / "wlk.amc",), "did you mean walk.amc"),
        ((CLIPS / "walk.amc", "--out", "x.csv"), "does not end in .npz"),
        ((CLIPS / "walk.amc", "--rate", "60"), "No such option: --rate"),
    ],
)
def test_the_command_refuses(arguments, words):
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert words in " ".join(done.output.replace("│", " ").split())


def test_the_command_says_what_cannot_be_written(tmp_path):
    done = invoke(CLIPS / "walk.amc", "--out", tmp_path / "missing" / "x.npz")
    assert done.exit_code == 1
    assert "nothing is written" in done.output
