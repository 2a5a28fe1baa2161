"""Climb out of a bowl."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array, total
from mjgym.resets import unit_vector
from mjgym.rewards import ramp
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, register_variants, variant
from mjgym.tasks.locomotion.walker_task import WalkerTask

RADIUS = 6.0  # m, from the middle to the bowl's rim
UPRIGHT = math.cos(math.radians(30))  # cosine of the tilt that counts as upright
LIFT = 0.01  # m, step by which the start is raised until nothing touches
MOST = 1000  # limit of lifts
HEIGHTS = (0.0, *itertools.accumulate(itertools.repeat(LIFT, MOST)))  # m, as lifts add up


@register_variants(
    "locomotion/{}-escape_bowl-v0",
    rodent=variant(
        "A rat climbs from the middle of a bowl over its rim.", ("vision",), walker="rodent"
    ),
    ant=variant(
        "An ant climbs from the middle of a bowl over its rim.",
        ("vision", "extra"),
        walker="ant",
        control_timestep=0.025,
        physics_timestep=0.005,
    ),
)
@dataclass(frozen=True)
class Escape(WalkerTask):
    """A walker climbs from the middle of a bowl over its rim.

    Reward: min(1, distance / 6 m) * upright, where the distance is that of the head from the middle
    of the bowl, and upright is 1 while the trunk is tilted by less than 30 degrees and falls
    linearly to 0 for one that is upside down; the worst part of the trunk counts.

    Start: in the middle, in any orientation, at rest, as low as nothing touches while the ground is
    still flat; then the bowl is drawn, in whose bumps it may stick by 2 cm.

    Observation: the walker's own, and `walker/origin`, the middle of the bowl as the walker sees
    it; with pixels, what its egocentric camera sees.
    """

    arena: str = "bowl"  # its name, or "module:Class"
    time_limit: float = 20.0  # s
    control_timestep: float = 0.02  # s
    physics_timestep: float = 0.001  # s

    def initialize(self, v: SingleView, rng: Any) -> None:
        orientation = unit_vector(rng, 4)
        lifts, touching = 0, -1
        while lifts < MOST and (depth := self._depth(v, lifts, orientation)) is not None:
            touching = lifts
            lifts = min(lifts + max(1, int(depth / LIFT)), MOST)  # no more than needed
        while lifts - 1 > touching and self._depth(v, lifts - 1, orientation) is None:
            lifts -= 1  # or the depth was more than that
        self.creature.put(v, (0.0, 0.0, HEIGHTS[lifts]), orientation)
        self.surroundings.draw(v, rng)

    def _depth(self, v: SingleView, lifts: int, orientation: Any) -> float | None:
        """Penetration of the walker into the ground after some lifts, m; None without contact."""
        self.creature.put(v, (0.0, 0.0, HEIGHTS[lifts]), orientation)
        v.detect_contacts()
        return -float(v.contact.dist.min()) if v.ncon else None

    def observation(self, v: View) -> Arrays:
        origin = self.creature.in_frame(v, v.xp.zeros(3))
        return {**super().observation(v), f"{self.creature.prefix}origin": origin}

    def terms(self, v: View) -> Arrays:
        walker = self.creature
        head = walker.head_place(v)
        distance = v.xp.sqrt(total(head * head))
        upright = ramp(walker.uprightness(v), -1.0, UPRIGHT)
        return {"away": v.xp.minimum(distance / RADIUS, 1.0), "upright": v.xp.min(upright, axis=-1)}

    def success(self, v: View) -> Array:
        return self.terms(v)["away"] >= 1.0
