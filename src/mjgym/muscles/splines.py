"""Cubic splines of one variable, evaluated together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mjgym.arrays import Array, alongside, namespace, reshaped, shape


@dataclass(frozen=True, eq=False)
class Spline:
    """A piecewise cubic function, linear beyond its outermost knots."""

    knots: np.ndarray
    origins: np.ndarray  # expansion point of each piece, (k + 1,)
    coefficients: np.ndarray  # of the powers 0 to 3 of the distance from the origin, (k + 1, 4)

    def expanded(self, x: float) -> np.ndarray:
        piece = int(np.searchsorted(self.knots, x, side="right"))
        return _moved(self.coefficients[piece], x - self.origins[piece])


def cubic_spline(x: Sequence[float], y: Sequence[float]) -> Spline:
    """Cubic spline of Forsythe, Malcolm and Moler (1977), as in SIMM and OpenSim.

    It is twice continuously differentiable. At each end its third derivative is that of the cubic
    through the four outermost points; two points give a line. It is linear beyond its ends.
    """
    knots, values = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    n = knots.size
    if n != values.size or n < 2 or n == 3 or (np.diff(knots) <= 0).any():
        raise ValueError(f"a spline needs 2, 4 or more ascending knots, got {knots.tolist()}")
    width, slope = np.diff(knots), np.diff(values) / np.diff(knots)
    bend: np.ndarray = np.zeros(n)  # second derivative at each knot
    if n > 3:
        second = np.diff(slope) / (knots[2:] - knots[:-2])
        third = np.diff(second) / (knots[3:] - knots[:-3])  # divided differences
        system, given = np.zeros((n, n)), np.zeros(n)
        system[0, :2], given[0] = (-1, 1), 6 * third[0] * width[0]
        system[-1, -2:], given[-1] = (-1, 1), 6 * third[-1] * width[-1]
        for i in range(1, n - 1):
            system[i, i - 1 : i + 2] = width[i - 1], 2 * (width[i - 1] + width[i]), width[i]
            given[i] = 6 * (slope[i] - slope[i - 1])
        bend = np.linalg.solve(system, given)
    cubic = np.diff(bend) / (6 * width)
    linear = slope - width * (2 * bend[:-1] + bend[1:]) / 6
    inner = np.stack([values[:-1], linear, bend[:-1] / 2, cubic], axis=-1)
    end = _moved(inner[-1], float(width[-1]))
    outer = [[*inner[0, :2], 0, 0]], [[*end[:2], 0, 0]]
    return Spline(
        knots, np.concatenate([knots[:1], knots]), np.concatenate([outer[0], inner, outer[1]])
    )


def _moved(coefficients: np.ndarray, by: float) -> np.ndarray:
    a, b, c, d = coefficients
    return np.array(
        [a + by * (b + by * (c + by * d)), b + by * (2 * c + by * 3 * d), c + 3 * by * d, d]
    )


@dataclass(frozen=True, eq=False)
class Splines:
    """Several splines of one variable on their joint knots; see `Splines.of`."""

    knots: np.ndarray
    origins: np.ndarray  # expansion point of each piece, (k + 1,)
    # Coefficients of the values (4), slopes (3) and second derivatives (2) of each piece and
    # spline, (k + 1, 9, m)
    table: np.ndarray

    @classmethod
    def from_pieces(
        cls, splines: Sequence[Spline], within: Sequence[tuple[float, float] | None] = ()
    ) -> "Splines":
        """Combine splines for evaluation together.

        Args:
            splines: in the order of their values.
            within: range to which the variable is clipped for the VALUE of a spline, but not for
                its slope; None for no range.
        """
        ranges = [*within, *[None] * (len(splines) - len(within))]
        ends = [x for each in ranges if each is not None for x in each]
        knots = np.unique(np.concatenate([*(s.knots for s in splines), np.asarray(ends)]))
        origins = np.concatenate([knots[:1], knots])
        table = np.zeros((origins.size, 9, len(splines)))
        for piece, origin in enumerate(origins):
            # The first piece is expanded about its right end.
            probe = np.nextafter(origin, -np.inf) if piece == 0 else origin
            for j, (spline, held) in enumerate(zip(splines, ranges, strict=True)):
                a, b, c, d = spline.expanded(probe)
                table[piece, :, j] = a, b, c, d, b, 2 * c, 3 * d, 2 * c, 6 * d
                if held is not None and not held[0] <= probe < held[1]:
                    end = held[0] if probe < held[0] else held[1]
                    table[piece, :4, j] = spline.expanded(end)[0], 0, 0, 0
        return cls(knots, origins, table)

    def __call__(self, x: Array) -> tuple[Array, Array, Array, Array]:
        """Values, slopes, second and third derivatives at x (...), (..., m) each."""
        xp = namespace(x)
        where = xp.searchsorted(alongside(self.knots, x), reshaped(x, (-1,)), side="right")
        take = namespace(where).take
        rows = take(alongside(self.table, where), where, axis=0)
        found = reshaped(rows, (*shape(x), *self.table.shape[1:]))
        origin = reshaped(take(alongside(self.origins, where), where, axis=0), shape(x))
        d = (x - origin)[..., None]
        value = found[..., 0, :] + d * (
            found[..., 1, :] + d * (found[..., 2, :] + d * found[..., 3, :])
        )
        slope = found[..., 4, :] + d * (found[..., 5, :] + d * found[..., 6, :])
        third = found[..., 8, :]
        return value, slope, found[..., 7, :] + d * third, third
