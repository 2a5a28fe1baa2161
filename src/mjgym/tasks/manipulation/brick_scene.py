"""Base class of the tasks that press bricks onto each other."""

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any, ClassVar

from mjgym.mjcf import Spec
from mjgym.resets import Box
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Signal
from mjgym.tasks.manipulation.arm_scene import Areas, Scene
from mjgym.tasks.manipulation.bricks import CLICK, Bricks, pair_terms, pairs_reward, random_turns
from mjgym.tasks.manipulation.props import SEEN

BRICK_BOX: Box = ((-0.1, -0.1, 1e-6), (0.1, 0.1, 1e-6))  # m
TOOL_BOX: Box = ((-0.1, -0.1, 0.15), (0.1, 0.1, 0.4))  # m


@dataclass(frozen=True)
class BrickScene(Scene):
    """Bricks, a wanted stack of them, and translucent bricks that show it."""

    bricks: int = 2  # number, 2 to 5
    random_order: bool = False  # each episode draws the goal, which is then observed

    varies = ("body_pos", "body_quat")
    areas: ClassVar[Areas] = {"tcp": TOOL_BOX, "prop": BRICK_BOX}
    close_weight: ClassVar[float] = 0.0
    """Weight of two bricks that are close; bricks that are snapped together weigh 1."""

    def __post_init__(self) -> None:
        assert self.pile  # raises for invalid numbers

    @functools.cached_property
    def pile(self) -> Bricks:
        return Bricks(self.bricks, self.bricks, "any" if self.random_order else "first")

    def furnish(self, scene: Spec) -> None:
        self.pile.add_to(scene)

    def show_goal(self, v: SingleView, rng: Any) -> None:
        """Stack the translucent bricks, each turned by 180 degrees or not."""
        self.pile.show_goal(v, random_turns(rng, self.pile.height))

    def observe_goal(self, v: View) -> Arrays:
        return {"desired_order": self.pile.wanted(v)} if self.random_order else {}

    def observe_things(self, v: View) -> Arrays:
        return self.pile.observation(v)

    def labels(self, v: View) -> dict[str, Signal]:
        stated = super().labels(v)
        if not self.random_order or self.vision:
            return stated
        floors = tuple(f"floor {i + 1}" for i in range(self.pile.height))
        order = Signal("numbers of the wanted bricks from the bottom", floors, "1", "", "userdata")
        # The order of a brick's sensors is drawn: one observation does not tell bricks apart.
        for entry, signal in stated.items():
            name, _, sensor = entry.rpartition("/")
            if sensor in SEEN and "duplo" in name:
                axes = "wxyz" if sensor == "orientation" else "xyz"
                names = tuple(f"{name} {axis}" for axis in axes)
                stated[entry] = dataclasses.replace(signal, names=names, source="sensordata")
        return {"desired_order": order, **stated}

    def colours(self, v: View) -> Arrays:
        return self.pile.colours(v)

    def terms(self, v: View) -> Arrays:
        return pair_terms(self.pile.distances(v), close_too=self.close_weight > 0)

    def reward(self, terms: Arrays) -> Array:
        return pairs_reward(terms, self.close_weight)

    def success(self, v: View) -> Array:
        return v.xp.all(self.pile.distances(v) <= CLICK, axis=-1)
