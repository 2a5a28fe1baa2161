"""The tasks for two arms against recorded states of robosuite 1.5.2 on MuJoCo 4.0.0."""

import mujoco
import numpy as np
import pytest

from helpers.compiling import nothing_compiled
from helpers.lanes import mostly_nightly, mostly_slow
from helpers.robosuite_records import Record, make_task
from mjgym import Env
from mjgym.tasks.robosuite.hammers import Hammer, resize_hammer
from mjgym.tasks.robosuite.two_arm_lift import TwoArmLift
from mjgym.tasks.robosuite.two_arm_peg_in_hole import resize_peg

EXACT = 1e-6

TASKS = ("TwoArmLift", "TwoArmPegInHole", "TwoArmHandover", "TwoArmTransport")
PAID = {"TwoArmTransport": ("sparse",)}

# States in which fingers or arms touch what the published shapes, which are meshes, touch
# otherwise: the accelerations of the first or the second arm then differ, and nothing else does. In
# three of Transport the published arms touch bins that lie in one another and these arms do not.
TOUCHING = {
    "TwoArmLift": (25, 18, 0),
    "TwoArmPegInHole": (0, 0, 0),
    "TwoArmHandover": (22, 14, 0),
    "TwoArmTransport": (45, 47, 3),
}
SUCCESSES = {"TwoArmLift": 43, "TwoArmHandover": 8}


def hammer_of(name, head_density, radius, length, friction):
    """Gives a hammer its recorded size, and the density at which it weighs what was recorded."""

    def resize(v, recorded):
        handle = recorded.get(f"model/geom_size/{name}_handle", (radius, radius, length / 2))
        rubbing = recorded.get(f"model/geom_friction/{name}_handle", (friction,))[0]
        head = recorded[f"model/geom_size/{name}_head"][1]
        mass = recorded[f"model/body_mass/{name}_root"]

        def of_density(density):
            return Hammer(handle[0], 2 * handle[2], density, rubbing, head, head_density * density)

        resize_hammer(v, name, of_density(1.0))
        resize_hammer(v, name, of_density(mass / v.body(f"{name}_root").mass[0]))

    return resize


def peg(v, recorded):
    resize_peg(v, *recorded["model/geom_size/peg_g0"][:2])


RESIZE = {
    "TwoArmPegInHole": peg,
    "TwoArmHandover": hammer_of("hammer", 2.0, 0.0, 0.0, 0.0),
    "TwoArmTransport": hammer_of("payload", 1.5, 0.015, 0.2, 4.0),
}


@pytest.fixture(scope="module", params=mostly_slow(TASKS, ["TwoArmLift"]))
def record(request):
    name = request.param
    return name, Record(name, RESIZE.get(name), PAID.get(name, ("dense", "sparse")))


def test_joints_and_entries_are_the_recorded_ones_in_their_order(record):
    record[1].assert_same_order()


def test_observations_rewards_and_successes_are_the_recorded_ones(record):
    name, states = record
    errors, touched = states.compare()
    *counts, untouched = TOUCHING[name]
    arms = np.array([errors.pop(f"robot{i}_joint_acc") for i in (0, 1)])
    assert {key: worst.max() for key, worst in errors.items() if worst.max() > EXACT} == {}
    assert ((arms > EXACT).sum(axis=1) <= counts).all()
    assert np.count_nonzero((arms > EXACT).any(axis=0) & ~touched) == untouched
    assert np.count_nonzero(states.arrays["success"]) == SUCCESSES.get(name, 0)


@pytest.mark.slow
def test_recorded_states_are_the_same_all_at_once(record):
    _, states = record
    states.assert_same_all_at_once()


