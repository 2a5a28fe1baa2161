"""Motions fitted to the CMU humanoids in dm_control's HDF5 files, e.g. `cmu_2020_dfe3e9e0.h5`.

A file has a group per clip, and in it a walker with its poses and velocities, an array of (size,
steps) each.
"""

import fnmatch
import functools
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.mocap.conversion import JOINTS
from mjgym.mocap.trajectory import MOST_STATES, Trajectory
from mjgym.util.packaged import assets, install
from mjgym.util.suggestions import did_you_mean

SUFFIXES = (".h5", ".hdf5")
HUMANOIDS = {1: "2019", 4: "2020"}  # by the number in a file
WALKER = "walkers/walker_0"
POSITIONS = {"position": 3, "quaternion": 4, "joints": len(JOINTS)}
VELOCITIES = {"velocity": 3, "angular_velocity": 3, "joints_velocity": len(JOINTS)}


@dataclass(frozen=True)
class FittedClip:
    """A clip as states of the CMU humanoid of "2019" or "2020", empty if unknown."""

    name: str
    humanoid: str
    trajectory: Trajectory


def h5py() -> Any:
    """The module h5py; ValueError if it is not installed."""
    try:
        import h5py
    except ImportError:
        raise ValueError(f"clips in HDF5 need h5py: {install('robomimic')}") from None
    return h5py


def is_fitted(path: str | Path) -> bool:
    """Tell whether the file's name is that of an HDF5 file."""
    return Path(path).suffix.lower() in SUFFIXES


@functools.cache
def subsets() -> dict[str, tuple[str, ...]]:
    """Published selections of the CMU database's clips by name, e.g. "walk_tiny"."""
    file = assets() / "locomotion" / "cmu_subsets.json"
    return {
        name: tuple(
            f"CMU_{subject}_{trial}"
            for subject, trials in subjects.items()
            for trial in trials.split()
        )
        for name, subjects in json.loads(file.read_text()).items()
    }


def clip_names(path: str | Path, pattern: str = "") -> tuple[str, ...]:
    """List the names of a file's clips that match a pattern, in alphabetical order.

    Args:
        pattern: names separated by commas, in which `*` and `?` stand for any characters, or
            selections of `subsets`; empty for all.

    Raises:
        ValueError: h5py is not installed, it is no HDF5 file, or a name matches nothing; the
            message has the nearest names.
    """
    with _opened(path) as file:
        names = sorted(file)
    if not pattern:
        return tuple(names)
    chosen: set[str] = set()
    wanted = [part.strip() for part in pattern.split(",")]
    for part in (clip for name in wanted for clip in subsets().get(name, (name,))):
        matches = fnmatch.filter(names, part)
        if not matches:
            raise ValueError(f"{path}: no clip {part!r}{did_you_mean(part, [*names, *subsets()])}")
        chosen.update(matches)
    return tuple(sorted(chosen))


def read_fitted(path: str | Path, names: tuple[str, ...]) -> Iterator[FittedClip]:
    """Read clips of a file, one after the other.

    Raises:
        ValueError: h5py is not installed, it is no HDF5 file, or a clip lacks an array or has one
            of another size; the message names the file and the clip.
    """
    with _opened(path) as file:
        for name in names:
            try:
                yield _clip(name, file[name])
            except (KeyError, ValueError, TypeError, OSError) as error:
                reason = error.args[0] if error.args else error
                raise ValueError(f"{path}: clip {name!r}: {reason}") from None


def _opened(path: str | Path) -> Any:
    try:
        return h5py().File(path, "r")
    except OSError as error:
        raise ValueError(f"{path} is no HDF5 file: {error}") from None


def _clip(name: str, group: Any) -> FittedClip:
    walker = group[WALKER]
    qpos, qvel = (
        np.concatenate([_rows(walker, key, size) for key, size in sizes.items()], axis=1)
        for sizes in (POSITIONS, VELOCITIES)
    )
    # The files' quaternions are of unit length to single precision.
    qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=1, keepdims=True)
    humanoid = HUMANOIDS.get(int(walker.attrs.get("model", 0)), "")
    return FittedClip(name, humanoid, Trajectory(qpos, qvel, float(group.attrs["dt"]), JOINTS))


def _rows(walker: Any, key: str, size: int) -> np.ndarray:
    """A clip's feature as rows, (steps, size)."""
    shape = walker[key].shape
    if len(shape) != 2 or shape[0] != size or shape[1] > MOST_STATES:
        raise ValueError(
            f"{key} has the shape {shape}, must be ({size}, steps), at most {MOST_STATES:,} of them"
        )
    return np.asarray(walker[key][:], dtype=float).T
