"""Paths of muscles over moving bodies, with points that come and go and points that move."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mjgym.arrays import Array, alongside, columns, namespace

ALWAYS = (-np.inf, np.inf)


@dataclass(frozen=True)
class PathPoint:
    """A point that a muscle's path goes through.

    Args:
        body: number of its body.
        at: its place in the body's axes, m.
        coordinate: number of the coordinate that it depends on, if it does.
        within: range of the coordinate in which the point is part of the path.
        moves: numbers of the functions of the coordinate that are added to the axes of `at`; -1
            for none.
    """

    body: int
    at: tuple[float, float, float]
    coordinate: int = -1
    within: tuple[float, float] = ALWAYS
    moves: tuple[int, int, int] = (-1, -1, -1)

    @property
    def moving(self) -> bool:
        """Whether it moves in its body."""
        return any(function >= 0 for function in self.moves)


Path = tuple[PathPoint, ...]
"""The points of a muscle, from its origin to its insertion."""


class Piece(NamedTuple):
    """A straight piece of a path.

    Attributes:
        muscle: number of the muscle.
        ends: the points at its ends.
        condition: the point on which it depends whether the piece is there; None if it always is.
        with_it: whether the piece is there with that point, and not without it.
    """

    muscle: int
    ends: tuple[PathPoint, PathPoint]
    condition: PathPoint | None = None
    with_it: bool = True

    @property
    def constant(self) -> bool:
        """Whether its length is the same in all poses."""
        one, other = self.ends
        return one.body == other.body and not (one.moving or other.moving)

    @property
    def length(self) -> float:
        """Its length where it is constant, m."""
        return float(np.linalg.norm(np.subtract(self.ends[0].at, self.ends[1].at)))


class PathGeometry(NamedTuple):
    """Where the pieces of paths are that change their lengths.

    Attributes:
        length: of each muscle's path, (..., m), m.
        present: whether each piece is part of its path, (..., s) bool.
        line: moment (m) and direction of each piece as a line, (..., 6, s).
        drift: how fast each piece grows as its ends move in their bodies, (..., s), m for each
            radian of the coordinate that they move with.
    """

    length: Array
    present: Array
    line: Array
    drift: Array


@dataclass(frozen=True, eq=False)
class Paths:
    """Paths of m muscles, on each of several sides of a body that are alike but for places.

    Args:
        sides: the paths of each side, in the same order, of the same bodies and conditions.
        moved: which coordinate moves which bodies, (coordinates, bodies) bool.

    Raises:
        ValueError: two points beside each other come and go, or the sides are not alike.
    """

    sides: Sequence[Sequence[Path]]
    moved: np.ndarray

    @functools.cached_property
    def _pieces(self) -> list[list[Piece]]:
        return [[p for i, path in enumerate(side) for p in _pieces(i, path)] for side in self.sides]

    @functools.cached_property
    def _changing(self) -> list[int]:
        """The pieces that change their lengths."""
        return [i for i, piece in enumerate(self._pieces[0]) if not piece.constant]

    @functools.cached_property
    def _constants(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths of what never changes, (sides, m), and of what comes and goes with a piece."""
        always = np.zeros((len(self.sides), len(self.sides[0])))
        together = np.zeros((len(self.sides), len(self._changing)))
        for side, pieces in enumerate(self._pieces):
            for piece in pieces:
                if not piece.constant:
                    continue
                if piece.condition is None:
                    always[side, piece.muscle] += piece.length
                    continue
                fellows = [
                    k
                    for k, i in enumerate(self._changing)
                    if (pieces[i].condition, pieces[i].with_it) == (piece.condition, piece.with_it)
                ]
                if not fellows:
                    raise ValueError("a point that comes and goes must lie next to another body's")
                together[side, fellows[0]] += piece.length
        return always, together

    @functools.cached_property
    def _points(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Bodies (p,), places (sides, 3, p) and functions (3, p) of points; pieces' ends (2, s)."""
        order: dict[PathPoint, int] = {}
        ends = np.zeros((2, len(self._changing)), dtype=np.int64)
        found: list[list[PathPoint]] = [[] for _ in self.sides]
        for k, i in enumerate(self._changing):
            for end in (0, 1):
                point = self._pieces[0][i].ends[end]
                if point not in order:
                    order[point] = len(order)
                    for side, pieces in enumerate(self._pieces):
                        found[side].append(pieces[i].ends[end])
                ends[end, k] = order[point]
        like = [(p.body, p.coordinate, p.within, p.moves) for p in found[0]]
        for side in found:
            if [(p.body, p.coordinate, p.within, p.moves) for p in side] != like:
                raise ValueError("the paths of the sides are not alike")
        bodies = np.array([point.body for point in order])
        at = np.array([[point.at for point in side] for side in found])
        moves = np.array([point.moves for point in order]) + 1
        return bodies, np.ascontiguousarray(np.moveaxis(at, -1, 1)), moves.T.copy(), ends

    @functools.cached_property
    def _conditions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of each piece: the coordinate, its bounds, and whether it is there within them."""
        pieces = [self._pieces[0][i] for i in self._changing]
        points = [piece.condition for piece in pieces]
        return (
            np.array([0 if point is None else point.coordinate for point in points]),
            np.array([ALWAYS[0] if point is None else point.within[0] for point in points]),
            np.array([ALWAYS[1] if point is None else point.within[1] for point in points]),
            np.array([piece.with_it for piece in pieces]),
        )

    @functools.cached_property
    def _of_muscles(self) -> np.ndarray:
        """The pieces of each muscle, (most, m), counted from 1; 0 for none."""
        owners = [self._pieces[0][i].muscle for i in self._changing]
        own = [[k + 1 for k, m in enumerate(owners) if m == j] for j in range(len(self.sides[0]))]
        most = max(map(len, own))
        return np.array([[*row, *[0] * (most - len(row))] for row in own]).T.copy()

    @functools.cached_property
    def _sign(self) -> np.ndarray:
        """Which end of each piece a coordinate moves, (coordinates, s): 1 for the second."""
        bodies, _, _, ends = self._points
        first, second = (self.moved[:, bodies[end]] for end in ends)
        return second.astype(float) - first

    @functools.cached_property
    def _drifting(self) -> np.ndarray:
        """Which coordinate the moving ends of each piece depend on, (coordinates, s)."""
        found = np.zeros_like(self._sign)
        for k, i in enumerate(self._changing):
            for point in self._pieces[0][i].ends:
                if point.moving:
                    found[point.coordinate, k] = 1.0
        return found

    def geometry(
        self, frames: Array, coordinates: Array, functions: Array, slopes: Array
    ) -> PathGeometry:
        """Lengths and lines of the paths.

        Args:
            frames: of the bodies, (..., sides, 12, bodies): the origin's place and the three axes.
            coordinates: (..., sides, c), rad.
            functions: values of the functions that points move by, (..., sides, f), m.
            slopes: of these, (..., sides, f), m/rad.
        """
        xp = namespace(frames)
        bodies, at, moves, ends = self._points
        frame = columns(frames, bodies)
        places = alongside(at, frames)
        zero = xp.zeros_like(functions[..., :1])
        moving = np.flatnonzero(moves.any(axis=0))
        shifts = (
            columns(xp.concat([zero, x], axis=-1), moves[:, moving].reshape(-1))
            for x in (functions, slopes)
        )
        shape = (*functions.shape[:-1], 3, moving.size)
        shift, speed = (xp.reshape(x, shape) for x in shifts)
        point = _placed(frame[..., 0:3, :], frame, places)
        # Points that move in their bodies are few.
        own = columns(frame, moving)
        drawn = _placed(columns(point, moving), own, shift)
        still = [int(i) for i in range(bodies.size) if i not in moving]
        order = np.argsort([*still, *moving.tolist()])
        velocity = _placed(xp.zeros_like(drawn), own, speed)
        point = xp.concat([columns(point, still), drawn], axis=-1)
        one, other = (columns(point, order[end]) for end in ends)
        way = other - one
        x, y, z = way[..., 0, :], way[..., 1, :], way[..., 2, :]
        length = xp.sqrt(x * x + y * y + z * z)
        way = way / length[..., None, :]
        x, y, z = way[..., 0, :], way[..., 1, :], way[..., 2, :]
        px, py, pz = one[..., 0, :], one[..., 1, :], one[..., 2, :]
        moment = xp.stack([py * z - pz * y, pz * x - px * z, px * y - py * x], axis=-2)
        line = xp.concat([moment, way], axis=-2)
        # The ends' own velocities along the pieces.
        padded = xp.concat([xp.zeros_like(velocity[..., :1]), velocity], axis=-1)
        place = np.zeros(bodies.size, dtype=np.int64)
        place[moving] = 1 + np.arange(moving.size)
        drift = xp.zeros_like(x)
        for end, sign in zip(ends, (-1.0, 1.0), strict=True):
            if place[end].any():
                v = columns(padded, place[end])
                drift = drift + sign * (v[..., 0, :] * x + v[..., 1, :] * y + v[..., 2, :] * z)
        coordinate, low, high, inside = self._conditions
        value = columns(coordinates, coordinate)
        within = (value >= alongside(low, value)) & (value <= alongside(high, value))
        present = within == alongside(inside, value)
        always, together = self._constants
        each = xp.where(present, length + alongside(together, length), 0.0)
        return PathGeometry(self._by_muscle(each) + alongside(always, each), present, line, drift)

    def slopes(self, geometry: PathGeometry, motion: Array) -> Array:
        """How the paths lengthen with the coordinates, (..., sides, c, m), m/rad.

        They are the moment arms with the opposite sign.

        Args:
            geometry: of the paths.
            motion: how a body moves with each coordinate: angular velocity, and velocity of what
                is at the origin, (..., sides, c, 6).
        """
        xp = namespace(motion)
        line = geometry.line
        slope = alongside(self._sign, line) * xp.matmul(motion, line)
        slope = slope + alongside(self._drifting, line) * geometry.drift[..., None, :]
        return self._by_muscle(xp.where(geometry.present[..., None, :], slope, 0.0))

    def _by_muscle(self, pieces: Array) -> Array:
        """The sums over the pieces of each muscle, (..., s) to (..., m)."""
        xp = namespace(pieces)
        padded = xp.concat([xp.zeros_like(pieces[..., :1]), pieces], axis=-1)
        first, *others = (columns(padded, row) for row in self._of_muscles)
        for other in others:
            first = first + other
        return first


def _placed(origin: Array, frame: Array, at: Array) -> Array:
    """Points given in the axes of frames, (..., 3, p)."""
    return (
        origin
        + frame[..., 3:6, :] * at[..., 0:1, :]
        + frame[..., 6:9, :] * at[..., 1:2, :]
        + frame[..., 9:12, :] * at[..., 2:3, :]
    )


def _pieces(muscle: int, path: Path) -> list[Piece]:
    """The straight pieces of a path, and those that stand in for points that are not there."""
    if path[0].within != ALWAYS or path[-1].within != ALWAYS:
        raise ValueError("the first and last point of a path are always part of it")
    found: list[Piece] = []
    last = path[0]
    for i, point in enumerate(path[1:], start=1):
        if point.within == ALWAYS:
            if path[i - 1] is last:
                found.append(Piece(muscle, (last, point)))
            last = point
            continue
        after = path[i + 1]
        if after.within != ALWAYS:
            raise ValueError("two points beside each other come and go")
        found.append(Piece(muscle, (last, point), point))
        found.append(Piece(muscle, (point, after), point))
        found.append(Piece(muscle, (last, after), point, with_it=False))
    return found
