"""Controller configurations of robosuite, and their conversion to a task's `controller`."""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.controllers import Controller, controllers
from mjgym.controllers.joint import JointPosition
from mjgym.robots import Base, Group, arms, bases
from mjgym.robots.tabletop_bases import HOLD
from mjgym.util.suggestions import or_else
from mjgym.util.values import one_of

AXES = ("pitch", "roll", "yaw")
BASIC, WHOLE_BODY, HYBRID = "BASIC", "WHOLE_BODY_IK", "HYBRID_MOBILE_BASE"
ALL_COMPOSITE_CONTROLLERS = (BASIC, WHOLE_BODY, HYBRID)
ALL_PART_CONTROLLERS = tuple(name for name in controllers.names() if name != WHOLE_BODY)
# Keys of "composite_controller_specific_configs" of WHOLE_BODY_IK: the control parameter, or
# the supported values.
WHOLE_BODY_PARAMETERS = {
    "ik_pseudo_inverse_damping": "damping",
    "ik_integration_dt": "integration_dt",
    "ik_max_dq": "max_dq",
    "ik_input_ref_frame": "input_ref_frame",
}
WHOLE_BODY_FIXED: dict[str, tuple[Any, ...]] = {
    "ik_input_type": ("absolute",),
    "ik_input_rotation_repr": ("axis_angle",),
    "interpolation": (None, "null"),
    "verbose": (False,),
    "skip_wbc_action": (False,),
}
WHOLE_BODY_NAMES = ("ref_name", "actuation_part_names", "nullspace_joint_weights")
TORSO_SPEED = "ik_max_dq_torso", 0.2  # its key, and the default in rad/s
WHOLE_BODY_UNUSED = ("max_dq", "ik_verbose")  # nothing reads them in robosuite
# Weights of the null space of the humanoid's joints, by the ends of their names.
HUMANOID = "GR1"
HUMANOID_WEIGHTS = {
    **{"torso_waist_yaw": 100.0, "torso_waist_pitch": 100.0, "torso_waist_roll": 500.0},
    **{f"{side}_shoulder_{axis}": 4.0 - i for side in "lr" for i, axis in enumerate(AXES)},
}
# Keys of the joints' law of WHOLE_BODY_IK: the values that they can have, and those that nothing
# reads there for absolute positions.
JOINTS_FIXED: dict[str, tuple[Any, ...]] = {
    "type": ("JOINT_POSITION",),
    "input_type": ("absolute",),
    "impedance_mode": ("fixed",),
    "interpolation": (None,),
    "use_torque_compensation": (True,),
}
JOINTS_GAINS = ("kp", "kd", "damping_ratio")
JOINTS_UNUSED = (
    *("input_max", "input_min", "output_max", "output_min", "kv", "kp_limits", "ramp_ratio"),
    *("damping_ratio_limits", "velocity_limits", "qpos_limits"),
)
JOINT_POSITION_GAIN = 50  # 1/s^2, the published default
WHOLE_BODY_GAINS = 1000, 200  # 1/s^2 on the joints' positions, 1/s on their velocities
USUAL = "OSC_POSE"
SIDES = ("right", "left")
_STAND = ("torso", "head", "base", "legs")  # parts that robots may miss
_GRIPPER = {"type": "GRIP"}
_DRIVE = {"type": "JOINT_VELOCITY", "interpolation": None}
UNSCALED = {**_GRIPPER, "use_action_scaling": False}
_UNSCALED_HANDS = ("GR1", "PandaDex")  # beginnings of the names of robots whose hands take rad
SPECIFIC = "composite_controller_specific_configs"
FLOATING = "FloatingBody"  # end of the name of the humanoid that is moved

Config = dict[str, Any]


def load_part_controller_config(
    custom_fpath: str | None = None, default_controller: str | None = None
) -> Config:
    """Parameters of an arm's controller, from a JSON file or by the controller's name."""
    if (custom_fpath is None) == (default_controller is None):
        raise ValueError("give either custom_fpath or default_controller")
    if custom_fpath is not None:
        return _read(custom_fpath)
    assert default_controller is not None
    name = default_controller.upper()
    parameters = _parameters(controllers.find(name))
    parameters.pop("substeps", None)  # follows from the control frequency
    return {"type": name, **parameters}


