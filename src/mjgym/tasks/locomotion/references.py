"""Recorded clips as references for a walker: its states and body poses."""

import dataclasses
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from mjgym import mocap
from mjgym.arrays import Array, namespace
from mjgym.mjcf import without_textures
from mjgym.rotations import conjugate, product
from mjgym.sim import Single, SingleView
from mjgym.tasks.locomotion.walker_task import WalkerTask
from mjgym.tasks.locomotion.walkers import Walker, find_walker
from mjgym.tasks.locomotion.walkers.cmu_humanoid import CMUHumanoid

INTERPOLATION: Literal["linear"] = "linear"  # between frames: version 0 of the ids

SPHERE, CAPSULE, ELLIPSOID = 2, 3, 4


@dataclass(frozen=True, eq=False)
class References:
    """Concatenated frames of clips, and a walker's body poses in each frame.

    All arrays are read-only. R is the number of all frames, C that of the clips.
    """

    clips: tuple[str, ...]  # names of the clips' files, or of the clips in an HDF5 file
    joints: tuple[str, ...]  # names of the walker's joints in the scene, its free joint first
    bodies: tuple[str, ...]  # names in the scene of all its bodies but the root
    first: np.ndarray  # row of each clip's first frame, (C,)
    frames: np.ndarray  # number of frames of each clip, (C,)
    qpos: np.ndarray  # (R, nq)
    qvel: np.ndarray  # (R, nv)
    observed: np.ndarray  # positions of the observed joints, (R, j) rad
    position: np.ndarray  # root body in the world, (R, 3) m
    quaternion: np.ndarray  # root body in the world, (R, 4)
    center_of_mass: np.ndarray  # walker in the world, (R, 3) m
    appendages: np.ndarray  # end effectors and head in the root's frame, (R, 3 a) m
    bodies_pos: np.ndarray  # in the world, (R, b, 3) m
    bodies_quats: np.ndarray  # in the world, (R, b, 4)
    ego_bodies_quats: np.ndarray  # in the root's frame, (R, b, 4)

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.flags.writeable = False

    def at(self, name: str, rows: Array) -> Array:
        """Rows of an array, for integer indices (...) of any library: (..., *row shape)."""
        table = getattr(self, name)
        if type(rows) is np.ndarray or isinstance(rows, np.generic):
            return table[rows]
        xp = namespace(rows)
        taken = xp.take(xp.asarray(table, copy=True), xp.reshape(rows, (-1,)), axis=0)
        return xp.reshape(taken, (*rows.shape, *table.shape[1:]))


def references(clips: str, walker: str, timestep: float) -> References:
    """Load the references of clips for a walker.

    Results are cached while the files stay unchanged. A clip in which the walker penetrates z = 0
    is lifted as a whole to stand on it: the recordings' ground is up to a few centimetres off.

    Args:
        clips: a file, a folder of files, or the name of a bundled clip; empty for all bundled ones:
            recordings of the CMU database (.amc, 120 frames per second), trajectories (.npz, see
            `mjgym.mocap.Trajectory`), or dm_control's fitted motions (.h5), of which
            "cmu_2020.h5#CMU_016_22,CMU_069_*" selects some, or "cmu_2020.h5#walk_tiny" a published
            selection.
        walker: its name, see `find_walker`.
        timestep: s between frames; clips are resampled to it.
    """
    paths, names = mocap.find_selected(clips)
    stamps = []
    for path in paths:
        status = path.stat()
        stamps.append((str(path), status.st_mtime_ns, status.st_size))
    return _read(tuple(stamps), names, walker, timestep)


def appendages(walker: Walker) -> tuple[str, ...]:
    """Bodies with observed positions: end effectors and head."""
    return (*walker.end_effectors, walker.head) if walker.head else walker.end_effectors


# Reading takes milliseconds per clip; batches, renderers and copies share the result.
@functools.lru_cache(maxsize=8)
def _read(
    stamps: tuple[tuple[str, int, int], ...], names: str, walker: str, timestep: float
) -> References:
    body = _Body(walker)
    read = [clip for path, *_ in stamps for clip in body.clips(Path(path), names, timestep)]
    trajectories = [trajectory for _, trajectory in read]
    frames = np.array([len(trajectory) for trajectory in trajectories])
    poses = [body.poses(trajectory) for trajectory in trajectories]
    joined = {name: np.concatenate([pose[name] for pose in poses]) for name in poses[0]}
    return References(
        clips=tuple(name for name, _ in read),
        joints=body.joints,
        bodies=body.bodies,
        first=np.cumsum(frames) - frames,
        frames=frames,
        **joined,
    )


