"""Environments of one's own, on robosuite's models, arenas and objects."""

from collections import OrderedDict
from pathlib import Path
from types import SimpleNamespace

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym_compat.robosuite as suite
from helpers.lanes import mostly_slow
from mjgym.robots import hands
from mjgym.viewing.devices import DeviceError
from mjgym_compat.robosuite.devices import Keyboard, SpaceMouse
from mjgym_compat.robosuite.environments.base import REGISTERED_ENVS, MujocoEnv
from mjgym_compat.robosuite.environments.manipulation.manipulation_env import ManipulationEnv
from mjgym_compat.robosuite.models import MujocoWorldBase, arenas, bases, objects
from mjgym_compat.robosuite.models.arenas import TableArena
from mjgym_compat.robosuite.models.grippers import (
    ALL_GRIPPERS,
    GRIPPER_MAPPING,
    GripperModel,
    gripper_factory,
    register_gripper,
)
from mjgym_compat.robosuite.models.objects import BallObject, BoxObject, MujocoXMLObject
from mjgym_compat.robosuite.models.robots import REGISTERED_ROBOTS, Panda, create_robot
from mjgym_compat.robosuite.models.tasks import ManipulationTask
from mjgym_compat.robosuite.robots import LeggedRobot, WheeledRobot
from mjgym_compat.robosuite.utils import XMLError, input_utils, mjcf_utils, transform_utils
from mjgym_compat.robosuite.utils.observables import (
    Observable,
    create_deterministic_corrupter,
    create_deterministic_delayer,
    sensor,
)
from mjgym_compat.robosuite.utils.placement_samplers import UniformRandomSampler
from mjgym_compat.robosuite.utils.robot_composition_utils import (
    check_bimanual,
    create_composite_robot,
)
from mjgym_compat.robosuite.wrappers import DemoSamplerWrapper

FOLDER = Path(__file__).parents[1] / "data" / "robosuite"


class Push(ManipulationEnv):
    """A ball on a table, in the form of robosuite's tasks."""

    def __init__(self, robots, gripper_types="default", size=(0.02, 0.03), **options):
        self.size = size
        self.placement_initializer = None
        super().__init__(robots, gripper_types=gripper_types, **options)

    def _load_model(self):
        super()._load_model()
        model = self.robots[0].robot_model
        model.set_base_xpos(model.base_xpos_offset["table"](0.8))
        arena = TableArena(table_full_size=(0.8, 0.8, 0.05), table_offset=(0, 0, 0.8))
        arena.set_origin([0, 0, 0])
        red = mjcf_utils.CustomMaterial("WoodRed", "redwood", "redwood_mat", {"type": "cube"})
        low, high = ([radius] for radius in self.size)
        self.ball = BallObject("ball", size_min=low, size_max=high, material=red, rng=self.rng)
        self.placement_initializer = UniformRandomSampler(
            "BallSampler", self.ball, (-0.03, 0.03), (-0.03, 0.03), None,
            reference_pos=(0, 0, 0.8), z_offset=0.01, rng=self.rng,
        )  # fmt: skip
        self.model = ManipulationTask(arena, [model], self.ball)

    def _setup_references(self):
        super()._setup_references()
        self.ball_body = self.sim.model.body_name2id(self.ball.root_body)

    def _setup_observables(self):
        entries = super()._setup_observables()

        @sensor(modality="object")
        def ball_pos(seen):
            return np.array(self.sim.data.body_xpos[self.ball_body])

        prefix = self._get_arm_prefixes(self.robots[0])[0]
        way = self._get_obj_eef_sensor(prefix, "ball_pos", "gripper_to_ball", "object")
        for each in (ball_pos, way):
            name = each.__name__
            entries[name] = Observable(name, each, sampling_rate=self.control_freq)
        return entries

    def _reset_internal(self):
        super()._reset_internal()
        if not self.deterministic_reset:
            for pos, quat, each in self.placement_initializer.sample().values():
                self.sim.data.set_joint_qpos(each.joints[0], np.concatenate([pos, quat]))

    def reward(self, action=None):
        way = self._gripper_to_target(self.robots[0].gripper, self.ball, return_distance=True)
        return 1 - np.tanh(10 * way)

    def _check_success(self):
        return bool(self.sim.data.body_xpos[self.ball_body][2] > 0.84)


def make(**options):
    return suite.make(
        "Push", **{"robots": "Panda", "use_camera_obs": False, "seed": 0, "horizon": 10} | options
    )


def test_the_quick_start_of_the_documentation():
    world = MujocoWorldBase()
    robot = Panda()
    gripper = gripper_factory("PandaGripper")
    robot.add_gripper(gripper)
    robot.set_base_xpos([0, 0, 0])
    world.merge(robot)
    arena = TableArena()
    arena.set_origin([0.8, 0, 0])
    world.merge(arena)
    sphere = BallObject(name="sphere", size=[0.04], rgba=[0, 0.5, 0.5, 1]).get_obj()
    sphere.set("pos", "1.0 0 1.0")
    world.worldbody.append(sphere)
    model = world.get_model(mode="mujoco")
    data = mujoco.MjData(model)
    while data.time < 1:
        mujoco.mj_step(model, data)
    assert data.body("sphere_main").xpos[2] == pytest.approx(0.84, abs=1e-3)
    assert model.nu == 9
    with pytest.raises(ValueError, match="only 'mujoco'"):
        world.get_model(mode="mujoco_py")


def test_an_environment_of_ones_own_runs_and_is_known_by_its_name():
    assert REGISTERED_ENVS["Push"] is Push
    env = make()
    assert isinstance(env, MujocoEnv)
    first = env.reset()
    assert isinstance(first, OrderedDict)
    assert first["robot0_proprio-state"].shape == (50,)
    assert first["object-state"].shape == (6,)
    way = first["ball_pos"] - first["robot0_eef_pos"]
    np.testing.assert_allclose(first["gripper_to_ball"], way)
    for i in range(10):
        seen, reward, done, _ = env.step(np.zeros(env.action_dim))
        assert done == (i == 9)
    assert 0 < reward < 1
    assert 0.819 < seen["ball_pos"][2] < 0.831  # it fell onto the table
    with pytest.raises(ValueError, match="terminated"):
        env.step(np.zeros(7))
    with pytest.raises(ValueError, match="expected 7 numbers"):
        make().step(np.zeros(6))


