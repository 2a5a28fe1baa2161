"""Toy bricks that snap together, stacks of them, and the translucent stack that shows the goal.

Who is who. The published tasks with a random order compile a model for each episode, in which the
lowest brick of the wanted stack has lost its free joint. Here the model stays: bricks are alike but
for name and colour, so episodes give the places in the model to them anew. Place 0, the one without
a joint, holds the lowest brick of the wanted stack; the others follow in the order of their names.
Where the lowest brick is the first one by name, as in all tasks with a fixed order, place k holds
brick k. `userdata` holds the wanted stack, from the bottom, by the bricks' numbers: their positions
among the names ("duplo2x4", "duplo2x4_2", "duplo2x4_4", ...) and colours. The hint of a brick is in
the place of the same number. The reward, the names in the observation and the colours are looked up
(`places`); nothing else depends on it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mjgym.arrays import Array, namespace, total
from mjgym.mjcf import Spec, load
from mjgym.resets import put
from mjgym.rewards import tolerance
from mjgym.rotations import norm, product
from mjgym.sim.single import SingleView
from mjgym.sim.view import View
from mjgym.task import Arrays
from mjgym.tasks.manipulation.arena import add_part
from mjgym.tasks.manipulation.props import SEEN, mark_corners

HEIGHT = 0.0192  # m, from a brick's frame to that of a brick pressed onto it
BOUNDS = (0.0, 0.0, 0.0119), (0.016, 0.0319, 0.012)  # m, middle and half sizes of the whole brick

COLOURS = (
    (0.80, 0.08, 0.09),  # red
    (0.10, 0.62, 0.22),  # green
    (0.05, 0.33, 0.75),  # blue
    (0.05, 0.70, 0.75),  # cyan
    (0.80, 0.15, 0.60),  # magenta
)
HINT_ALPHA = 0.75
PLASTIC = "plastic"  # the material of a brick

CLOSE = 0.01  # m, sum of distances of two studs from their holes at which bricks are close
CLOSE_MARGIN = 0.1  # m, beyond that, where closeness is 0.1
CLICK = 0.001  # m, sum of distances at which one has snapped onto the other
CLICK_MARGIN = 0.001  # m
CLOSE_WEIGHT = 0.1  # of being close, where being snapped together is worth 1

HINT_POS = np.array([0.2, 0.1, 0.0])  # m, of the lowest brick of the stack that shows the goal
HINT_QUAT = np.array([-0.38268343, 0.0, 0.0, 0.92387953])  # and how it is turned
HINT_QUAT /= np.linalg.norm(HINT_QUAT)

_HALF_TURN = np.array([0.0, 0.0, 0.0, 1.0])  # about the vertical
_OPPOSITE = ("00", "13")  # corners: with both of these studs in holes, all are


def brick_name(i: int) -> str:
    """The published name of brick i: "duplo2x4", "duplo2x4_2", "duplo2x4_4", ..."""
    return f"duplo2x4_{2 * i}" if i else "duplo2x4"


def hint_name(i: int) -> str:
    """The published name of the hint of brick i: "duplo2x4_1", "duplo2x4_3", ..."""
    return f"duplo2x4_{2 * i + 1}"


def brick(*, corners: bool = False) -> Spec:
    """One red brick by itself.

    Args:
        corners: whether its corners are marked, for `lowest_corner`.
    """
    part = load("manipulation/duplo.xml")
    if corners:
        mark_corners(part, *BOUNDS)
    return part


def hint() -> Spec:
    """A translucent brick that nothing touches."""
    part = brick()
    for geom in part.geoms:
        geom.contype = geom.conaffinity = 0
    return part


def add_bricks(scene: Spec, count: int, height: int, *, free_base: bool = False) -> None:
    """Bricks in their places, place 0 fixed and the others free, and the hint of each.

    Args:
        scene: the model to put them into; its `userdata` holds the wanted stack.
        count: number of bricks.
        height: of the wanted stack, in bricks.
        free_base: whether the brick in place 0 is free, too.

    Raises:
        ValueError: there are fewer than two bricks in the stack, or more than there are bricks, or
            more bricks than colours.
    """
    if not 2 <= height <= count <= len(COLOURS):
        raise ValueError(
            f"height, bricks: expected 2 <= height <= bricks <= {len(COLOURS)}, got height {height}"
            f" and {count} bricks"
        )
    scene.nuserdata = height
    for k in range(count):
        for name, part, alpha, free in (
            (brick_name(k), brick(), 1.0, k > 0 or free_base),
            (hint_name(k), hint(), HINT_ALPHA, False),
        ):
            part.material(PLASTIC).rgba = [*COLOURS[k], alpha]
            add_part(scene, part, name, free=free)


# Who is who.


def want(v: SingleView, order: Sequence[int]) -> None:
    """Write the wanted stack, the numbers of its bricks from the bottom; that gives the places."""
    v.userdata = order


def wanted(v: View) -> Array:
    """Numbers of the bricks of the wanted stack, from the bottom, (..., height)."""
    return v.userdata


def places(v: View, bricks: Array) -> Array:
    """Where bricks of some numbers, (..., n), are in the model: their places, (..., n) int.

    The lowest of the wanted stack is in place 0, and those with lower numbers have moved up by one.
    """
    lowest = v.userdata[..., :1]
    moved = v.xp.where(bricks < lowest, bricks + 1, bricks)
    return v.xp.astype(v.xp.where(bricks == lowest, 0, moved), v.xp.int64)


def bricks_observation(v: View, count: int) -> Arrays:
    """Velocities and pose of each brick, under its published name, in the order of the names."""
    numbers = v.xp.arange(count, dtype=v.userdata.dtype)
    where = places(v, numbers)[..., None]
    readings = {}
    for sensor in SEEN:
        values = [v.sensor(f"{brick_name(k)}/{sensor}").data for k in range(count)]
        readings[sensor] = v.xp.take_along_axis(v.xp.stack(values, axis=-2), where, axis=-2)
    return {
        f"{brick_name(i)}/{sensor}": readings[sensor][..., i, :]
        for i in range(count)
        for sensor in SEEN
    }


def brick_colours(v: View, count: int) -> Arrays:
    """Colours of bricks and hints, for `Task.colours`: each place shows the brick that is there."""
    where = np.asarray(places(v, np.arange(count)))
    colours = np.array(COLOURS)[np.argsort(where, axis=-1)]
    shown: Arrays = {}
    for k in range(count):
        for name, alpha in ((brick_name(k), 1.0), (hint_name(k), HINT_ALPHA)):
            opacity = np.full((*v.lead, 1), alpha)
            shown[f"material {name}/{PLASTIC}"] = np.concatenate([colours[..., k, :], opacity], -1)
    return shown


# Stacks.


def random_turns(rng: Any, height: int) -> np.ndarray:
    """For each brick of a stack above the lowest, whether it is turned by 180 degrees, bool."""
    return np.asarray(rng.integers(2, size=height - 1), dtype=bool)


def stack_poses(
    pos: np.ndarray, quat: np.ndarray, turns: Sequence[bool] | np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Poses of bricks that are pressed onto each other, holes on studs.

    Args:
        pos: of the lowest one, (3,) m.
        quat: of the lowest one, which stands upright, (4,).
        turns: of each other brick, whether it is turned by 180 degrees from the one below.

    Returns:
        Positions (n + 1, 3) m and quaternions (n + 1, 4), from the bottom.
    """
    places, quats = [np.asarray(pos, dtype=float)], [np.asarray(quat, dtype=float)]
    for turned in turns:
        places.append(places[-1] + (0.0, 0.0, HEIGHT))
        quats.append(product(quats[-1], _HALF_TURN) if turned else quats[-1])
    return np.stack(places), np.stack(quats)