class _Body:
    """A walker alone on a floor, for computing poses.

    Raises:
        ValueError: its root does not move freely.
    """

    def __init__(self, walker: str) -> None:
        self._name = walker
        self._walker = find_walker(walker)
        model = without_textures(WalkerTask(walker=walker).model()).compile()
        self._v: SingleView = Single(model).view
        self.joints = self._v.names("joint")
        prefix = self._prefix = self._walker.prefix
        if prefix not in self.joints or len(self._v.qpos) != len(self._v.qvel) + 1:
            raise ValueError(
                f"walker: clips move a free joint and hinges, which {walker!r} does not have;"
                " cmu_humanoid_2020 and cmu_humanoid have"
            )
        aside = (prefix, prefix + self._walker.root)
        self.bodies = tuple(
            name for name in self._v.names("body") if name.startswith(prefix) and name not in aside
        )

    def clips(
        self, path: Path, names: str, timestep: float
    ) -> Iterator[tuple[str, mocap.Trajectory]]:
        """Names and states of the clips in a file, see `references`."""
        if mocap.is_fitted(path):
            for clip in mocap.read_fitted(path, mocap.clip_names(path, names)):
                self._require_humanoid(f"{path}: clip {clip.name!r}", clip.humanoid)
                yield clip.name, self._resampled(clip.trajectory, timestep, f"{path}: {clip.name}")
        elif path.suffix.lower() == ".npz":
            yield path.name, self._resampled(mocap.Trajectory.load(path), timestep, str(path))
        else:
            yield path.name, self._recorded(path, timestep)

    def _version(self) -> str:
        """Version of a CMU humanoid, "2019" or "2020"; empty for other walkers."""
        walker = self._walker
        return walker.version[:4] if isinstance(walker, CMUHumanoid) else ""

    def _require_humanoid(self, clip: str, humanoid: str) -> None:
        if humanoid and humanoid != self._version():
            wanted = {"2019": "cmu_humanoid", "2020": "cmu_humanoid_2020"}[humanoid]
            raise ValueError(f"{clip} is fitted to the walker {wanted}, not to {self._name!r}")

    def _recorded(self, path: Path, timestep: float) -> mocap.Trajectory:
        joints = tuple(name.removeprefix(self._prefix) for name in self.joints)[1:]
        if joints != mocap.JOINTS:
            missing = next((name for name in mocap.JOINTS if name not in joints), None)
            lack = "other joints as well" if missing is None else f"no joint {missing!r}"
            raise ValueError(
                f"{path}: moves the joints of the CMU humanoids, and the walker {self._name!r} has"
                f" {lack}; cmu_humanoid_2020 and cmu_humanoid have them"
            )
        clip = mocap.read_amc(path)
        scale = mocap.SCALE_V2020 if self._version() == "2020" else 1.0
        try:
            return mocap.to_trajectory(clip, timestep, scale, INTERPOLATION)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    def _resampled(
        self, trajectory: mocap.Trajectory, timestep: float, where: str
    ) -> mocap.Trajectory:
        count, wanted = trajectory.qpos.shape[1], len(self._v.qpos)
        if count != wanted:
            raise ValueError(
                f"{where}: has {count} positions in a frame, the walker {self._name!r} has {wanted}"
            )
        try:
            return trajectory.resampled(timestep, INTERPOLATION)
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None

    def poses(self, trajectory: mocap.Trajectory) -> dict[str, np.ndarray]:
        """`References` arrays of one clip, lifted onto the ground."""
        v, walker = self._v, self._walker
        root = self._prefix + walker.root
        rows = v.rows("xpos", self.bodies)
        observed = v.rows("qpos", walker.prefixed(walker.observed_joints))
        frames: list[dict[str, Array]] = []
        lowest = 0.0
        for qpos in trajectory.qpos:
            v.qpos = qpos
            v.detect_contacts()
            lowest = min(lowest, self._lowest())
            frames.append(
                {
                    "observed": qpos[observed],
                    "position": v.body(root).xpos.copy(),
                    "quaternion": v.body(root).xquat.copy(),
                    "center_of_mass": v.body(root).subtree_com.copy(),
                    "appendages": walker.places(v, appendages(walker)).copy(),
                    "bodies_pos": v.xpos[rows].copy(),
                    "bodies_quats": v.xquat[rows].copy(),
                }
            )
        arrays = {name: np.stack([frame[name] for frame in frames]) for name in frames[0]}
        arrays |= {"qpos": trajectory.qpos.copy(), "qvel": trajectory.qvel.copy()}
        for name in ("qpos", "position", "center_of_mass", "bodies_pos"):
            arrays[name][..., 2] -= lowest
        inverse = conjugate(arrays["quaternion"])[:, None, :]
        arrays["ego_bodies_quats"] = product(inverse, arrays["bodies_quats"])
        return arrays

    def _lowest(self) -> float:
        """Lowest z of all colliding geoms; boxes and meshes by their bounding boxes."""
        v = self._v
        first = v.names("body").index(self._prefix)
        colliding = (v.geom_bodyid >= first) & ((v.geom_contype | v.geom_conaffinity) != 0)
        if not colliding.any():
            return 0.0
        kind, size = v.geom_type[colliding], v.geom_size[colliding]
        up = v.geom_xmat[colliding][:, 6:9]  # z components of the geoms' axes
        middle, half = v.geom_aabb[colliding][:, :3], v.geom_aabb[colliding][:, 3:]
        reach = np.select(
            [kind == SPHERE, kind == CAPSULE, kind == ELLIPSOID],
            [
                size[:, 0],
                size[:, 0] + abs(up[:, 2]) * size[:, 1],
                np.sqrt(((up * size) ** 2).sum(axis=-1)),
            ],
            (abs(up) * half).sum(axis=-1) - (up * middle).sum(axis=-1),
        )
        return float((v.geom_xpos[colliding][:, 2] - reach).min())
