"""PAL Robotics Tiago: two arms on a torso that lifts, on a base that drives."""

from dataclasses import replace

from mjgym.robots.parts import Group, Limb, arms
from mjgym.robots.tabletop_arms import TwoArmed, numbered
from mjgym.robots.tabletop_bases import HOLD

TORSO, HEAD = ("torso_lift_joint",), ("head_1_joint", "head_2_joint")
PLACED = replace(HOLD, input_type="absolute")
"""Law of torso and head: an action is their position, m and rad."""


def limb(side: str) -> Limb:
    """An arm, half extended."""
    return Limb(
        joints=numbered(f"arm_{side}_{{}}_joint", 6),
        actuators=numbered(f"torq_{side}_j{{}}", 6),
        wrist=f"{side}_wrist",
        link=f"{side}_hand",
        start=(0.0, -0.9, 1.45, 1.7, -1.5, 0.5),  # rad
        origin=f"{side}_center",
    )


RIGHT, LEFT = limb("right"), limb("left")


arms.register(
    "Tiago",
    right=RIGHT,
    left=LEFT,
    file="tiago",
    base="NullMobileBase",
    hand="Robotiq85Gripper",
    table_distance=0.2,
    centre_distance=0.29,
    joints=(*TORSO, *HEAD, *RIGHT.joints, *LEFT.joints),
    actuators=(*RIGHT.actuators, *LEFT.actuators),
    wrist=RIGHT.wrist,
    start=(0.1, 0.0, 0.0, *RIGHT.start, *LEFT.start),  # m, rad
    groups=(
        Group("torso", TORSO, ("torq_torso_lift",), PLACED, "right_center"),
        Group("head", HEAD, ("torq_head_pitch", "torq_head_yaw"), PLACED, "head"),
    ),
)(TwoArmed)