def load_composite_controller_config(
    controller: str | None = None, robot: str | None = None
) -> Config:
    """Configuration of a whole robot: controllers of the arms and their grippers.

    Args:
        controller: "BASIC", "WHOLE_BODY_IK", "HYBRID_MOBILE_BASE", or the path of a JSON file;
            None: the robot's default.
        robot: a name, which determines the parts; None for those of any robot.
    """
    if controller is None and robot is None:
        raise ValueError("give controller, robot or both")
    if controller is not None and controller.endswith(".json"):
        return _read(controller)
    if controller is not None and controller not in ALL_COMPOSITE_CONTROLLERS:
        hint = or_else(controller, ALL_COMPOSITE_CONTROLLERS)
        raise ValueError(f"controller: no {controller!r}{hint}, or the path of a JSON file")
    sides = SIDES if robot is None else tuple(arms.find(robot).limbs)
    humanoid = robot is not None and robot.startswith(HUMANOID) and not robot.endswith(FLOATING)
    if controller == WHOLE_BODY or (controller is None and humanoid):
        return _whole_body(sides, robot, humanoid)
    arm = load_part_controller_config(default_controller=USUAL)
    base = None if robot is None else bases.find(arms.find(robot).base)
    if robot is None or base is None:
        parts = refactor_composite_controller_config(arm, robot, sides)["body_parts"]
        parts |= {name: dict(_DRIVE) if name == "base" else _joints(HOLD) for name in _STAND}
        return {"type": controller, "body_parts": parts}
    own = controller is None
    gripper = UNSCALED if own and robot.startswith(_UNSCALED_HANDS) else _GRIPPER
    limbs = {side: {**arm, "gripper": dict(gripper)} for side in sides}
    parts = _group_parts(_groups(robot, base), own)
    if controller == HYBRID or (own and base.hybrid):
        return {"type": HYBRID, "body_parts": {"arms": limbs, **parts}}
    return {"type": BASIC, "body_parts": {**limbs, **parts}}


def refactor_composite_controller_config(
    controller_config: Config, robot_type: str | None, arms: Sequence[str]
) -> Config:
    """Convert an arm's configuration, as before version 1.5, to that of a whole robot."""
    if "body_parts" in controller_config:
        return controller_config
    parts = {side: {**controller_config, "gripper": dict(_GRIPPER)} for side in arms}
    return {"type": "BASIC", "body_parts": parts}


def controller_of(config: Any, robot: str, number: int = 0, base: str = "default") -> Any:
    """Convert the configuration of a robot or an arm to a task's `controller`.

    Args:
        config: the configuration, the name of an arm's controller, or None for the default.
        base: name of its base, "default" for its own.
    """
    own = bases.find(arms.find(robot).base or "NullMount")
    foot = own if base == "default" else bases.find(base, argument="base_types")
    asked = config.get("type") if isinstance(config, Mapping) and "body_parts" in config else None
    hybrid = asked == HYBRID or (config is None and own.hybrid)
    if config is None and robot.startswith(_UNSCALED_HANDS):
        config = load_composite_controller_config(robot=robot)
    law = _law(config, robot, number, foot)
    if foot.hybrid == hybrid:
        return law
    return {**({"type": law} if isinstance(law, str) else law), "hybrid": hybrid}


def _law(config: Any, robot: str, number: int, base: Base) -> Any:
    if config is None:
        return USUAL
    if isinstance(config, str):
        return config
    if not isinstance(config, Mapping):
        raise TypeError(f"controller_configs: expected a dict, not {config!r}")
    if "body_parts" not in config:
        return _arm(config)
    kind = config.get("type", "BASIC")
    if kind not in ALL_COMPOSITE_CONTROLLERS:
        hint = or_else(kind, ALL_COMPOSITE_CONTROLLERS)
        raise ValueError(
            f"controller_configs: no type {kind!r}{hint}; a controller of one's own drives the"
            " published environment, and a task takes laws of mjgym.controllers"
        )
    parts = dict(config["body_parts"])
    parts |= parts.pop("arms", {})
    others = _other_laws(parts, robot, base)
    for name in parts:
        if name not in (*SIDES, *_STAND):
            raise ValueError(f"controller_configs: no part {name!r}{or_else(name, SIDES)}")
    sides = arms.find(robot).limbs
    laws = [_arm(parts[side]) for side in sides if side in parts]
    if len(laws) < len(sides):
        raise ValueError(f"controller_configs: nothing for {' and '.join(sides)}")
    if any(other != laws[0] for other in laws):
        raise ValueError("controller_configs: both arms of a robot have the same controller here")
    if kind == WHOLE_BODY:
        return _whole_body_law(config.get(SPECIFIC, {}), laws[0], others, robot, number)
    return {**laws[0], **others}


def _groups(robot: str, base: Base) -> tuple[Group, ...]:
    return (*arms.find(robot).groups, *base.groups)