@pytest.mark.slow
def test_seeds_and_hard_resets_redraw_sizes():
    a, b = make(seed=3), make(seed=3)
    for _ in range(2):
        x, y = a.reset(), b.reset()
        np.testing.assert_array_equal(x["object-state"], y["object-state"])
    sizes = set()
    for _ in range(3):
        a.reset()
        sizes.add(float(a.sim.model._model.geom("ball_g0").size[0]))
    assert len(sizes) == 3
    soft = make(hard_reset=False)
    before = soft.sim.model._model.geom("ball_g0").size.copy()
    soft.reset()
    np.testing.assert_array_equal(soft.sim.model._model.geom("ball_g0").size, before)


def test_it_moves_as_the_task_of_the_same_scene():
    """The arm reaches the same place as in Lift, by the same actions, to rounding."""
    env = make(initialization_noise=None)
    task = suite.make("Lift", use_camera_obs=False, initialization_noise=None, seed=0)
    env.reset()
    task.reset()
    action = np.array([0.5, -0.2, -0.3, 0.1, 0.2, -0.1, 1.0])
    for _ in range(8):
        ours, theirs = env.step(action)[0], task.step(action)[0]
    for name in ("robot0_joint_pos", "robot0_eef_pos", "robot0_gripper_qpos"):
        np.testing.assert_allclose(ours[name], theirs[name], atol=2e-3)


def test_what_a_robot_remembers():
    env = make()
    env.reset()
    robot = env.robots[0]
    action = np.full(7, 0.3)
    before = robot._joint_positions
    env.step(action)
    np.testing.assert_array_equal(robot.recent_actions.current, action)
    np.testing.assert_array_equal(robot.recent_qpos.current, before)
    env.step(-action)
    np.testing.assert_array_equal(robot.recent_actions.last, action)
    np.testing.assert_array_equal(robot.recent_actions.delta, -2 * action)
    assert robot.torques.shape == (7,)
    assert robot.ee_force["right"].shape == (3,)
    whole = robot.composite_controller
    assert whole.get_control_dim("right") == 6
    parts = whole.create_action_dict_from_action_vector(action)
    np.testing.assert_array_equal(whole.create_action_vector(parts), action)
    pos, axes = whole.get_controller_base_pose("right")
    assert pos[2] == pytest.approx(0.912)
    np.testing.assert_allclose(axes, np.eye(3), atol=1e-12)


def test_readings_are_late_rare_and_changed():
    env = make(control_freq=20)
    env.modify_observable("ball_pos", "sampling_rate", 10)
    env.modify_observable("robot0_eef_pos", "corrupter", create_deterministic_corrupter(1.0))
    first = env.reset()
    assert first["robot0_eef_pos"][2] > 1.5
    seen = [env.step(np.zeros(7))[0]["ball_pos"] for _ in range(2)]
    np.testing.assert_array_equal(seen[0], first["ball_pos"])
    assert (seen[1] != first["ball_pos"]).any()
    env.modify_observable("ball_pos", "delayer", create_deterministic_delayer(0.2))
    with pytest.warns(UserWarning, match="delay is longer"):
        seen = [env.step(np.zeros(7)) for _ in range(4)]
    with pytest.raises(ValueError, match="0 s or more"):
        create_deterministic_delayer(-0.1)


def test_a_control_step_has_as_many_physics_steps_as_fit():
    env = make(control_freq=30)
    env.reset()
    start = env.sim.data.time
    env.step(np.zeros(7))
    assert env.sim.data.time - start == pytest.approx(16 * 0.002)
    assert env.cur_time == pytest.approx(1 / 30)


def test_xml_and_state_restore_an_episode():
    env = make()
    env.reset()
    xml, state = env.sim.model.get_xml(), env.sim.get_state().flatten()
    size = env.sim.model._model.geom("ball_g0").size[0]
    env.reset()
    env.reset_from_xml_string(xml)
    env.sim.set_state_from_flattened(state)
    env.sim.forward()
    assert env.sim.model._model.geom("ball_g0").size[0] == pytest.approx(size, abs=1e-6)
    np.testing.assert_allclose(env.sim.get_state().flatten(), state)


ROBOTS = sorted(
    {name for name, kind in REGISTERED_ROBOTS.items() if kind.__module__.startswith("mjgym")}
)


@pytest.mark.parametrize("name", mostly_slow(ROBOTS, 4))
def test_every_robot_compiles_with_its_gripper(name):
    robot = create_robot(name, idn=1)
    for side in robot.arms:
        hand = gripper_factory(robot.default_gripper[side], idn=f"1_{side}")
        robot.add_gripper(hand, robot.eef_name[side])
    world = MujocoWorldBase()
    world.merge(robot)
    model = world.get_model()
    names = {model.joint(i).name for i in range(model.njnt)}
    assert set(robot.joints) <= names
    assert len(robot.init_qpos) == robot.dof >= len(robot.arm_joints)
    with pytest.raises(ValueError, match="holds"):
        robot.add_gripper(hand, robot.eef_name[side])
    with pytest.raises(ValueError, match="no body"):
        robot.add_gripper(gripper_factory(None), "robot1_right_hnad")


@pytest.mark.parametrize("name", [name for name in ALL_GRIPPERS if name])
def test_grippers_take_actions(name):
    gripper = gripper_factory(name)
    commands = gripper.format_action(np.ones(gripper.dof))
    assert len(commands) in (0, len(gripper._actuators))
    assert np.all(np.abs(commands) <= 1)
    assert len(gripper.init_qpos) == len(gripper.joints)
    with pytest.raises(ValueError, match="did you mean"):
        gripper_factory(f"{name}s")


