"""What all tabletop tasks share: robots, actions, placements, and what is refused."""

import dataclasses
import json
import pickle
from dataclasses import dataclass
from typing import Any

import gymnasium
import numpy as np
import pytest

from helpers.compiling import nothing_compiled
from helpers.lanes import mostly_slow
from helpers.robosuite_records import make_task
from mjgym import Env
from mjgym.placements import Extent, Placement, Pose, Several, Uniform
from mjgym.task import models
from mjgym.tasks.robosuite.lift import DENSITY, Lift
from mjgym.tasks.robosuite.tabletop import OneTable, add_box, in_contact, watch_contact

TASKS = ("Lift", "Stack", "Door")
TASKS += ("PickPlace", "PickPlaceSingle", "NutAssembly", "NutAssemblySingle")

AT_THE_SIDE = Uniform(x_range=(0.2, 0.2), y_range=(-0.3, -0.3), reference=(0.0, 0.0, 0.8))
"""A placement that a keyword argument names."""


class InARow(Placement):
    """A placement of one's own."""

    def draw(self, rng, extents, placed):
        height = 0.8
        return {
            name: Pose(np.array([0.1 * i, 0.2, height - extents[name].bottom]), np.eye(4)[0])
            for i, name in enumerate(extents)
        }


@dataclass(frozen=True)
class Pair(OneTable):
    """A task for two arms: a box between them."""

    robot: Any = ("Panda", "Panda")

    arms_needed = 2
    object_names = ("box",)

    @property
    def default_placement(self):
        return Uniform(("box",), reference=(0.0, 0.0, 0.8))

    def furnish(self, scene):
        super().furnish(scene)
        add_box(scene, "box", (0.02, 0.02, 0.02), 500.0, (0, 0, 1, 1))
        self.watch_grasp(scene, "box_main")
        watch_contact(scene, "box_main", "table")

    def extents(self, v):
        return {"box": Extent.of_box((0.02, 0.02, 0.02))}

    def objects(self, v):
        return {"box_pos": v.body("box_main").xpos}

    def terms(self, v):
        return {"near": -self.distance(v, v.body("box_main").xpos)}

    def stages(self, terms):
        return terms["near"]


def actions_of(task):
    return task.actions(models.compile_model(task))


def pair_env(**fields):
    env = Env(Pair(**fields), observation="dict", dtype="float64")
    env.reset(seed=0)
    return env


