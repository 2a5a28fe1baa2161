"""Parts of robosuite that its own tests and pages use: buffers, modders, testers, robots."""

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym_compat.robosuite as suite
from mjgym_compat.robosuite.controllers import load_composite_controller_config
from mjgym_compat.robosuite.environments import REGISTERED_ENVS
from mjgym_compat.robosuite.environments.manipulation.tasks import DEFAULT_WIPE_CONFIG
from mjgym_compat.robosuite.environments.manipulation.two_arm_env import TwoArmEnv
from mjgym_compat.robosuite.models import MujocoWorldBase
from mjgym_compat.robosuite.models.arenas import MultiTableArena
from mjgym_compat.robosuite.models.grippers import GripperTester, gripper_factory
from mjgym_compat.robosuite.models.objects import (
    BoxObject,
    ConeObject,
    HammerObject,
    HollowCylinderObject,
    HookFrame,
    RatchetingWrenchObject,
    StandWithMount,
    TransportGroup,
)
from mjgym_compat.robosuite.models.tasks import ManipulationTask
from mjgym_compat.robosuite.robots import (
    ROBOT_CLASS_MAPPING,
    FixedBaseRobot,
    WheeledRobot,
    register_robot_class,
)
from mjgym_compat.robosuite.utils.buffers import DelayBuffer, DeltaBuffer, RingBuffer
from mjgym_compat.robosuite.utils.mjmod import DynamicsModder
from mjgym_compat.robosuite.utils.observables import Observable, sensor


@pytest.fixture(scope="module")
def lift():
    env = suite.make("Lift", robots="Panda", use_camera_obs=False, seed=0)
    yield env
    env.close()


def test_buffers_hold_the_last_values():
    ring, delayed, delta = RingBuffer(2, 3), DelayBuffer(1, 3), DeltaBuffer(1, [5])
    for i in range(5):
        ring.push([i, -i])
        delayed.push([i])
    np.testing.assert_array_equal(ring.current, [4, -4])
    np.testing.assert_array_equal(ring.average, [3, -3])
    assert delayed.get_delayed_value(2) == 2
    with pytest.raises(ValueError, match="delay"):
        delayed.get_delayed_value(3)
    assert delta.last == 5
    delta.push([2.0])
    delta.push([3.0])
    assert delta.delta == 1
    assert delta.average == 2.5
    ring.clear()
    assert ring._size == 0
    assert not ring.buf.any()


def test_a_modder_sets_and_restores_dynamics(lift):
    modder = DynamicsModder(sim=lift.sim, random_state=np.random.RandomState(5))
    model = lift.sim.model
    cube, geom = model.body_name2id(lift.cube.root_body), lift.cube.contact_geoms[0]
    joint = lift.robots[0].robot_joints[0]
    mass, damping = float(model.body_mass[cube]), float(np.ravel(model.joint(joint).damping)[0])
    modder.mod(lift.cube.root_body, "mass", 5.0)
    modder.mod(geom, "friction", [2.0, 0.2, 0.04])
    modder.mod(joint, "damping", 7.0)
    modder.mod(None, "density", 3.0)
    modder.update()
    assert model.body_mass[cube] == 5.0
    np.testing.assert_array_equal(model.geom(geom).friction, [2.0, 0.2, 0.04])
    assert np.ravel(model.joint(joint).damping)[0] == 7.0
    assert model.opt.density == 3.0
    modder.restore_defaults()
    assert model.body_mass[cube] == mass
    assert np.ravel(model.joint(joint).damping)[0] == damping
    modder.randomize()
    assert 0.98 * mass <= model.body_mass[cube] <= 1.02 * mass
    assert model.body_mass[cube] != mass
    modder.restore_defaults()
    with pytest.raises(ValueError, match="friction"):
        modder.mod(geom, "fricton", 1.0)
    with pytest.raises(TypeError, match="randomize_mass"):
        DynamicsModder(lift.sim, randomise_mass=False)


