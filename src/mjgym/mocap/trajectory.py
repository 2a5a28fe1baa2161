"""Motions as model states, one per control step."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from mjgym.rotations import (
    conjugate,
    product,
    quaternion_from_rotation_vector,
    quaternion_to_rotation_vector,
)
from mjgym.util import atomic, npz
from mjgym.util.values import one_of

MOST_STATES = 500_000
"""Most rows of a trajectory: those of an hour at 140 a second, 0.5 GB."""

_MOST_BYTES = 2**30  # size limit of a file's arrays

_SAME = 1e-9  # s; timesteps that differ by less are equal

_PLACE, _TURN, _REST = slice(0, 3), slice(3, 7), slice(7, None)  # slices of qpos


@dataclass(frozen=True, eq=False)
class Trajectory:
    """States of a model with a free root joint and otherwise hinges or slides.

    Its arrays are read-only copies.

    Args:
        qpos: (T, nq), root position (m), quaternion and joints (rad or m), in model order; at least
            two rows.
        qvel: (T, nv), root velocity in world axes (m/s), root angular velocity in its frame
            (rad/s), joints (rad/s or m/s); nv is nq - 1.
        timestep: s between rows.
        joints: names of the joints after the root; empty if unknown.

    Raises:
        ValueError: the shapes do not match, a number is not finite, a quaternion is not of length
            1, or the timestep is not positive.
    """

    qpos: np.ndarray
    qvel: np.ndarray
    timestep: float
    joints: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        qpos = np.array(self.qpos, dtype=float)
        qvel = np.array(self.qvel, dtype=float)
        _check_qpos(qpos)
        wanted = (len(qpos), qpos.shape[1] - 1)
        if qvel.shape != wanted:
            raise ValueError(f"qvel: must be {wanted} for qpos {qpos.shape}, got {qvel.shape}")
        if not np.isfinite(qvel).all():
            raise ValueError(f"qvel: row {_first_row(~np.isfinite(qvel))} is not finite")
        _check_timestep(self.timestep)
        count = qpos.shape[1] - 7
        if self.joints and len(self.joints) != count:
            raise ValueError(f"joints: {len(self.joints)} names for {count} joints")
        for name, array in (("qpos", qpos), ("qvel", qvel)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        object.__setattr__(self, "timestep", float(self.timestep))

    def __len__(self) -> int:
        return len(self.qpos)

    def resampled(
        self, timestep: float, interpolation: Literal["cubic", "linear"] = "cubic"
    ) -> "Trajectory":
        """The same motion with rows a timestep (s) apart; see `resample`."""
        if abs(self.timestep - timestep) < _SAME:
            return self
        times = np.arange(len(self)) * self.timestep
        qpos = resample(times, self.qpos, timestep, interpolation)
        return Trajectory(qpos, velocities(qpos, timestep), timestep, self.joints)

    def save(self, path: str | Path) -> None:
        """Write `qpos`, `qvel`, `timestep` and `joints` to an NPZ file, exactly at this path.

        Raises:
            OSError: it cannot be written; an existing file is untouched.
        """
        # With a path, NumPy may add a suffix.
        with atomic.replacing(path) as part, part.open("wb") as file:
            np.savez(
                file, qpos=self.qpos, qvel=self.qvel, timestep=np.array(self.timestep),
                joints=np.array(self.joints, dtype=str),
            )  # fmt: skip

    @classmethod
    def load(cls, path: str | Path) -> "Trajectory":
        """Read a file written by `save`; without `qvel`, velocities follow from `qpos`.

        Raises:
            FileNotFoundError: there is no such file.
            ValueError: it is not an NPZ file, or its arrays are not those of a trajectory or too
                large; the message names the file.
        """
        names = ("qpos", "qvel", "timestep", "joints")
        try:
            arrays = npz.read(path, names.__contains__, _MOST_BYTES)
            missing = [name for name in ("qpos", "timestep") if name not in arrays]
            if missing:
                raise ValueError(f"no array {missing[0]!r}")
            if arrays["timestep"].shape != ():
                raise ValueError("timestep: must be one number")
            qpos, timestep = arrays["qpos"], float(arrays["timestep"])
            qvel = arrays["qvel"] if "qvel" in arrays else velocities(qpos, timestep)
            joints = np.ravel(arrays.get("joints", ())).tolist()
            return cls(qpos, qvel, timestep, tuple(str(name) for name in joints))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{path}: {error}") from None


def resample(
    times: np.ndarray,
    qpos: np.ndarray,
    timestep: float,
    interpolation: Literal["cubic", "linear"] = "cubic",
) -> np.ndarray:
    """Resample positions at a timestep, from the first time up to the last one.

    "cubic" is the published suite's: a cubic spline with not-a-knot ends through each number,
    including quaternions, which are then normalised; see `cubic_spline`. "linear" interpolates
    positions and joints linearly, and rotates the root at a constant rate about one axis, the short
    way round (slerp, Shoemake 1985). Quaternions are first sign-aligned with their predecessors, so
    that the interpolation does not jump where the input changes sign.

    Args:
        times: (F,) in s, increasing.
        qpos: (F, nq), of a model with a free root joint and otherwise hinges or slides.
        timestep: s.

    Returns:
        (T, nq), row j at `times[0] + j * timestep`.

    Raises:
        ValueError: the shapes do not match, a number is not finite, the times do not increase, a
            quaternion is not of length 1, the timestep is not positive, longer than the whole, or
            so short that there would be more than `MOST_STATES` rows, or there is no such
            interpolation.
    """
    times, qpos = np.asarray(times, dtype=float), np.asarray(qpos, dtype=float)
    _check_qpos(qpos)
    if times.shape != (len(qpos),):
        raise ValueError(f"times: must be ({len(qpos)},) for qpos {qpos.shape}, got {times.shape}")
    if not (np.isfinite(times).all() and (np.diff(times) > 0).all()):
        raise ValueError("times: must be finite and increase from each row to the next")
    _check_timestep(timestep)
    one_of("interpolation", interpolation, ("cubic", "linear"))
    wanted = times[0] + np.arange(_count(times[-1] - times[0], timestep)) * timestep
    if interpolation == "linear":
        return _linear(times, qpos, wanted)
    rows = qpos.copy()
    rows[:, _TURN] = _without_jumps(rows[:, _TURN])
    # Rounding may have put the last one beyond the end.
    sampled = cubic_spline(times, rows, np.minimum(wanted, times[-1]))
    sampled[:, _TURN] /= np.linalg.norm(sampled[:, _TURN], axis=-1, keepdims=True)
    sampled[:, _TURN] = _without_jumps(sampled[:, _TURN])
    return sampled


def _count(duration: float, timestep: float) -> int:
    # Times a whole number of timesteps apart may have lost their last bits.
    steps = duration / timestep + 1e-9
    if steps < 1:
        raise ValueError(f"timestep: {timestep} s is longer than the whole, {duration:.6g} s")
    if steps >= MOST_STATES:
        raise ValueError(
            f"timestep: {timestep} s makes {steps:.3g} states of {duration:.6g} s;"
            f" {MOST_STATES:,} are the most"
        )
    return math.floor(steps) + 1


def _linear(times: np.ndarray, qpos: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    before = np.clip(np.searchsorted(times, wanted) - 1, 0, len(times) - 2)
    part = ((wanted - times[before]) / (times[before + 1] - times[before]))[:, None]
    sampled: np.ndarray = (1 - part) * qpos[before] + part * qpos[before + 1]
    turns = qpos[:, _TURN] / np.linalg.norm(qpos[:, _TURN], axis=-1, keepdims=True)
    start = turns[before]
    turn = quaternion_to_rotation_vector(product(conjugate(start), turns[before + 1]))
    sampled[:, _TURN] = _without_jumps(product(start, quaternion_from_rotation_vector(part * turn)))
    return sampled


def velocities(qpos: np.ndarray, timestep: float) -> np.ndarray:
    """Velocities from each row to the next over a timestep, as `mj_integratePos` integrates.

    The last row repeats the velocity of the row before it.

    Args:
        qpos: (T, nq), of a model with a free root joint and otherwise hinges or slides.
        timestep: s between rows.

    Returns:
        (T, nq - 1): root velocity in world axes, root angular velocity in its frame, joints.

    Raises:
        ValueError: there are fewer than two rows, a number is not finite, a quaternion is not of
            length 1, or the timestep is not positive.
    """
    qpos = np.asarray(qpos, dtype=float)
    _check_qpos(qpos)
    _check_timestep(timestep)
    turns = qpos[:, _TURN]
    turned = quaternion_to_rotation_vector(product(conjugate(turns[:-1]), turns[1:]))
    moved = np.diff(qpos, axis=0)
    rows = np.concatenate([moved[:, _PLACE], turned, moved[:, _REST]], axis=1) / timestep
    return np.concatenate([rows, rows[-1:]])


def _without_jumps(quaternions: np.ndarray) -> np.ndarray:
    turned = (quaternions[1:] * quaternions[:-1]).sum(axis=-1) < 0
    signs = np.cumprod(np.where(turned, -1.0, 1.0))
    return np.asarray(quaternions * np.concatenate([[1.0], signs])[:, None])


def _check_qpos(qpos: np.ndarray) -> None:
    if qpos.ndim != 2 or qpos.shape[0] < 2 or qpos.shape[1] < 7:
        raise ValueError(
            "qpos: must have two or more rows of at least 7 numbers, a free joint's first,"
            f" got {qpos.shape}"
        )
    if not np.isfinite(qpos).all():
        raise ValueError(f"qpos: row {_first_row(~np.isfinite(qpos))} is not finite")
    length = np.linalg.norm(qpos[:, _TURN], axis=-1)
    wrong = np.abs(length - 1) > 1e-6
    if wrong.any():
        row = _first_row(wrong[:, None])
        raise ValueError(
            f"qpos: the quaternion of row {row} has length {length[row]:.6g}, must be 1"
        )


def _first_row(wrong: np.ndarray) -> int:
    return int(np.flatnonzero(wrong.any(axis=1))[0])


def _check_timestep(timestep: float) -> None:
    if not 0 < timestep < math.inf:
        raise ValueError(f"timestep: must be a positive number of seconds, got {timestep}")


def cubic_spline(times: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Evaluate a cubic spline with not-a-knot ends through rows, column by column.

    Its first and second derivatives are continuous, and so is the third at the second and the
    second-to-last row (de Boor 1978, chapter IV), so that it reproduces every cubic polynomial.
    Three rows give their parabola, two their line.

    Args:
        times: (F,) in s, increasing; at least two.
        rows: (F, n).
        wanted: (T,) in s, within the times.
    """
    step = np.diff(times)[:, None]
    chord = np.diff(rows, axis=0) / step
    slope = _slopes(step, chord)
    before = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(times) - 2)
    passed = (wanted - times[before])[:, None]
    # Hermite form: value and slope at the previous row, then two corrections.
    bend = (slope[:-1] + slope[1:] - 2 * chord) / step
    twist = (chord - slope[:-1]) / step - bend
    bend /= step
    values = bend[before]
    for coefficient in (twist, slope[:-1], rows[:-1]):
        values *= passed
        values += coefficient[before]
    return np.asarray(values)


