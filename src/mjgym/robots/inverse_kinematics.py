"""Inverse kinematics: joint positions that bring a site to a pose.

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

TOLERANCE = 1e-14  # m, error of a solution; a rotation error (rad) counts twice
ROTATION_WEIGHT = 2.0  # m/rad
DAMPING = 0.03  # added to the diagonal of J^T J while the error is above DAMPED_ABOVE
DAMPED_ABOVE = 0.1  # m
LONGEST_STEP = 2.0  # rad, norm of a step
SLOWEST = 20.0  # m/rad: a higher ratio of error to step length is no progress
MAX_STEPS = 100
TURN = 2 * np.pi  # rad
SLIDE, HINGE = 2, 3  # mjtJoint


@dataclass(frozen=True)
class Solution:
    """Result of an inverse kinematics search."""

    success: bool  # whether the site reached its pose with all joints within their ranges
    error: float  # norm of the position error (m) plus twice that of the rotation error (rad)
    steps: int
    qpos: np.ndarray  # final joint positions, (k,) rad or m


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

    Each step solves (J^T J + l I) dq = J^T e, with the position and rotation errors e, the site's
    Jacobian J, and a damping l while the error is large; then J dq = e by least squares. Hinges of
    a solution are shifted by whole turns into their range, unlimited ones into [0, 2 pi); a
    solution with a joint outside its range is a failure.

    Args:
        view: a scratch simulation. On success it is left at the solution, with body and site
            positions computed; on failure as it was.
        position: target in the world, (3,) m.
        orientation: target quaternion (4,), or None for any.

    Raises:
        KeyError: there is no such site or joint; the message names the nearest ones.
        ValueError: a target is not finite or has a wrong shape, or a joint is a ball or free.
    """
    target = _checked("position", position, 3)
    turn = None if orientation is None else _checked("orientation", orientation, 4)
    chain = _Chain(view, site, tuple(joints))
    before = view.qpos.copy()
    view.kinematics()
    steps, solved = 0, False
    while True:
        error = chain.error(target, turn)
        size = _length(error[:3]) + ROTATION_WEIGHT * _length(error[3:])
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
    solution = view.qpos[chain.places].copy()
    if not solved:
        view.qpos[:] = before
    view.kinematics()
    return Solution(solved, size, steps, solution)


def ranges(view: SingleView, joints: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper limits of hinges and slides, (k,) each, in rad or m.

    Unlimited hinges get 0 and 2 pi, unlimited slides infinite limits.
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


def _length(vector: np.ndarray) -> float:
    return math.sqrt(vector.dot(vector))


def _step(jacobian: np.ndarray, error: np.ndarray, size: float) -> np.ndarray:
    if size > DAMPED_ABOVE:
        square = jacobian.T @ jacobian + DAMPING * np.eye(jacobian.shape[1])
        return np.asarray(np.linalg.solve(square, jacobian.T @ error))
    return np.asarray(np.linalg.lstsq(jacobian, error, rcond=-1)[0])


class _Chain:
    """A site and the joints that move it, in one simulation."""

    def __init__(self, view: SingleView, site: str, joints: tuple[str, ...]) -> None:
        sites = view.names("site")
        if site not in sites:
            raise KeyError(f"the model has no site {site!r}{did_you_mean(site, sites)}")
        self.view = view
        self.name, self.joints = site, joints
        self.site = sites.index(site)
        self.places = view.rows("qpos", joints)
        self.hinge = view.jnt_type[view.rows("jnt_type", joints)] == HINGE
        self.low, self.high = ranges(view, joints)

    def error(self, position: np.ndarray, orientation: np.ndarray | None) -> np.ndarray:
        """Position error (m) and, with an orientation, rotation error (rad), (3,) or (6,)."""
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
        return np.asarray(self.view.jacobian("site", self.name, self.joints))

    def shift_into_range(self) -> bool:
        """Shift hinges by whole turns into their range; return whether all joints are in range."""
        q = self.view.qpos[self.places]
        turns = np.floor((q - np.where(self.hinge, self.low, q)) / TURN)
        q = q - turns * TURN
        self.view.qpos[self.places] = q
        return bool(((q >= self.low) & (q <= self.high)).all())