def _group_parts(groups: Sequence[Group], own: bool) -> Config:
    return {
        group.name: _joints(group.controller if own else HOLD)
        if isinstance(group.controller, JointPosition)
        else dict(_DRIVE)
        for group in groups
    }


def _joints(law: Controller) -> Config:
    usual = _parameters(JointPosition())
    changed = {k: v for k, v in _parameters(law).items() if v != usual[k]}
    return {"type": "JOINT_POSITION", "interpolation": None, **changed}


def _other_laws(parts: Mapping[str, Any], robot: str, base: Base) -> Config:
    changed: Config = {}
    groups = _groups(robot, base)
    for name, own in _group_parts(groups, own=True).items():
        asked = _arm(parts.get(name, own))
        if own == _DRIVE and asked != own:
            raise ValueError(f"controller_configs: {name} of {robot} is {own} here, not {asked}")
        if asked != own:
            changed[name] = asked
    grippers = [parts[side].get("gripper", _GRIPPER) for side in SIDES if side in parts]
    scaled = {gripper.get("use_action_scaling", True) for gripper in grippers}
    if len(scaled) > 1:
        raise ValueError("controller_configs: both grippers have the same use_action_scaling here")
    unscaled = {"scaled_hands": False} if scaled == {False} else {}
    return {**({"parts": changed} if changed else {}), **unscaled}


def _whole_body(sides: Sequence[str], robot: str | None, humanoid: bool) -> Config:
    law = _parameters(controllers.find(WHOLE_BODY))
    groups = () if robot is None else arms.find(robot).groups
    kp, kd = WHOLE_BODY_GAINS
    joints = {"type": "JOINT_POSITION", "input_type": "absolute", "kp": kp, "kd": kd}
    joints |= {"kp_limits": [0, kp], "interpolation": None}
    return {
        "type": WHOLE_BODY,
        SPECIFIC: {
            "ref_name": [f"gripper0_{side}_grip_site" for side in sides],
            "actuation_part_names": [*(group.name for group in groups), *sides],
            "nullspace_joint_weights": {
                f"robot0_{joint}": weight
                for joint, weight in HUMANOID_WEIGHTS.items()
                if humanoid and robot is not None and joint in arms.find(robot).joints
            },
            **{theirs: law[ours] for theirs, ours in WHOLE_BODY_PARAMETERS.items()},
            **({"ik_input_ref_frame": "base"} if humanoid else {}),
            **dict([TORSO_SPEED] if groups else []),
            "ik_input_type": "absolute",
            "ik_input_rotation_repr": "axis_angle",
            "interpolation": None,
            "verbose": False,
        },
        "body_parts": {
            **{
                side: {**joints, "gripper": dict(UNSCALED if humanoid else _GRIPPER)}
                for side in sides
            },
            **{group.name: dict(joints) for group in groups},
        },
    }


def _whole_body_law(
    asked: Mapping[str, Any],
    joints: Mapping[str, Any],
    others: Mapping[str, Any],
    robot: str,
    number: int,
) -> Config:
    known = (*WHOLE_BODY_PARAMETERS, *WHOLE_BODY_FIXED, *WHOLE_BODY_NAMES, *WHOLE_BODY_UNUSED)
    known = (*known, TORSO_SPEED[0])
    _check(SPECIFIC, asked, known, WHOLE_BODY_FIXED)
    _check(
        f"controller_configs: the arms of {WHOLE_BODY}",
        joints,
        (*JOINTS_FIXED, *JOINTS_GAINS, *JOINTS_UNUSED),
        JOINTS_FIXED,
    )
    if joints.get("input_type") != "absolute":
        raise ValueError(f"controller_configs: input_type of {WHOLE_BODY}'s arms is 'absolute'")
    law = {ours: asked[theirs] for theirs, ours in WHOLE_BODY_PARAMETERS.items() if theirs in asked}
    sides = tuple(arms.find(robot).limbs)
    _check_names(asked, sides, number)
    weights = asked.get("nullspace_joint_weights") or {}
    gains = _posture_gains(weights, robot, number)
    parts = dict(others.get("parts", {}))
    names = asked.get("actuation_part_names", ())
    for group in arms.find(robot).groups:
        if group.name in names:
            parts[group.name] = {
                **{"type": WHOLE_BODY, "tool": False, **law},
                **_gains_of(weights, group.joints, number),
                **_joint_gains(parts.get(group.name, joints)),
            }
            if group.name == "torso":
                parts[group.name]["max_dq"] = asked.get(*TORSO_SPEED)
    together = {"parts": parts} if parts else {}
    return {"type": WHOLE_BODY, **law, **gains, **_joint_gains(joints), **others, **together}


