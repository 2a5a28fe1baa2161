"""Toy bricks that snap together, stacks of them, and the translucent goal stack.

Bricks are numbered by their positions among the published names ("duplo2x4", "duplo2x4_2",
"duplo2x4_4", ...) and colours. An episode's goal stack, the numbers from the bottom, is in
`userdata`.

The published tasks with a random order compile a model for each episode, in which the lowest brick
of the goal stack has lost its free joint. Here the model stays. It has a fixed body for each brick,
under the brick's name, and between each two of them a free one, "free_0", "free_1", ... The lowest
brick is its fixed body, those before it are the free ones behind theirs, those after it the free
ones before theirs, and the other fixed bodies are parked. So the bodies in use, and their joints,
have the order of the published model. That matters: the engine processes contacts in the order of
the bodies, and its noslip solver stops after five rounds.
"""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mjgym.arrays import Array, namespace
from mjgym.mjcf import Spec, load
from mjgym.resets import Box, place_bodies, put
from mjgym.rewards import tolerance
from mjgym.rotations import norm, product
from mjgym.sim import SingleView, View
from mjgym.sim.dynamics import taken
from mjgym.task import Arrays
from mjgym.tasks.manipulation.arena import add_part
from mjgym.tasks.manipulation.props import SEEN, mark_corners

HEIGHT = 0.0192  # m, from a brick's frame to that of a brick pressed onto it
BOUNDS = (0.0, 0.0, 0.0119), (0.016, 0.0319, 0.012)  # m, centre and half sizes of the whole brick

COLOURS = (
    (0.80, 0.08, 0.09),  # red
    (0.10, 0.62, 0.22),  # green
    (0.05, 0.33, 0.75),  # blue
    (0.05, 0.70, 0.75),  # cyan
    (0.80, 0.15, 0.60),  # magenta
)
HINT_ALPHA = 0.75
PARKED = (0.0, 0.0, -10.0)  # m, of unused fixed bodies
PLASTIC = "plastic"  # the material of a brick

CLOSE = 0.01  # m, total distance of two studs from their holes at which bricks are close
CLOSE_MARGIN = 0.1  # m, beyond that, where closeness is 0.1
CLICK = 0.001  # m, total distance at which bricks have snapped together
CLICK_MARGIN = 0.001  # m
CLOSE_WEIGHT = 0.1  # weight of being close, relative to being snapped together

HINT_POS = np.array([0.2, 0.1, 0.0])  # m, of the lowest brick of the goal stack
HINT_QUAT = np.array([-0.38268343, 0.0, 0.0, 0.92387953])  # its orientation
HINT_QUAT /= np.linalg.norm(HINT_QUAT)

_HALF_TURN = np.array([0.0, 0.0, 0.0, 1.0])  # about the vertical
_OPPOSITE = ("00", "13")  # corners: with both of these studs in holes, all are


def brick_name(i: int) -> str:
    """Published name of brick i: "duplo2x4", "duplo2x4_2", "duplo2x4_4", ..."""
    return f"duplo2x4_{2 * i}" if i else "duplo2x4"


def hint_name(i: int) -> str:
    """Published name of the hint of brick i: "duplo2x4_1", "duplo2x4_3", ..."""
    return f"duplo2x4_{2 * i + 1}"


def free_name(i: int) -> str:
    """Return the name of the free body between the fixed ones of bricks i and i + 1."""
    return f"free_{i}"


def brick(*, corners: bool = False) -> Spec:
    """Build one red brick, with its corners marked for `lowest_corner` if `corners`."""
    part = load("manipulation/duplo.xml")
    if corners:
        mark_corners(part, *BOUNDS)
    return part


def hint() -> Spec:
    """Build a translucent brick without contacts."""
    part = brick()
    for geom in part.geoms:
        geom.contype = geom.conaffinity = 0
    return part


Numbers = Sequence[int] | np.ndarray
"""Numbers of bricks, in some order."""

Base = Literal["first", "any", "free"]
"""Which brick is fixed: the first one by name, one redrawn in each episode, or none."""


