"""Boston Dynamics' Spot: a four-legged base, with an arm or without."""

from dataclasses import dataclass
from typing import Any

import mujoco

from mjgym.mjcf import Spec
from mjgym.robots.parts import Group, arms, bases
from mjgym.robots.tabletop_arms import TabletopArm
from mjgym.robots.tabletop_bases import DRIVE, DRIVES, HOLD, JOINTS, Mount

LEGS = tuple(
    f"{leg}_{joint}_leg" for leg in ("fr", "fl", "hr", "hl") for joint in ("hx", "hy", "kn")
)
LEG_JOINTS = tuple(f"{name}_joint" for name in LEGS)
STANDING = (0.0, 0.9, -1.8) * 4  # rad
# Of a base without steps: axes, gains (N s/m, N m s/rad) and top speeds (m/s, rad/s).
AXES = (0, 1, 0), (1, 0, 0), (0, 0, 1)
GAINS, SPEEDS = (1000.0, 1000.0, 1500.0), (1.0, 1.0, 1.5)
FRICTION, STRONGEST = 250.0, 600.0  # N or N m
LEGGED: dict[str, Any] = {"prefix": "leg", "centre": "center"}


@bases.register(
    "Spot",
    groups=(Group("legs", LEG_JOINTS, LEGS, HOLD, "center", start=STANDING),),
    **LEGGED,
)
@dataclass(frozen=True)
class SpotBase(Mount):
    """A four-legged base that stands on its feet."""

    file: str = "spot"


@bases.register("SpotFloating", groups=(DRIVE,), **LEGGED)
@dataclass(frozen=True)
class SpotFloatingBase(SpotBase):
    """A four-legged base that is moved without steps, its legs stiff.

    Its motion "forward" is along its y axis, and "sideways" along x, as published.
    """

    def model(self) -> Spec:
        spec = super().model()
        for element in (*spec.actuators, *spec.joints):
            spec.delete(element)
        for name, drive, axis, gain, speed in zip(JOINTS, DRIVES, AXES, GAINS, SPEEDS, strict=True):
            turns = axis == AXES[-1]
            kind = mujoco.mjtJoint.mjJNT_HINGE if turns else mujoco.mjtJoint.mjJNT_SLIDE
            spec.body("body").add_joint(name=name, type=kind, axis=axis, frictionloss=FRICTION)
            motor = spec.add_actuator(name=drive, target=name, trntype=mujoco.mjtTrn.mjTRN_JOINT)
            motor.set_to_velocity(kv=gain)
            motor.ctrlrange, motor.forcerange = (-speed, speed), (-STRONGEST, STRONGEST)
        return spec


ARM = ("arm_sh0", "arm_sh1", "arm_el0", "arm_el1", "arm_wr0", "arm_wr1")
SPOT: dict[str, Any] = {
    "file": "spot",
    "hand": "BDGripper",
    "joints": ARM,
    "actuators": ARM,
    "start": (0.0, -2.0, 1.26, -0.335, 0.862, 0.0),
    "table_distance": 0.5,
}


@arms.register("SpotWithArmFloating", **SPOT, base="SpotFloating", height=0.7, bins_distance=0.7)
@arms.register(
    "SpotWithArm", **SPOT, base="Spot", height=0.48, centre_distance=1.1, bins_distance=1.05
)
@dataclass(frozen=True)
class SpotArm(TabletopArm):
    """The arm of a four-legged robot."""
