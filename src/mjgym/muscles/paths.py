"""Muscle paths over moving bodies, with conditional and moving points."""

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mjgym.arrays import Array, alongside, columns, namespace, reshaped, total

ALWAYS = (-np.inf, np.inf)


@dataclass(frozen=True)
class PathPoint:
    """A point on a muscle's path."""

    body: int
    at: tuple[float, float, float]  # position in the body frame, m
    coordinate: int = -1  # index of the coordinate that it depends on, if any
    # Range of the coordinate in which the point is part of the path
    within: tuple[float, float] = ALWAYS
    # Indices of the functions of the coordinate added to each component of `at`; -1: fixed
    moves: tuple[int, int, int] = (-1, -1, -1)

    @property
    def moving(self) -> bool:
        return any(function >= 0 for function in self.moves)


Path = tuple[PathPoint, ...]
"""The points of a muscle, from its origin to its insertion."""


class Piece(NamedTuple):
    """A straight segment of a path.

    Attributes:
        condition: point that its presence depends on; None if it is always present.
        with_it: True: present along with that point; False: present without it.
    """

    muscle: int
    ends: tuple[PathPoint, PathPoint]
    condition: PathPoint | None = None
    with_it: bool = True

    @property
    def constant(self) -> bool:
        one, other = self.ends
        return one.body == other.body and not (one.moving or other.moving)

    @property
    def length(self) -> float:
        """Constant length, m."""
        return float(np.linalg.norm(np.subtract(self.ends[0].at, self.ends[1].at)))


class PathGeometry(NamedTuple):
    """Path lengths, and the lines of the segments that change length.

    Attributes:
        length: of each muscle's path, (..., m), m.
        present: whether each segment is part of its path, (..., s) bool.
        line: moment (m) and direction of each segment as a line, (..., 6, s).
        drift: growth of each segment as its ends move in their bodies, (..., s), m per radian of
            the coordinate that they move with.
    """

    length: Array
    present: Array
    line: Array
    drift: Array