def test_a_tested_gripper_lifts_the_box_and_a_light_one_fails():
    def tester(**options):
        made = GripperTester(
            gripper_factory("RethinkGripper"),
            pos="0 0 0.3",
            quat="0 0 1 0",
            gripper_low_pos=-0.07,
            gripper_high_pos=0.02,
            render=False,
            **options,
        )
        made.start_simulation()
        return made

    good = tester()
    good.loop(test_y=True)
    assert good.object_height > 0.05
    with pytest.raises(ValueError, match="lifted"):
        tester(step_time=4).loop(test_y=True)
    with pytest.raises(ValueError, match="gripper_low_pos"):
        GripperTester(gripper_factory("RethinkGripper"), "0 0 0", "1 0 0 0", 1.0, 0.0)


def test_robots_load_their_models_alone():
    assert ROBOT_CLASS_MAPPING["Panda"] is FixedBaseRobot
    assert ROBOT_CLASS_MAPPING["PandaOmron"] is WheeledRobot
    robot = FixedBaseRobot("Panda", idn=1, gripper_type="RethinkGripper")
    robot.load_model()
    assert robot.robot_model.dof == 7
    assert robot.robot_model.contact_geoms[0].startswith("robot1_")
    assert [each.name for each in robot.robot_model.models][1].startswith("Rethink")
    with pytest.raises(ValueError, match="FixedBaseRobot"):
        register_robot_class("FixedBaseRobots")


def test_a_loop_of_physics_steps_is_a_step(lift):
    action = np.array([0.1, 0.2, -0.1, 0.0, 0.1, 0.0, 1.0])
    lift.reset()
    start, memory = lift.sim.get_state(), dict(lift.env.view.memory)
    for i in range(int(lift.control_timestep / lift.model_timestep)):
        lift.sim.forward()
        lift._pre_action(action, i == 0)
        lift.sim.step()
    by_hand = lift.sim.get_state().flatten()
    lift.sim.set_state(start)
    lift.sim.forward()
    lift.env.view.memory = memory
    lift.step(action)
    np.testing.assert_allclose(lift.sim.get_state().flatten(), by_hand, atol=1e-6)


def test_controllers_of_arms_start_from_the_present_pose(lift):
    robot = lift.robots[0]
    lift.reset()
    moved = robot.init_qpos + 0.2
    robot.set_robot_joint_positions(moved)
    law = robot.composite_controller.part_controllers["right"]
    law.update_initial_joints(robot.init_qpos)
    part = law.part.name
    memory = lift.env.view.memory
    tool = lift.sim.data.get_site_xpos(law.part.tool)
    np.testing.assert_allclose(memory[f"{part}/position"], tool, atol=1e-12)
    np.testing.assert_array_equal(memory[f"{part}/start"], robot.init_qpos)
    law.reset_goal()
    np.testing.assert_array_equal(lift.env.view.memory[f"{part}/start"], robot.init_qpos)
    np.testing.assert_array_equal(law.torques, robot.torques)


def test_keys_of_another_controller_are_ignored_and_unknown_ones_are_not():
    config = load_composite_controller_config(robot="Sawyer")
    arm = config["body_parts"]["right"]
    arm |= {"type": "JOINT_POSITION", "output_min": -1, "output_max": 1, "damping_limits": [0, 10]}
    env = suite.make("Lift", "Sawyer", use_camera_obs=False, controller_configs=config)
    assert env.action_dim == 8
    env.close()
    arm["kpp"] = 1
    with pytest.raises(TypeError, match="kpp"):
        suite.make("Lift", "Sawyer", use_camera_obs=False, controller_configs=config)


def test_the_published_configuration_of_wipe_is_the_default():
    env = suite.make("Wipe", "Panda", use_camera_obs=False, task_config=DEFAULT_WIPE_CONFIG)
    assert env.env.task.num_markers == DEFAULT_WIPE_CONFIG["num_markers"]
    env.close()