def _check(
    what: str, asked: Mapping[str, Any], known: Sequence[str], fixed: Mapping[str, tuple[Any, ...]]
) -> None:
    for key, value in asked.items():
        if key not in known:
            raise ValueError(f"{what}: no {key!r}{or_else(key, known)}")
        if key in fixed and value not in fixed[key]:
            raise ValueError(f"{what}: {key} is {fixed[key][0]!r} here, not {value!r}")


def _check_names(asked: Mapping[str, Any], sides: Sequence[str], number: int) -> None:
    """Refuse tools or parts other than those of all arms; parts of missing arms are ignored.

    A configuration with the first robot's tools applies to any robot, as in robosuite.
    """
    tools = {side: f"gripper{number}_{side}_grip_site" for side in SIDES}
    first = {f"gripper0_{side}_grip_site": tool for side, tool in tools.items()}
    if "ref_name" in asked:
        asked = {**asked, "ref_name": [first.get(name, name) for name in asked["ref_name"]]}
    wanted = [tools[side] for side in sides]
    for key, all_names, needed in (
        ("ref_name", tuple(tools.values()), wanted),
        ("actuation_part_names", (*SIDES, *_STAND), list(sides)),
    ):
        names = asked.get(key, needed)
        for name in names:
            one_of(f"{SPECIFIC}: {key}", name, all_names)
        if [name for name in names if name in needed] != needed:
            raise ValueError(f"{SPECIFIC}: {key}: expected {needed} in this order, got {names!r}")


def _posture_gains(weights: Mapping[str, float], robot: str, number: int) -> Config:
    limbs = arms.find(robot).limbs.values()
    each = [_gains_of(weights, limb.joints, number) for limb in limbs]
    if any(gains != each[0] for gains in each):
        raise ValueError(
            f"{SPECIFIC}: nullspace_joint_weights: both arms of a robot have the same weights here"
        )
    return each[0]


def _gains_of(weights: Mapping[str, float], joints: Sequence[str], number: int) -> Config:
    gains = tuple(float(weights.get(f"robot{number}_{joint}", 1.0)) for joint in joints)
    return {} if set(gains) == {1.0} else {"posture_gain": gains}


def _joint_gains(joints: Mapping[str, Any]) -> Config:
    kp, kd = joints.get("kp", JOINT_POSITION_GAIN), joints.get("kd")
    if kd is None:
        kd = 2 * np.sqrt(kp) * np.asarray(joints.get("damping_ratio", 1.0))
    return {name: np.asarray(gain, float).tolist() for name, gain in (("kp", kp), ("kd", kd))}


def _arm(config: Mapping[str, Any]) -> Config:
    law = dict(config)
    gripper = law.pop("gripper", _GRIPPER)
    if gripper.get("type") != _GRIPPER["type"]:
        raise ValueError(f"controller_configs: no gripper {gripper!r}, only {_GRIPPER}")
    for key in _ignored(law.get("type")) & law.keys():
        del law[key]
    if law.pop("orientation_limits", None) is not None:
        raise ValueError("controller_configs: orientation_limits have no effect; leave them out")
    if "control_delta" in law:
        raise TypeError(
            'controller_configs: no parameter "control_delta" since 1.5; "input_type" is "delta" or'
            ' "absolute"'
        )
    if law.get("type") == "IK_POSE" and law.pop("input_type", "absolute") != "absolute":
        raise ValueError(
            "controller_configs: input_type of IK_POSE is 'absolute' here, as its joints' positions"
            " are no differences; robosuite's default takes them for some, and runs away"
        )
    if law.get("interpolation") == "null":
        law["interpolation"] = None
    return law


def _ignored(kind: Any) -> set[str]:
    if kind not in ALL_PART_CONTROLLERS:
        return set()
    others = {key for name in ALL_PART_CONTROLLERS for key in _parameters(controllers.find(name))}
    read = {*_parameters(controllers.find(kind)), "input_type"}
    return (others | {"damping_limits"}) - read


def _parameters(controller: Controller) -> Config:
    values = dataclasses.asdict(controller)
    return {name: list(x) if isinstance(x, tuple) else x for name, x in values.items()}


def _read(path: str) -> Config:
    config = json.loads(Path(path).read_text())
    if not isinstance(config, dict):
        raise ValueError(f"{path}: expected a JSON object, found {type(config).__name__}")
    return config
