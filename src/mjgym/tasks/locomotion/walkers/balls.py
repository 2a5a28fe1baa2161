"""Balls that roll under a head that stays on top; some jump, and one plays football."""

import math
from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array
from mjgym.mjcf import Spec, add, load
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.walkers.any_walker import Colour, Walker, register_walker


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


@register_walker("boxhead")
@dataclass(frozen=True)
class BoxHead(Ball):
    """A ball with arms under a head: it rolls, steers and jumps, and cannot tip over."""

    file: str = "boxhead.xml"
    joints: tuple[str, ...] | None = ("kick",)
    feet: tuple[str, ...] = ("ball",)
    jersey: tuple[str, ...] = ("head",)

    def dress(self, model: Spec, colour: Colour) -> None:
        super().dress(model, colour)
        model.texture("shell").rgb1 = colour

    def put(self, v: SingleView, position: Array, quaternion: Array) -> None:
        super().put(v, position, quaternion)
        # At an angle of 0 it faces -y: a quarter turn to the right of +x.
        steer = v.joint(f"{self.prefix}steer").qpos
        steer[0] = math.remainder(steer[0] - math.pi / 2, 2 * math.pi)
