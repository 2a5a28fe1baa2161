"""The sizes that the engine's search for contacts goes by, for geoms that have been changed."""

import mujoco
import numpy as np

_GEOM = mujoco.mjtGeom
_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX = (
    int(kind)
    for kind in (
        _GEOM.mjGEOM_SPHERE,
        _GEOM.mjGEOM_CAPSULE,
        _GEOM.mjGEOM_ELLIPSOID,
        _GEOM.mjGEOM_CYLINDER,
        _GEOM.mjGEOM_BOX,
    )
)
RESIZABLE = frozenset({_SPHERE, _CAPSULE, _ELLIPSOID, _CYLINDER, _BOX})
"""Types of geoms (mjtGeom) whose size is theirs alone, and not that of an asset or without end."""

REFITTED = ("geom_rbound", "geom_aabb", "bvh_aabb")
"""The fields of MjModel that `Bounds` writes."""


class Bounds:
    """Bounding spheres and boxes of some geoms, and the boxes of the bodies that hold them.

    Args:
        model: the compiled model.
        geoms: ids of those whose size or place changes.
    """

    def __init__(self, model: mujoco.MjModel, geoms: np.ndarray) -> None:
        resizable = np.isin(model.geom_type[geoms], list(RESIZABLE))
        self._geoms = geoms[resizable]
        bodies = np.unique(model.geom_bodyid[geoms])
        self._trees = [
            (int(b), int(model.body_bvhadr[b]), int(model.body_bvhnum[b]))
            for b in bodies
            if model.body_bvhnum[b] > 0
        ]

    def update(self, model: mujoco.MjModel) -> None:
        """Compute `geom_rbound`, `geom_aabb` and the bodies' `bvh_aabb` anew."""
        for geom in self._geoms.tolist():
            radius, half = _extent(int(model.geom_type[geom]), model.geom_size[geom])
            model.geom_rbound[geom] = radius
            model.geom_aabb[geom, 3:] = half
        for body, start, count in self._trees:
            # From the leaves up: a node stands before its children.
            for node in range(start + count - 1, start - 1, -1):
                geom = int(model.bvh_nodeid[node])
                if geom >= 0:
                    low, high = _box_of(model, body, geom)
                else:
                    boxes = model.bvh_aabb[start + model.bvh_child[node]]
                    low = (boxes[:, :3] - boxes[:, 3:]).min(axis=0)
                    high = (boxes[:, :3] + boxes[:, 3:]).max(axis=0)
                model.bvh_aabb[node, :3] = (high + low) / 2
                model.bvh_aabb[node, 3:] = (high - low) / 2


def _extent(kind: int, size: np.ndarray) -> tuple[float, np.ndarray]:
    """Radius of the bounding sphere (m), and half lengths of the bounding box, (3,) m."""
    x, y = size[:2]
    if kind == _SPHERE:
        return x, np.array([x, x, x])
    if kind == _CAPSULE:
        return x + y, np.array([x, x, x + y])
    if kind == _CYLINDER:
        return float(np.sqrt(x * x + y * y)), np.array([x, x, y])
    if kind == _ELLIPSOID:
        return float(size.max()), size
    return float(np.sqrt((size * size).sum())), size


def _box_of(model: mujoco.MjModel, body: int, geom: int) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corner of a geom's box in the body's inertial frame, (3,) m each."""
    rotation, inertial = np.empty(9), np.empty(9)
    mujoco.mju_quat2Mat(rotation, model.geom_quat[geom])
    mujoco.mju_quat2Mat(inertial, model.body_iquat[body])
    turn = inertial.reshape(3, 3).T
    centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
    axes = turn @ rotation.reshape(3, 3)
    middle = turn @ (model.geom_pos[geom] - model.body_ipos[body]) + axes @ centre
    reach = np.abs(axes) @ half
    return middle - reach, middle + reach
