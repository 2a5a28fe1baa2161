"""Robots that walk on legs, under their names for the argument `robot`."""

import functools
from dataclasses import dataclass

import mujoco
import numpy as np

from mjgym.mjcf import Spec, load
from mjgym.robots.parts import Part
from mjgym.util.catalogue import Catalogue
from mjgym.util.suggestions import or_else
from mjgym.util.values import one_of


@dataclass(frozen=True)
class LeggedRobot(Part):
    """A robot that walks on legs: its model, its usual pose, and the names of its parts.

    The model has a free joint, and hinges with rotor inertias (`armature`) and torque limits
    (`actuatorfrcrange`). Actuators, sensors and the floor are the task's.
    """

    root: str = ""  # the body with the free joint
    trunk: str = ""  # the body that is upright when the robot stands
    imu: str = ""  # the site of the inertial measurement unit
    feet: tuple[str, ...] = ()  # a site under each foot
    ankles: tuple[str, ...] = ()  # a site at the centre of each foot, or of its joint
    soles: tuple[str, ...] = ()  # per foot, the geom or the body that treads on the ground
    sole_kind: str = "geom"  # "geom", or "xbody" for bodies
    sole_geoms: str = "*_foot*"  # pattern of the names of the geoms that tread on the ground
    tracked: tuple[str, ...] = ()  # bodies that follow a motion; empty for all
    tips: tuple[str, ...] = ()  # ends of the limbs, whose heights must follow a motion
    thighs: tuple[str, ...] = ()  # geoms of the upper legs, as the next two; may be empty
    shanks: tuple[str, ...] = ()  # of the lower legs
    torso: tuple[str, ...] = ()  # of the rest
    foot_radius: float = 0.04  # m, of the ring of points under a foot, for the foot's height
    foot_points: int = 4  # of that ring
    stiffness: float = 0.0  # of the joints' servos, N m/rad; 0: from the rotor inertias
    damping: float = 0.0  # of the joints' servos, N m s/rad, with a stiffness
    height: float = 0.0  # of the root in the usual pose, m
    pose: tuple[float, ...] = ()  # the usual position of each joint, rad
    vendor_joints: tuple[str, ...] = ()  # hinges in the order of the vendor's SDK; empty if unknown
    standing: tuple[float, ...] = ()  # rad, tolerated deviation of each joint, as the next two
    walking: tuple[float, ...] = ()
    running: tuple[float, ...] = ()

    @property
    def joints(self) -> tuple[str, ...]:
        return _hinges(self)[0]

    @property
    def ranges(self) -> np.ndarray:
        """Lower and upper limits of the hinges, (2, joints) rad."""
        return _hinges(self)[1]

    @property
    def compiled(self) -> mujoco.MjModel:
        return _compiled(self)

    def check(self, spec: Spec) -> None:
        """Refuse names and numbers that do not fit the model.

        Raises:
            ValueError: a part is missing, a joint has no range or no torque limit, or a number per
                joint or foot is missing; the message names it.
        """
        robot = f"robot {type(self).__name__}"
        one_of(f"{robot}: sole_kind", self.sole_kind, ("geom", "xbody"))
        body, site, geom = (
            [element.name for element in elements]
            for elements in (spec.bodies, spec.sites, spec.geoms)
        )
        sole = body if self.sole_kind == "xbody" else geom
        for part, elements in {
            "root": body, "trunk": body, "tracked": body, "tips": body, "imu": site, "feet": site,
            "ankles": site, "soles": sole, "thighs": geom, "shanks": geom, "torso": geom,
        }.items():  # fmt: skip
            names = getattr(self, part)
            for name in (names,) if isinstance(names, str) else names:
                if not name or name not in elements:
                    raise ValueError(f"{robot}: {part}: no {name!r}{or_else(name, elements)}")
        feet, joints = len(self.feet), len(self.joints)
        for part, count in {
            "ankles": feet, "soles": feet, "pose": joints, "standing": joints, "walking": joints,
            "running": joints,
        }.items():  # fmt: skip
            if (size := len(getattr(self, part))) != count:
                raise ValueError(f"{robot}: {part}: expected {count} entries, got {size}")
        model = self.compiled
        for name, rest in zip(self.joints, self.pose, strict=True):
            joint = model.joint(name)
            low, high = joint.range
            for has, what in (
                (low < high, "range"),
                (low <= rest <= high, f"range that holds its pose, {rest:g} rad"),
                (model.jnt_actfrcrange[joint.id, 1] > 0, "torque limit (actuatorfrcrange)"),
                (self.stiffness or model.dof_armature[joint.dofadr[0]] > 0,
                 "rotor inertia (armature), from which gains follow"),
            ):  # fmt: skip
                if not has:
                    raise ValueError(f"{robot}: joint {name!r} has no {what}")


@functools.cache
def _compiled(robot: LeggedRobot) -> mujoco.MjModel:
    return robot.model().compile()


@functools.cache  # hooks ask at each step
def _hinges(robot: LeggedRobot) -> tuple[tuple[str, ...], np.ndarray]:
    model = robot.compiled
    hinges = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)
    return tuple(model.joint(i).name for i in hinges), model.jnt_range[hinges].T.copy()


legged_robots: Catalogue[LeggedRobot] = Catalogue("robot", LeggedRobot)

LEGS = ("FR", "FL", "RR", "RL")  # front and rear, right and left; the order of Unitree's SDKs