@dataclass(frozen=True)
class Bricks:
    """Bricks of a scene, and their goal.

    Raises:
        ValueError: there are fewer than two bricks in the stack, or more than there are bricks, or
            more bricks than colours.
    """

    count: int
    height: int  # height of the goal stack, in bricks
    base: Base = "first"  # which brick is fixed; with "any" it is the lowest one of the goal stack

    def __post_init__(self) -> None:
        if not 2 <= self.height <= self.count <= len(COLOURS):
            raise ValueError(
                f"height, count: expected 2 <= height <= count <= {len(COLOURS)}, got height"
                f" {self.height} of {self.count} bricks"
            )

    @functools.cached_property
    def entities(self) -> tuple[str, ...]:
        """The names of all possible brick entities of the model, in order; see `places`."""
        names = [brick_name(i) for i in range(self.count)]
        if self.base == "any":
            for i in reversed(range(1, self.count)):
                names.insert(i, free_name(i - 1))
        return tuple(names)

    @property
    def free_joints(self) -> tuple[str, ...]:
        """Joints of the bricks that start anywhere in the workspace."""
        fixed = {"first": 1, "free": 0, "any": 0}[self.base]
        names = self.entities[1::2] if self.base == "any" else self.entities[fixed:]
        return tuple(f"{name}/" for name in names)

    def add_to(self, scene: Spec) -> None:
        """Add bricks and hints to a model, with room for the goal stack in `userdata`."""
        scene.nuserdata = self.height
        joints = self.free_joints
        for i in range(self.count):
            parts = [(brick_name(i), brick(), 1.0), (hint_name(i), hint(), HINT_ALPHA)]
            if free_name(i) in self.entities:
                parts.append((free_name(i), brick(), 1.0))
            for name, part, alpha in parts:
                part.material(PLASTIC).rgba = [*COLOURS[i], alpha]
                add_part(scene, part, name, free=f"{name}/" in joints)

    # Start of an episode.

    def want(self, v: SingleView, order: Numbers) -> None:
        """Write the goal stack, from the bottom, at the start of an episode."""
        v.userdata = order
        if self.base == "any":
            for i in range(self.count):
                put(v, f"{brick_name(i)}/", PARKED)

    def bodies(self, v: SingleView, numbers: Numbers) -> list[str]:
        return [f"{self.entities[k]}/" for k in self.places(v, np.asarray(numbers))]

    def place(self, v: SingleView, rng: Any, box: Box, attempts: int = 20) -> None:
        """Place all bricks in a box, see `place_bodies`; errors use the published names."""
        numbers = range(self.count)
        called = [brick_name(i) for i in numbers]
        place_bodies(v, rng, self.bodies(v, numbers), box, attempts=attempts, called=called)

    def put_stack(
        self, v: SingleView, order: Numbers, poses: tuple[np.ndarray, np.ndarray]
    ) -> None:
        """Put bricks, by their numbers from the bottom, into poses from `stack_poses`."""
        for body, pos, quat in zip(self.bodies(v, order), *poses, strict=True):
            put(v, body, pos, quat)

    def show_goal(self, v: SingleView, turns: Sequence[bool] | np.ndarray) -> None:
        """Stack the hints of the goal's bricks.

        Other hints stay where they are compiled, in the middle of the work top, as published.
        """
        poses = stack_poses(HINT_POS, HINT_QUAT, turns)
        for i, pos, quat in zip(self.wanted(v), *poses, strict=True):
            put(v, f"{hint_name(int(i))}/", pos, quat)

    # Observation and reward.

    def wanted(self, v: View) -> Array:
        """Brick numbers of the goal stack, from the bottom, (..., height)."""
        return v.userdata

    def places(self, v: View, numbers: Array) -> Array:
        """Brick numbers (..., n) as indices into `entities`, (..., n) int."""
        if self.base == "any":
            lowest = v.userdata[..., :1]
            numbers = 2 * numbers + v.xp.sign(lowest - numbers)
        return v.xp.astype(numbers, v.xp.int64)

    def observation(self, v: View) -> Arrays:
        """Velocities and pose of each brick, under its published name, in the order of names."""
        readings = taken(v.sensordata, v.rows("sensordata", _sensors(self.entities)))
        by_entity = v.xp.reshape(readings, (*v.lead, len(self.entities), -1))
        if self.base == "any":
            numbers = v.xp.arange(self.count, dtype=v.userdata.dtype)
            numbers = v.xp.broadcast_to(numbers, (*v.lead, self.count))
            by_brick = self._rows(v, by_entity, numbers)
        else:
            by_brick = by_entity
        return {
            f"{brick_name(i)}/{sensor}": by_brick[..., i, part]
            for i in range(self.count)
            for sensor, part in SEEN.items()
        }

    def colours(self, v: View) -> Arrays:
        """Colours of the free bodies as their bricks', for `Task.colours`."""
        if self.base != "any":
            return {}
        lowest = np.asarray(v.userdata)[..., 0]
        shown: Arrays = {}
        for i in range(self.count - 1):
            behind = (lowest <= i)[..., None]  # then it is the next brick, not the previous one
            colour = np.where(behind, (*COLOURS[i + 1], 1.0), (*COLOURS[i], 1.0))
            shown[f"material {free_name(i)}/{PLASTIC}"] = colour
        return shown

    def distances(self, v: View) -> Array:
        """`pair_distance` of each brick of the goal stack to the one below, (..., height - 1) m,
        upwards.
        """
        points = taken(v.site_xpos, v.rows("site_xpos", _corners(self.entities)), -2)
        by_entity = v.xp.reshape(points, (*v.lead, len(self.entities), -1))
        wanted = self._rows(v, by_entity, self.wanted(v))
        shape = (*v.lead, self.height - 1, 2, 3)  # two corners of each
        studs = v.xp.reshape(wanted[..., :-1, :6], shape)
        holes = v.xp.reshape(wanted[..., 1:, 6:], shape)
        return pair_distance(studs, holes)

    def _rows(self, v: View, by_entity: Array, numbers: Array) -> Array:
        """Rows of an array (..., entities, k) for brick numbers, (..., n, k)."""
        where = self.places(v, numbers)
        if v.lead == ():
            return v.xp.take(by_entity, where, axis=-2)
        return v.xp.take_along_axis(by_entity, where[..., None], axis=-2)