# What is refused, before anything is compiled.


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"robot": "Pandah"}, ValueError, "did you mean Panda"),
        ({"robot": "jaco_6_joints"}, ValueError, "not driven by torques.*Panda"),
        ({"robot": 3}, TypeError, "robot: expected a name"),
        ({"robot": None}, TypeError, "robot: expected a name"),
        ({"robot": ("Panda", "Panda")}, ValueError, "Lift is a task for one robot"),
        ({"gripper": "PandaGriper"}, ValueError, "did you mean PandaGripper"),
        ({"gripper": "jaco_3_fingers"}, ValueError, "Panda cannot carry.*PandaGripper"),
        ({"gripper": ("default", None)}, ValueError, "2 of them for 1 robots"),
        ({"base": "RethinkMont"}, ValueError, "did you mean RethinkMount"),
        ({"controller": "OSC_POS"}, ValueError, "did you mean OSC_POSE"),
        ({"controller": {"type": "OSC_POSE", "kpp": 1}}, TypeError, "did you mean kp"),
        ({"controller": {"type": "OSC_POSE", "kp": -1}}, ValueError, "kp"),
        ({"controller": {"type": "OSC_POSE", "output_max": (1, 2)}}, ValueError, "or 6, got 2"),
        ({"controller": {"kp": 3}}, ValueError, 'no "type"'),
        ({"controller": "{kp: 3}"}, ValueError, "no JSON object"),
        ({"controller": {"type": b"OSC_POSE"}}, TypeError, "no plain number or word"),
        ({"control_frequency": 30}, ValueError, "31.25 and 29.4118 Hz"),
        ({"control_frequency": 1000}, ValueError, "500"),
        ({"control_frequency": 0}, ValueError, "control_frequency: must be positive"),
        ({"arrangement": "oposed"}, ValueError, "did you mean opposed"),
        ({"reward_type": "dens"}, ValueError, "did you mean dense"),
        ({"start_noise": -1}, ValueError, "start_noise"),
        ({"start_noise": []}, ValueError, "start_noise: 0 of them for 1 robots"),
        ({"start_noise_type": "gausian"}, ValueError, "did you mean gaussian"),
        ({"placement": "nowhere"}, ValueError, "module:name"),
        ({"placement": "test_robosuite_base:NOWHERE"}, ValueError, "cannot be imported"),
        ({"placement": "test_robosuite_base:TASKS"}, ValueError, "is no Placement"),
        ({"placement": {"x_rang": (0, 1)}}, TypeError, "did you mean x_range"),
        ({"placement": {"x_range": (1, 0)}}, ValueError, "in order"),
        ({"placement": {"rotation_axis": "w"}}, ValueError, "rotation_axis"),
        ({"placement": {"cub": {}}}, ValueError, "did you mean cube"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused(fields, error, message):
    with nothing_compiled(), pytest.raises(error, match=message):
        Lift(**fields)


# Keyword arguments.


def test_dict_of_a_controllers_parameters_makes_a_task_like_any_other():
    given = {"type": "OSC_POSE", "kp": 300.0, "output_max": [0.1] * 6, "output_min": [-0.1] * 6}
    task = Lift(controller=given)
    again = Lift(controller=json.dumps(dict(reversed(given.items())), sort_keys=True))
    assert task == again
    assert hash(task) == hash(again)
    assert pickle.loads(pickle.dumps(task)) == task
    assert task.manipulators[0].controller.kp == 300.0
    units = [action.unit for action in actions_of(task)]
    assert units[:6] == ["0.1 m"] * 3 + ["0.1 rad"] * 3


def test_env_goes_through_its_spec():
    kwargs = {"controller": {"type": "JOINT_POSITION", "kp": 80.0}, "placement": {"rotation": 0.0}}
    env = gymnasium.make("robosuite/Lift-v0", **kwargs)
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(env.spec.to_json()))
    assert env.unwrapped.task == again.unwrapped.task
    assert env.spec.max_episode_steps == 1000


def test_gripper_none_leaves_its_entries_and_its_action_away():
    env = Env(Lift(gripper=None), observation="dict")
    observation, _ = env.reset(seed=0)
    assert not [name for name in observation if "gripper_q" in name]
    assert env.action_space.shape == (6,)


@pytest.mark.parametrize("frequency", mostly_slow([10, 20, 50, 500], 4))
def test_control_frequency(frequency):
    env = Env(Lift(control_frequency=frequency))
    env.reset(seed=0)
    env.step(np.zeros(7))
    assert env.data.time == pytest.approx(1 / frequency)
    assert env.task.control_timestep == 1 / frequency
    slower = dataclasses.replace(env.task, control_frequency=frequency / 2)
    assert slower.control_timestep == 2 / frequency


def test_ramp_of_a_controller_is_that_of_the_control_step():
    ramped = {"type": "OSC_POSE", "interpolation": "linear"}
    law = Lift(controller=ramped, control_frequency=10).manipulators[0].controller
    assert law.substeps == 50
    fixed = Lift(controller=ramped | {"substeps": 7}).manipulators[0].controller
    assert fixed.substeps == 7


@pytest.mark.parametrize("name", mostly_slow(TASKS, 6))
def test_grouped_entries_are_the_single_ones_in_a_row(name):
    single, grouped = (
        Env(make_task(name, grouped=g), observation="dict", dtype="float64") for g in (False, True)
    )
    entries, _ = single.reset(seed=3)
    groups, _ = grouped.reset(seed=3)
    assert list(groups) == ["robot0_proprio-state", "object-state"]
    sizes = {"Lift": 10, "Stack": 23, "Door": 14, "PickPlace": 56, "PickPlaceSingle": 15}
    sizes |= {"NutAssembly": 28, "NutAssemblySingle": 15}
    assert groups["robot0_proprio-state"].shape == (50,)
    assert groups["object-state"].shape == (sizes[name],)
    rows = np.concatenate([np.ravel(x) for x in entries.values()])
    np.testing.assert_array_equal(np.concatenate(list(groups.values())), rows)


def test_objects_may_stay_unseen():
    observation, _ = Env(Lift(object_entries=False), observation="dict").reset(seed=0)
    assert all(name.startswith("robot0_") for name in observation)


