"""Arms of MuJoCo Menagerie, driven by torques: "menagerie:franka_emika_panda".

Needs the package `mujoco-menagerie` (the extra `menagerie`), which downloads a model on first use;
its variables MENAGERIE_CACHE_DIR and MENAGERIE_ROOT set the location. Licences differ:
`mujoco_menagerie.get(name).license`.
"""

from dataclasses import dataclass
from typing import Any

import mujoco

from mjgym.mjcf import Spec
from mjgym.robots.parts import Arm, arms
from mjgym.util.packaged import install

TOOL_SITE = "attachment_site"  # Menagerie's name of the site for a hand
HOME = "home"  # initial keyframe of most of its models
AXIAL = (mujoco.mjtJoint.mjJNT_HINGE, mujoco.mjtJoint.mjJNT_SLIDE)


@dataclass(frozen=True)
class MenagerieArm(Arm):
    """An arm of MuJoCo Menagerie, driven by motors."""

    robot: str = ""
    entry: str = ""  # its model; empty for the one without a hand, if there is one
    torque_limits: tuple[float, ...] = ()  # of the joints (N m or N); empty for the model's

    def model(self) -> Spec:
        """Build the published arm, with a motor on each joint and the site `wrist`."""
        spec = read(self.robot, self.entry)
        for i, joint in enumerate(self.joints):
            limit = self.torque_limits[i] if self.torque_limits else None
            drive(spec, spec.joint(joint), self.actuators[i], limit)
        if spec.site(self.wrist) is None:
            spec.body(self.link).add_site(name=self.wrist)
        for key in list(spec.keys):  # keyframes of the whole published model
            spec.delete(key)
        spec.option.integrator = mujoco.mjtIntegrator.mjINT_EULER  # the scene's options count
        return spec


def read(robot: str, entry: str) -> Any:
    """Load a Menagerie model; without an entry the one without a hand, if there is one."""
    try:
        import mujoco_menagerie
    except ModuleNotFoundError:
        message = f'"menagerie:{robot}" needs MuJoCo Menagerie: {install("menagerie")}'
        raise ModuleNotFoundError(message, name="mujoco_menagerie") from None
    try:
        models = mujoco_menagerie.get(robot)
        handless = f"{models.default_model}_nohand"
        usual = handless if handless in models.entry_names else models.default_model
        return models.spec(entry or usual)
    except LookupError as error:
        raise ValueError(f"menagerie: {error}") from None


def moves(body: Any) -> bool:
    return bool(body.joints) or any(moves(child) for child in body.bodies)


def chain(spec: Any) -> tuple[list[Any], Any]:
    """Joints from the base outward up to where the model branches (as at fingers) or ends, and the
    body that the last of them moves.
    """
    body, links, joints = spec.worldbody, [], []
    while len(moving := [child for child in body.bodies if moves(child)]) == 1:
        body = moving[0]
        if body.joints:
            links.append(body)
            joints += body.joints
    if not joints:
        reason = f"{len(moving)} chains of joints leave its base"
        raise ValueError(f"menagerie: {spec.modelname!r} is no arm: {reason}")
    for joint in joints:
        if joint.type not in AXIAL:
            raise ValueError(
                f"menagerie: {spec.modelname!r} is no arm: {joint.name!r} is free or a ball"
            )
    return joints, links[-1]


def drive(spec: Any, joint: Any, name: str, limit: float | None) -> None:
    """Make a joint's actuator a motor of gear 1 with torque control.

    Its range is the first available of: the argument, the actuator's force range, the joint's, the
    control range of a motor.
    """
    actuator = spec.actuator(name)
    if actuator is None:
        actuator = spec.add_actuator(name=name, target=joint.name)
        actuator.trntype = mujoco.mjtTrn.mjTRN_JOINT
    of_actuator, of_joint, of_control = torque_ranges(actuator, joint)
    given = None if limit is None else (-limit, limit)
    span = given or of_actuator or of_joint or of_control
    if span is None:
        raise ValueError(
            f"menagerie: {spec.modelname!r} tells no torque limit of {joint.name!r}:"
            " give torque_limits to MenagerieArm"
        )
    actuator.set_to_motor()
    actuator.gear = [1, 0, 0, 0, 0, 0]
    actuator.forcelimited = mujoco.mjtLimited.mjLIMITED_FALSE
    actuator.ctrllimited = mujoco.mjtLimited.mjLIMITED_TRUE
    actuator.ctrlrange = span


def torque_ranges(actuator: Any, joint: Any) -> tuple[tuple[float, float] | None, ...]:
    """Ranges of a joint's torque by its actuator's force, by the joint, and by a motor's control;
    None where the model has none.
    """
    gear = float(actuator.gear[0])
    is_motor = actuator.biastype == mujoco.mjtBias.mjBIAS_NONE
    control = _range(actuator.ctrlrange, actuator.ctrllimited, gear * float(actuator.gainprm[0]))
    return (
        _range(actuator.forcerange, actuator.forcelimited, gear),
        _range(joint.actfrcrange, joint.actfrclimited),
        control if is_motor else None,
    )


def _range(span: Any, limited: Any, by: float = 1.0) -> tuple[float, float] | None:
    low, high = (float(x) for x in span)
    if limited == mujoco.mjtLimited.mjLIMITED_FALSE or not low < high:
        return None
    return (low * by, high * by) if by > 0 else (high * by, low * by)


def home(spec: Any, joints: list[str]) -> tuple[float, ...]:
    """Joint positions of the published keyframe; without one, zeros clipped to the ranges."""
    key = next((key for key in spec.keys if key.name == HOME), None)
    model = spec.compile()
    qpos = model.qpos0 if key is None else key.qpos
    start = []
    for name in joints:
        joint = model.joint(name)
        low, high = joint.range if joint.limited[0] else (-float("inf"), float("inf"))
        start.append(float(min(max(qpos[joint.qposadr[0]], low), high)))
    return tuple(start)


def menagerie_arm(name: str, torque_limits: tuple[float, ...] = ()) -> MenagerieArm:
    """Build an arm of Menagerie; joints, last link and start come from its model.

    Args:
        name: robot or robot/model, as "franka_emika_panda/panda"; a robot alone means its model
            without a hand, if there is one.
        torque_limits: of its joints (N m or N) from the base outward; empty for the model's.
    """
    robot, _, entry = name.partition("/")
    spec = read(robot, entry)
    joints, link = chain(spec)
    tool = spec.site(TOOL_SITE)
    names = [joint.name for joint in joints]
    if torque_limits and len(torque_limits) != len(names):
        raise ValueError(f"torque_limits: {spec.modelname!r} has {len(names)} joints: {names}")
    driven = {
        actuator.target: actuator.name
        for actuator in spec.actuators
        if actuator.trntype == mujoco.mjtTrn.mjTRN_JOINT
    }
    arm = MenagerieArm(
        joints=tuple(names),
        actuators=tuple(driven.get(joint, f"{joint}_motor") for joint in names),
        wrist=TOOL_SITE,
        link=link.name if tool is None else tool.parent.name,
        start=home(spec, names),
        robot=robot,
        entry=entry,
        torque_limits=torque_limits,
    )
    arm.model()  # raises if the arm cannot be driven
    return arm


arms.add_source("menagerie", menagerie_arm)
