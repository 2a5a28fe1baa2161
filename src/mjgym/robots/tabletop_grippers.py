"""Grippers of the tabletop family, under their published names.

A positive action closes, a negative one opens. All are attached to the arm's hand frame and have
the sites "grip_site" (the tool centre) and "ft_frame" with the sensors "force_ee" and "torque_ee".
Their numbers are measured; assets/PROVENANCE.md lists differences.
"""

from dataclasses import dataclass
from typing import Any

from mjgym.controllers.gripper import GripperLaw
from mjgym.mjcf import Spec, load
from mjgym.robots.parts import Hand, hands

SIDES = ("left", "right")

# Shared by the variants of a gripper.
LINKAGE: dict[str, Any] = {
    "joints": (
        *("finger_joint", "left_inner_finger_joint", "left_inner_knuckle_joint"),
        *(f"right_{link}_joint" for link in ("outer_knuckle", "inner_finger", "inner_knuckle")),
    ),
    "actuators": ("finger_1", "finger_2"),
    "fingers": (("left_fingerpad_collision",), ("right_fingerpad_collision",)),
}
THREE_FINGER: dict[str, Any] = {
    "file": "robotiq_three_finger",
    "joints": (
        *("palm_finger_1_joint", *(f"finger_1_joint_{i}" for i in (1, 2, 3))),
        *("palm_finger_2_joint", *(f"finger_2_joint_{i}" for i in (1, 2, 3))),
        *(f"finger_middle_joint_{i}" for i in (1, 2, 3)),
    ),
    "actuators": ("finger_1", "finger_2", "middle_finger", "finger_scissor"),
    "fingers": (("f1_pad_collision", "f2_pad_collision"), ("finger_middle_pad_collision",)),
}
JACO: dict[str, Any] = {
    "file": "jaco",
    "joints": tuple(
        f"joint_{finger}{link}"
        for finger in ("thumb", "index", "pinky")
        for link in ("", "_distal")
    ),
    "actuators": ("thumb", "index", "pinky"),
    "fingers": (("index_pad_collision", "pinky_pad_collision"), ("thumb_pad_collision",)),
    "start": (0.5, 0.0) * 3,  # rad
}


def _fourier(side: str) -> dict[str, Any]:
    letter = side[0].upper()
    fingers = ("index", "middle", "ring", "pinky")
    thumb = ("thumb_proximal_yaw", "thumb_proximal_pitch", "thumb_distal")
    bent = tuple(f"{name}_{part}" for name in fingers for part in ("proximal", "intermediate"))
    joints = tuple(f"{letter}_{name}_joint" for name in (*thumb, *bent))
    links = ("thumb_proximal_base", "thumb_proximal", "thumb_distal")
    return {
        "file": f"fourier_{side}",
        "joints": joints,
        "actuators": tuple(f"{name}_drive" for name in reversed(joints)),
        "fingers": tuple(
            tuple(f"{letter}_{name}_link_col" for name in names) for names in (links, bent)
        ),
        "law": GripperLaw(
            directions=(1,) * 11, inputs=(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5), incremental=False
        ),
    }


def _inspire(side: str) -> dict[str, Any]:
    letter = side[0]
    fingers = ("index", "middle", "ring", "pinky")
    thumb = ("thumb_proximal_1", "thumb_proximal_2", "thumb_middle", "thumb_distal")
    bent = tuple(f"{name}_{part}" for name in fingers for part in ("proximal", "distal"))
    links = ("thumb_proximal", "thumb_proximal_2", "thumb_middle", "thumb_distal")
    return {
        "file": f"inspire_{side}",
        "joints": tuple(f"joint_{letter}_{name}" for name in (*thumb, *bent)),
        "actuators": tuple(f"{name}_drive" for name in reversed((*thumb, *bent))),
        "fingers": tuple(
            tuple(f"{letter}_{name}_col" for name in names) for names in (links, bent)
        ),
        "law": GripperLaw(
            directions=(1,) * 12, inputs=(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4, 5), incremental=False
        ),
    }


