"""Toy bricks that snap together, stacks of them, and the translucent stack that shows the goal.

Who is who. The published tasks with a random order compile a model for each episode, in which the
lowest brick of the wanted stack has lost its free joint. Here the model stays: bricks are alike but
for name and colour, so places in the model are given to them anew. Place k holds the k-th brick of
the wanted stack, from the bottom, and then those that do not belong to it; place 0 is the fixed
one. `userdata[k]` is the number of the brick in place k: its position among the published names
("duplo2x4", "duplo2x4_2", "duplo2x4_4", ...) and colours. So the reward always compares place k
with place k + 1, the hint of place k always stands k bricks high, and only names in the observation
and colours are looked up. Where nothing is drawn, place k holds brick k.
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
_ENDS = ("00", "13")  # studs at opposite corners: both in holes, the whole brick is


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


def add_bricks(scene: Spec, count: int, *, free_base: bool = False) -> None:
    """Bricks in their places, place 0 fixed and the others free, and the hint of each.

    Args:
        scene: the model to put them into; its `userdata` says who is in which place.
        count: number of bricks.
        free_base: whether the brick in place 0 is free, too.

    Raises:
        ValueError: there are fewer than two bricks, or fewer colours than bricks.
    """
    if not 2 <= count <= len(COLOURS):
        raise ValueError(f"bricks: there must be 2 to {len(COLOURS)}, got {count}")
    scene.nuserdata = count
    for k in range(count):
        for name, part, alpha, free in (
            (brick_name(k), brick(), 1.0, k > 0 or free_base),
            (hint_name(k), hint(), HINT_ALPHA, False),
        ):
            part.material(PLASTIC).rgba = [*COLOURS[k], alpha]
            add_part(scene, part, name, free=free)


# Who is who.


def give_places(v: SingleView, order: Sequence[int]) -> None:
    """Write who is in which place: the bricks of the wanted stack from the bottom, then others."""
    others = [i for i in range(len(v.userdata)) if i not in order]
    v.userdata = [*order, *others]


def desired_order(v: View, height: int) -> Array:
    """Numbers of the bricks of the wanted stack, from the bottom, (..., height)."""
    return v.userdata[..., :height]


def bricks_observation(v: View, count: int) -> Arrays:
    """Velocities and pose of each brick, under its published name, in the order of the names."""
    places = v.xp.argsort(v.userdata, axis=-1)[..., None]  # where each brick is
    seen: Arrays = {}
    by_sensor = {}
    for sensor in SEEN:
        rows = v.rows("sensordata", [f"{brick_name(k)}/{sensor}" for k in range(count)])
        values = v.sensordata[..., rows].reshape(*v.lead, count, -1)
        by_sensor[sensor] = v.xp.take_along_axis(values, places, axis=-2)
    for i in range(count):
        for sensor in SEEN:
            seen[f"{brick_name(i)}/{sensor}"] = by_sensor[sensor][..., i, :]
    return seen


def brick_colours(v: View, count: int) -> Arrays:
    """Colours of bricks and hints, for `Task.colours`: each place in that of who is there."""
    colours = np.array(COLOURS)[np.asarray(v.userdata, dtype=int)]
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


def put_stack(
    v: SingleView, names: Sequence[str], poses: tuple[np.ndarray, np.ndarray]
) -> None:
    """Put bricks, or hints, where `stack_poses` says."""
    for name, pos, quat in zip(names, *poses, strict=True):
        put(v, f"{name}/", pos, quat)


def show_goal(v: SingleView, turns: Sequence[bool] | np.ndarray) -> None:
    """Stack the hints of the wanted bricks; those of others stay in the middle of the work top."""
    names = [hint_name(k) for k in range(len(turns) + 1)]
    put_stack(v, names, stack_poses(HINT_POS, HINT_QUAT, turns))


# Reward.


def pair_distances(v: View, height: int) -> Array:
    """How far each brick of the stack is from being pressed onto the one below, (..., height - 1) m.

    See `pair_distance`.
    """
    below = [f"{brick_name(k)}/stud_{end}" for k in range(height - 1) for end in _ENDS]
    above = [f"{brick_name(k)}/hole_{end}" for k in range(1, height) for end in _ENDS]
    shape = (*v.lead, height - 1, len(_ENDS), 3)
    studs = v.site_xpos[..., v.rows("site_xpos", below), :].reshape(shape)
    holes = v.site_xpos[..., v.rows("site_xpos", above), :].reshape(shape)
    return pair_distance(studs, holes)


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
