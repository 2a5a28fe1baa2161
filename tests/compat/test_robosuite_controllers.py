"""robosuite's controllers, against torques and positions recorded from robosuite 1.5.2."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mjgym_compat.robosuite as suite
from mjgym.controllers import JointVelocity
from mjgym_compat.robosuite.controllers import (
    composite,
    composite_controller_factory,
    controller_factory,
    parts,
)
from mjgym_compat.robosuite.renderers import Renderer, load_renderer_config
from mjgym_compat.robosuite.utils.binding_utils import (
    MjRenderContextOffscreen,
    MjSim,
    MjSimState,
)
from mjgym_compat.robosuite.utils.ik_utils import IKSolver, IKSolverMink, get_nullspace_gains
from mjgym_compat.robosuite.utils.transform_utils import mat2quat, quat2axisangle

RECORDED = json.loads((Path(__file__).parents[1] / "data/robosuite/controllers.json").read_text())
LIMIT = 1e4  # N m, as recorded
ROUNDED = {"rtol": 2e-5, "atol": 2e-5}  # their rotations are in float32


@pytest.fixture
def sim():
    return MjSim.from_xml_string(RECORDED["model"])


def arguments(sim, part, **given):
    """Arguments as robosuite's robots give them."""
    names = {"torso": ["torso_yaw"], "right_gripper": ["joint_right_finger"]}
    joints = names.get(part, [f"{part}{i}" for i in range(7)])
    found = [sim.model.joint_name2id(name) for name in joints]
    grips = part.endswith("gripper")
    limits = ([-0.01], [0.05]) if grips else ([-LIMIT] * len(joints), [LIMIT] * len(joints))
    return {
        **{"sim": sim, "interpolation": None, "ramp_ratio": 0.2, "policy_freq": 20, "ndim": 7},
        **{"actuator_range": tuple(map(np.array, limits)), "part_name": part},
        **{"naming_prefix": "robot0_", "ref_name": f"{part}_tool" if len(joints) == 7 else None},
        "joint_indexes": {"joints": found, "qpos": found, "qvel": found, "actuators": [15]},
        **given,
    }


def move(sim, qpos, qvel):
    sim.data.qpos[:], sim.data.qvel[:] = qpos, qvel
    sim.forward()


@pytest.mark.parametrize(
    "case", RECORDED["parts"], ids=[f"{i}-{x['type']}" for i, x in enumerate(RECORDED["parts"])]
)
def test_a_part_is_driven_as_recorded(sim, case):
    move(sim, *case["start"])
    part, kind = case["part"], case["type"]
    controller = controller_factory(part, kind, arguments(sim, part, **case["given"]))
    for action, qpos, qvel, torques in case["steps"]:
        move(sim, qpos, qvel)
        if action is not None:
            controller.set_goal(action)
        np.testing.assert_allclose(controller.run_controller(), torques, **ROUNDED)
    assert controller.name == case["name"]
    assert controller.control_dim == len(case["low"])
    if case["given"].get("input_type") != "absolute":  # these have no bounds here
        for ours, theirs in zip(controller.control_limits, ("low", "high"), strict=True):
            np.testing.assert_allclose(ours, case[theirs])


@pytest.mark.parametrize("case", RECORDED["ik"], ids=[str(x["given"]) for x in RECORDED["ik"]])
def test_inverse_kinematics_finds_the_recorded_positions(sim, case):
    joints = case["joints"]
    config = {
        "end_effector_sites": ["right_tool", "left_tool"],
        "joint_names": joints,
        "nullspace_gains": get_nullspace_gains(joints, {"right1": 4.0}),
    }
    usual = {"damping": 0.05, "integration_dt": 0.1, "max_dq": 4.0}
    given = {**usual, **case["given"]}
    gains = given.pop("gains", {})
    solver = IKSolver(sim.model._model, sim.data._data, config, **given)
    for qpos, qvel, action, positions in case["rows"]:
        move(sim, qpos, qvel)
        np.testing.assert_allclose(solver.solve(action, **gains), positions, **ROUNDED)
    width = solver.control_dim // 2
    assert solver.action_split_indexes() == {"right": (0, width), "left": (width, 2 * width)}
    places = solver.forward_kinematics(sim.data.qpos[solver.dof_ids])
    np.testing.assert_allclose(places["left_tool"], sim.data.get_site_xpos("left_tool"))