def put_stack(v: SingleView, order: Sequence[int], poses: tuple[np.ndarray, np.ndarray]) -> None:
    """Put bricks, by their numbers from the bottom, where `stack_poses` says."""
    for k, pos, quat in zip(places(v, np.asarray(order)), *poses, strict=True):
        put(v, f"{brick_name(k)}/", pos, quat)


def show_goal(v: SingleView, turns: Sequence[bool] | np.ndarray) -> None:
    """Stack the hints of the wanted bricks.

    Those of other bricks stay where they are compiled, in the middle of the work top, as published.
    """
    poses = stack_poses(HINT_POS, HINT_QUAT, turns)
    for k, pos, quat in zip(places(v, wanted(v)), *poses, strict=True):
        put(v, f"{hint_name(k)}/", pos, quat)


# Reward.


def pair_distances(v: View, count: int) -> Array:
    """How far each brick of the wanted stack is from the one below it, as `pair_distance` says.

    Args:
        v: the simulation.
        count: number of bricks in the model.

    Returns:
        From the bottom, (..., height - 1) m.
    """
    where = places(v, wanted(v))
    studs = _corners(v, "stud", count, where[..., :-1])
    holes = _corners(v, "hole", count, where[..., 1:])
    return pair_distance(studs, holes)


def _corners(v: View, site: str, count: int, where: Array) -> Array:
    """Two studs, or holes, at opposite corners of the bricks in some places, (..., n, 2, 3) m."""
    by_corner = []
    for corner in _OPPOSITE:
        sites = [v.site(f"{brick_name(k)}/{site}_{corner}").xpos for k in range(count)]
        by_place = v.xp.stack(sites, axis=-2)
        by_corner.append(v.xp.take_along_axis(by_place, where[..., None], axis=-2))
    return v.xp.stack(by_corner, axis=-2)


def pair_distance(studs: Array, holes: Array) -> Array:
    """The sum of the distances of two studs from two holes, the nearer way round, (...) m.

    A brick fits onto another both ways, so either stud may be in either hole.

    Args:
        studs: two studs at opposite corners of the lower brick, (..., 2, 3) m.
        holes: the two holes at the same corners of the upper brick, (..., 2, 3) m.
    """
    straight = total(norm(studs - holes))
    crossed = norm(studs[..., 0, :] - holes[..., 1, :]) + norm(studs[..., 1, :] - holes[..., 0, :])
    return namespace(studs, holes).minimum(straight, crossed)


def close(distance: Array) -> Array:
    """1 while two bricks are within 1 cm of fitting, 0.1 at 11 cm."""
    return tolerance(distance, (0, CLOSE), margin=CLOSE_MARGIN)


def click(distance: Array) -> Array:
    """1 while one brick has snapped onto another, to 1 mm; 0.1 at 2 mm."""
    return tolerance(distance, (0, CLICK), margin=CLICK_MARGIN)


def snapped(distances: Array, close_weight: float = CLOSE_WEIGHT) -> Array:
    """The mean over the pairs of (w close + click) / (w + 1), (..., pairs) to (...).

    Args:
        distances: as `pair_distances` gives them, m.
        close_weight: w, what being close is worth in units of being snapped together.
    """
    value = (close_weight * close(distances) + click(distances)) / (close_weight + 1)
    return total(value) / distances.shape[-1]
