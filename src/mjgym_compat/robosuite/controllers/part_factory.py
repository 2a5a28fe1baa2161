"""Controllers of a robot's parts by the names of part and controller."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from mjgym.controllers import controllers
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.controllers import configs
from mjgym_compat.robosuite.controllers.parts import (
    TYPES,
    Controller,
    JointPositionController,
    MobileBaseJointVelocityController,
    SimpleGripController,
    type_of,
)

load_part_controller_config = configs.load_part_controller_config
# Parts, and the controllers that they can have.
ARM = {
    name: TYPES[type_of(name)]
    for name in controllers.names()
    if TYPES[type_of(name)] is not Controller
}
_JOINTS = {name: ARM[name] for name in ("JOINT_POSITION", "JOINT_VELOCITY", "JOINT_TORQUE")}
_GRIPPER = {"GRIP": SimpleGripController, "JOINT_POSITION": JointPositionController}
PARTS: dict[str, Mapping[str, Any]] = {
    **dict.fromkeys(("right", "left"), ARM),
    **dict.fromkeys(("right_gripper", "left_gripper"), _GRIPPER),
    **dict.fromkeys(("torso", "head", "legs"), _JOINTS),
    "base": {"JOINT_VELOCITY": MobileBaseJointVelocityController},
}


def controller_factory(
    part_name: str, controller_type: str, controller_params: Mapping[str, Any]
) -> Any:
    """The controller of a part.

    Args:
        part_name: "right", "right_gripper", "torso" and so on.
        controller_type: "OSC_POSE", "GRIP" and so on.
        controller_params: arguments of its class, which takes what it needs.

    Raises:
        ValueError: there is no such part, or no such controller of it.
    """
    if part_name not in PARTS:
        raise ValueError(f"part_name: no {part_name!r}{or_else(part_name, PARTS)}")
    kinds = PARTS[part_name]
    if controller_type not in kinds:
        raise ValueError(
            f"controller_type: no {controller_type!r} of {part_name}"
            f"{or_else(controller_type, kinds)}"
        )
    given = {**controller_params, "control_ori": controller_type != "OSC_POSITION"}
    return kinds[controller_type](**given)


arm_controller_factory = partial(controller_factory, "right")
gripper_controller_factory = partial(controller_factory, "right_gripper")
mobile_base_controller_factory = partial(controller_factory, "base")
torso_controller_factory = partial(controller_factory, "torso")
head_controller_factory = partial(controller_factory, "head")
legs_controller_factory = partial(controller_factory, "legs")
