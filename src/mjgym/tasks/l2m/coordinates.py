"""Free coordinates of the model's joints, and the equations of motion in them.

Splines of the knee angle define how a tibia slides in its femur. MuJoCo has joints for the slides;
here they are eliminated: with T the derivative of all joints by the free coordinates, inertia and
bias forces are T' M T and T' (bias + M dT/dt u).
"""

from typing import NamedTuple

import numpy as np

from mjgym.arrays import Array, alongside, columns, namespace, reshaped
from mjgym.sim.views import View
from mjgym.tasks.l2m import skeleton
from mjgym.tasks.l2m.skeleton import COORDINATES, SIDES, SLIDES

MENDED = 0.02  # fraction of a tibia's slide error corrected per physics step


class Knees(NamedTuple):
    """Functions of the knee angles and their derivatives, see `skeleton.knee`, (..., 2, k)."""

    values: Array
    slopes: Array
    bends: Array
    thirds: Array


class Equations(NamedTuple):
    """Equations of motion in c free coordinates."""

    joints: Array  # inertia of all joints, (..., j, j)
    inertia: Array  # of the free coordinates, (..., c, c)
    bias: Array  # their bias forces, (..., c)


class Coordinates:
    """Free coordinates of a model, in the order of its joints."""

    def __init__(self, free: tuple[str, ...]) -> None:
        joints = skeleton.joints(free)
        free = tuple(name for name in joints if name in free)
        names = skeleton.leg_coordinates(free)
        self.joints, self.free = joints, free  # names
        # Indices of each leg's, (2, c), and of each foot's: the root's, then its leg's, (2, w).
        self.legs = np.array([[free.index(f"{n}_{side}") for n in names] for side in SIDES])
        root = [free.index(name) for name in free if skeleton.entry(name)["body"] == "pelvis"]
        self.feet = np.array([[*root, *leg] for leg in self.legs])
        self._knee = names.index("knee_angle")
        self._knees = self.legs[:, self._knee]
        self._free_places = np.array([joints.index(name) for name in free])
        slides = [[joints.index(skeleton.slide(axis, s)) for s in SIDES] for axis in SLIDES]
        self._slides = np.array(slides).reshape(-1)  # both x, then both y
        n, legs = len(free), len(SIDES)
        self._diagonal = np.arange(legs) * n + self._knees
        x, y = self._slides.reshape(2, -1)
        self._corners = np.concatenate([a * len(joints) + b for a, b in ((x, x), (x, y), (y, y))])
        # Indices in arrays with a leading zero.
        self._of_knees = _places(n, self._knees)
        self._of_legs = _places(n, self.legs.reshape(-1))
        self._everywhere = np.argsort([*self._free_places, *self._slides])
        self._pairs = (self._free_places[:, None] * len(joints) + self._free_places).reshape(-1)
        more = np.zeros((n, n), dtype=np.int64)  # added to a knee's row and column
        for side, knee in enumerate(self._knees):
            more[knee, :] = more[:, knee] = 1 + side * n + np.arange(n)
        for side, knee in enumerate(self._knees):
            more[knee, self._knees] = 0  # the legs are independent
            more[knee, knee] = 1 + legs * n + side
        self._more = more.reshape(-1)
        at = [joints.index(name) if name in joints else -1 for name in COORDINATES]
        self._all = np.array(at)
        self._shown = np.array([free.index(n) + 1 if n in free else 0 for n in COORDINATES])
        width = self.feet.shape[1]
        blocks = np.zeros((legs, n, n), dtype=np.int64)
        for side, foot in enumerate(self.feet):
            numbers = np.arange(width * width).reshape(width, width)
            blocks[side][np.ix_(foot, foot)] = 1 + side * width * width + numbers
        self._blocks = blocks.reshape(legs, -1)
        self._of_feet = np.array(
            [
                _places(n, foot) + (np.isin(np.arange(n), foot) * side * width)
                for side, foot in enumerate(self.feet)
            ]
        )

    # Joint values.

    def taken(self, joints: Array) -> Array:
        """Free coordinates among joint values, (..., c)."""
        return columns(joints, self._free_places)

    def slides(self, joints: Array) -> Array:
        """Slides among joint values, (..., 4): both x, then both y."""
        return columns(joints, self._slides)

    def joined(self, free: Array, slides: Array) -> Array:
        """Values of all joints, (..., j), from free coordinates and slides."""
        return columns(namespace(free).concat([free, slides], axis=-1), self._everywhere)

    def named(self, joints: Array, held: np.ndarray) -> Array:
        """Values of all of OpenSim's coordinates, in its order; held ones are constant."""
        values = columns(joints, np.maximum(self._all, 0))
        return namespace(values).where(
            alongside(self._all >= 0, values), values, alongside(held, values)
        )

    def shown(self, free: Array) -> Array:
        """Free coordinates in OpenSim's order, 0 for the others."""
        return columns(_padded(free), self._shown)

    # Free coordinate values.

    def by_leg(self, free: Array) -> Array:
        """Coordinates of each leg, (..., 2, c)."""
        values = columns(free, self.legs.reshape(-1))
        return reshaped(values, (*values.shape[:-1], *self.legs.shape))

    def from_legs(self, legs: Array) -> Array:
        """Scatter the legs' values to all coordinates; 0 elsewhere."""
        return columns(_padded(reshaped(legs, (*legs.shape[:-2], -1))), self._of_legs)

    def from_feet(self, feet: Array) -> Array:
        """Sum the feet's values by the coordinates that move them, (..., 2, w) to (..., c)."""
        padded = _padded(reshaped(feet, (*feet.shape[:-2], -1)))
        return columns(padded, self._of_feet[0]) + columns(padded, self._of_feet[1])

    def matrix_from_feet(self, feet: Array) -> Array:
        """Sum the feet's matrices likewise, (..., 2, w, w) to (..., c, c)."""
        n = len(self.free)
        padded = _padded(reshaped(feet, (*feet.shape[:-3], -1)))
        both = columns(padded, self._blocks[0]) + columns(padded, self._blocks[1])
        return reshaped(both, (*both.shape[:-1], n, n))

    # Knees.

    def knees(self, free: Array) -> Knees:
        return Knees(*skeleton.knee()(columns(free, self._knees)))

    def placed(self, free: Array, rates: Array) -> tuple[Array, Array]:
        """Slide positions at the knee angles (m), and velocities (m/s), (..., 4)."""
        knees = self.knees(free)
        speed = columns(rates, self._knees)
        twice = namespace(speed).concat([speed, speed], axis=-1)
        return _by_axis(knees.values), _by_axis(knees.slopes) * twice

    def sliding(self, knees: Knees, slides: Array, rates: Array, time: float) -> Array:
        """Velocities of the slides that follow the knees over a time, (..., 4), m/s.

        Position errors are corrected gradually: at once, rounding would become forces.

        Args:
            knees: functions of the initial knee angles.
            slides: positions, (..., 4), m.
            rates: of the free coordinates meanwhile, (..., c).
            time: s.
        """
        speed = columns(rates, self._knees)
        twice = namespace(speed).concat([speed, speed], axis=-1)
        turn = twice * time
        slope, bend, third = (_by_axis(x) for x in (knees.slopes, knees.bends, knees.thirds))
        following = twice * (slope + turn * (bend / 2 + turn * (third / 6)))
        return following + (MENDED / time) * (_by_axis(knees.values) - slides)

    def motion(self, cdof: Array, knees: Knees) -> Array:
        """Motion of bodies with the free coordinates, (..., c, 6), about the subtree's centre."""
        slides = columns(cdof, self._slides, -2)
        more = (
            slides[..., :2, :] * knees.slopes[..., 0:1]
            + slides[..., 2:, :] * knees.slopes[..., 1:2]
        )
        padded = namespace(cdof).concat(
            [namespace(more).zeros_like(more[..., :1, :]), more], axis=-2
        )
        return columns(cdof, self._free_places, -2) + columns(padded, self._of_knees, -2)

    def equations(self, v: View, knees: Knees, rates: Array) -> Equations:
        """Inertia and bias forces in the current state.

        Args:
            knees: functions of the knee angles.
            rates: of the free coordinates, (..., c).
        """
        xp, n = v.xp, len(self.free)
        joints = v.inertia(self.joints)
        rows = columns(joints, self._slides, -2)
        x, y = knees.slopes[..., 0:1], knees.slopes[..., 1:2]
        # Velocity change of the slides at a constant knee rate.
        speed = columns(rates, self._knees)
        speed = speed * speed
        turning = _by_axis(knees.bends) * xp.concat([speed, speed], axis=-1)
        pushed = rows * turning[..., None]
        bias = v.qfrc_bias + (
            pushed[..., 0, :] + pushed[..., 1, :] + pushed[..., 2, :] + pushed[..., 3, :]
        )
        of_slides = columns(bias, self._slides)
        gain = x[..., 0] * of_slides[..., :2] + y[..., 0] * of_slides[..., 2:]
        bias = columns(bias, self._free_places) + columns(_padded(gain), self._of_knees)
        # Add the slides' rows and columns to a knee's.
        rows = columns(rows, self._free_places)
        more = x * rows[..., :2, :] + y * rows[..., 2:, :]
        flat = reshaped(joints, (*joints.shape[:-2], -1))
        slide_inertia = columns(flat, self._corners)
        sx, sy = x[..., 0], y[..., 0]
        corner = (
            2.0 * columns(reshaped(more, (*more.shape[:-2], -1)), self._diagonal)
            + sx * sx * slide_inertia[..., 0:2]
            + (2.0 * sx) * sy * slide_inertia[..., 2:4]
            + sy * sy * slide_inertia[..., 4:6]
        )
        gained = xp.concat(
            [xp.zeros_like(flat[..., :1]), reshaped(more, (*more.shape[:-2], -1)), corner], axis=-1
        )
        inertia = columns(flat, self._pairs) + columns(gained, self._more)
        return Equations(joints, reshaped(inertia, (*inertia.shape[:-1], n, n)), bias)


def _places(n: int, where: np.ndarray) -> np.ndarray:
    """Index of each of n among `where`, counted from 1; 0 if absent."""
    places = np.zeros(n, dtype=np.int64)
    places[where] = 1 + np.arange(where.size)
    return places


def _padded(values: Array) -> Array:
    xp = namespace(values)
    return xp.concat([xp.zeros_like(values[..., :1]), values], axis=-1)


def _by_axis(functions: Array) -> Array:
    """First two functions of both knees, (..., 2, k) to (..., 4): both x, then both y."""
    return namespace(functions).concat([functions[..., 0], functions[..., 1]], axis=-1)
