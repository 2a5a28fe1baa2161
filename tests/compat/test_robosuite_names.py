"""robosuite 1.5.2's public names, recorded from its source, and what some of them do."""

import importlib
import json
import logging
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import mjgym_compat.robosuite as suite
from mjgym_compat.robosuite import macros, renderers
from mjgym_compat.robosuite.models import grippers
from mjgym_compat.robosuite.models.robots import LeggedManipulatorModel, create_robot
from mjgym_compat.robosuite.models.tasks import get_subtree_geom_ids_by_group
from mjgym_compat.robosuite.utils import camera_utils, log_utils, numba, robot_composition_utils
from mjgym_compat.robosuite.utils.binding_utils import MjSim

NAMES = json.loads((Path(__file__).parents[1] / "data/robosuite/names.json").read_text())
# Devices and movers of cameras that are not here, parts of OpenGL and textures, and metaclasses.
LEFT_OUT = {
    "devices.dualsense": {*NAMES["devices.dualsense"]},
    "devices.mjgui": {"MJGUI", "get_mocap_pose", "set_mocap_pose"},
    "devices.spacemouse": {
        *("AxisSpec", "SPACE_MOUSE_SPEC", "convert", "scale_to_control", "to_int16"),
    },
    "environments.base": {"EnvMeta"},
    "models.robots.robot_model": {"RobotModelMeta"},
    "renderers.base_parser": {"BaseParser"},
    "renderers.context.egl_context": {
        *("EGL_ATTRIBUTES", "EGL_DISPLAY", "PYOPENGL_PLATFORM"),
        "create_initialized_egl_device_display",
    },
    "renderers.viewer.mjviewer_renderer": {"DEFAULT_FREE_CAM"},
    "utils.binding_utils": {"CUDA_VISIBLE_DEVICES"},
    "utils.camera_utils": {"CameraMover", "DemoPlaybackCameraMover"},
    "utils.mjcf_utils": {"TEXTURE_FILES"},
    "utils.mjmod": {"MJT_TEXTURE_ENUM", "Texture"},
    "wrappers.visualization_wrapper": {"DEFAULT_INDICATOR_SITE_CONFIG"},
}
BASES = {  # numbers of an action, as in robosuite
    **{"JacoThreeFingerGripperBase": 3, "PandaGripperBase": 2, "RethinkGripperBase": 2},
    **{"Robotiq140GripperBase": 2, "Robotiq85GripperBase": 2, "RobotiqThreeFingerGripperBase": 4},
    "XArm7GripperBase": 1,
}
PENDULUM = (
    '<mujoco><worldbody><camera name="side" pos="0 -2 0" xyaxes="1 0 0 0 0 1"/>'
    '<body name="base"><geom size=".1" group="1"/><body name="bob"><joint/>'
    '<geom size=".1" pos="1 0 0" group="1"/><geom size=".1"/></body></body>'
    '<body name="other"><geom size=".1" group="1"/></body></worldbody></mujoco>'
)


def test_modules_are_attributes_after_one_import():
    paths = (
        *("Lift", "TwoArmTransport", "ROBOSUITE_DEFAULT_LOGGER", "models.objects.BoxObject"),
        *("environments.manipulation.lift.Lift", "environments.robot_env.RobotEnv"),
        *("environments.manipulation.manipulation_env.ManipulationEnv", "renderers.base"),
        *("models.robots.manipulators.panda_robot.Panda", "models.arenas.table_arena.TableArena"),
        *("models.tasks.manipulation_task.ManipulationTask", "models.bases.rethink_mount"),
        *("controllers.parts.arm.osc.OperationalSpaceController", "robots.robot.Robot"),
        *("controllers.composite.composite_controller.CompositeController", "utils.robot_utils"),
        *("models.grippers.panda_gripper.PandaGripper", "utils.control_utils.orientation_error"),
    )
    code = ["import mjgym_compat.robosuite as suite", *(f"suite.{path}" for path in paths)]
    subprocess.run([sys.executable, "-c", "\n".join(code)], check=True)


def test_environments_are_classes_of_the_package():
    env = suite.Lift(robots="Panda", use_camera_obs=False, has_offscreen_renderer=False)
    assert type(env) is suite.environments.REGISTERED_ENVS["Lift"]
    table = env.model.mujoco_arena  # numbers of robosuite 1.5.2
    np.testing.assert_allclose(table.table_offset, [0, 0, 0.8])
    np.testing.assert_allclose(table.table_full_size, [0.8, 0.8, 0.05])
    with pytest.raises(AttributeError, match="did you mean Lift"):
        _ = suite.Lft