def _slopes(step: np.ndarray, chord: np.ndarray) -> np.ndarray:
    """First derivatives of the spline at the rows, from steps (F - 1, 1) and chords (F - 1, n)."""
    if len(step) == 1:
        return np.concatenate([chord, chord])
    if len(step) == 2:  # a parabola
        second = (chord[1] - chord[0]) / (step[0] + step[1])
        first = chord[0] - second * step[0]
        return np.stack([first, first + 2 * second * step[0], first + 2 * second * step.sum()])
    size = len(step) + 1
    below, middle, above = (np.zeros((size, 1)) for _ in range(3))
    right = np.zeros((size, chord.shape[1]))
    # The second derivative is continuous at each inner row ...
    below[1:-1], above[1:-1] = step[1:], step[:-1]
    middle[1:-1] = 2 * (step[:-1] + step[1:])
    right[1:-1] = 3 * (step[1:] * chord[:-1] + step[:-1] * chord[1:])
    # ... and the third at the second and the second-to-last.
    first, last = step[0] + step[1], step[-1] + step[-2]
    middle[0], above[0] = step[1], first
    right[0] = ((step[0] + 2 * first) * step[1] * chord[0] + step[0] ** 2 * chord[1]) / first
    middle[-1], below[-1] = step[-2], last
    right[-1] = (step[-1] ** 2 * chord[-2] + (2 * last + step[-1]) * step[-2] * chord[-1]) / last
    # Elimination; these equations need no pivoting.
    for i in range(1, size):
        part = below[i] / middle[i - 1]
        middle[i] -= part * above[i - 1]
        right[i] -= part * right[i - 1]
    right[-1] /= middle[-1]
    for i in range(size - 2, -1, -1):
        right[i] = (right[i] - above[i] * right[i + 1]) / middle[i]
    return right
