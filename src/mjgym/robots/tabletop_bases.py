"""Mounts and bases of the tabletop robots, under their published names."""

from dataclasses import dataclass
from typing import Any

from mjgym.controllers.joint import JointPosition, MobileBase
from mjgym.mjcf import Spec, load
from mjgym.robots.parts import Base, Group, bases

LIFT = "joint_torso_height"
MOTIONS = ("mobile_forward", "mobile_side", "mobile_yaw")
JOINTS, DRIVES = (tuple(f"{kind}_{m}" for m in MOTIONS) for kind in ("joint", "actuator"))
HOLD = JointPosition(kp=1000.0, kd=200.0, output_max=0.5, output_min=-0.5, kp_limits=(0.0, 1000.0))
"""Law of torsos, heads and legs."""
DRIVE = Group("base", JOINTS, DRIVES, MobileBase(), "center")
MOBILE: dict[str, Any] = {"prefix": "mobilebase", "centre": "center"}


@bases.register("NoActuationBase", file="no_actuation", **MOBILE)  # of humanoids that stand
@bases.register(
    "FloatingLeggedBase", file="floating_legged", hybrid=True, groups=(DRIVE,), **MOBILE
)  # of a humanoid that is moved
@bases.register("NullMobileBase", file="null_mobile", groups=(DRIVE,), **MOBILE)  # of Tiago
@bases.register(
    "OmronMobileBase",
    file="omron",
    hybrid=True,
    groups=(
        Group("torso", (LIFT,), ("actuator_torso_height",), JointPosition(kp=2000.0), "center"),
        DRIVE,
    ),
    **MOBILE,
)
@bases.register("NullBase", file="null_mount", prefix="nullbase")
@bases.register("NullMount", file="null_mount")  # the floor itself
@bases.register("RethinkMinimalMount", file="rethink_minimal_mount")  # of Baxter
@bases.register("RethinkMount", file="rethink_mount")  # of all other arms
@dataclass(frozen=True)
class Mount(Base):
    """A pedestal on the floor, possibly empty, or a base that moves."""

    file: str = "rethink_mount"  # the name of its MJCF

    def model(self) -> Spec:
        return load(f"robots/bases/{self.file}.xml")