JACO_SPEED = 0.01  # fraction of half a stroke per control step: 200 steps from end to end


@hands.register(
    "PandaGripper",
    file="panda",
    joints=("finger_joint1", "finger_joint2"),
    actuators=("gripper_finger_joint1", "gripper_finger_joint2"),
    fingers=(("finger1_pad_collision",), ("finger2_pad_collision",)),
    start=(0.020833, -0.020833),  # m
    law=GripperLaw(directions=(-1, 1)),
)
@hands.register(
    "RethinkGripper",
    file="rethink",
    joints=("l_finger_joint", "r_finger_joint"),
    actuators=("gripper_r_finger_joint", "gripper_l_finger_joint"),
    fingers=(("l_fingerpad_g0",), ("r_fingerpad_g0",)),
    start=(0.020833, -0.020833),  # m
    law=GripperLaw(directions=(1, -1)),
)
@hands.register(
    "Robotiq85Gripper",
    file="robotiq_85",
    **LINKAGE,
    start=(-0.026, -0.267, -0.2, -0.026, -0.267, -0.2),  # rad
    law=GripperLaw(directions=(1, 1)),
)
@hands.register(
    "Robotiq140Gripper",
    file="robotiq_140",
    **LINKAGE,
    start=(0.012, 0.065, 0.065, -0.012, 0.065, 0.065),  # rad
    law=GripperLaw(directions=(1, -1)),
)
@hands.register(
    "RobotiqThreeFingerGripper",
    **THREE_FINGER,
    law=GripperLaw(directions=(1, 1, 1, 0), proportional=True, starts=(0, 0, 0, -1)),
)
@hands.register(
    "RobotiqThreeFingerDexterousGripper",
    **THREE_FINGER,
    law=GripperLaw(directions=(1, 1, 1, 1), inputs=(0, 1, 2, 3)),
)
@hands.register(
    "JacoThreeFingerGripper", **JACO, law=GripperLaw(directions=(-1, -1, -1), speed=JACO_SPEED)
)
@hands.register(
    "JacoThreeFingerDexterousGripper",
    **JACO,
    law=GripperLaw(directions=(-1, -1, -1), inputs=(0, 1, 2), speed=JACO_SPEED),
)
@hands.register(
    "XArm7Gripper",
    file="xarm7",
    joints=tuple(
        f"{side}_{link}_joint" for side in SIDES for link in ("driver", "finger", "inner_knuckle")
    ),
    actuators=("fingers_actuator",),
    fingers=tuple((f"{side}_finger_pad_1", f"{side}_finger_pad_2") for side in SIDES),
    start=(0.02, 0.0, 0.0, -0.02, 0.0, 0.0),  # rad
    law=GripperLaw(directions=(1,)),
)
@hands.register(
    "BDGripper",
    file="bd",
    joints=("arm_f1x",),
    actuators=("arm_f1x",),
    fingers=(("g1_col", "g2_col", "g3_col"), ("g5_col", "g6_col", "g8_col", "g9_col")),
    start=(-1.57,),  # rad
    law=GripperLaw(directions=(1,)),
)
@hands.register("FourierLeftHand", **_fourier("left"))
@hands.register("FourierRightHand", **_fourier("right"))
@hands.register("InspireLeftHand", **_inspire("left"))
@hands.register("InspireRightHand", **_inspire("right"))
@hands.register("WipingGripper", file="wiping", law=GripperLaw())
@hands.register("none", file="none", law=GripperLaw())
@dataclass(frozen=True)
class Gripper(Hand):
    """A gripper of the tabletop family."""

    tool_centre: str = "grip_site"
    file: str = ""  # of its model, in assets/robots/grippers

    def model(self) -> Spec:
        return load(f"robots/grippers/{self.file}.xml")
