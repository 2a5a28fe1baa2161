"""Inverse kinematics: positions of joints that bring a site to a pose.

Damped least squares after Wampler, "Manipulator inverse kinematic solutions based on vector
formulations and damped least-squares methods" (IEEE Transactions on Systems, Man and Cybernetics,
1986), with the numbers of dm_control's manipulation tasks.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.single import SingleView
from mjgym.util.suggestions import did_you_mean

TOLERANCE = 1e-14  # m, of the error of a solution; an error of rotation (rad) counts twice
ROTATION_WEIGHT = 2.0  # m/rad
DAMPING = 0.03  # added to the diagonal of J^T J while the error is above DAMPED_ABOVE
DAMPED_ABOVE = 0.1  # m
LONGEST_STEP = 2.0  # rad, the norm of a step
SLOWEST = 20.0  # m/rad: more error than this for a step's length is no progress
MAX_STEPS = 100
TURN = 2 * np.pi  # rad
SLIDE, HINGE = 2, 3  # mjtJoint


@dataclass(frozen=True)
class Solution:
    """The result of an inverse kinematics search.

    Args:
        success: whether the site is where it should be, and all joints are within their ranges.
        error: norm of the position's error (m) plus twice that of the rotation's (rad).
        steps: how many were made.
        qpos: of the joints, (k,) rad or m, where the search ended.
    """

    success: bool
    error: float
    steps: int
    qpos: np.ndarray


def solve(
    view: SingleView,
    site: str,
    position: Array,
    orientation: Array | None,
    joints: Sequence[str],
    *,
    max_steps: int = MAX_STEPS,
) -> Solution:
    """Solve for joint positions that bring a site to a pose, from the current positions.

    Each step solves (J^T J + l I) dq = J^T e, where e is the error of the position and the vector
    of the error of the rotation, J the site's Jacobian, and l a damping while the error is large;
    when it is small, J dq = e by least squares. Hinges of a solution are shifted by whole turns
    into their range, those without limits into [0, 2 pi); a solution with a joint outside its
    range is a failure.

    Args:
        view: a scratch simulation. On success it is left at the solution, with places of bodies
            and sites computed; on failure as it was.
        site: its name.
        position: where the site should be in the world, (3,) m.
        orientation: the quaternion (4,) that it should have there, or None for any.
        joints: names of the hinges and slides that are moved.
        max_steps: before giving up.

    Raises:
        KeyError: there is no such site or joint; the message names the nearest ones.
        ValueError: a target is not finite or of a wrong shape, or a joint is a ball or free.
    """
    target = _checked("position", position, 3)
    turn = None if orientation is None else _checked("orientation", orientation, 4)
    chain = _Chain(view, site, tuple(joints))
    before = view.qpos.copy()
    view.kinematics()
    steps, solved = 0, False
    while True:
        error = chain.error(target, turn)
        size = _size(error)
        if size < TOLERANCE:
            solved = chain.shift_into_range()
            break
        if steps == max_steps:
            break
        step = _step(chain.jacobian()[: len(error)], error, size)
        length = _length(step)
        if size > SLOWEST * length:
            break
        view.qpos[chain.places] += step * min(1.0, LONGEST_STEP / length)
        view.kinematics()
        steps += 1
    found = view.qpos[chain.places].copy()
    if not solved:
        view.qpos[:] = before
    view.kinematics()
    return Solution(solved, size, steps, found)


def ranges(view: SingleView, joints: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of hinges and slides, (k,) each, in rad or m.

    They are 0 and 2 pi for hinges without limits, and infinite for slides without them.

    Raises:
        KeyError: there is no such joint; the message names the nearest ones.
        ValueError: a joint is a ball or free.
    """
    rows = view.rows("jnt_type", joints)
    kinds = view.jnt_type[rows]
    if (kinds < SLIDE).any():
        other = [name for name, kind in zip(joints, kinds, strict=True) if kind < SLIDE]
        raise ValueError(f"joints: neither a hinge nor a slide: {', '.join(other)}")
    free = np.where((kinds == HINGE)[:, None], (0.0, TURN), (-np.inf, np.inf))
    limited = view.jnt_limited[rows].astype(bool)
    low, high = np.where(limited[:, None], view.jnt_range[rows], free).T
    return low, high


def _checked(name: str, value: Array, size: int) -> np.ndarray:
    numbers = np.asarray(value, dtype=float)
    if numbers.shape != (size,) or not np.isfinite(numbers).all():
        raise ValueError(f"{name}: expected {size} finite numbers, not {value!r}")
    if size == 4:
        length = np.linalg.norm(numbers)
        if length == 0:
            raise ValueError(f"{name}: a quaternion of zeros is no rotation")
        numbers = numbers / length
    return numbers


def _size(error: np.ndarray) -> float:
    return _length(error[:3]) + ROTATION_WEIGHT * _length(error[3:])


def _length(vector: np.ndarray) -> float:
    return math.sqrt(vector.dot(vector))


def _step(jacobian: np.ndarray, error: np.ndarray, size: float) -> np.ndarray:
    if size > DAMPED_ABOVE:
        square = jacobian.T @ jacobian + DAMPING * np.eye(jacobian.shape[1])
        return np.asarray(np.linalg.solve(square, jacobian.T @ error))
    return np.asarray(np.linalg.lstsq(jacobian, error, rcond=-1)[0])


class _Chain:
    """A site and the joints that move it, in one simulation.

    Args:
        view: the simulation.
        site: its name.
        joints: names of hinges and slides.
    """

    def __init__(self, view: SingleView, site: str, joints: tuple[str, ...]) -> None:
        known = view.names("site")
        if site not in known:
            raise KeyError(f"the model has no site {site!r}{did_you_mean(site, known)}")
        self.view = view
        self.name, self.joints = site, joints
        self.site = known.index(site)
        self.places = view.rows("qpos", joints)
        self.hinge = view.jnt_type[view.rows("jnt_type", joints)] == HINGE
        self.low, self.high = ranges(view, joints)

    def error(self, position: np.ndarray, orientation: np.ndarray | None) -> np.ndarray:
        """Error of position (m) and, with an orientation, rotation (rad), (3,) or (6,)."""
        off = position - self.view.site_xpos[self.site]
        if orientation is None:
            return np.asarray(off)
        present, rest, turn = np.empty(4), np.empty(4), np.empty(3)
        mujoco.mju_mat2Quat(present, self.view.site_xmat[self.site])
        mujoco.mju_negQuat(present, present)
        mujoco.mju_mulQuat(rest, orientation, present)
        mujoco.mju_quat2Vel(turn, rest, 1.0)
        return np.concatenate([off, turn])

    def jacobian(self) -> np.ndarray:
        """Velocity and angular velocity of the site for each joint's, (6, k)."""
        return np.asarray(self.view.jacobian("site", self.name, self.joints))

    def shift_into_range(self) -> bool:
        """Shift hinges by whole turns to the first place in their range; whether all are in it."""
        q = self.view.qpos[self.places]
        turns = np.floor((q - np.where(self.hinge, self.low, q)) / TURN)
        q = q - turns * TURN
        self.view.qpos[self.places] = q
        return bool(((q >= self.low) & (q <= self.high)).all())