@pytest.mark.parametrize("name", mostly_slow(list(RESIZE), 3))
def test_drawn_sizes_are_as_if_compiled_with_them(name):
    env = Env(make_task(name))
    env.reset(seed=4)
    model, spec = env.model, env.task.model()
    body = {"TwoArmPegInHole": "peg_main", "TwoArmHandover": "hammer_root"}.get(
        name, "payload_root"
    )
    changed = spec.body(body)
    volumes = {}
    for geom in changed.geoms:
        drawn = model.geom(geom.name)
        geom.size, geom.pos, geom.friction = drawn.size, drawn.pos, drawn.friction
        box = geom.type == mujoco.mjtGeom.mjGEOM_BOX
        a, b, c = drawn.size
        volumes[geom.name] = 8 * a * b * c if box else 2 * np.pi * a**2 * b
    heavier = {"TwoArmHandover": 2.0, "TwoArmTransport": 1.5}.get(name, 1.0)
    weights = {g: 1.0 if g.endswith(("handle", "g0")) else heavier for g in volumes}
    total = sum(weights[g] * volumes[g] for g in volumes)
    for geom in changed.geoms:
        geom.density = model.body(body).mass[0] / total * weights[geom.name]
    fresh = spec.compile()
    number = model.body(body).id

    def tensor(m):
        mat = np.zeros(9)
        mujoco.mju_quat2Mat(mat, m.body_iquat[number])
        axes = mat.reshape(3, 3)
        return axes @ np.diag(m.body_inertia[number]) @ axes.T

    np.testing.assert_allclose(tensor(model), tensor(fresh), rtol=1e-9, atol=1e-15)
    for field in set(env.task.varies) - {"body_inertia", "body_iquat", "bvh_aabb"}:
        ours, theirs = getattr(model, field), getattr(fresh, field)
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-12, err_msg=field)


@pytest.mark.slow
def test_sizes_differ_from_episode_to_episode_without_compiling(monkeypatch):
    for name, geom in (
        ("TwoArmPegInHole", "peg_g0"),
        ("TwoArmHandover", "hammer_handle"),
        ("TwoArmTransport", "payload_head"),
    ):
        env = Env(make_task(name))
        with monkeypatch.context() as patch:
            patch.setattr(mujoco.MjSpec, "compile", None)
            sizes = []
            for seed in range(30):
                env.reset(seed=seed)
                sizes.append(env.model.geom(geom).size.copy())
        low, high = {
            "peg_g0": ((0.015, 0.13, 0), (0.03, 0.13, 0)),
            "hammer_handle": ((0.015, 0.015, 0.05), (0.02, 0.02, 0.125)),
            "payload_head": ((0.03, 0.015, 0.015), (0.036, 0.018, 0.018)),
        }[geom]
        assert (np.array(sizes) >= np.array(low) - 1e-12).all()
        assert (np.array(sizes) <= np.array(high) + 1e-12).all()
        spread = np.ptp(sizes, axis=0)
        assert (spread >= 0.8 * (np.array(high) - low)).all()


# Starts.


def starts(name, body, count=60, **fields):
    env = Env(make_task(name, **fields))
    env.reset(seed=0)
    found = []
    for _ in range(count):
        env.reset()
        found.append(np.concatenate([env.data.body(body).xpos, env.data.body(body).xquat]))
    return np.array(found)


def test_pot_stands_where_it_is_published_to():
    poses = starts("TwoArmLift", "pot_root")
    assert np.abs(poses[:, :2]).max() <= 0.03
    assert np.abs(poses[:, :2]).max() > 0.025
    np.testing.assert_allclose(poses[:, 2], 0.87)
    yaw = 2 * np.arctan2(poses[:, 6], poses[:, 3]) % (2 * np.pi)
    assert 2 * np.pi / 3 <= yaw.min() < 2.3
    assert 4.0 < yaw.max() <= 4 * np.pi / 3


def test_hammer_lies_on_either_side_at_any_angle():
    env = Env(make_task("TwoArmHandover"))
    sides, angles = [], []
    for seed in range(60):
        env.reset(seed=seed)
        hammer, radius = env.data.body("hammer_root"), env.model.geom("hammer_handle").size[0]
        mat = hammer.xmat.reshape(3, 3)
        np.testing.assert_allclose(mat[2, [0, 2]], 0, atol=1e-9)  # handle and head are level
        assert abs(hammer.xpos[0]) <= 0.1
        assert abs(hammer.xpos[1] + 0.45) <= 0.05
        assert hammer.xpos[2] == pytest.approx(0.8 + radius)
        sides.append(mat[2, 1] > 0)
        angles.append(np.arctan2(mat[1, 2], mat[0, 2]))
    assert 15 < sum(sides) < 45
    assert np.ptp(angles) > 5.5