def test_every_public_name_is_here_or_known_to_be_missing():
    assert suite.__version__ == "1.5.2"
    missing = {}
    for inner, names in NAMES.items():
        try:
            module = importlib.import_module(f"mjgym_compat.robosuite.{inner}")
        except ModuleNotFoundError:
            module = None
        if absent := {name for name in names if not hasattr(module, name)}:
            missing[inner] = absent
    assert missing == LEFT_OUT


@pytest.mark.parametrize("name", BASES)
def test_a_gripper_whose_action_is_one_number_per_actuator(name):
    gripper = getattr(grippers, name)(idn="0_right")
    assert gripper.dof == len(gripper.actuators) == BASES[name]
    action = np.linspace(-0.5, 0.5, gripper.dof)
    np.testing.assert_array_equal(gripper.format_action(action), action)
    usual = grippers.gripper_factory(name.removesuffix("Base"), "0_right")
    np.testing.assert_array_equal(gripper.init_qpos, usual.init_qpos)


def test_actions_that_open_and_close_a_hand():
    hand = grippers.gripper_factory("InspireRightHand")
    np.testing.assert_array_equal(hand.grasp_qpos[-1], [-1.5] * 4 + [-3, 3])
    np.testing.assert_array_equal(hand.grasp_qpos[1], [1.5] * 4 + [3, 3])
    assert hand.format_action(hand.grasp_qpos[1]).shape == (len(hand.actuators),)


def test_joint_groups_of_a_robot():
    robot = create_robot("Tiago", idn=1)
    assert robot.torso_joints == ["robot1_torso_lift_joint"]
    assert robot.head_joints == ["robot1_head_1_joint", "robot1_head_2_joint"]
    assert robot.base_joints == robot.legs_actuators == []
    assert len(robot.all_joints) == len(robot.all_actuators) == robot.mujoco_model.nv == 15
    assert robot.default_arms == {"right": "Tiago", "left": "Tiago"}
    assert isinstance(create_robot("GR1"), LeggedManipulatorModel)
    assert robot_composition_utils.get_target_type("OmronMobileBase") == "WheeledRobot"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("PickPlace", {"bin1_pos": (0.1, -0.25, 0.8), "bin2_pos": (0.1, 0.28, 0.8)}),
        ("NutAssembly", {"table_friction": (1, 0.005, 0.0001)}),
        ("Wipe", {"num_markers": 100, "contact_threshold": 1.0, "table_height_std": 0.0}),
        ("Door", {"use_latch": True}),
    ],
)
def test_arguments_are_attributes_of_an_environment(name, values):
    env = suite.make(name, "Panda", use_camera_obs=False)
    assert {key: getattr(env, key) for key in values} == values
    assert env.render_camera == "frontview"
    assert env.lite_physics
    for each in env.model.mujoco_objects:
        assert env.sim.model.body_id2name(env.obj_body_id[each.name]) == each.root_body
        assert getattr(env, f"{each.name}_body_id") == env.obj_body_id[each.name]
    with pytest.raises(AttributeError, match="render_camera"):
        env.rendercamera  # noqa: B018
    env.close()


def test_the_height_of_the_table_is_drawn_in_each_reset():
    drawn = []
    for seed in (0, 0, 1):
        config = {"table_height_std": 0.02}
        env = suite.make("Wipe", "Panda", use_camera_obs=False, task_config=config, seed=seed)
        heights = []
        for _ in range(3):
            env.reset()
            env.step(np.zeros(env.action_dim))
            heights.append(env.table_offset[2])
            table = env.sim.data.get_body_xpos("table")[2] + env.table_full_size[2] / 2
            assert table == pytest.approx(heights[-1])
        drawn.append(heights)
        env.close()
    assert drawn[0] == drawn[1] != drawn[2]
    assert len(set(drawn[0])) == 3
    assert np.abs(np.array(drawn) - 0.9).max() < 0.1


def test_attributes_of_an_environments_robot():
    env = suite.make("Lift", "PandaOmron", use_camera_obs=False, seed=0)
    robot = env.robots[0]
    assert robot.robot_model.base_xpos_offset["empty"] == (-0.6, 0, 0)
    assert robot.robot_model.torso_joints
    assert robot.gripper["right"].format_action(np.ones(1)).shape == (2,)
    joints = robot.get_all_robot_joint_positions()
    assert {*robot.robot_joints, *robot.gripper_joints["right"]} < joints.keys()
    robot.set_all_robot_joint_positions({name: x + 0.01 for name, x in joints.items()})
    moved = robot.get_all_robot_joint_positions()
    np.testing.assert_allclose([*moved.values()], np.array([*joints.values()]) + 0.01)
    for _ in range(2):
        env.step(np.zeros(env.action_dim))
    mean = np.mean([robot.recent_torques.last, robot.recent_torques.current], axis=0)
    np.testing.assert_allclose(robot.js_energy, np.abs(mean) / 20)
    assert robot.ee_ft_integral["right"].shape == (6,)
    site = env.sim.model.site(robot.gripper["right"].important_sites["grip_site"]).id
    for shown in (True, False):
        robot.visualize({"robots": False, "grippers": shown})
        assert bool(env.sim.model.site_rgba[site][3] > 0) is shown
    env.close()


