"""Arms of the tabletop tasks, under their published names.

Motors drive the joints by torque (N m); their control ranges are the torque limits. Every arm has
the cameras `robotview` and `eye_in_hand` (Baxter: `right_eye_in_hand` and `left_eye_in_hand`).
"""

from dataclasses import dataclass
from math import pi
from typing import Any

from mjgym.mjcf import Spec, load
from mjgym.robots.parts import Arm, Limb, arms
from mjgym.robots.tabletop_bases import LIFT


def numbered(name: str, count: int, first: int = 1) -> tuple[str, ...]:
    return tuple(name.format(i) for i in range(first, first + count))


PANDA: dict[str, Any] = {
    "file": "panda",
    "joints": numbered("joint{}", 7),
    "actuators": numbered("torq_j{}", 7),
    "start": (0, pi / 16, 0, -pi / 2 - pi / 3, 0, pi - 0.2, pi / 4),
}


@arms.register(
    "Jaco",
    file="jaco",
    hand="JacoThreeFingerGripper",
    joints=numbered("j2s7s300_joint_{}", 7),
    actuators=numbered("torq_j{}", 7),
    start=(3.192, 3.68, 0, 1.17, 0.05, 3.76, 3.142),
)
@arms.register(
    "Kinova3",
    file="kinova3",
    hand="Robotiq85Gripper",
    joints=numbered("Actuator{}", 7),
    actuators=numbered("torq_j{}", 7),
    start=(0, 0.65, 0, 1.89, 0, 0.6, -pi / 2),
)
@arms.register(
    "UR5e",
    file="ur5e",
    hand="Robotiq85Gripper",
    joints=(
        *("shoulder_pan_joint", "shoulder_lift_joint", "elbow_joint"),
        *numbered("wrist_{}_joint", 3),
    ),
    actuators=numbered("torq_j{}", 6),
    start=(-0.47, -1.735, 2.48, -2.275, -1.59, -1.991),
)
@arms.register(
    "XArm7",
    file="xarm7",
    hand="XArm7Gripper",
    joints=numbered("joint{}", 7),
    actuators=numbered("torq_j{}", 7),
    start=(0, 0, 0, 0.39 * pi, 0, 0.39 * pi, 0),
)
@arms.register(
    "IIWA",
    file="iiwa",
    hand="Robotiq140Gripper",
    joints=numbered("joint_{}", 7),
    actuators=numbered("torq_j{}", 7),
    start=(0, 0.65, 0, -1.89, 0, 0.6, 0),
)
@arms.register(
    "Sawyer",
    file="sawyer",
    hand="RethinkGripper",
    joints=numbered("right_j{}", 7, first=0),
    actuators=numbered("torq_right_j{}", 7, first=0),
    start=(0, -1.18, 0, 2.18, 0, 0.57, -1.57),
)
@arms.register("Panda", **PANDA, hand="PandaGripper")
@arms.register(
    "PandaOmron",
    **PANDA | {"start": (0, pi / 16 - 0.2, 0, -pi / 2 - pi / 3, 0, pi - 0.4, pi / 4)},
    hand="PandaGripper",
    base="OmronMobileBase",
    base_start=((LIFT, 0.2),),
    bins_distance=0.6,
)
@arms.register("PandaDexRH", **PANDA, hand="InspireRightHand")
@arms.register("PandaDexLH", **PANDA, hand="InspireLeftHand")
@dataclass(frozen=True)
class TabletopArm(Arm):
    """An arm for one hand."""

    file: str = "panda"  # the name of its folder and of the MJCF in it
    base: str = "RethinkMount"
    link: str = "right_hand"
    origin: str = "right_center"

    def model(self) -> Spec:
        return load(f"robots/{self.file}/{self.file}.xml")


def baxter_limb(side: str, mirror: int) -> Limb:
    """An arm of Baxter; the start poses mirror each other (+1 right, -1 left)."""
    joints = tuple(f"{side}_{joint}" for joint in ("s0", "s1", "e0", "e1", "w0", "w1", "w2"))
    outward = (0.403, -0.636, 0.114, 1.432, 0.735, 1.205, -0.269)  # rad, right arm
    return Limb(
        joints=joints,
        actuators=numbered(f"torq_{side}_j{{}}", 7, first=0),
        wrist=f"{side}_wrist",
        link=f"{side}_hand",
        start=tuple(mirror * q if i % 2 == 0 else q for i, q in enumerate(outward)),
        origin=f"{side}_center",
    )


BAXTER_RIGHT = baxter_limb("right", 1)
BAXTER_LEFT = baxter_limb("left", -1)


@arms.register(
    "Baxter",
    file="baxter",
    base="RethinkMinimalMount",
    hand="RethinkGripper",
    table_distance=0.26,
    centre_distance=0.29,
    joints=BAXTER_RIGHT.joints + BAXTER_LEFT.joints,
    actuators=BAXTER_RIGHT.actuators + BAXTER_LEFT.actuators,
    wrist=BAXTER_RIGHT.wrist,
    start=BAXTER_RIGHT.start + BAXTER_LEFT.start,
)
@dataclass(frozen=True)
class TwoArmed(TabletopArm):
    """Two arms on a torso, the right one first. Each moves in its limb's `origin`."""

    right: Limb = BAXTER_RIGHT
    left: Limb = BAXTER_LEFT

    @property
    def limbs(self) -> dict[str, Limb]:
        return {"right": self.right, "left": self.left}