FRAME = HookFrame(
    "frame",
    frame_length=0.095,
    frame_height=0.18,
    frame_thickness=0.0075,
    hook_height=0.012,
    grip_location=0.05625,
    grip_size=(0.0127, 0.03175),
    tip_size=(0.0127, 0.001, 0.00325, 0.01905),
    density=500.0,
)
TOOL = RatchetingWrenchObject(
    "tool",
    handle_size=(0.0825, 0.00875, 0.0016),
    outer_radius_1=0.0175,
    inner_radius_1=0.0105,
    height_1=0.0035,
    outer_radius_2=0.015,
    inner_radius_2=0.01,
    height_2=0.0035,
    grip_size=(0.015, 0.04),
    density=2000.0,
    friction=(0.95, 0.3, 0.1),
)


def compiled(each):
    world = MujocoWorldBase()
    world.merge_assets(each)
    world.worldbody.append(each.get_obj())
    return world.get_model()


@pytest.mark.parametrize("each", [FRAME, TOOL], ids=lambda each: each.name)
def test_composed_objects_of_the_published_sizes_are_those_of_the_task(each):
    env = gymnasium.make("robosuite/ToolHang-v0")
    task, own = env.unwrapped.model, compiled(each)
    for body in each.bodies:
        here, there = own.body(body), task.body(body)
        np.testing.assert_allclose(here.mass, there.mass, rtol=1e-6, err_msg=body)
        np.testing.assert_allclose(here.inertia, there.inertia, rtol=1e-4, err_msg=body)
        np.testing.assert_allclose(here.pos, there.pos, atol=1e-8, err_msg=body)
    data, there = mujoco.MjData(own), mujoco.MjData(task)
    mujoco.mj_kinematics(own, data)
    start = task.jnt_qposadr[task.body(each.root_body).jntadr[0]]
    there.qpos[start : start + 7] = [0, 0, 0, 1, 0, 0, 0]
    mujoco.mj_kinematics(task, there)
    for site in [s for s in each.sites if "default" not in s and "grip" not in s]:
        np.testing.assert_allclose(data.site(site).xpos, there.site(site).xpos, atol=1e-7)
    env.close()


def test_cones_and_rings_fill_their_bounds():
    ring, cone = HollowCylinderObject("ring", 0.04, 0.03, 0.05), ConeObject("cone", 0.04, 0.01, 0.1)
    half = HollowCylinderObject("half", 0.04, 0.03, 0.05, make_half=True)
    assert len(ring.contact_geoms) == 8
    assert len(half.contact_geoms) == 5
    model = compiled(cone)
    sizes, places = model.geom("cone_c_0").size, model.geom("cone_c_0").pos
    assert sizes[0] == pytest.approx(0.04)
    assert places[2] - sizes[1] == pytest.approx(-0.05)
    assert model.geom("cone_c_8").size[0] == pytest.approx(0.01)


def test_objects_of_one_size_say_so():
    assert StandWithMount("stand", mount_width=0.012).mount_width == 0.012
    with pytest.raises(ValueError, match=r"mount_width is 0\.012"):
        StandWithMount("stand", mount_width=0.02)
    with pytest.raises(TypeError, match="mount_width"):
        StandWithMount("stand", mount_widht=0.012)


class Carry(TwoArmEnv):
    """A payload to carry from bin to bin, in the form of robosuite's tasks."""

    def _load_model(self):
        super()._load_model()
        arena = MultiTableArena(table_offsets=[(0, -0.6, 0.8), (0, 0.6, 0.8)])
        trash = BoxObject("trash", size=[0.02] * 3)
        self.group = TransportGroup("carry", HammerObject("payload"), trash)
        places = {"target_bin": -0.6, "trash_bin": -0.2, "start_bin": 0.6}
        self.model = ManipulationTask(
            mujoco_arena=arena,
            mujoco_robots=[robot.robot_model for robot in self.robots],
            mujoco_objects=list(self.group.objects.values()),
        )
        self.places = places

    def _reset_internal(self):
        super()._reset_internal()
        self.group.update_sim(self.sim)
        for name, y in self.places.items():
            joint = self.group.objects[name].joints[0]
            self.sim.data.set_joint_qpos(joint, [0, y, 0.9, 1, 0, 0, 0])
        for name, place in (("payload", (0, 0, 3)), ("lid", (0, 0.6, 2)), ("trash", (0, -0.6, 1))):
            joint = self.group.objects[name].joints[0]
            self.sim.data.set_joint_qpos(joint, [*place, 1, 0, 0, 0])

    def reward(self, action=None):
        return 0.0