def test_things_lie_in_their_bins():
    env = Env(make_task("TwoArmTransport"))
    turned = []
    for seed in range(30):
        env.reset(seed=seed)
        place = {
            name: env.data.body(body).xpos.copy()
            for name, body in (
                ("payload", "payload_root"),
                ("trash", "trash_main"),
                ("start", "transport_start_bin_root"),
                ("target", "transport_target_bin_root"),
                ("other", "transport_trash_bin_root"),
                ("lid", "transport_start_bin_lid_root"),
            )
        }
        for name, x, y in (("start", 0.2, -0.45), ("target", -0.2, 0.45), ("other", 0.2, 0.45)):
            assert np.abs(place[name][:2] - (x, y)).max() <= 0.005
            assert place[name][2] == pytest.approx(0.876)
        for inside, around, height in (
            ("payload", "start", 0.826), ("lid", "start", 0.971), ("trash", "target", 0.831),
        ):  # fmt: skip
            np.testing.assert_allclose(place[inside][:2], place[around][:2])
            assert place[inside][2] == pytest.approx(height)
        turned.append(env.data.body("payload_root").xquat.copy())
        assert not env.task.success(env.view)
    # The published range of the payload's quaternion, whose sign is free.
    turned = np.abs(turned)
    assert turned[:, :2].max() <= 0.1831
    assert turned[:, 2:].min() >= 0.683


# Arrangements.


@pytest.mark.parametrize(
    ("name", "fields", "places"),
    mostly_nightly(
        [
            ("TwoArmLift", {}, [(0, -0.56, 90), (0, 0.56, -90)]),
            ("TwoArmLift", {"arrangement": "parallel"}, [(-0.56, -0.25, 0), (-0.56, 0.25, 0)]),
            ("TwoArmLift", {"robot": "Baxter"}, [(-0.66, 0, 0)]),
            ("TwoArmPegInHole", {}, [(0, -0.6, 90), (0, 0.6, -90)]),
            ("TwoArmPegInHole", {"arrangement": "parallel"}, [(-0.6, -0.25, 0), (-0.6, 0.25, 0)]),
            ("TwoArmPegInHole", {"robot": "Baxter"}, [(-0.29, 0, 0)]),
            ("TwoArmHandover", {}, [(0, -0.81, 90), (0, 0.81, -90)]),
            ("TwoArmHandover", {"arrangement": "parallel"}, [(-0.56, -0.6, 0), (-0.56, 0.6, 0)]),
            ("TwoArmTransport", {}, [(0, -0.81, 90), (0, 0.81, -90)]),
            ("TwoArmTransport", {"robot": "Baxter"}, [(-0.66, 0, 0)]),
        ],
        5,
    ),
    ids=str,
)
def test_robots_stand_where_they_are_published_to(name, fields, places):
    env = Env(make_task(name, **fields), observation="dict")
    observation, _ = env.reset(seed=0)
    for robot, (x, y, turn) in zip(env.task.robots, places, strict=True):
        base = env.data.body(f"robot{robot.number}_base")
        np.testing.assert_allclose(base.xpos[:2], (x, y), atol=1e-9)
        assert np.degrees(np.arctan2(base.xmat[3], base.xmat[0])) == pytest.approx(turn, abs=1e-6)
    env.step(np.zeros(env.action_space.shape))
    if name == "TwoArmTransport" and "robot" in fields:
        assert list(observation)[-4:] == [
            "gripper0_to_payload",
            "gripper1_to_payload",
            "gripper0_to_lid_handle",
            "gripper1_to_trash",
        ]


@pytest.mark.parametrize("name", TASKS)
@pytest.mark.parametrize("robot", ["Panda", ("Panda", "Baxter")], ids=str)
def test_another_number_of_arms_is_refused_before_anything_is_compiled(name, robot):
    with nothing_compiled(), pytest.raises(ValueError, match=r"two|2"):
        make_task(name, robot=robot)


@pytest.mark.parametrize(
    ("name", "fields", "message"),
    [
        ("TwoArmPegInHole", {"gripper": "PandaGripper"}, "expected None"),
        ("TwoArmPegInHole", {"peg_radius": (0.03, 0.01)}, "peg_radius"),
        ("TwoArmPegInHole", {"peg_length": 0}, "peg_length"),
        ("TwoArmTransport", {"reward_type": "dense"}, "none of sparse"),
    ],
)
def test_what_does_not_fit_is_refused(name, fields, message):
    with nothing_compiled(), pytest.raises(ValueError, match=message):
        make_task(name, **fields)


# Rewards that the record does not have.