@pytest.mark.parametrize("name", mostly_slow(TASKS, ["Lift"]))
def test_reward_is_scaled_by_the_most_that_a_step_pays(name):
    tasks = [make_task(name, reward_scale=scale) for scale in (1.0, 3.0, None)]
    envs = [Env(task) for task in tasks]
    rewards = []
    for env in envs:
        env.reset(seed=1)
        rewards.append(env.step(np.zeros(7))[1])
    assert rewards[0] > 0
    assert rewards[1] == pytest.approx(3 * rewards[0])
    assert rewards[2] == pytest.approx(tasks[0].most * rewards[0])


# Robots.


def test_entries_of_two_robots_and_of_a_robot_with_two_arms():
    two = list(pair_env().observe())
    assert two[:2] == ["robot0_joint_pos", "robot0_joint_pos_cos"]
    assert two[10:12] == ["robot1_joint_pos", "robot1_joint_pos_cos"]
    assert two[-1] == "box_pos"
    baxter = pair_env(robot="Baxter").observe()
    assert list(baxter)[5:] == [
        f"robot0_{side}_{entry}"
        for side in ("right", "left")
        for entry in ("eef_pos", "eef_quat", "eef_quat_site", "gripper_qpos", "gripper_qvel")
    ] + ["box_pos"]
    assert baxter["robot0_joint_pos"].shape == (14,)


