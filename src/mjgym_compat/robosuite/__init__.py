"""robosuite's interface over the tabletop tasks of this package.

`import mjgym_compat.robosuite as suite` and `suite.make("Lift", robots="Panda", ...)`: code
written for robosuite 1.5 runs unchanged. As there, observations include images unless
`use_camera_obs=False`, upside down unless `macros.IMAGE_CONVENTION` is "opencv".
"""

import importlib

from mjgym_compat.importing import answer_under_own_name
from mjgym_compat.robosuite.controllers import (
    ALL_COMPOSITE_CONTROLLERS,
    ALL_PART_CONTROLLERS,
    load_composite_controller_config,
    load_part_controller_config,
    refactor_composite_controller_config,
)
from mjgym_compat.robosuite.environments import ALL_ENVIRONMENTS, RobosuiteEnv
from mjgym_compat.robosuite.environments.base import make
from mjgym_compat.robosuite.environments.manipulation import tasks
from mjgym_compat.robosuite.models.grippers import ALL_GRIPPERS
from mjgym_compat.robosuite.robots import ALL_ROBOTS, Robot
from mjgym_compat.robosuite.utils.log_utils import ROBOSUITE_DEFAULT_LOGGER
from mjgym_compat.robosuite.utils.placement_samplers import (
    ObjectPositionSampler,
    SequentialCompositeSampler,
    UniformRandomSampler,
)

__version__ = "1.5.2"  # whose interface this is; programs write it into demonstrations

# robosuite's modules that are one here: by their package, the module that answers for them.
_MERGED = {
    "controllers.composite": (
        *("controllers.composite", "composite_controller", "composite_controller_factory"),
    ),
    "controllers.parts": (
        *("controllers.parts", "controller", "arm", "arm.ik", "arm.osc"),
        *("generic", "generic.joint_pos", "generic.joint_tor", "generic.joint_vel", "gripper"),
        *("gripper.gripper_controller", "gripper.simple_grip", "mobile_base"),
        *("mobile_base.joint_vel", "mobile_base.mobile_base_controller", "controller_factory"),
    ),
    "environments.manipulation": (
        "environments.manipulation.tasks",
        *("lift", "stack", "nut_assembly", "pick_place", "door", "wipe", "tool_hang"),
        *("two_arm_lift", "two_arm_peg_in_hole", "two_arm_handover", "two_arm_transport"),
    ),
    "models.arenas": (
        "models.arenas",
        *("arena", "empty_arena", "table_arena", "bins_arena", "pegs_arena", "wipe_arena"),
        "multi_table_arena",
    ),
    "models.bases": (
        *("models.bases", "robot_base_model", "robot_base_factory", "mount_model"),
        *("mobile_base_model", "leg_base_model", "null_base_model", "rethink_mount"),
        *("rethink_minimal_mount", "null_mount", "null_base", "null_mobile_base"),
        *("omron_mobile_base", "no_actuation_base", "floating_legged_base", "spot_base"),
    ),
    "models.objects": (
        *("models.objects", "objects", "generated_objects", "xml_objects", "composite"),
        *("composite.bin", "composite.cone", "composite.hammer", "composite.hollow_cylinder"),
        *("composite.hook_frame", "composite.lid", "composite.pot_with_handles"),
        *("composite.stand_with_mount", "composite_body", "composite_body.ratcheting_wrench"),
        *("composite_body.hinged_box", "group", "group.transport", "object_groups"),
        *("primitive", "primitive.box", "primitive.ball"),
        *("primitive.capsule", "primitive.cylinder"),
    ),
    "models.grippers": (
        *("models.grippers", "gripper_factory", "gripper_model", "gripper_tester"),
        *("bd_gripper", "fourier_hands", "inspire_hands", "jaco_three_finger_gripper"),
        *("null_gripper", "panda_gripper", "rethink_gripper", "robotiq_140_gripper"),
        *("robotiq_85_gripper", "robotiq_three_finger_gripper", "wiping_gripper"),
        "xarm7_gripper",
    ),
    "models.robots": (
        *("models.robots", "robot_model", "compositional", "manipulators"),
        *("manipulators.manipulator_model", "manipulators.baxter_robot"),
        *("manipulators.gr1_robot", "manipulators.iiwa_robot", "manipulators.jaco_robot"),
        *("manipulators.kinova3_robot", "manipulators.panda_robot", "manipulators.sawyer_robot"),
        *("manipulators.spot_arm", "manipulators.tiago_robot", "manipulators.ur5e_robot"),
        *("manipulators.xarm7_robot", "manipulators.humanoid_model"),
        *("manipulators.humanoid_upperbody_model", "manipulators.legged_manipulator_model"),
    ),
    "models.tasks": ("models.tasks", "task", "manipulation_task"),
    "renderers": (
        *("renderers", "base", "viewer", "viewer.mjviewer_renderer"),
        *("viewer.opencv_renderer", "context", "context.egl_context", "context.glfw_context"),
        "context.osmesa_context",
    ),
    "robots": (
        *("robots", "robot", "fixed_base_robot", "mobile_robot"),
        *("wheeled_robot", "legged_robot"),
    ),
}
MODULES = {
    f"{package}.{name}": module for package, (module, *names) in _MERGED.items() for name in names
} | {
    **dict.fromkeys(("devices.device", "devices.keyboard", "devices.spacemouse"), "devices"),
    "utils.errors": "utils",
    "utils.robot_utils": "utils.robot_composition_utils",
    "examples": "controllers.composite",
    "examples.third_party_controller": "controllers.composite",
    "examples.third_party_controller.mink_controller": "controllers.composite",
}

answer_under_own_name("robosuite")

# Modules that `import robosuite` loads there, so that they are attributes.
_LOADED = (
    *("environments.manipulation.manipulation_env", "environments.manipulation.two_arm_env"),
    *("environments.robot_env", "models.objects", "models.tasks", "utils.control_utils"),
    *(name for name in MODULES if not name.startswith(("devices", "examples"))),
)
for _name in _LOADED:
    importlib.import_module(f"{__name__}.{_name}")

__getattr__ = tasks.__getattr__  # `Lift` and so on

__all__ = [
    "ALL_COMPOSITE_CONTROLLERS",
    "ALL_ENVIRONMENTS",
    "ALL_GRIPPERS",
    "ALL_PART_CONTROLLERS",
    "ALL_ROBOTS",
    "ROBOSUITE_DEFAULT_LOGGER",
    "ObjectPositionSampler",
    "RobosuiteEnv",
    "Robot",
    "SequentialCompositeSampler",
    "UniformRandomSampler",
    "load_composite_controller_config",
    "load_part_controller_config",
    "make",
    "refactor_composite_controller_config",
]