def test_peg_in_the_hole_is_a_success():
    """A board put over the peg by moving its frame in the hand."""
    task = make_task("TwoArmPegInHole")
    env = Env(task, observation="dict", dtype="float64")
    env.reset(seed=0)
    model, data = env.model, env.data
    board, hand = model.body("hole_main").id, data.body(task.manipulators[1].link)
    turn = hand.xmat.reshape(3, 3)
    mat = data.body("peg_main").xmat.reshape(3, 3)
    quat = np.zeros(4)
    for ahead, beside, inside in (
        (0.0, 0.0, True),
        (0.13, 0.05, True),
        (0.15, 0.0, False),
        (-0.13, 0.0, False),
        (0.0, 0.07, False),
    ):
        middle = data.body("peg_main").xpos + mat @ (0, beside, ahead)
        model.body_pos[board] = turn.T @ (middle - mat @ (0.1, 0, 0) - hand.xpos)
        mujoco.mju_mat2Quat(quat, (turn.T @ mat).ravel())
        model.body_quat[board] = quat
        mujoco.mj_forward(model, data)
        observation = task.observation(env.view)
        assert observation["t"] == pytest.approx(ahead)
        assert observation["d"] == pytest.approx(beside, abs=1e-9)
        assert observation["angle"] == pytest.approx(1)
        assert bool(task.success(env.view)) == inside
        terms = task.terms(env.view)
        assert terms["insert"] == float(inside)
        assert terms["beside"] == pytest.approx(1 - np.tanh(beside))
        assert terms["along"] == pytest.approx(1 - np.tanh(abs(ahead)))
        assert task.reward(terms) == pytest.approx(sum(terms.values()) / 5)


def test_carried_and_tidied_is_a_success():
    task = make_task("TwoArmTransport")
    env = Env(task, observation="dict", dtype="float64")
    env.reset(seed=0)
    qpos = env.data.qpos.copy()

    def put(name, into):
        joint = env.model.joint(f"{name}_joint0").qposadr[0]
        qpos[joint : joint + 2] = env.data.body(f"transport_{into}_bin_root").xpos[:2]

        qpos[joint + 2] -= 1e-4  # m, into its floor

    for name, into, done in (("payload", "target", False), ("trash", "trash", True)):
        put(name, into)
        observation = env.set_state({"qpos": qpos})
        assert observation["payload_in_target_bin"] == 1
        assert observation["trash_in_trash_bin"] == float(done)
        assert bool(task.success(env.view)) == done
        assert task.reward(task.terms(env.view)) == float(done)


def test_tilted_pot_pays_nothing_for_height():
    env = Env(TwoArmLift(), observation="dict", dtype="float64")
    env.reset(seed=0)
    qpos = env.data.qpos.copy()
    start = env.model.joint("pot_joint0").qposadr[0]
    for degrees, height, lift, rise in (
        (0, 1.0, 3, 0),
        (29, 1.0, 3, 0),
        (31, 1.0, 0, 0),
        (0, 0.94, 0, 0.2),
        (31, 0.94, 0, 0),
    ):
        half = np.radians(degrees) / 2
        qpos[start : start + 7] = (0, 0, height, np.cos(half), np.sin(half), 0, 0)
        env.set_state({"qpos": qpos})
        terms = env.task.terms(env.view)
        assert terms["lift"] == lift
        assert terms["raise"] == pytest.approx(rise)


def test_grouped_entries_hold_an_object_entry_that_is_a_number():
    single, grouped = (
        Env(make_task("TwoArmPegInHole", grouped=g), observation="dict", dtype="float64")
        for g in (False, True)
    )
    entries, groups = (env.reset(seed=3)[0] for env in (single, grouped))
    rows = np.concatenate([np.ravel(x) for x in entries.values()])
    np.testing.assert_array_equal(np.concatenate(list(groups.values())), rows)


def test_noises_for_each_robot_may_be_a_list():
    noises = {"start_noise": [0.0, 0.1], "start_noise_type": ["uniform", "gaussian"]}
    env = Env(TwoArmLift(robot=("Panda", "Panda"), **noises), observation="dict")
    first, second = (env.reset(seed=seed)[0] for seed in (0, 1))
    assert (first["robot0_joint_pos"] == second["robot0_joint_pos"]).all()
    assert (first["robot1_joint_pos"] != second["robot1_joint_pos"]).any()
