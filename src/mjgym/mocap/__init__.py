"""Motion capture: recordings in AMC and HDF5 files as trajectories of the CMU humanoids.

clip = read_amc("walk.amc")  # or find_clips("walk")[0], which comes with the package
trajectory = to_trajectory(clip, timestep=0.03, scale=SCALE_V2020)
trajectory.save("walk.npz")
"""

from mjgym.mocap.amc import CHANNELS, Clip, read_amc
from mjgym.mocap.clips import SUFFIXES, find_clips, find_selected
from mjgym.mocap.conversion import JOINTS, METRES_PER_UNIT, SCALE_V2020, to_qpos, to_trajectory
from mjgym.mocap.fitted import FittedClip, clip_names, is_fitted, read_fitted, subsets
from mjgym.mocap.trajectory import MOST_STATES, Trajectory, cubic_spline, resample, velocities

__all__ = [
    "CHANNELS",
    "JOINTS",
    "METRES_PER_UNIT",
    "MOST_STATES",
    "SCALE_V2020",
    "SUFFIXES",
    "Clip",
    "FittedClip",
    "Trajectory",
    "clip_names",
    "cubic_spline",
    "find_clips",
    "find_selected",
    "is_fitted",
    "read_amc",
    "read_fitted",
    "resample",
    "subsets",
    "to_qpos",
    "to_trajectory",
    "velocities",
]