@pytest.mark.parametrize(
    "kind", ["EmptyArena", "TableArena", "PegsArena", "BinsArena", "WipeArena"]
)
def test_arenas_compile(kind):
    arena = getattr(arenas, kind)()
    arena.set_camera("agentview", pos=(1, 0, 2), quat=(1, 0, 0, 0))
    arena.set_camera("mine", pos=(0, 0, 3), quat=(1, 0, 0, 0))
    world = MujocoWorldBase()
    world.merge(arena)
    model = world.get_model()
    np.testing.assert_allclose(model.camera("agentview").pos, (1, 0, 2))
    assert model.camera("mine").id >= 0
    assert model.opt.timestep == 0.002


def test_several_tables():
    arena = arenas.MultiTableArena([[0, 0, 0.8], [1, 0, 0.9]], table_rots=[0, np.pi / 2])
    world = MujocoWorldBase()
    world.merge(arena)
    model = world.get_model()
    assert model.body("table1").pos[2] == pytest.approx(0.875)


def test_wiping_moves_the_markers():
    env = suite.make("Wipe", use_camera_obs=False)
    arena = arenas.WipeArena(num_markers=5, rng=np.random.default_rng(0))
    assert len(arena.markers) == 5
    pos = arena.sample_start_pos()
    for _ in range(50):
        pos = arena.sample_path_pos(pos)
        assert (np.abs(pos) < 0.36).all()
    assert env.action_dim == 6


