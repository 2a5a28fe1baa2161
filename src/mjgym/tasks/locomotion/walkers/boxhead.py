"""A football player that rolls on a ball under a head like a box."""

import math
from dataclasses import dataclass

from mjgym.arrays import Array
from mjgym.mjcf import Spec
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.walkers.any_walker import Colour, register_walker
from mjgym.tasks.locomotion.walkers.balls import Ball


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