@dataclass(frozen=True, eq=False)
class Paths:
    """Paths of m muscles on several sides of a body that differ in point positions alone.

    Raises:
        ValueError: two neighbouring points are both conditional, or the sides differ.
    """

    # Paths of each side, in the same order, with the same bodies and conditions
    sides: Sequence[Sequence[Path]]
    moved: np.ndarray  # which coordinate moves which bodies, (coordinates, bodies) bool

    @functools.cached_property
    def _pieces(self) -> list[list[Piece]]:
        return [[p for i, path in enumerate(side) for p in _pieces(i, path)] for side in self.sides]

    @functools.cached_property
    def _changing(self) -> list[int]:
        return [i for i, piece in enumerate(self._pieces[0]) if not piece.constant]

    @functools.cached_property
    def _constants(self) -> tuple[np.ndarray, np.ndarray]:
        """Lengths that never change, (sides, m), and those that are present with a segment."""
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
    def _points(self) -> "_Points":
        order: dict[PathPoint, int] = {}
        ends = np.zeros((2, len(self._changing)), dtype=np.int64)
        found: list[list[PathPoint]] = [[] for _ in self.sides]
        pairs = [(k, i, end) for k, i in enumerate(self._changing) for end in (0, 1)]
        # Points that move in their bodies come last.
        for k, i, end in sorted(pairs, key=lambda x: self._pieces[0][x[1]].ends[x[2]].moving):
            point = self._pieces[0][i].ends[end]
            if point not in order:
                order[point] = len(order)
                for side, pieces in enumerate(self._pieces):
                    found[side].append(pieces[i].ends[end])
            ends[end, k] = order[point]
        like = [[(p.body, p.coordinate, p.within, p.moves) for p in side] for side in found]
        if any(side != like[0] for side in like):
            raise ValueError("the paths of the sides are not alike")
        points = found[0]
        still = sum(not point.moving for point in points)
        at = np.moveaxis(np.array([[point.at for point in side] for side in found]), -1, 1)
        spread = np.zeros((len(self.sides), 4 * self.moved.shape[1], len(points)))
        for k, point in enumerate(points):
            spread[:, 4 * point.body, k] = 1.0
            spread[:, 4 * point.body + 1 : 4 * point.body + 4, k] = at[:, :, k]
        moves = np.array([point.moves for point in points[still:]], dtype=np.int64)
        moves = moves.reshape(-1, 3) + 1
        # Segments with a moving end: the segment's index, and whether it is the second end.
        drifting = [(k, e) for k in range(ends.shape[1]) for e in (0, 1) if ends[e, k] >= still]
        drawn = np.array([k for k, _ in drifting], dtype=np.int64)
        if len(set(drawn.tolist())) < drawn.size:
            raise ValueError("a piece of a path has two ends that move in their bodies")
        place = np.zeros(ends.shape[1], dtype=np.int64)
        place[drawn] = 1 + np.arange(drawn.size)
        rows = np.zeros((len(self.moved), ends.shape[1]))
        for k, e in drifting:
            rows[points[ends[e, k]].coordinate, k] = 1.0
        return _Points(
            bodies=np.array([point.body for point in points]),
            still=still,
            spread=spread,
            axes=4 * np.array([p.body for p in points[still:]], dtype=np.int64)
            + np.arange(1, 4)[:, None],
            moves=moves.T.reshape(-1),
            ends=ends,
            drifting=drawn,
            drifters=np.array([ends[e, k] - still for k, e in drifting], dtype=np.int64),
            outward=np.array([1.0 if e else -1.0 for _, e in drifting]),
            place=place,
            rows=rows,
        )

    @functools.cached_property
    def _conditions(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Coordinate, bounds, and whether it is there within or outside, by segment."""
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
        """Segments of each muscle, (most, m), counted from 1; 0: padding."""
        muscles = range(len(self.sides[0]))
        segments = [(1 + np.flatnonzero(self._owners == j)).tolist() for j in muscles]
        most = max(map(len, segments))
        return np.array([[*row, *[0] * (most - len(row))] for row in segments]).T.copy()

    @functools.cached_property
    def _sign(self) -> np.ndarray:
        """1 where a coordinate moves a segment's second end, -1 its first, (coordinates, s)."""
        points = self._points
        first, second = (self.moved[:, points.bodies[end]] for end in points.ends)
        return np.asarray(second.astype(float) - first)

    @functools.cached_property
    def _owners(self) -> np.ndarray:
        return np.array([self._pieces[0][i].muscle for i in self._changing])

    def geometry(
        self, frames: Array, coordinates: Array, functions: Array, slopes: Array
    ) -> PathGeometry:
        """Compute lengths and lines of the paths.

        Args:
            frames: body frames, (..., sides, 3, 4 bodies): origin (m), then the three axes in
                columns.
            coordinates: (..., sides, c), rad.
            functions: values of the functions that points move by, (..., sides, f), m.
            slopes: their derivatives, (..., sides, f), m/rad.
        """
        xp = namespace(frames)
        p = self._points
        point = xp.matmul(frames, alongside(p.spread, frames))
        shape = (*functions.shape[:-1], 3, p.bodies.size - p.still)
        zero = xp.zeros_like(functions[..., :1])
        shift, speed = (
            reshaped(columns(xp.concat([zero, x], axis=-1), p.moves), shape)
            for x in (functions, slopes)
        )
        axes = [columns(frames, x) for x in p.axes]
        moving = point[..., p.still :] + _along(axes, shift)
        point = xp.concat([point[..., : p.still], moving], axis=-1)
        one, other = (columns(point, end) for end in p.ends)
        way = other - one
        length = _norm(way)
        way = way / length[..., None, :]
        line = xp.concat([cross_rows(one, way), way], axis=-2)
        # Ends that move in their bodies lengthen their segments.
        towards = columns(way, p.drifting) * columns(_along(axes, speed), p.drifters)
        drift = (towards[..., 0, :] + towards[..., 1, :] + towards[..., 2, :]) * alongside(
            p.outward, frames
        )
        drift = columns(xp.concat([xp.zeros_like(length[..., :1]), drift], axis=-1), p.place)
        coordinate, low, high, inside = self._conditions
        value = columns(coordinates, coordinate)
        within = (value >= alongside(low, value)) & (value <= alongside(high, value))
        present = within == alongside(inside, value)
        always, together = self._constants
        each = xp.where(present, length + alongside(together, length), 0.0)
        return PathGeometry(self._by_muscle(each) + alongside(always, each), present, line, drift)

    def slopes(self, geometry: PathGeometry, motion: Array) -> Array:
        """Derivatives of path length by coordinate: minus the moment arms, (..., sides, c, m),
        m/rad.

        Args:
            motion: motion of a body with each coordinate: angular velocity, and velocity of the
                point at the origin, (..., sides, c, 6).
        """
        xp = namespace(motion)
        slope = alongside(self._sign, motion) * xp.matmul(motion, geometry.line)
        slope = slope + alongside(self._points.rows, motion) * geometry.drift[..., None, :]
        return self._by_muscle(xp.where(geometry.present[..., None, :], slope, 0.0))

    def torques(self, geometry: PathGeometry, motion: Array, tension: Array) -> Array:
        """Generalised forces of the muscles on the coordinates, (..., sides, c).

        Args:
            motion: as for `slopes`.
            tension: muscle tensions, (..., sides, m), N.
        """
        xp = namespace(motion)
        pull = xp.where(geometry.present, columns(tension, self._owners), 0.0)
        # The wrench of the segments that a coordinate stretches.
        wrench = xp.matmul(geometry.line * pull[..., None, :], alongside(self._sign.T, motion))
        drifting = alongside(self._points.rows, motion) * (geometry.drift * pull)[..., None, :]
        return -(total(motion * wrench.mT) + total(drifting))

    def _by_muscle(self, pieces: Array) -> Array:
        """Sum segments by muscle, (..., s) to (..., m)."""
        xp = namespace(pieces)
        padded = xp.concat([xp.zeros_like(pieces[..., :1]), pieces], axis=-1)
        first, *others = (columns(padded, row) for row in self._of_muscles)
        for other in others:
            first = first + other
        return first


class _Points(NamedTuple):
    """End points of the s segments that change length; p points.

    Attributes:
        bodies: of all points, (p,); points that move in their bodies come last.
        still: number of points fixed in their bodies.
        spread: maps frames to point positions, (sides, 4 bodies, p).
        axes: columns of frames that are the axes of moving points, (3, p - still).
        moves: functions that are added, counted from 1, 0: no function, (3 (p - still),).
        ends: points at both ends of each segment, (2, s).
        drifting: segments with a moving end.
        drifters: those ends.
        outward: 1 for second ends, -1 for first ends.
        place: index of each segment among the drifting, counted from 1, 0: not drifting, (s,).
        rows: 1 where a coordinate moves an end of a segment in its body, (coordinates, s).
    """

    bodies: np.ndarray
    still: int
    spread: np.ndarray
    axes: np.ndarray
    moves: np.ndarray
    ends: np.ndarray
    drifting: np.ndarray
    drifters: np.ndarray
    outward: np.ndarray
    place: np.ndarray
    rows: np.ndarray


def cross_rows(a: Array, b: Array) -> Array:
    """Cross product along the second-to-last axis."""
    ax, ay, az = a[..., 0, :], a[..., 1, :], a[..., 2, :]
    bx, by, bz = b[..., 0, :], b[..., 1, :], b[..., 2, :]
    rows = [ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx]
    return namespace(a, b).stack(rows, axis=-2)


def _norm(vectors: Array) -> Array:
    x, y, z = vectors[..., 0, :], vectors[..., 1, :], vectors[..., 2, :]
    return namespace(vectors).sqrt(x * x + y * y + z * z)


def _along(axes: list[Array], vector: Array) -> Array:
    x, y, z = axes
    return x * vector[..., 0:1, :] + y * vector[..., 1:2, :] + z * vector[..., 2:3, :]


def _pieces(muscle: int, path: Path) -> list[Piece]:
    """Segments of a path, including those that bridge absent points."""
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