@legged_robots.register("go1")
@dataclass(frozen=True)
class Go1(LeggedRobot):
    """Unitree's quadruped Go1: per leg a hip, a thigh and a calf joint."""

    root: str = "trunk"
    trunk: str = "trunk"
    imu: str = "imu"
    feet: tuple[str, ...] = LEGS
    ankles: tuple[str, ...] = LEGS
    soles: tuple[str, ...] = tuple(f"{leg}_foot" for leg in LEGS)
    tips: tuple[str, ...] = tuple(f"{leg}_calf" for leg in LEGS)
    thighs: tuple[str, ...] = tuple(f"{leg}_thigh{i}" for leg in LEGS for i in (1, 2, 3))
    shanks: tuple[str, ...] = tuple(f"{leg}_calf{i}" for leg in LEGS for i in (1, 2))
    torso: tuple[str, ...] = ("trunk", "head")
    height: float = 0.278
    pose: tuple[float, ...] = (0.1, 0.9, -1.8, -0.1, 0.9, -1.8) * 2
    vendor_joints: tuple[str, ...] = tuple(
        f"{leg}_{part}_joint" for leg in LEGS for part in ("hip", "thigh", "calf")
    )
    standing: tuple[float, ...] = (0.05, 0.05, 0.1) * 4
    walking: tuple[float, ...] = (0.3, 0.3, 0.6) * 4
    running: tuple[float, ...] = (0.3, 0.3, 0.6) * 4

    def model(self) -> Spec:
        return load("robots/go1/go1.xml")


@legged_robots.register("go2")
@dataclass(frozen=True)
class Go2(Go1):
    """Unitree's quadruped Go2: heavier than Go1, with joints of the same names."""

    stiffness: float = 20.0  # those with which its rotor inertias were identified
    damping: float = 1.5
    height: float = 0.324
    pose: tuple[float, ...] = (
        -0.1, 0.8, -1.5, 0.1, 0.8, -1.5, -0.1, 1.0, -1.5, 0.1, 1.0, -1.5,
    )  # fmt: skip

    def model(self) -> Spec:
        return load("robots/go2/go2.xml")


SIDES = ("left", "right")

# As Unitree's SDK counts the motors: legs, waist, arms, each left before right.
G1_LEG_JOINTS = "hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll"
G1_WAIST_JOINTS = "waist_yaw", "waist_roll", "waist_pitch"
G1_ARM_JOINTS = (
    *("shoulder_pitch", "shoulder_roll", "shoulder_yaw", "elbow"),
    *("wrist_roll", "wrist_pitch", "wrist_yaw"),
)
G1_TRACKED = ("hip_roll", "knee", "ankle_roll", "shoulder_roll", "elbow", "wrist_yaw")
# Hip pitch, roll, yaw, knee, ankle pitch, roll; waist yaw, roll, pitch; shoulder pitch, roll, yaw,
# elbow, wrist roll, pitch, yaw.
G1_LEG = (-0.312, 0.0, 0.0, 0.669, -0.363, 0.0)
G1_LEG_WALKING = (0.3, 0.15, 0.15, 0.35, 0.25, 0.1)
G1_LEG_RUNNING = (0.5, 0.2, 0.2, 0.6, 0.35, 0.15)
G1_ARM_WALKING = (0.15, 0.15, 0.1, 0.15, 0.3, 0.3, 0.3)
G1_ARM_RUNNING = (0.5, 0.2, 0.15, 0.35, 0.3, 0.3, 0.3)


@legged_robots.register("g1")
@dataclass(frozen=True)
class G1(LeggedRobot):
    """Unitree's humanoid G1: 29 joints in legs, waist and arms."""

    root: str = "pelvis"
    trunk: str = "torso_link"
    imu: str = "imu_in_pelvis"
    feet: tuple[str, ...] = tuple(f"{side}_foot" for side in SIDES)
    ankles: tuple[str, ...] = tuple(f"{side}_ankle" for side in SIDES)
    soles: tuple[str, ...] = tuple(f"{side}_ankle_roll_link" for side in SIDES)
    sole_kind: str = "xbody"
    tracked: tuple[str, ...] = (
        "pelvis",
        *(f"{side}_{part}_link" for side in SIDES for part in G1_TRACKED[:3]),
        "torso_link",
        *(f"{side}_{part}_link" for side in SIDES for part in G1_TRACKED[3:]),
    )
    tips: tuple[str, ...] = tuple(
        f"{side}_{part}_link" for part in ("ankle_roll", "wrist_yaw") for side in SIDES
    )
    foot_radius: float = 0.03
    foot_points: int = 6
    height: float = 0.76
    pose: tuple[float, ...] = (
        *G1_LEG, *G1_LEG, 0.0, 0.0, 0.0,
        0.2, 0.2, 0.0, 0.6, 0.0, 0.0, 0.0, 0.2, -0.2, 0.0, 0.6, 0.0, 0.0, 0.0,
    )  # fmt: skip
    vendor_joints: tuple[str, ...] = (
        *(f"{side}_{joint}_joint" for side in SIDES for joint in G1_LEG_JOINTS),
        *(f"{joint}_joint" for joint in G1_WAIST_JOINTS),
        *(f"{side}_{joint}_joint" for side in SIDES for joint in G1_ARM_JOINTS),
    )
    standing: tuple[float, ...] = (0.05,) * 29
    walking: tuple[float, ...] = (
        *G1_LEG_WALKING, *G1_LEG_WALKING, 0.2, 0.08, 0.1, *G1_ARM_WALKING, *G1_ARM_WALKING,
    )  # fmt: skip
    running: tuple[float, ...] = (
        *G1_LEG_RUNNING, *G1_LEG_RUNNING, 0.3, 0.08, 0.2, *G1_ARM_RUNNING, *G1_ARM_RUNNING,
    )  # fmt: skip

    def model(self) -> Spec:
        return load("robots/g1/g1.xml")