def test_a_group_knows_where_its_objects_are():
    env = Carry(robots=["Panda", "Panda"], use_camera_obs=False, has_offscreen_renderer=False)
    env.reset()
    states = env.group.get_states()
    np.testing.assert_allclose(states["trash_pose"][0], (0, -0.6, 1))
    np.testing.assert_allclose(states["payload_pose"][1], (0, 0, 0, 1), atol=1e-12)
    assert states["lid_handle_pose"][0][2] > 2
    assert states["target_bin_pos"][1] == pytest.approx(-0.6)
    assert not states["trash_in_trash_bin"]
    joint = env.group.trash.joints[0]
    floor = states["trash_bin_pos"] + (0, 0, 0.024)  # half the base's thickness and half the box
    env.sim.data.set_joint_qpos(joint, [*floor, 1, 0, 0, 0])
    env.sim.forward()
    assert env.group.trash_in_trash_bin
    assert not env.group.payload_in_target_bin
    env.close()


Lift = REGISTERED_ENVS["Lift"]


class PlacedLift(Lift):
    """A lift of a cube that begins at one place, with more to see and an end of its own."""

    def _setup_references(self):
        super()._setup_references()
        self.tool = self.sim.model.site_name2id("gripper0_right_grip_site")

    def _reset_internal(self):
        super()._reset_internal()
        self.sim.data.set_joint_qpos(self.cube.joints[0], np.array([0.1, 0.2, 0.83, 1, 0, 0, 0]))

    def _setup_observables(self):
        entries = super()._setup_observables()

        @sensor(modality="object")
        def tool_height(readings):
            return self.sim.data.site_xpos[self.tool, 2]

        @sensor(modality="object")
        def cube_pos(readings):
            return -np.array(self.sim.data.get_body_xpos(self.cube.root_body))

        for read in (tool_height, cube_pos):
            entries[read.__name__] = Observable(read.__name__, read, sampling_rate=20)
        return entries

    def reward(self, action=None):
        return 10.0 - float(np.sum(np.square(action)))

    def _post_action(self, action):
        reward, done, info = super()._post_action(action)
        return reward + 1, done or self.timestep >= 2, {**info, "mine": 1}


def test_a_published_environment_is_changed_by_a_subclass():
    env = suite.make("PlacedLift", robots="Panda", use_camera_obs=False, seed=0)
    for _ in range(2):
        seen = env.reset()
        np.testing.assert_allclose(-seen["cube_pos"], [0.1, 0.2, 0.83])
        height = env.sim.data.site_xpos[env.tool, 2]
        assert seen["tool_height"] == height
        assert {-0.1, height} <= {*np.round(seen["object-state"], 15), height}
        seen, reward, done, info = env.step(np.full(7, 0.5))
        assert (reward, done, info["mine"]) == (11 - 7 / 4, False, 1)
        assert seen["tool_height"] == env.sim.data.site_xpos[env.tool, 2] != height
        assert env.step(np.zeros(7))[2]


@pytest.mark.parametrize("name", ["_load_model", "_pre_action"])
def test_what_a_subclass_cannot_change_is_refused(name):
    kind = type("Changed", (Lift,), {name: lambda self, *arguments: None})
    with pytest.raises(TypeError, match=f"Changed: {name} has no effect on Lift.*ManipulationEnv"):
        kind(robots="Panda", use_camera_obs=False)


def test_names_of_joints_are_lists(lift):
    robot = lift.robots[0]
    assert robot.robot_joints + robot.gripper_joints["right"] == [
        *(f"robot0_joint{i}" for i in range(1, 8)),
        *robot.gripper["right"].joints,
    ]
