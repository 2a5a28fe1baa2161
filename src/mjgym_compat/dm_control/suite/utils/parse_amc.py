"""Motion capture clips of the CMU database for `humanoid_CMU`."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from mjgym.mocap.amc import read_amc
from mjgym.mocap.conversion import to_qpos
from mjgym.mocap.trajectory import resample, velocities


class Converted(NamedTuple):
    """Positions (63, n), velocities (62, n - 1), and times (n,) of a clip."""

    qpos: np.ndarray
    qvel: np.ndarray
    time: np.ndarray


def convert(file_name: str | Path, physics: Any, timestep: float) -> Converted:
    """Read an AMC file and resample it."""
    clip = read_amc(file_name)
    frames = to_qpos(clip)
    if frames.shape[1] != physics.model.nq:
        raise ValueError(f"physics: expected {frames.shape[1]} positions, got {physics.model.nq}")
    qpos = resample(clip.times, frames, timestep)
    return Converted(
        qpos.T, velocities(qpos, timestep)[: len(qpos) - 1].T, timestep * np.arange(len(qpos))
    )
