"""Kinova's six-joint Jaco arm, and its hand with a thumb and two fingers."""

from dataclasses import dataclass

from mjgym.mjcf import Spec, load
from mjgym.robots.parts import Arm, Hand, arms, hands

JOINTS = tuple(f"joint_{i}" for i in range(1, 7))
FINGERS = tuple(f"finger_{i}" for i in range(1, 4))


@arms.register("jaco_6_joints")
@dataclass(frozen=True)
class JacoArm(Arm):
    """Jaco arm with velocity servos (rad/s)."""

    joints: tuple[str, ...] = JOINTS
    actuators: tuple[str, ...] = JOINTS
    wrist: str = "wristsite"
    link: str = "b_6"
    torques: tuple[str, ...] = tuple(f"{joint}_torque" for joint in JOINTS)

    def model(self) -> Spec:
        return load("robots/jaco/arm.xml")


@hands.register("jaco_3_fingers")
@dataclass(frozen=True)
class JacoHand(Hand):
    """Jaco hand with velocity servos (rad/s)."""

    joints: tuple[str, ...] = FINGERS
    actuators: tuple[str, ...] = FINGERS
    tool_centre: str = "pinchsite"
    fingers: tuple[tuple[str, ...], ...] = tuple(
        (f"finger_knuckle_{i}", f"finger_tip_{i}") for i in range(1, 4)
    )

    def model(self) -> Spec:
        return load("robots/jaco/hand.xml")