KINDS = (
    *("CanObject", "MilkObject", "BreadObject", "CerealObject", "CanVisualObject"),
    *("SquareNutObject", "RoundNutObject", "PlateWithHoleObject", "DoorObject", "HammerObject"),
    *("PotWithHandlesObject", "Bin", "Lid", "StandWithMount", "BoxObject", "BallObject"),
    *("CapsuleObject", "CylinderObject"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_objects_know_their_elements(kind):
    thing = getattr(objects, kind)(name="thing")
    world = MujocoWorldBase()
    world.merge_assets(thing)
    world.worldbody.append(thing.get_obj())
    model = world.get_model()
    assert model.body(thing.root_body).id == 1
    names = {model.geom(i).name for i in range(model.ngeom)}
    assert {*thing.contact_geoms, *thing.visual_geoms} == names
    assert bool(thing.contact_geoms) == (kind != "CanVisualObject")
    assert thing.bottom_offset[2] < thing.top_offset[2]
    assert thing.horizontal_radius > 0
    assert {model.joint(i).name for i in range(model.njnt)} == set(thing.joints)


@pytest.mark.parametrize("kind", ["Can", "Milk", "Bread", "Cereal", "SquareNut", "RoundNut"])
def test_objects_weigh_what_the_task_s_do(kind):
    thing = getattr(objects, f"{kind}Object")(name="thing")
    world = MujocoWorldBase()
    world.merge_assets(thing)
    world.worldbody.append(thing.get_obj())
    task = suite.make("NutAssembly" if "Nut" in kind else "PickPlace", use_camera_obs=False)
    mass = task.env.model.body(f"{kind}_main").mass[0]
    assert world.get_model().body("thing_main").mass[0] == pytest.approx(mass, rel=1e-4)


MODEL = """
<mujoco model="brick">
  <default><default class="red"><geom rgba="1 0 0 1" density="500"/></default></default>
  <worldbody>
    <body>
      <body name="object">
        <geom class="red" type="box" size="0.02 0.03 0.04" group="0"/>
      </body>
      <site name="bottom_site" pos="0 0 -0.04"/>
      <site name="top_site" pos="0 0 0.04"/>
      <site name="horizontal_radius_site" pos="0.036 0 0"/>
    </body>
  </worldbody>
</mujoco>
"""


def test_an_object_of_a_file(tmp_path):
    path = tmp_path / "brick.xml"
    path.write_text(MODEL)
    brick = MujocoXMLObject(str(path), "brick", scale=2)
    assert brick.joints == ["brick_joint0"]
    assert brick.horizontal_radius == 0.072
    np.testing.assert_array_equal(brick.bottom_offset, [0, 0, -0.08])
    world = MujocoWorldBase()
    world.merge_assets(brick)
    world.worldbody.append(brick.get_obj())
    model = world.get_model()
    assert model.body("brick_main").mass[0] == pytest.approx(500 * 8 * 8 * 0.02 * 0.03 * 0.04)
    np.testing.assert_allclose(model.geom(brick.contact_geoms[0]).size, (0.04, 0.06, 0.08))
    path.write_text(MODEL.replace('name="object"', 'name="brick"'))
    with pytest.raises(XMLError, match="no body 'object'"):
        MujocoXMLObject(str(path), "brick")
    with pytest.raises(ValueError, match="obj_type"):
        MujocoXMLObject(str(path), "brick", obj_type="vissual")


def test_composite_objects():
    table = objects.CompositeObject(
        "desk",
        total_size=(0.2, 0.1, 0.06),
        geom_types=["box", "cylinder"],
        geom_sizes=[(0.2, 0.1, 0.01), (0.01, 0.05)],
        geom_locations=[(0, 0, 0.1), (0.19, 0.09, 0)],
        geom_names=["top", "leg"],
        density=[500, 1000],
    )
    both = objects.CompositeBodyObject(
        "both",
        [table, BoxObject("lamp", size=(0.01, 0.01, 0.05))],
        [None, (0, 0, 0.11)],
        body_joints={"lamp_main": [{"type": "hinge", "axis": "0 0 1"}]},
    )
    world = MujocoWorldBase()
    world.merge_assets(both)
    world.worldbody.append(both.get_obj())
    model = world.get_model()
    np.testing.assert_allclose(model.geom("both_desk_leg").pos, (0, 0, -0.01), atol=1e-12)
    assert model.njnt == 2
    assert both.top_offset[2] == pytest.approx(0.16)
    assert table.in_box(np.zeros(3), [0.1, 0, 0])
    assert not table.in_box(np.zeros(3), [0.3, 0, 0])


def test_elements_of_trees():
    body = mjcf_utils.new_body("a", pos=(1, 2, 3))
    body.append(mjcf_utils.new_geom("g", "box", (0.1, 0.2, 0.3), group=1))
    body.append(mjcf_utils.new_site("s"))
    assert mjcf_utils.find_elements(body, "geom", {"name": "g"}) is body[0]
    assert mjcf_utils.find_elements(body, "joint", return_first=False) is None
    assert mjcf_utils.find_parent(body, body[0]) is body
    mjcf_utils.add_prefix(body, "p_", exclude=lambda each: each == "s")
    assert [each.get("name") for each in body.iter()] == ["p_a", "p_g", "s"]
    np.testing.assert_array_equal(mjcf_utils.string_to_array("1 2.5"), (1, 2.5))
    assert mjcf_utils.convert_to_string((True, 0)) == "1 0"
    with pytest.raises(ValueError, match="did you mean WoodRed"):
        mjcf_utils.CustomMaterial("WoodReed", "t", "m")
    with pytest.raises(ValueError, match="no text"):
        mjcf_utils.convert_to_string(object())
    with pytest.raises(XMLError, match="no body 'nowhere'"):
        MujocoWorldBase().merge(TableArena(), merge_body="nowhere")


def test_subclasses_of_tasks_pay_their_own_reward():
    class Higher(REGISTERED_ENVS["Lift"]):
        def reward(self, action=None):
            return 7.0

    env = suite.make("Higher", use_camera_obs=False)
    assert env.step(np.zeros(7))[1] == 7.0
    assert len(suite.make("Lift", use_camera_obs=False).staged_rewards()) >= 1


def test_a_robot_on_a_base_that_drives():
    env = suite.make("Lift", robots="PandaOmron", use_camera_obs=False, initialization_noise=None)
    first = env.reset()
    robot = env.robots[0]
    assert robot.is_mobile
    assert env.action_dim == 12
    assert list(robot.action_split_indexes) == [
        *("right", "torso", "base", "right_gripper", "base_mode"),
    ]
    assert robot.create_action_vector({"base": [1, 0, 0]})[-1] == -1
    drive = robot.create_action_vector({"base": [1, 0, 0], "base_mode": 1})
    for _ in range(10):
        seen = env.step(drive)[0]
    assert seen["robot0_base_pos"][0] - first["robot0_base_pos"][0] > 0.05
    way = "robot0_base_to_eef_pos"
    np.testing.assert_allclose(seen[way], first[way], atol=0.02)  # the hand follows
    config = suite.load_composite_controller_config(robot="PandaOmron")
    assert config["type"] == "HYBRID_MOBILE_BASE"
    again = suite.make("Lift", robots="PandaOmron", controller_configs=config, use_camera_obs=False)
    assert again.action_dim == 12
    config["body_parts"]["torso"]["kp"] = 50
    weak = suite.make("Lift", robots="PandaOmron", controller_configs=config, use_camera_obs=False)
    assert weak.env.task.robots[0].groups[0].controller.kp == 50
    config["body_parts"]["base"]["kp"] = 3
    with pytest.raises(ValueError, match="base of PandaOmron"):
        suite.make("Lift", robots="PandaOmron", controller_configs=config, use_camera_obs=False)
    basic = suite.load_composite_controller_config(controller="BASIC", robot="PandaOmron")
    plain = suite.make("Lift", "PandaOmron", controller_configs=basic, use_camera_obs=False)
    assert plain.action_dim == 11
    assert not plain.robots[0].has_part("base_mode")


class Tongs(GripperModel):
    """A gripper of one's own, in robosuite's form."""

    colour = "grey"

    def __init__(self, idn=0):
        super().__init__(str(FOLDER / "tongs.xml"), idn=idn)

    def format_action(self, action):
        assert len(action) == self.dof
        step = np.array([-1.0, 1.0]) * self.speed * np.sign(action)
        self.current_action = np.clip(self.current_action + step, -1.0, 1.0)
        return self.current_action

    @property
    def speed(self):
        return 0.1

    @property
    def dof(self):
        return 1

    @property
    def init_qpos(self):
        return np.array([0.005, -0.005])

    @property
    def _important_geoms(self):
        sides = ("left", "right")
        return {f"{side}_{part}": [f"{side}_pad"] for side in sides for part in PARTS}


PARTS = ("finger", "fingerpad")


class Independent(Tongs):
    """Its action is the commands."""

    def format_action(self, action):
        return np.clip(action, -1, 1)

    @property
    def dof(self):
        return 2


class Proportional(Tongs):
    """The size of the action counts."""

    def format_action(self, action):
        step = np.array([-0.5, 1.0]) * self.speed * np.asarray(action)
        self.current_action = np.clip(self.current_action + step, -1.0, 1.0)
        return self.current_action


class Squared(Tongs):
    """No law of a gripper."""

    def format_action(self, action):
        return np.array([-1.0, 1.0]) * np.square(action)


@pytest.fixture
def registered():
    """Grippers that are registered for a test."""
    before = dict(GRIPPER_MAPPING.data), dict(hands._things)
    yield
    GRIPPER_MAPPING.data, hands._things = before


class TestGrippers:
    @pytest.mark.parametrize("how", ["register", "mapping"])
    def test_a_registered_one_is_taken_by_name(self, registered, how):
        """Numbers of 1.5.2, with the same class and file."""
        if how == "register":
            register_gripper(Tongs)
        else:
            GRIPPER_MAPPING["Tongs"] = Tongs
        options = {"use_camera_obs": False, "initialization_noise": None, "gripper_types": "Tongs"}
        env = suite.make("Lift", "Panda", **options)
        env.reset()
        gripper = env.robots[0].gripper["right"]
        assert (env.action_dim, gripper.dof, gripper.speed, gripper.colour) == (7, 1, 0.1, "grey")
        assert gripper.important_geoms["left_fingerpad"] == ["gripper0_right_left_pad"]
        seen = []
        for step in range(10):
            observed = env.step(np.r_[np.zeros(6), 1.0 if step < 6 else -0.3])[0]
            seen.append([*observed["robot0_gripper_qpos"], env.sim.data.ctrl[-1]])
        np.testing.assert_allclose(observed["robot0_eef_pos"], [-0.10239, 0, 1.00807], atol=2e-5)
        rows = {0: (-0.00426, 0.00421, 0.01925), 5: (-0.02442, 0.02431, 0.028)}
        rows |= {6: (-0.02518, 0.02506, 0.02625), 9: (-0.0229, 0.02277, 0.021)}
        for step, row in rows.items():
            np.testing.assert_allclose(seen[step], row, rtol=0, atol=2e-5)
        custom = Push("Panda", **options)
        custom.reset()
        assert isinstance(custom.robots[0].gripper["right"], Tongs)
        for _ in range(6):
            custom.step(np.r_[np.zeros(6), 1.0])
        np.testing.assert_allclose(custom.sim.data.ctrl[-2:], (-0.028, 0.028))

    def test_tasks_take_it_alone_and_in_a_batch(self, registered):
        register_gripper(Tongs)
        env = gymnasium.make("robosuite/Lift-v0", gripper="Tongs")
        envs = gymnasium.make_vec("robosuite/Lift-v0", num_envs=2, gripper="Tongs")
        first, rows = env.reset(seed=3)[0], envs.reset(seed=3)[0]
        for action in np.linspace(-1, 1, 5):
            actions = np.full((2, 7), action, np.float32)
            first, rows = env.step(actions[0])[0], envs.step(actions)[0]
        np.testing.assert_array_equal(first, rows[0])

    @pytest.mark.parametrize("name", GRIPPER_MAPPING)
    def test_published_ones_compile_alone_and_are_base_classes(self, registered, name):
        """Defaults of tendons and equalities are those of their elements, not of the sections."""
        mujoco.MjModel.from_xml_string(gripper_factory(name).get_xml())
        register_gripper(type("Own", (GRIPPER_MAPPING[name],), {}))
        own, published = hands.find("Own"), hands.find(name or "none")
        assert (own.joints, own.actuators) == (published.joints, published.actuators)
        one, other = (hand.model().compile() for hand in (own, published))
        for field in ("body_mass", "eq_data", "eq_solref", "tendon_stiffness", "actuator_gainprm"):
            np.testing.assert_allclose(getattr(one, field), getattr(other, field), atol=1e-6)
        assert own.law.dimensions == published.law.dimensions
        assert own.law.incremental == published.law.incremental
        if own.law.incremental and published.actuators:
            assert own.law.speed == pytest.approx(published.law.speed)

    def test_laws_of_other_actions(self, registered):
        for cls in (Independent, Proportional):
            register_gripper(cls)
        law = hands.find("Independent").law
        assert (law.dimensions, law.incremental) == (2, False)
        law = hands.find("Proportional").law
        assert (law.proportional, law.speed, law.directions) == (True, 0.1, (-0.5, 1.0))

    def test_a_class_defined_again_is_the_same(self, registered):
        register_gripper(Tongs)
        again = register_gripper(type("Tongs", (Tongs,), {"colour": "red"}))
        env = suite.make("Lift", "Panda", gripper_types="Tongs", use_camera_obs=False)
        assert env.robots[0].gripper["right"].colour == "red"
        assert GRIPPER_MAPPING["Tongs"] is again
        with pytest.raises(ValueError, match="there is another gripper 'Tongs' already"):
            register_gripper(type("Tongs", (Tongs,), {"speed": 0.5}))

    def test_mistakes(self, registered):
        with pytest.raises(ValueError, match=r"Squared\.format_action: expected increments"):
            register_gripper(Squared)
        with pytest.raises(ValueError, match="there is another gripper 'PandaGripper'"):
            register_gripper(type("PandaGripper", (Tongs,), {}))
        register_gripper(Tongs)
        with pytest.raises(ValueError, match="did you mean Tongs"):
            suite.make("Lift", "Panda", gripper_types="Tong", use_camera_obs=False)
        with pytest.raises(ValueError, match="did you mean Tongs"):
            gripper_factory("Tong")


@pytest.mark.parametrize("hard_reset", [True, False])
@pytest.mark.parametrize("make", [lambda *a, **k: suite.make("Lift", *a, **k), Push])
def test_disabled_parts_keep_their_last_controls(make, hard_reset):
    """Of 1.5.2: whatever the action, in the simulation too, until a reset enables all."""
    env = make("PandaOmron", use_camera_obs=False, initialization_noise=None, hard_reset=hard_reset)
    env.reset()
    robot = env.robots[0]
    assert all(map(robot.enabled, ("right", "left_gripper", "torso", "head", "base", "legs")))
    action = robot.create_action_vector({"base": [1, 0, 0], "torso": [1], "right": np.ones(6)})
    motors = {name: env.sim.model.actuator_name2id(name) for name in robot._motors_of["base"]}
    base, arm = [*motors.values()], robot._ref_arm_joint_actuator_indexes
    robot.enable_parts(base=False, right=False)
    assert not robot.enabled("right_gripper")
    assert robot.enabled("torso")
    for _ in range(5):
        env.step(action)
        assert not env.sim.data.ctrl[[*base, *arm]].any()
    assert abs(env.sim.data.get_joint_qpos("mobilebase0_joint_mobile_forward")) < 1e-3
    env.reset()
    robot = env.robots[0]
    assert robot.enabled("base")
    env.step(action)
    held = env.sim.data.ctrl[base].copy()
    assert held.any()
    robot.enable_parts(base=False)
    robot.enable_parts(base=False, torso=False)  # again: the controls stay, the ranges come back
    for _ in range(5):
        env.step(-action)
        np.testing.assert_array_equal(env.sim.data.ctrl[base], held)
        assert (env.sim.data.ctrl[arm] != 0).any()
    assert env.sim.data.get_joint_qpos("mobilebase0_joint_mobile_forward") > 0.05
    robot.enable_parts()
    env.step(-action)
    np.testing.assert_allclose(env.sim.data.ctrl[base], -held, atol=0.01)
    np.testing.assert_array_equal(env.sim.model.actuator_ctrlrange[base[:2]], [[-1, 1]] * 2)
    with pytest.raises(TypeError, match="base"):
        make("Panda", use_camera_obs=False).robots[0].enable_parts(base=False)


def test_the_mode_of_a_base_that_stands():
    """Of 1.5.2, whose entries are a physics step older: above 0 the hand moves from its goal."""
    config = suite.load_composite_controller_config("HYBRID_MOBILE_BASE", robot="Panda")
    env = suite.make(
        "Lift", controller_configs=config, use_camera_obs=False, initialization_noise=None
    )
    env.reset()
    robot, rng = env.robots[0], np.random.default_rng(0)
    assert env.action_dim == 8
    assert robot.create_action_vector({"right": np.ones(6)})[-1] == -1
    places = []
    for step in range(12):
        action = rng.uniform(-1, 1, 8)
        action[-1] = -1 if step < 4 else 1
        places.append(env.step(action)[0]["robot0_eef_pos"])
    theirs = [
        [-0.106592, -0.017765, 1.002159], [-0.109935, -0.058431, 0.995992],
        [-0.101613, -0.079708, 1.000495], [-0.099889, -0.064612, 0.999331],
        [-0.119066, -0.032635, 0.995523], [-0.133812, -0.018319, 1.001543],
        [-0.158145, -0.014496, 1.006518], [-0.179366, -0.025304, 1.013423],
        [-0.205994, -0.029317, 1.009766], [-0.230666, -0.020039, 1.003124],
        [-0.243936, -0.003701, 0.999804], [-0.241674, 0.020429, 1.004995],
    ]  # fmt: skip
    np.testing.assert_allclose(places, theirs, rtol=0, atol=2e-3)


@pytest.mark.parametrize(
    ("name", "kind", "dimensions", "parts"),
    mostly_slow(
        [
            ("SpotWithArmFloating", "BASIC", 10, ["base"]),
            ("SpotWithArm", "BASIC", 19, ["legs"]),
            ("GR1", "WHOLE_BODY_IK", 24, []),
            ("GR1ArmsOnly", "WHOLE_BODY_IK", 24, []),
            ("GR1FixedLowerBody", "WHOLE_BODY_IK", 24, []),
            ("GR1FloatingBody", "HYBRID_MOBILE_BASE", 34, ["torso", "head", "base"]),
            ("Tiago", "BASIC", 20, ["torso", "head", "base"]),
        ],
        7,
    ),
)
def test_robots_with_torsos_heads_and_legs(name, kind, dimensions, parts):
    config = suite.load_composite_controller_config(robot=name)
    assert config["type"] == kind
    env = suite.make("Lift", robots=name, use_camera_obs=False, initialization_noise=None)
    same = suite.make("Lift", name, controller_configs=config, use_camera_obs=False)
    assert env.action_dim == same.action_dim == dimensions
    robot = env.robots[0]
    assert isinstance(robot, WheeledRobot if name == "Tiago" else LeggedRobot)
    assert robot.is_mobile
    arms = [f"{side}{what}" for what in ("", "_gripper") for side in robot.arms]
    split = list(robot.composite_controller._action_split_indexes)
    assert [part for part in split if part not in (*arms, "base_mode")] == parts
    env.reset()
    np.testing.assert_allclose(robot._joint_positions, robot.init_qpos)
    own = make(robots=name, initialization_noise=None)
    own.reset()
    action = np.linspace(-0.3, 0.3, dimensions)
    for _ in range(3):
        ours, theirs = own.step(action)[0], env.step(action)[0]
    # Wheels that just touch the floor magnify rounding; Cartesian entries are a physics step old.
    bounds = {"robot0_joint_pos": 1e-2 if name == "Tiago" else 1e-6, "robot0_base_pos": 5e-3}
    for entry, bound in bounds.items():
        np.testing.assert_allclose(ours[entry], theirs[entry], atol=bound)


def test_configurations_without_a_robot_hold_the_parts_of_any():
    """Of 1.5.2: gains 1000 and 200 of a torso, where the robot's own is 2000."""
    for kind, count in (("BASIC", 11), ("HYBRID_MOBILE_BASE", 12)):
        config = suite.load_composite_controller_config(controller=kind)
        assert config["type"] == kind
        assert [*config["body_parts"]] == ["right", "left", "torso", "head", "base", "legs"]
        env = suite.make("Lift", "PandaOmron", controller_configs=config, use_camera_obs=False)
        assert env.action_dim == count
        torso = env.robots[0].part_controllers["torso"]
        np.testing.assert_array_equal([torso.kp, torso.kd], [[1000], [200]])


@pytest.mark.slow
def test_parts_of_humanoids_take_the_laws_of_a_configuration():
    config = suite.load_composite_controller_config(controller="BASIC", robot="GR1FloatingBody")
    config["body_parts"]["head"]["kp"] = 300
    env = suite.make("Lift", "GR1FloatingBody", controller_configs=config, use_camera_obs=False)
    assert env.action_dim == 33  # without the mode of a hybrid robot
    torso, head, _ = env.env.task.robots[0].groups
    assert (torso.controller.kp, head.controller.kp) == (1000, 300)
    hybrid = suite.load_composite_controller_config("HYBRID_MOBILE_BASE", robot="Tiago")
    env = suite.make("Lift", "Tiago", controller_configs=hybrid, use_camera_obs=False)
    assert env.action_dim == 21
    env = suite.make("Lift", "GR1FixedLowerBody", use_camera_obs=False)
    assert not env.env.task.manipulators[0].hand.law.scaled  # its fingers take rad
    config["body_parts"]["right"]["gripper"]["use_action_scaling"] = False
    with pytest.raises(ValueError, match="both grippers"):
        suite.make("Lift", "GR1FloatingBody", controller_configs=config, use_camera_obs=False)


def test_robots_composed_of_parts():
    create_composite_robot("Mine", robot="UR5e", base="OmronMobileBase", grippers="RethinkGripper")
    config = suite.load_composite_controller_config(controller="BASIC", robot="Mine")
    env = suite.make("Lift", robots="Mine", controller_configs=config, use_camera_obs=False)
    robot = env.robots[0]
    assert env.action_dim == 6 + 1 + 3 + 1
    assert robot.is_mobile
    assert robot.gripper["right"].class_name == "RethinkGripper"
    own = make(robots="Mine", controller_configs=config)
    own.reset()
    assert own.action_dim == 11
    create_composite_robot("Mine", robot="UR5e", base="RethinkMount", grippers=None)
    assert suite.make("Lift", robots="Mine", use_camera_obs=False).action_dim == 6
    with pytest.raises(ValueError, match="did you mean OmronMobileBase"):
        create_composite_robot("Mine", robot="UR5e", base="OmronMobilBase")


def test_a_base_that_drives_in_an_environment_of_ones_own():
    env = make(robots="PandaOmron", initialization_noise=None)
    task = suite.make("Lift", "PandaOmron", use_camera_obs=False, initialization_noise=None)
    env.reset()
    task.reset()
    action = np.array([0.5, -0.2, -0.3, 0.1, 0.2, -0.1, 0.3, 0.4, 0.2, -0.3, 1.0, 1.0])
    for _ in range(8):
        ours, theirs = env.step(action)[0], task.step(action)[0]
    for name in ("robot0_joint_pos", "robot0_base_pos", "robot0_base_to_eef_pos"):
        np.testing.assert_allclose(ours[name], theirs[name], atol=2e-3)


def test_a_person_chooses(monkeypatch):
    answers = iter(["1", "", "x", "99", "1"])
    monkeypatch.setattr("builtins.input", lambda question: next(answers))
    assert input_utils.choose_environment() == sorted(suite.ALL_ENVIRONMENTS)[1]
    assert input_utils.choose_controller() == "BASIC"
    assert input_utils.choose_robots(exclude_single_arm=True) == "Baxter"
    assert input_utils.choose_multi_arm_config() == "opposed"
    assert check_bimanual(input_utils.choose_robots(exclude_bimanual=True)) is False


def test_episodes_start_in_states_of_demonstrations(tmp_path):
    h5py = pytest.importorskip("h5py")
    env = suite.make("Lift", use_camera_obs=False)
    states = []
    for _ in range(2):
        env.reset()
        for _ in range(4):
            env.step(np.full(7, 0.2))
            states.append(env.sim.get_state().flatten())
    with h5py.File(tmp_path / "demo.hdf5", "w") as file:
        data = file.create_group("data")
        data.attrs["env"] = "Lift"
        for i in range(2):
            episode = data.create_group(f"demo_{i}")
            episode["states"] = np.array(states[4 * i : 4 * i + 4])
            episode.attrs["model_file"] = env.sim.model.get_xml()

    def started(scheme, **options):
        options = {"sampling_schemes": [scheme], "scheme_ratios": [1.0], **options}
        wrapper = DemoSamplerWrapper(env, tmp_path, **options)
        wrapper.reset()
        now = env.sim.get_state().flatten()
        return [i for i, state in enumerate(states) if np.array_equal(state, now)]

    assert started("uniform")
    assert started("uniform", need_xml=True)
    assert started("forward", open_loop_initial_window_width=1)[0] in (0, 4)
    assert started("reverse", open_loop_initial_window_width=1)[0] in (3, 7)
    assert not started("random")
    wrapper = DemoSamplerWrapper(
        *(env, tmp_path, False, 1, ["reverse"], [1.0]), open_loop_increment_freq=1,
        open_loop_initial_window_width=1, open_loop_window_increment=2,
    )  # fmt: skip
    wrapper.sample()
    assert wrapper.open_loop_window_size == 3
    assert len(wrapper.demo_list) == 1
    with pytest.raises(ValueError, match="did you mean uniform"):
        DemoSamplerWrapper(env, tmp_path, sampling_schemes=["unifrom"], scheme_ratios=[1.0])
    with pytest.raises(ValueError, match="shares"):
        DemoSamplerWrapper(env, tmp_path, scheme_ratios=[0.5, 0.4])
    with pytest.raises(ValueError, match="not of 'Stack'"):
        DemoSamplerWrapper(suite.make("Stack", use_camera_obs=False), tmp_path)


def test_keys_drive_one_arm_after_the_other():
    env = suite.make("TwoArmLift", robots="Baxter", use_camera_obs=False)
    device = Keyboard(env, pos_sensitivity=2.0)
    device.start_control()
    device.on_press("up")
    device.on_press(SimpleNamespace(char=None, name="page_up"))
    device.on_press(SimpleNamespace(char="q"))
    parts = device.input2action()
    assert parts["right"][0] == parts["right"][2] == 1
    assert not parts["left"].any()
    assert parts["right_gripper"] == -1
    action = env.robots[0].create_action_vector(parts)
    assert action.shape == (14,)
    device.start_control()
    device.on_press("f9")
    device.on_press(".")
    device.on_press("down")
    parts = device.input2action(mirror_actions=True)
    assert device.active_arm == "left"
    assert parts["left"][0] == 1
    assert parts["left_gripper"] == 1


def test_a_missing_spacemouse():
    with pytest.raises(DeviceError):
        SpaceMouse(suite.make("Lift", use_camera_obs=False))


# Recorded from robosuite 1.5.2: mass, kg; diagonal inertia, kg m2; half size of the box around what
# touches, m; joint damping.
GROCERIES = [
    ("BottleObject", 0.0140159057, (2.51355935e-5, 2.51355948e-5, 4.27773561e-6),
     (0.0276, 0.0293, 0.08), 0.0005),
    ("LemonObject", 0.00265270327, (4.10332398e-7, 7.74720682e-7, 7.75167061e-7),
     (0.033925, 0.02, 0.019892), 0.0),
]  # fmt: skip


@pytest.mark.parametrize(("name", "mass", "inertia", "half", "damping"), GROCERIES)
def test_groceries_weigh_and_measure_as_published(name, mass, inertia, half, damping):
    made = getattr(objects, name)("food")
    world = MujocoWorldBase()
    world.merge_assets(made)
    world.worldbody.append(made.get_obj())
    model = world.get_model()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    body = model.body("food_main")
    np.testing.assert_allclose(body.mass, mass, rtol=1e-6)
    np.testing.assert_allclose(np.sort(body.inertia), np.sort(inertia), rtol=1e-3)
    assert model.joint("food_joint0").damping[0] == damping
    touch = np.flatnonzero(model.geom_contype)
    np.testing.assert_array_equal(model.geom_friction[touch], [[0.95, 0.3, 0.1]] * len(touch))
    centre, size = np.split(model.geom_aabb[touch], 2, axis=1)
    axes = np.abs(data.geom_xmat[touch].reshape(-1, 3, 3))
    middle = data.geom_xpos[touch] + np.einsum("nij,nj->ni", axes, centre)
    reach = np.einsum("nij,nj->ni", axes, size)
    whole = ((middle + reach).max(axis=0) - (middle - reach).min(axis=0)) / 2
    np.testing.assert_allclose(whole, half, atol=0.003)


def test_a_box_is_hinged_to_another():
    box = objects.HingedBoxObject("case", use_texture=False)
    world = MujocoWorldBase()
    world.merge_assets(box)
    world.worldbody.append(box.get_obj())
    model = world.get_model()
    hinge = model.joint("case_box_hinge")
    np.testing.assert_allclose(hinge.axis, [0, 1, 0])
    np.testing.assert_allclose(hinge.pos, [0.025, 0, -0.0125])
    np.testing.assert_allclose(hinge.range, [0, 1.57])
    np.testing.assert_allclose(model.body("case_box2_main").pos, [0, 0, 0.0375])
    np.testing.assert_allclose(model.body_mass[1:], [0, 0.125, 0.0625, 0])
    assert (box.top_offset[2], box.bottom_offset[2]) == (0.05, -0.025)
    assert box.horizontal_radius == pytest.approx(np.hypot(0.025, 0.025))
    data = mujoco.MjData(model)
    data.joint("case_box_hinge").qpos = 1.57
    mujoco.mj_forward(model, data)
    assert data.body("case_box2_main").xpos[0] > 0.03  # it has turned about the edge
    np.testing.assert_allclose(data.geom("case_hinge_g0_vis").xpos, [0.025, 0, 0.025], atol=1e-6)


def test_the_arm_of_spot_is_a_model_of_its_own():
    arm = create_robot("SpotArm", idn=1)
    assert arm.joints[0] == "robot1_arm_sh0"
    assert (arm.default_base, arm.default_gripper) == ("RethinkMount", {"right": "BDGripper"})
    np.testing.assert_array_equal(arm.init_qpos, [0, -1.2, 1.85, 0, 0.862, 0])
    np.testing.assert_allclose(arm.base_xpos_offset["table"](0.8), [-1.46, 0, 0])
    np.testing.assert_array_equal(arm.base_xpos_offset["bins"], [-0.5, -0.1, 0])
    world = MujocoWorldBase()
    world.merge(arm)
    model = world.get_model()
    assert model.body_mass.sum() == pytest.approx(5.811001)
    np.testing.assert_allclose(model.dof_damping, [0.1] * 5 + [0.01])


@pytest.mark.parametrize(
    ("name", "kind", "prefix", "radius"),
    [
        ("RethinkMount", "MountModel", "fixed_mount0_", 0.25),
        ("NullMount", "MountModel", "fixed_mount0_", 0.0),
        ("OmronMobileBase", "MobileBaseModel", "mobilebase0_", 0.25),
        ("NullMobileBase", "MobileBaseModel", "mobilebase0_", 0.0),
        ("Spot", "LegBaseModel", "leg0_", 0.1),
        ("NullBase", "NullBaseModel", "nullbase0_", 0.0),
    ],
)
def test_bases_have_classes(name, kind, prefix, radius):
    made = getattr(bases, name)()
    assert isinstance(made, getattr(bases, kind))
    assert (made.name, made.naming_prefix) == (f"{name}0", prefix)
    assert made.horizontal_radius == radius
    assert bases.BASE_MAPPING[name] is type(bases.robot_base_factory(name))


def test_a_base_of_ones_own_is_registered():
    class Plinth(bases.NullBase):
        """A base that changes nothing."""

    try:
        bases.register_base(Plinth)
        assert type(bases.robot_base_factory("Plinth", idn=2)) is Plinth
    finally:
        del bases.BASE_MAPPING["Plinth"]


def test_a_robot_is_turned_in_the_published_order():
    """As `mat2quat(euler2mat(angles))` of robosuite."""
    arm = create_robot("Panda")
    arm.set_base_ori([0.1, 0.5, 0.9])
    world = MujocoWorldBase()
    world.merge(arm)
    model = world.get_model()
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    expected = transform_utils.euler2mat([0.1, 0.5, 0.9])
    np.testing.assert_allclose(data.body("robot0_base").xmat.reshape(3, 3), expected, atol=1e-6)