def test_actions_of_two_arms_stand_in_the_published_order():
    axes = ("x", "y", "z", "rx", "ry", "rz")
    pair = [action.name for action in actions_of(Pair())]
    assert pair == [
        name
        for robot in (0, 1)
        for name in (
            *(f"robot{robot}_right {axis}" for axis in axes),
            f"robot{robot}_right gripper",
        )
    ]
    baxter = [action.name for action in actions_of(Pair(robot="Baxter"))]
    assert baxter == [
        *(f"robot0_{side} {axis}" for side in ("right", "left") for axis in axes),
        "robot0_right gripper",
        "robot0_left gripper",
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    "robot",
    [
        pytest.param(("Panda", "Panda"), marks=pytest.mark.slow),
        "Baxter",
        pytest.param(("Sawyer", "UR5e"), marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_each_number_of_an_action_moves_what_it_names(robot):
    for i, action in enumerate(actions_of(Pair(robot=robot))):
        env = pair_env(robot=robot, start_noise=0.0)
        part, _, axis = action.name.partition(" ")
        manipulator = next(m for m in env.task.manipulators if m.name == part)
        others = [m for m in env.task.manipulators if m.name != part]
        own = env.data.site(manipulator.origin).xmat.reshape(3, 3)
        before = {m.name: env.data.site(m.tool).xpos.copy() for m in (manipulator, *others)}
        fingers = env.view.rows("qpos", manipulator.finger_joints)
        at_first = env.data.qpos[fingers].copy()
        push = np.zeros(env.action_space.shape)
        push[i] = 1
        for _ in range(6):
            env.step(push)
        moved = own.T @ (env.data.site(manipulator.tool).xpos - before[part])
        if axis in ("x", "y", "z"):
            assert moved["xyz".index(axis)] > 0.02, action.name
        elif axis == "gripper":
            assert np.abs(env.data.qpos[fingers] - at_first).max() > 0.004, action.name
        for other in others:
            assert np.abs(env.data.site(other.tool).xpos - before[other.name]).max() < 5e-3


@pytest.mark.parametrize(
    "robot", mostly_slow(["Panda", "Sawyer", "IIWA", "UR5e", "Kinova3", "Jaco", "XArm7"], 3)
)
def test_every_robot_begins_at_its_start_and_holds_it(robot):
    env = Env(Lift(robot=robot, start_noise=0.0), observation="dict", dtype="float64")
    before, _ = env.reset(seed=0)
    start = env.task.robots[0].arm.start
    np.testing.assert_allclose(before["robot0_joint_pos"], start, atol=1e-12)
    for _ in range(10):
        after = env.step(np.zeros(env.action_space.shape))[0]
    assert np.abs(after["robot0_eef_pos"] - before["robot0_eef_pos"]).max() < 2e-3


@pytest.mark.slow
def test_noise_of_the_start():
    task = Lift(start_noise=0.1)
    start = np.array(task.robots[0].arm.start)

    def noise(**fields):
        env = Env(dataclasses.replace(task, **fields), observation="dict", dtype="float64")
        env.reset(seed=0)
        drawn = [env.reset()[0]["robot0_joint_pos"] - start for _ in range(60)]
        return np.array(drawn)

    gaussian, uniform = noise(), noise(start_noise_type="uniform")
    assert np.std(gaussian) == pytest.approx(0.1, rel=0.15)
    assert np.abs(gaussian).max() > 0.2
    assert np.abs(uniform).max() <= 0.1
    assert np.std(uniform) == pytest.approx(0.1 / np.sqrt(3), rel=0.15)
    assert not noise(start_noise=0.0).any()


# Placements.


def drawn(placement, extents, count=200, seed=0):
    rng = np.random.default_rng(seed)
    return [placement.draw(rng, extents, {}) for _ in range(count)]


def angles(poses, name, axis=3):
    return np.array([2 * np.arctan2(p[name].quat[axis], p[name].quat[0]) for p in poses])


def test_uniform_places_and_angles():
    extents = {"box": Extent(0.05, -0.02, 0.03)}
    placement = Uniform(("box",), (-0.1, 0.1), (0.2, 0.3), reference=(1.0, 2.0, 0.8), z_offset=0.01)
    poses = drawn(placement, extents)
    places = np.array([p["box"].pos for p in poses])
    assert places.min(axis=0) == pytest.approx((0.9, 2.2, 0.83), abs=5e-3)
    assert places.max(axis=0) == pytest.approx((1.1, 2.3, 0.83), abs=5e-3)
    assert np.ptp(angles(poses, "box") % (2 * np.pi)) > 6
    whole = drawn(dataclasses.replace(placement, whole=True), extents)
    assert np.array([p["box"].pos[0] for p in whole]).max() <= 1.05
    fixed = drawn(dataclasses.replace(placement, rotation=0.7), extents, 3)
    np.testing.assert_allclose(angles(fixed, "box"), 0.7)
    between = drawn(dataclasses.replace(placement, rotation=(0.1, 0.2)), extents)
    assert angles(between, "box").min() >= 0.1
    assert angles(between, "box").max() <= 0.2
    about_y = drawn(dataclasses.replace(placement, rotation=0.3, rotation_axis="y"), extents, 1)
    np.testing.assert_allclose(angles(about_y, "box", axis=2), 0.3)


def test_objects_that_are_turned_to_begin_with_are_turned_further():
    lying = Extent(0.1, 0.0, 0.0, quat=(np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0))
    (pose,) = drawn(Uniform(("rod",), rotation=np.pi / 2), {"rod": lying}, 1)
    np.testing.assert_allclose(pose["rod"].quat, [0.5, 0.5, 0.5, 0.5])


def test_objects_do_not_overlap_unless_they_may():
    extents = {name: Extent(0.03, -0.02, 0.02) for name in "abc"}
    placement = Uniform((), (-0.1, 0.1), (-0.1, 0.1))

    def least_distance(poses):
        return min(
            np.hypot(*(p[a].pos - p[b].pos)[:2])
            for p in poses
            for a, b in (("a", "b"), ("a", "c"), ("b", "c"))
        )

    assert least_distance(drawn(placement, extents)) > 0.06
    assert least_distance(drawn(dataclasses.replace(placement, clear=False), extents)) < 0.03
    # On top of each other they do not touch.
    above = Several((Uniform(("a",)), Uniform(("b",), z_offset=0.05)))
    assert len(drawn(above, extents, 1)[0]) == 2
    with pytest.raises(RuntimeError, match="'b'"):
        drawn(Uniform(("a", "b")), extents, 1)
    with pytest.raises(RuntimeError, match="radius"):
        drawn(Uniform(("a",), (0, 0.01), whole=True), extents, 1)


@pytest.mark.parametrize(
    ("placement", "place"),
    mostly_slow(
        [
            ("test_robosuite_base:AT_THE_SIDE", (0.2, -0.3)),
            ("test_robosuite_base:InARow", (0.0, 0.2)),
            (Uniform(("cube",), (0.1, 0.1), (0.1, 0.1), reference=(0, 0, 0.8)), (0.1, 0.1)),
            ({"x_range": [0.05, 0.05], "y_range": [0.0, 0.0]}, (0.05, 0.0)),
            ({"cube": {"x_range": [0.05, 0.05], "y_range": [0.0, 0.0]}}, (0.05, 0.0)),
        ],
        3,
    ),
    ids=str,
)
def test_any_task_takes_another_placement(placement, place):
    env = Env(Lift(placement=placement))
    env.reset(seed=0)
    np.testing.assert_allclose(env.data.body("cube_main").xpos[:2], place, atol=1e-9)


def test_one_of_several_objects_is_placed_otherwise():
    task = make_task("Stack", placement={"cubeB": {"x_range": [0.2, 0.2], "y_range": [0, 0]}})
    env = Env(task)
    for seed in range(5):
        env.reset(seed=seed)
        np.testing.assert_allclose(env.data.body("cubeB_main").xpos[:2], (0.2, 0), atol=1e-9)
        assert np.abs(env.data.body("cubeA_main").xpos[:2]).max() <= 0.08


# Sizes.


def test_cubes_sizes_are_drawn_and_all_that_follows_is_as_if_compiled_with_them():
    task = Lift()
    env = Env(task)
    env.reset(seed=0)
    size = env.model.geom("cube_g0").size.copy()
    env.reset()
    other = env.model.geom("cube_g0").size.copy()
    assert np.ptp([size, other], axis=0).min() > 0
    assert 0.02 <= min(size.min(), other.min()) <= max(size.max(), other.max()) <= 0.022
    spec = task.model()
    spec.geom("cube_g0").size = other
    spec.geom("cube_g0").density = DENSITY
    fresh = spec.compile()
    for field in task.varies:
        ours, theirs = getattr(env.model, field), getattr(fresh, field)
        if field == "body_inertia":  # the compiler sorts the axes of a body by their inertia
            ours, theirs = np.sort(ours, axis=1), np.sort(theirs, axis=1)
        if field == "bvh_aabb":
            continue
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12, err_msg=field)


def test_contact_of_bodies():
    env = pair_env(placement={"z_offset": 0.2})
    env.step(np.zeros(14))
    assert not in_contact(env.view, "box_main", "table")  # it falls
    for _ in range(10):
        env.step(np.zeros(14))
    assert in_contact(env.view, "box_main", "table")
    assert not env.task.grasped(env.view, "box_main")


# What the program says of itself.

CASES = [
    *((name, {}) for name in TASKS),
    ("Lift", {"grouped": True}),
    ("Lift", {"robot": "Baxter"}),
    ("Lift", {"robot": "Sawyer", "gripper": None, "controller": "JOINT_POSITION"}),
    ("Door", {"latch": False}),
]


@pytest.mark.parametrize(("name", "fields"), mostly_slow(CASES, 4), ids=str)
def test_every_number_is_described(name, fields):
    env = gymnasium.make(f"robosuite/{name}-v0", **fields).unwrapped
    env.reset(seed=0)
    described = env.describe()
    rows, size = described["observation"], env.observation_space.shape[0]
    assert [row["index"] for row in rows] == list(range(size))
    for row in rows:
        for field in ("entry", "name", "unit", "source", "meaning"):
            assert row[field].strip(), row
    assert len({(row["entry"], row["name"]) for row in rows}) == size
    assert len(described["action"]) == env.action_space.shape[0]
    for row in described["action"]:
        for field in ("name", "unit", "source", "meaning"):
            assert row[field].strip(), row
    assert described["success"]
    assert described["reward"]
    assert described["start"]


@pytest.mark.slow
def test_labels_are_the_engines_own_numbers():
    env = Env(Lift(), dtype="float64")
    env.reset(seed=0)
    rows = {(row["entry"], row["name"]): row for row in env.describe()["observation"]}
    row = rows["robot0_eef_pos", "gripper0_right_grip_site x"]
    assert (row["unit"], row["frame"], row["source"]) == ("m", "world", "site xpos")
    assert rows["robot0_joint_vel", "robot0_joint3"]["unit"] == "rad/s"
    assert rows["robot0_joint_acc", "robot0_joint3"]["unit"] == "rad/s^2"
    assert rows["gripper_to_cube_pos", "cube_main x"]["source"] == (
        "body cube_main - site gripper0_right_grip_site"
    )
