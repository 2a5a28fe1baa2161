"""Stairs along the x axis whose steps are of other heights in every episode."""

from dataclasses import dataclass
from typing import ClassVar

from mjgym.mjcf import Spec, add, load
from mjgym.tasks.locomotion.arenas import PLACED, Arena, register_arena


@register_arena("stairs")
@dataclass(frozen=True)
class Stairs(Arena):
    """Steps that lead up from x = 1.5 m."""

    steps: int = 8
    depth: float = 0.6  # m, of a step along x
    highest: float = 0.12  # m, of a step
    varies: ClassVar[tuple[str, ...]] = PLACED

    def names(self) -> tuple[str, ...]:
        return tuple(f"step_{i}" for i in range(self.steps))

    def ground(self) -> dict[str, str]:
        return {"ground": "geom", "stairs": "body"}

    def model(self) -> Spec:
        spec = load("locomotion/arenas/options.xml")  # the physics of the family's other arenas
        world = spec.worldbody
        add(world, "light", type="directional", pos=(2, -2, 6), dir=(0, 0.3, -1))
        add(world, "geom", name="ground", type="plane", size=(10, 2, 1), rgba=(0.4, 0.45, 0.4, 1))
        stairs = add(world, "body", name="stairs")
        for i, name in enumerate(self.names()):
            half, x = self.depth / 2, 1.5 + (i + 0.5) * self.depth
            size, grey = (half, 2, self.highest / 2), 0.5 + 0.2 * (i % 2)
            add(stairs, "geom", name=name, type="box", size=size, pos=(x, 0, 0),
                rgba=(grey, grey, grey, 1))  # fmt: skip
        return spec

    def draw(self, v, rng):
        tops = rng.uniform(0.02, self.highest, self.steps).cumsum()
        rows = v.rows("geom_size", self.names())
        v.geom_size[rows, 2] = v.geom_pos[rows, 2] = tops / 2
        v.refit(self.names())