@pytest.mark.parametrize("case", RECORDED["mink"], ids=[str(x["given"]) for x in RECORDED["mink"]])
def test_a_quadratic_program_finds_the_positions_of_mink(sim, case):
    sites = ["right_tool", "left_tool"]
    model, data = sim.model._model, sim.data._data
    solver = IKSolverMink(model, data, sites, robot_joint_names=case["joints"], **case["given"])
    for qpos, action, positions in case["rows"]:
        move(sim, qpos, np.zeros(model.nv))
        np.testing.assert_allclose(solver.solve(action), positions, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(solver.solve(), positions, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("case", RECORDED["composites"], ids=lambda case: case["type"])
def test_a_robot_is_driven_as_recorded(sim, case):
    move(sim, *case["start"])
    whole = composite_controller_factory(
        case["type"], sim, SimpleNamespace(arms=["right", "left"]), {}
    )
    configs = {name: arguments(sim, name, **given) for name, given in case["parts"].items()}
    whole.load_controller_config(configs, case["specific"])
    whole.reset()
    move(sim, *case["state"])
    whole.set_goal(np.array(case["action"]))
    torques = whole.run_controller(case["enabled"])
    assert torques.keys() == case["torques"].keys()
    for name, theirs in case["torques"].items():
        np.testing.assert_allclose(torques[name], theirs, **ROUNDED)
    for ours, theirs in zip(whole.action_limits, (case["low"], case["high"]), strict=True):
        np.testing.assert_array_equal(ours, np.array(theirs, float))
    assert list(map(list, whole.get_action_info())) == case["info"]
    shares = whole.create_action_dict_from_action_vector(case["action"])
    np.testing.assert_allclose(whole.create_action_vector(shares)[:-1], case["action"][:-1])
    assert whole.name == case["name"]


def test_readings_and_parameters_of_a_part(sim):
    move(sim, np.full(16, 0.1), np.full(16, 0.2))
    arm = controller_factory("left", "JOINT_VELOCITY", arguments(sim, "left"))
    assert isinstance(arm, parts.JointVelocityController)
    np.testing.assert_allclose(arm.kp, 0.25 * 2 * LIMIT)
    np.testing.assert_allclose(arm.joint_pos, 0.1)
    np.testing.assert_allclose(arm.ref_pos_vel, sim.data.get_site_xvelp("left_tool"))
    np.testing.assert_allclose(arm.J_ori[:, 3], sim.data.get_site_jacr("left_tool")[:, 12])
    np.testing.assert_allclose(arm.mass_matrix, arm.mass_matrix.T)
    arm.kp = 0.5
    assert arm.law == JointVelocity(kp=0.5, output_max=1, output_min=-1, velocity_limits=None)
    first = arm.run_controller()
    np.testing.assert_allclose(
        first - arm.torque_compensation, -(1 + 0.005 + 0.001 / 5) * arm.kp * 0.2, rtol=1e-9
    )
    np.testing.assert_array_equal(arm.torques, first)
    with pytest.raises(AttributeError, match="did you mean joint_pos"):
        arm.joint_poss  # noqa: B018


def test_a_controller_reads_the_present_from_its_first_step():
    sim = MjSim.from_xml_string(RECORDED["model"])  # nothing has been computed
    torso = controller_factory("torso", "JOINT_POSITION", arguments(sim, "torso"))
    torso.set_goal([1.0])
    inertia = torso.mass_matrix[0, 0]
    assert inertia > 0.1
    wanted = inertia * 50 * 0.05 + torso.torque_compensation
    np.testing.assert_allclose(torso.run_controller(), wanted, rtol=1e-9)


def test_arguments_of_parts_that_cannot_be(sim):
    for part, kind, given, error, message in (
        ("rihgt", "OSC_POSE", {}, ValueError, "did you mean right"),
        ("right", "OSC_POS", {}, ValueError, "did you mean OSC_POSE"),
        ("right", "OSC_POSE", {"kpp": 3}, TypeError, "did you mean kp"),
        ("right", "OSC_POSE", {"kp": -3}, ValueError, "kp"),
        ("base", "JOINT_POSITION", {}, ValueError, "JOINT_VELOCITY"),
    ):
        with pytest.raises(error, match=message):
            controller_factory(part, kind, arguments(sim, "right", **given))
    arm = parts.arm_controller_factory("OSC_POSE", arguments(sim, "right"))
    with pytest.raises(ValueError, match="expected 6 numbers"):
        arm.set_goal(np.zeros(7))
    with pytest.raises(ValueError, match="did you mean desired"):
        arm.set_goal_update_mode("desire")


def test_controllers_of_an_environment_follow_its_actions():
    env = suite.make("Lift", robots="PandaOmron", use_camera_obs=False, seed=0)
    robot = env.robots[0]
    whole, arm = robot.composite_controller, robot.part_controllers["right"]
    assert isinstance(whole, composite.HybridMobileBase)
    assert isinstance(arm, parts.OperationalSpaceController)
    assert isinstance(robot.part_controllers["base"], parts.MobileBaseJointVelocityController)
    before = arm.goal_pos
    action = whole.create_action_vector({"right": [1, 0, 0, 0, 0, 0]})
    env.step(action)
    np.testing.assert_allclose(arm.goal_pos - before, [0.05, 0, 0], atol=1e-3)
    state, memory = env.sim.get_state(), dict(env.env.view.memory)
    env.step(action)
    stepped = robot._joint_positions, robot._joint_velocities
    env.sim.set_state(state)
    env.env.view.memory = memory
    env.sim.forward()
    for i in range(25):  # the same by hand
        env.sim.forward()
        if i == 0:
            whole.set_goal(action)
        for name, torques in whole.run_controller(
            dict.fromkeys(whole.part_controllers, True)
        ).items():
            env.sim.data.ctrl[whole.part_controllers[name]._motors] = torques
        env.sim.step()
    by_hand = robot._joint_positions, robot._joint_velocities
    np.testing.assert_allclose(by_hand, stepped, atol=1e-5)
    with pytest.raises(AttributeError, match="controller_configs"):
        arm.kp = 3
    env.close()


STILL = {"use_camera_obs": False, "initialization_noise": None, "hard_reset": False}


def test_grippers_are_parts_of_a_robot():
    """Numbers of robosuite 1.5.2."""
    env = suite.make("Lift", robots="Panda", **STILL)
    robot = env.robots[0]
    hand = robot.part_controllers["right_gripper"]
    assert [*robot.composite_controller.part_controllers] == ["right", "right_gripper"]
    assert isinstance(hand, parts.GripperController)
    assert (hand.name, hand.part_name, hand.naming_prefix) == (
        *("JOINT_VELOCITY", "right_gripper", "robot0_"),
    )
    assert (hand.control_dim, hand.joint_dim, hand.use_action_scaling) == (2, 2, True)
    np.testing.assert_array_equal(hand.control_limits, [[-1, -1], [1, 1]])
    np.testing.assert_array_equal([hand.input_min, hand.input_max], [[-1, -1], [1, 1]])
    np.testing.assert_allclose(hand.actuator_limits, [[0, -0.04], [0.04, 0]])
    assert [*hand.qpos_index, *hand.qvel_index] == [7, 8, 7, 8]
    np.testing.assert_array_equal(hand.joint_pos, env.sim.data.qpos[7:9])
    assert hand.run_controller() == pytest.approx([0.02, -0.02])
    for _ in range(5):
        env.step(np.linspace(-0.5, 0.5, 7))
    np.testing.assert_allclose(hand.goal_qvel, [-1, 1])
    np.testing.assert_allclose(hand.run_controller(), [0, 0], atol=1e-12)
    hand.set_goal([1, -1])  # by hand, for the environment too
    env.step(np.zeros(7))
    np.testing.assert_allclose(env.sim.data.ctrl[7:9], [0.04, -0.04])
    with pytest.raises(ValueError, match="expected 2 numbers"):
        hand.set_goal([1])


@pytest.mark.parametrize(
    ("robot", "speed"),
    [
        ("Panda", [-0.0939, -0.0880, -0.0416, 0.0260, 0.3706, 0.6724]),
        ("UR5e", [-0.0570, -0.0430, -0.0514, -0.0467, 0.4579, 0.8495]),
    ],
)
def test_speed_of_hands(robot, speed):
    """Numbers of robosuite 1.5.2."""
    env = suite.make("Lift", robots=robot, **STILL)
    for _ in range(5):
        env.step(np.linspace(-0.5, 0.5, 7))
    own = env.robots[0]
    np.testing.assert_allclose(own._hand_total_velocity["right"], speed, atol=2e-3)
    parts_of_it = [*own._hand_vel["right"], *own._hand_ang_vel["right"]]
    np.testing.assert_array_equal(parts_of_it, own._hand_total_velocity["right"])


@pytest.mark.parametrize(
    ("kind", "changed", "high"),
    [
        ("OSC_POSE", {"input_ref_frame": "world"}, [1] * 7),
        ("OSC_POSE", {"input_max": 2, "input_min": -2}, [2] * 6 + [1]),
        ("OSC_POSITION", {}, [1] * 4),
        ("JOINT_POSITION", {}, [1] * 8),
        ("OSC_POSE", {"impedance_mode": "variable_kp"}, [300] * 6 + [1] * 7),
    ],
)
def test_bounds_of_absolute_actions(kind, changed, high):
    """Those of displacements, as in robosuite 1.5.2, though no action is clipped to them."""
    config = suite.load_part_controller_config(default_controller=kind)
    config |= {"input_type": "absolute", **changed}
    env = suite.make("Lift", robots="Panda", controller_configs=config, **STILL)
    low = [0 if bound == 300 else -bound for bound in high]
    np.testing.assert_array_equal(env.action_spec, [low, high])
    np.testing.assert_array_equal(
        env.robots[0].part_controllers["right"].control_limits, [low[:-1], high[:-1]]
    )
    if "input_ref_frame" in changed:
        env.step([0.5, 0, 1.4, np.pi, 0, 0, 0])  # m and rad
        np.testing.assert_allclose(env.robots[0].part_controllers["right"].goal_pos, [0.5, 0, 1.4])


class Shift(composite.WholeBody):
    """Both arms' joints shifted by one number."""

    def _init_joint_action_policy(self):
        arms, start = [self.part_controllers[name] for name in self.arms], []

        def solve(shift):
            if not start:
                start.extend(np.concatenate([arm.joint_pos for arm in arms]))
            return np.array(start) + shift

        self.joint_action_policy = SimpleNamespace(
            control_dim=1,
            control_limits=(-np.ones(1), np.ones(1)),
            action_split_indexes=lambda: {"shift": (0, 1)},
            solve=solve,
        )


@pytest.fixture
def registered():
    before = dict(composite.REGISTERED_COMPOSITE_CONTROLLERS_DICT)
    composite.register_composite_controller(Shift)
    yield
    composite.REGISTERED_COMPOSITE_CONTROLLERS_DICT.clear()
    composite.REGISTERED_COMPOSITE_CONTROLLERS_DICT.update(before)


HOLD = {"type": "JOINT_POSITION", "input_type": "absolute"}
OF_THE_ARM = {"actuation_part_names": ["left"]}


def test_a_controller_of_ones_own(sim, registered):
    whole = composite_controller_factory("SHIFT", sim, SimpleNamespace(arms=["left"]), {})
    whole.load_controller_config({"left": arguments(sim, "left", **HOLD)}, OF_THE_ARM)
    whole.set_goal([0.0])
    torques = whole.run_controller({"left": True})["left"]
    np.testing.assert_allclose(torques, sim.data.qfrc_bias[9:16], atol=1e-12)
    with pytest.raises(ValueError, match="did you mean WHOLE_BODY_IK"):
        composite_controller_factory("WHOLE_BODY", sim, None, {})


@pytest.mark.parametrize("robots", ["Baxter", ["Panda", "Sawyer"]])
def test_a_task_takes_a_controller_of_ones_own(registered, robots):
    sides = ["right", "left"] if robots == "Baxter" else ["right"]
    config = {
        "type": "SHIFT",
        "composite_controller_specific_configs": {"actuation_part_names": sides},
        "body_parts": {side: {**HOLD, "kp": 300, "gripper": {"type": "GRIP"}} for side in sides},
    }
    env = suite.make("TwoArmLift", robots, controller_configs=config, use_camera_obs=False, seed=0)
    grips = len(sides)
    assert env.action_dim == len(env.robots) * (1 + grips)
    first = env.robots[0]
    assert first.composite_controller.get_control_dim("shift") == 1
    before = [robot.get_robot_joint_positions() for robot in env.robots]
    action = [first.create_action_vector({"shift": [0.1], "right_gripper": [1.0]})]
    action += [robot.create_action_vector({"shift": [-0.1]}) for robot in env.robots[1:]]
    for _ in range(40):
        env.step(np.concatenate(action))
    for robot, start, shift in zip(env.robots, before, (0.1, -0.1), strict=False):
        moved = robot.get_robot_joint_positions() - start
        np.testing.assert_allclose(moved, shift, atol=0.01)
    with pytest.raises(ValueError, match="action: expected"):
        env.step(np.zeros(99))
    env.close()


def test_a_task_refuses_controllers_that_find_no_joints(registered):
    @composite.register_composite_controller
    class Other(composite.CompositeController):
        name = "OTHER"

    config = suite.load_composite_controller_config(controller="BASIC", robot="Panda")
    for kind, message in (("OTHER", "subclasses of WholeBody"), ("SHIF", "did you mean SHIFT")):
        with pytest.raises(ValueError, match=message):
            suite.make("Lift", "Panda", controller_configs={**config, "type": kind})


def test_a_task_takes_a_subclass_of_inverse_kinematics(registered):
    @composite.register_composite_controller
    class LiftedIK(composite.WholeBodyIK):
        def of_task(self, action):
            return super().of_task(action + np.eye(len(action))[2] * 0.05)

    config = suite.load_composite_controller_config("WHOLE_BODY_IK", robot="Panda")
    config["type"] = "LIFTED_I_K"
    env = suite.make("Lift", "Panda", controller_configs=config, use_camera_obs=False, seed=0)
    robot = env.robots[0]
    site = robot.eef_site_id["right"]
    place, axes = env.sim.data.site_xpos[site].copy(), env.sim.data.site_xmat[site]
    pose = [*place, *quat2axisangle(mat2quat(axes))]
    action = robot.create_action_vector({"right": pose})
    for _ in range(60):
        env.step(action)
    moved = env.sim.data.site_xpos[site] - place
    np.testing.assert_allclose(moved, [0, 0, 0.05], atol=5e-3)
    env.close()


@pytest.mark.parametrize("robot", ["Panda", "GR1FixedLowerBody"])
def test_a_task_whose_tools_follow_poses_by_a_quadratic_program(robot):
    config = suite.load_composite_controller_config("WHOLE_BODY_MINK_IK", robot=robot)
    env = suite.make("Lift", robot, controller_configs=config, use_camera_obs=False, seed=0)
    robot = env.robots[0]
    sites = [robot.eef_site_id[side] for side in robot.arms]
    wanted = env.sim.data.site_xpos[sites] + [0.0, 0.03, 0.05]
    axes = env.sim.data.site_xmat[sites]
    turns = [quat2axisangle(mat2quat(each)) for each in axes]
    poses = np.hstack([wanted, turns])
    action = robot.create_action_vector(dict(zip(robot.arms, poses, strict=True)))
    for _ in range(60):
        env.step(action)
    np.testing.assert_allclose(env.sim.data.site_xpos[sites], wanted, atol=2e-3)
    np.testing.assert_allclose(env.sim.data.site_xmat[sites], axes, atol=0.02)
    env.close()


MOVED = """
<mujoco><compiler angle="radian"/><worldbody>
  <body name="robot0_base" pos="1 0 0" euler="0 0 1.5707963">
    <body><joint name="turn" axis="0 0 1" range="-3 3"/><geom size=".02"/>
      <body pos=".5 0 0"><joint name="bend" axis="0 0 1" range="-3 3"/>
        <geom size=".02"/><site name="left_tool" pos=".4 0 0"/></body></body>
  </body>
  <body name="target" mocap="true" pos="1 .5 0"/>
  <body name="other" mocap="true"/>
</worldbody><keyframe><key name="home" qpos=".3 .4"/></keyframe></mujoco>
"""
SITES = {
    **{"end_effector_sites": ["left_tool"], "joint_names": ["turn", "bend"]},
    **{"nullspace_gains": [1.0, 1.0], "initial_keyframe": "home"},
}
SPEED = {"damping": 0.05, "integration_dt": 0.1, "max_dq": 0.0}


def test_targets_of_inverse_kinematics(tmp_path):
    sim = MjSim.from_xml_string(MOVED)
    both = sim.model._model, sim.data._data
    solver = IKSolver(*both, {**SITES, "mocap_bodies": ["target"]}, **SPEED, input_type="mocap")
    solver.reset_to_initial_state()
    sim.forward()
    np.testing.assert_allclose(sim.data.qpos, [0.3, 0.4])
    solver.set_target_positions([[1.0, 0.6, 0.0]])
    place, quat = solver.get_targets()
    np.testing.assert_allclose(place, [[1.0, 0.6, 0.0]])
    local = np.eye(4)
    local[:3, 3] = [0.6, 0.0, 0.0]
    world = solver.transform_pose(local, "base", "world")
    np.testing.assert_allclose(world[:3, 3], place[0], atol=1e-6)
    np.testing.assert_allclose(solver.transform_pose(world, "world", "base"), local, atol=1e-12)
    move(sim, [0.6, 0.1], 0)
    place = sim.data.get_site_xpos("left_tool")
    action = [*place, *quat2axisangle(mat2quat(sim.data.get_site_xmat("left_tool")))]
    solver.reset_to_initial_state()
    sim.forward()
    for _ in range(100):
        sim.data.qpos[:] = solver.solve(action)
        sim.forward()
    np.testing.assert_allclose(sim.data.qpos, [0.6, 0.1], atol=1e-3)

    file = tmp_path / "poses.npz"
    names = [f"{side}_eef_{what}" for side in ("left", "right") for what in ("pos", "quat_wxyz")]
    rows = [np.full((2, 3 + i % 2), [[i], [i + 10]]) for i in range(len(names))]
    np.savez(file, **dict(zip(names, rows, strict=True)))
    config = {**SITES, "mocap_bodies": ["target", "other"]}
    solver = IKSolver(*both, config, **SPEED, input_type="pkl", input_file=str(file))
    for start in [0] * 10 + [10] * 9:  # as 0.1 is added, rounded
        place, quat = solver.get_targets()
        np.testing.assert_array_equal(place[:, 0], [start, start + 2])
        np.testing.assert_array_equal(quat[:, 3], [start + 1, start + 3])
    with pytest.raises(IndexError):
        solver.get_targets()
    with pytest.raises(ValueError, match="a pickle runs code"):
        IKSolver(*both, config, **SPEED, input_type="pkl", input_file="poses.pkl")
    for options, message in (
        ({"input_type": "mocup"}, "did you mean mocap"),
        ({"input_action_repr": "relative_poses"}, "did you mean relative_pose"),
    ):
        with pytest.raises(ValueError, match=message):
            IKSolver(*both, config, **SPEED, **options)
    with pytest.raises(ValueError, match="input_type='mocap'"):
        IKSolver(*both, SITES, **SPEED).get_targets()
    with pytest.raises(ValueError, match="set_target_poses before"):
        IKSolverMink(*both, ["left_tool"]).solve()


def test_a_simulation_of_its_own(sim):
    move(sim, np.full(16, 0.1), np.full(16, 0.2))
    state = sim.get_state()
    again = MjSimState.from_flattened(state.flatten(), sim)
    sim.step()
    assert sim.data.time == pytest.approx(0.002)
    sim.set_state(again)
    np.testing.assert_array_equal(sim.get_state().flatten(), state.flatten())
    copy = MjSim.from_xml_string(sim.model.get_xml())
    assert copy.model.joint_names == sim.model.joint_names
    with pytest.raises(ValueError, match="expected 1 \\+ 16 \\+ 16 numbers"):
        sim.set_state_from_flattened(np.zeros(3))
    with pytest.raises(ValueError, match="from_xml_string"):
        MjSim(sim.model._model).model.get_xml()
    assert load_renderer_config("mjviewer") == {}
    with pytest.raises(ValueError, match="did you mean mjviewer"):
        load_renderer_config("mjvewer")
    with pytest.raises(NotImplementedError, match=r"must define get_pixel_obs\(\)"):
        Renderer(None).get_pixel_obs()


def test_pictures_of_a_simulation_of_its_own():
    sim = MjSim.from_xml_string(
        '<mujoco><worldbody><light pos="0 0 3"/><camera name="up" pos="0 0 2"/>'
        '<body><joint name="slide" type="slide" axis="1 0 0"/><geom size=".2" rgba="1 0 0 1"/>'
        "</body></worldbody></mujoco>"
    )
    sim.data.set_joint_qpos("slide", 0.3)
    sim.forward()
    picture = sim.render(32, 32, camera_name="up")
    assert picture.shape == (32, 32, 3)
    red = picture[..., 0].astype(int) - picture[..., 2] > 50
    assert red.any()
    assert np.argwhere(red)[:, 1].mean() > 18  # to the right
    context = MjRenderContextOffscreen(sim, device_id=-1)
    context.render(32, 32, camera_id=0)
    np.testing.assert_array_equal(context.read_pixels(32, 32), picture)
    sim.free()


def test_the_task_finds_the_joints_of_whole_bodies():
    config = suite.load_composite_controller_config(controller="WHOLE_BODY_IK", robot="Panda")
    env = suite.make("Lift", "Panda", controller_configs=config, use_camera_obs=False)
    whole = env.robots[0].composite_controller
    assert isinstance(whole, composite.WholeBodyIK)
    assert isinstance(whole.part_controllers["right"], parts.JointPositionController)
    assert whole.get_control_dim("right") == 6
    with pytest.raises(ValueError, match=r"env\.step"):
        whole.set_goal(np.zeros(7))
    env.close()
