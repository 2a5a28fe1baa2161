"""A ball that rolls, and one that jumps too, with a head that stays on top."""

import math
from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array
from mjgym.mjcf import Spec, add, load
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.walkers.any_walker import Walker, register_walker


@register_walker("rolling_ball")
@register_walker("jumping_ball", file="jumping_ball.xml", joints=("kick",))
@dataclass(frozen=True)
class Ball(Walker):
    """A ball on three slides: it rolls and steers, and cannot tip over."""

    file: str = "rolling_ball.xml"
    joints: tuple[str, ...] | None = ()
    root: str = "head_body"
    end_effectors: tuple[str, ...] = ("head_body",)
    feet: tuple[str, ...] = ("torso",)
    viewpoint: str = "tracking"
    velocimeter: str = "sensor_torso_vel"
    gyro: str = "sensor_torso_gyro"
    accelerometer: str = "sensor_torso_accel"

    def model(self) -> Spec:
        return load(f"locomotion/walkers/{self.file}")

    def hang(self, body: Any) -> None:
        for axis, letter in enumerate("xyz"):
            along = tuple(float(axis == i) for i in range(3))
            # A position is that of its frame in the world, wherever that is at first.
            add(
                body, "joint", name=f"{self.prefix}root_{letter}/", type="slide", axis=along,
                ref=body.pos[axis],
            )  # fmt: skip

    def put(self, v: SingleView, position: Array, quaternion: Array) -> None:
        for axis, letter in enumerate("xyz"):
            v.joint(f"{self.prefix}root_{letter}/").qpos = position[axis]
        w, _, _, z = quaternion
        # The steering axis points down.
        v.joint(f"{self.prefix}steer").qpos = -2 * math.atan2(z, w)