@functools.cache
def _sensors(entities: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(f"{name}/{sensor}" for name in entities for sensor in SEEN)


@functools.cache
def _corners(entities: tuple[str, ...]) -> tuple[str, ...]:
    kinds = [f"{kind}_{corner}" for kind in ("stud", "hole") for corner in _OPPOSITE]
    return tuple(f"{name}/{kind}" for name in entities for kind in kinds)


# Stacks.


def random_turns(rng: Any, height: int) -> np.ndarray:
    """Tell whether each brick of a stack above the lowest is turned by 180 degrees, bool."""
    return np.asarray(rng.integers(2, size=height - 1), dtype=bool)


def stack_poses(
    pos: np.ndarray, quat: np.ndarray, turns: Sequence[bool] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Poses of bricks pressed onto each other, holes on studs.

    Args:
        pos: position of the lowest one, (3,) m.
        quat: orientation of the lowest one, upright, (4,).
        turns: whether each other brick is turned by 180 degrees from the one below.

    Returns:
        Positions (n + 1, 3) m and quaternions (n + 1, 4), from the bottom.
    """
    places, quats = [np.asarray(pos, dtype=float)], [np.asarray(quat, dtype=float)]
    for turned in turns:
        places.append(places[-1] + (0.0, 0.0, HEIGHT))
        quats.append(product(quats[-1], _HALF_TURN) if turned else quats[-1])
    return np.stack(places), np.stack(quats)


# Reward.


def pair_distance(studs: Array, holes: Array) -> Array:
    """Total distance of two studs from two holes, the nearer way round, (...) m.

    A brick fits onto another both ways, so either stud may be in either hole. Studs and holes,
    (..., 2, 3) m, are at the same opposite corners of the lower and the upper brick.
    """
    d = norm(studs[..., :, None, :] - holes[..., None, :, :])  # each stud to each hole
    straight, crossed = d[..., 0, 0] + d[..., 1, 1], d[..., 0, 1] + d[..., 1, 0]
    return namespace(d).minimum(straight, crossed)


def close(distance: Array) -> Array:
    """1 while two bricks are within 1 cm of fitting, 0.1 at 11 cm."""
    return tolerance(distance, (0, CLOSE), margin=CLOSE_MARGIN)


def click(distance: Array) -> Array:
    """1 while one brick has snapped onto another, to 1 mm; 0.1 at 2 mm."""
    return tolerance(distance, (0, CLICK), margin=CLICK_MARGIN)


def pair_terms(distances: Array, *, close_too: bool = True) -> Arrays:
    """`click_1` of the lowest pair, `click_2`, ..., optionally after `close_1`, ..., from distances
    (..., pairs) in m.
    """
    terms: Arrays = {}
    for i in range(distances.shape[-1]):
        if close_too:
            terms[f"close_{i + 1}"] = close(distances[..., i])
        terms[f"click_{i + 1}"] = click(distances[..., i])
    return terms


def pairs_reward(terms: Arrays, close_weight: float = CLOSE_WEIGHT) -> Array:
    """Mean over the pairs of (w close + click) / (w + 1); w = 0 for terms without closeness."""
    weights = [close_weight if name.startswith("close") else 1.0 for name in terms]
    return sum(w * x for w, x in zip(weights, terms.values(), strict=True)) / sum(weights)
