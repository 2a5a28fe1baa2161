"""Fourier GR-1: a humanoid with two arms, in four variants of the tabletop tasks."""

from dataclasses import dataclass
from typing import Any

from mjgym.controllers.joint import JointPosition
from mjgym.mjcf import Spec, load
from mjgym.robots.parts import Group, Limb, arms
from mjgym.robots.tabletop_arms import TabletopArm
from mjgym.robots.tabletop_bases import HOLD

TORSO = ("torso_waist_yaw", "torso_waist_pitch", "torso_waist_roll")
HEAD = ("head_yaw", "head_roll", "head_pitch")
LEG = ("hip_roll", "hip_yaw", "hip_pitch", "knee_pitch", "ankle_pitch", "ankle_roll")
LEGS = tuple(f"{side}_leg_{joint}" for side in "lr" for joint in LEG)


def limb(side: str, mirror: int) -> Limb:
    """An arm, bent at the elbow; the shoulders mirror each other (+1 left, -1 right)."""
    names = (
        *("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow_pitch"),
        *("wrist_yaw", "wrist_roll", "wrist_pitch"),
    )
    joints = tuple(f"{side[0]}_{name}" for name in names)
    return Limb(
        joints=joints,
        actuators=joints,
        wrist=f"{side}_wrist",
        link=f"{side}_eef",
        start=(0.0, mirror * 0.1, 0.0, -1.57, 0.0, 0.0, 0.0),  # rad
        origin=f"{side}_center",
        hand=f"Fourier{side.capitalize()}Hand",
    )


RIGHT, LEFT = limb("right", -1), limb("left", 1)


def group(name: str, joints: tuple[str, ...], law: JointPosition = HOLD) -> Group:
    sites = {"torso": "chest", "head": "head", "legs": "pelvis"}
    return Group(name, joints, joints, law, sites[name])


def variant(groups: tuple[Group, ...], **changes: Any) -> dict[str, Any]:
    """A robot whose joints are those of its groups and arms."""
    above = tuple(part for part in groups if part.name != "legs")
    legs = tuple(joint for part in groups if part not in above for joint in part.joints)
    first = tuple(joint for part in above for joint in part.joints)
    joints = (*first, *RIGHT.joints, *LEFT.joints, *legs)
    start = ((0.0,) * len(first), RIGHT.start, LEFT.start, (0.0,) * len(legs))
    return {
        "joints": joints,
        "actuators": joints,
        "start": sum(start, ()),
        "groups": groups,
        **changes,
    }


UPPER = group("torso", TORSO), group("head", HEAD)
FLOATING = tuple(group(part.name, part.joints, JointPosition()) for part in UPPER)


@arms.register(
    "GR1FloatingBody", **variant(FLOATING, base="FloatingLeggedBase", height=0.97)
)  # moved without steps
@arms.register("GR1ArmsOnly", **variant(()))
@arms.register("GR1FixedLowerBody", **variant(UPPER))
@arms.register("GR1", **variant((*UPPER, group("legs", LEGS))))  # its pelvis is fixed
@dataclass(frozen=True)
class GR1(TabletopArm):
    """A humanoid; each arm moves in its shoulder's frame, rolled by 25 degrees."""

    base: str = "NoActuationBase"
    wrist: str = RIGHT.wrist
    link: str = RIGHT.link
    origin: str = RIGHT.origin
    table_distance: float = 0.15
    centre_distance: float = 0.29
    bins_distance: float = 0.3
    height: float = 0.95
    ahead: float = -1.0

    @property
    def limbs(self) -> dict[str, Limb]:
        return {"right": RIGHT, "left": LEFT}

    def model(self) -> Spec:
        spec = load("robots/gr1/gr1.xml")
        for motor in list(spec.actuators):
            if motor.name not in self.actuators:
                spec.delete(motor)
        for joint in list(spec.joints):
            if joint.name not in self.joints:
                spec.delete(joint)
        return spec