def test_a_viewer_opens_no_window_before_it_is_updated():
    env = suite.make("Lift", "Panda", use_camera_obs=False, has_renderer=True)
    viewer = env.viewer
    assert isinstance(viewer, renderers.MjviewerRenderer)
    viewer.set_camera(camera_id=0)
    viewer.add_keypress_callback(print)
    env.reset()
    assert env.viewer is viewer
    shown = []
    viewer.viewer = SimpleNamespace(show=lambda *x: shown.append(x), close=lambda: shown.append(0))
    env.render()
    assert shown[0][1] == 0
    assert "qpos" in shown[0][0]
    viewer.set_camera(-1)
    assert shown[1:] == [0]
    assert viewer.viewer is None
    env.close()


def test_pictures_in_a_window_of_opencv(monkeypatch):
    calls = []
    fake = SimpleNamespace(
        imshow=lambda name, picture: calls.append(picture),
        waitKey=lambda delay: 27,
        destroyWindow=calls.append,
    )
    monkeypatch.setitem(sys.modules, "cv2", fake)
    sim = MjSim.from_xml_string(PENDULUM)
    viewer, keys = renderers.OpenCVViewer(sim), []
    viewer.add_keypress_callback(keys.append)
    viewer.set_camera(camera_name=["side", "side"], width=40, height=30)
    viewer.render()
    assert calls[0].shape == (30, 80, 3)
    upright = sim.render(40, 30, camera_name="side")[::-1, :, ::-1]
    np.testing.assert_array_equal(calls[0], np.hstack([upright, upright]))
    assert keys == [27]
    with pytest.raises(ValueError, match="either"):
        viewer.set_camera()
    viewer.close()
    assert len(calls) == 2
    sim.free()


def test_geoms_below_a_body():
    model = MjSim.from_xml_string(PENDULUM).model._model
    assert get_subtree_geom_ids_by_group(model, model.body("base").id, 1) == [0, 1]
    assert get_subtree_geom_ids_by_group(model, model.body("bob").id, 0) == [2]


def test_functions_are_compiled_where_macros_allow_it(monkeypatch):
    def twice(x):
        return 2 * x

    monkeypatch.setattr(macros, "ENABLE_NUMBA", False)
    assert numba.jit_decorator(twice) is twice
    monkeypatch.setattr(macros, "ENABLE_NUMBA", True)
    monkeypatch.setattr(macros, "CACHE_NUMBA", False)
    assert numba.jit_decorator(twice)(21) == 42


def test_a_logger_writes_coloured_lines(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(log_utils.tempfile, "gettempdir", lambda: str(tmp_path))
    assert not logging.getLogger("robosuite_logs").handlers  # the import configures nothing
    made = log_utils.DefaultLogger("robosuite_test", file_logging_level="WARNING")
    made.get_logger().info("one %s", 1)
    made.get_logger().error("there")
    head, tail = capsys.readouterr().err.splitlines()
    assert head.startswith("\x1b[1m\x1b[32m[robosuite INFO] \x1b[0mone 1 (test_robosuite_names")
    assert "[robosuite ERROR]" in tail
    (file,) = tmp_path.iterdir()
    assert file.read_text().count("there") == 1
    assert "one 1" not in file.read_text()
    for handler in made.get_logger().handlers:
        handler.close()
    log_utils.rs_assert(True, "nothing")
    with pytest.raises(AssertionError, match=r"\[ERROR\] .*:\d+ - broken"):
        log_utils.rs_assert(False, "broken")


def test_an_image_between_its_pixels():
    image = np.arange(12.0).reshape(3, 4)
    found = camera_utils.bilinear_interpolate(image, [0.5, 2.25], [1.5, 0.1])
    np.testing.assert_allclose(found, [6.5, 2.65])


def test_a_function_stays_beside_a_module_of_its_name():
    module = importlib.import_module("mjgym_compat.robosuite.models.grippers.gripper_factory")
    assert callable(grippers.gripper_factory)
    assert module.gripper_factory is grippers.gripper_factory
