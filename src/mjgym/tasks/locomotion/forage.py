"""Find all targets in a maze."""

import math
from dataclasses import dataclass
from typing import Any

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add
from mjgym.rotations import about_z
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, register, register_variants, variant
from mjgym.tasks.locomotion.arenas.mazes import RandomMaze
from mjgym.tasks.locomotion.walker_task import WalkerTask
from mjgym.tasks.locomotion.walkers.any_walker import HOW_MANY

LEAST_ALIVENESS = -0.5  # at which the episode ends
COLOURS = ((0.25, 0.7, 0.3), (0.8, 0.25, 0.2))  # of the two kinds of targets, in either order
FAINT = 0.1  # opacity of a target that was found


@register_variants(
    "locomotion/{}-maze_forage-v0",
    ("vision", "extra"),
    cmu_humanoid=variant(
        "A humanoid looks for targets in a maze by touching them.", ("vision",), ends_on_fall=True
    ),
    rodent=variant(
        "A rat looks for targets in a maze by touching them.",
        ("vision",),
        walker="rodent",
        arena="small_maze",
        control_timestep=0.02,
        physics_timestep=0.001,
    ),
    ant=variant("An ant looks for targets in a maze by touching them.", walker="ant"),
    rolling_ball=variant(
        "A rolling ball looks for targets in a maze by touching them.", walker="rolling_ball"
    ),
)
@dataclass(frozen=True)
class Forage(WalkerTask):
    """A walker looks for targets in a maze by touching them.

    Reward: `alive` in every step, plus the value of each target when it is first touched: `value`,
    or `other_value` for the share `others` of the targets. Which is which is drawn for each
    episode, and so is which of the two kinds has which colour: a colour means the same throughout
    an episode only.

    Start: upright at rest at one of the maze's starts, turned at random if `turns`; the maze is
    drawn for each episode.

    End: all targets have been touched; or, with `ends_on_fall`, something but a foot touches the
    ground. (The published task's discount stays 1 in both cases.)

    Observation: the walker's own; with pixels, what its egocentric camera sees. Where the targets
    are is not observed.
    """

    arena: str = "maze"  # a maze's name, or "module:Class"
    value: float = 50.0  # of a target
    other_value: float = 0.0  # of the other targets
    others: float = 0.0  # their share of the targets
    alive: float = 0.0  # reward in every step
    turns: bool = True  # the walker faces anywhere at the start

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 <= self.others <= 1:
            raise ValueError(f"others must be from 0 to 1, got {self.others}")

    @property
    def surroundings(self) -> RandomMaze:
        arena = super().surroundings
        if not isinstance(arena, RandomMaze):
            raise ValueError(f"arena: {self.arena!r} is no maze; e.g. maze, small_maze, open_maze")
        return arena

    def model(self) -> Spec:
        spec = super().model()
        for name in self.surroundings.target_names():
            add(
                spec, "sensor", name=name, type="contact", intprm=HOW_MANY, objtype="geom",
                objname=name, reftype="xbody", refname=self.creature.prefix,
            )  # fmt: skip
        # Drawn per episode: the value and presence of each target, and whether the two kinds swap
        # colours.
        spec.nuserdata = 2 * self.surroundings.most_targets + 1
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        places = self.surroundings.draw(v, rng)
        most, count = self.surroundings.most_targets, len(places.targets)
        values = [self.value] * count
        values[: int(self.others * count)] = [self.other_value] * int(self.others * count)
        rng.shuffle(values)
        v.userdata[:count] = values
        v.userdata[most : most + count] = 1
        v.userdata[-1] = rng.integers(2) if self.others else 0
        start = places.spawns[rng.integers(len(places.spawns))]
        turn = rng.uniform(-math.pi, math.pi) if self.turns else 0.0
        self.creature.stand(v, start, about_z(turn))

    def memory(self, v: View) -> Arrays:
        return {"touched": self._touching(v), "counted": v.xp.zeros_like(self._target_rewards(v))}

    def _touching(self, v: View) -> Array:
        """Targets in contact with the walker, (..., targets): 1 or 0."""
        contacts = v.take("sensordata", self.surroundings.target_names())
        return v.xp.astype(contacts > 0, v.xp.float64)

    def _target_rewards(self, v: View) -> Array:
        return v.userdata[..., : self.surroundings.most_targets]

    def substep(self, v: View) -> Arrays:
        touched = v.xp.maximum(v.memory["touched"], self._touching(v))
        return {**v.memory, "touched": touched}

    def update(self, v: View) -> Arrays:
        return {**v.memory, "counted": v.memory["touched"]}

    def terms(self, v: View) -> Arrays:
        new = v.memory["touched"] - v.memory["counted"]
        reward = total(new * self._target_rewards(v))
        return {"alive": self.alive + 0.0 * reward, "found": reward}

    def reward(self, terms: Arrays) -> Array:
        return terms["alive"] + terms["found"]

    def terminated(self, v: View) -> Array:
        return self.success(v) | (self.creature.aliveness(v) < LEAST_ALIVENESS) | self.fallen(v)

    def success(self, v: View) -> Array:
        present = v.userdata[..., self.surroundings.most_targets : -1]
        return v.xp.all(v.memory["touched"] >= present, axis=-1)

    def colours(self, v: View) -> Arrays:
        xp, shown = v.xp, {}
        swapped = v.userdata[..., -1:] > 0
        faint = xp.asarray(FAINT)
        for i, name in enumerate(self.surroundings.target_names()):
            dear = self._target_rewards(v)[..., i : i + 1] >= self.value
            rgb = xp.where(dear != swapped, xp.asarray(COLOURS[0]), xp.asarray(COLOURS[1]))
            alpha = xp.where(v.memory["touched"][..., i : i + 1] > 0, faint, 1.0)
            shown[f"geom {name}"] = xp.concat([rgb, alpha], axis=-1)
        return shown


@register("locomotion/cmu_humanoid-heterogeneous_forage-v0", tags=("vision",), ends_on_fall=True)
@dataclass(frozen=True)
class HeterogeneousForage(Forage):
    """A walker learns which of two kinds of targets to touch, by touching them.

    Reward: as in a maze; one kind is worth 30, the other -10, three of each, in an open square.

    Start: in the middle of the square's far side, not turned.

    End: as in a maze.

    Observation: as in a maze.
    """

    arena: str = "open_maze"  # a maze's name, or "module:Class"
    value: float = 30.0  # of a target
    other_value: float = -10.0  # of the other targets
    others: float = 0.5  # their share of the targets
    alive: float = 0.01  # reward in every step
    turns: bool = False  # the walker faces anywhere at the start
    physics_timestep: float = 0.001  # s
    time_limit: float = 25.0  # s
