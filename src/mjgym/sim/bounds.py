"""Bounding volumes of resized geoms, for the engine's broad-phase collision detection."""

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
"""Geom types (mjtGeom) with a finite size that does not come from an asset."""

REFITTED = ("geom_rbound", "geom_aabb", "bvh_aabb")
"""Fields of MjModel that `Bounds` writes."""


class Bounds:
    """Bounding spheres and boxes of geoms, and the box trees of their bodies.

    Args:
        geoms: ids of geoms that change size or place.
    """

    def __init__(self, model: mujoco.MjModel, geoms: np.ndarray) -> None:
        self._geoms = geoms[np.isin(model.geom_type[geoms], list(RESIZABLE))]
        self._kinds = model.geom_type[self._geoms]
        bodies = np.unique(model.geom_bodyid[geoms])
        self._trees = [_Tree(model, b) for b in bodies.tolist() if model.body_bvhnum[b] > 0]

    def update(self, model: mujoco.MjModel) -> None:
        """Recompute `geom_rbound`, `geom_aabb` and the bodies' `bvh_aabb`."""
        radius, half = _extents(self._kinds, model.geom_size[self._geoms])
        model.geom_rbound[self._geoms] = radius
        model.geom_aabb[self._geoms, 3:] = half
        for tree in self._trees:
            tree.update(model)


class _Tree:
    """A body's tree of bounding boxes."""

    def __init__(self, model: mujoco.MjModel, body: int) -> None:
        start, count = int(model.body_bvhadr[body]), int(model.body_bvhnum[body])
        self._body = body
        self._nodes = slice(start, start + count)
        geoms = model.bvh_nodeid[self._nodes]
        self._leaves = np.flatnonzero(geoms >= 0)
        self._geoms = geoms[self._leaves]
        # Inner nodes from the lowest level up: each one's index and its children's.
        depth, children = model.bvh_depth[self._nodes], model.bvh_child[self._nodes]
        self._levels = []
        for level in range(int(depth.max()), -1, -1):
            pairs = np.flatnonzero((geoms < 0) & (depth == level))
            if pairs.size:
                self._levels.append((pairs, *children[pairs].T))

    def update(self, model: mujoco.MjModel) -> None:
        low, high = np.empty((2, self._nodes.stop - self._nodes.start, 3))
        low[self._leaves], high[self._leaves] = _corners(model, self._body, self._geoms)
        for pairs, one, other in self._levels:
            low[pairs] = np.minimum(low[one], low[other])
            high[pairs] = np.maximum(high[one], high[other])
        model.bvh_aabb[self._nodes, :3] = (high + low) / 2
        model.bvh_aabb[self._nodes, 3:] = (high - low) / 2


def _extents(kinds: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Radii of bounding spheres, (n,) m, and half sizes of bounding boxes, (n, 3) m."""
    x, y, _ = sizes.T
    radius, half = np.sqrt((sizes * sizes).sum(axis=-1)), sizes.copy()
    ball = kinds == _SPHERE
    radius[ball], half[ball] = x[ball], x[ball, None]
    long = kinds == _CAPSULE
    radius[long] = half[long, 2] = (x + y)[long]
    can = kinds == _CYLINDER
    radius[can], half[can, 2] = np.sqrt(x * x + y * y)[can], y[can]
    half[long | can, 1] = x[long | can]
    egg = kinds == _ELLIPSOID
    radius[egg] = sizes[egg].max(axis=-1)
    return radius, half


def _corners(model: mujoco.MjModel, body: int, geoms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper corners of geoms' boxes in a body's inertial frame, (n, 3) m each."""
    turn = _matrices(model.body_iquat[body])  # from that frame to the body's
    axes = turn.T @ _matrices(model.geom_quat[geoms])
    boxes = model.geom_aabb[geoms, :, None]
    middle = (model.geom_pos[geoms] - model.body_ipos[body]) @ turn + (axes @ boxes[:, :3])[..., 0]
    reach = (np.abs(axes) @ boxes[:, 3:])[..., 0]
    return middle - reach, middle + reach


def _matrices(quaternions: np.ndarray) -> np.ndarray:
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    rows = [
        [w * w + x * x - y * y - z * z, 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), w * w - x * x + y * y - z * z, 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), w * w - x * x - y * y + z * z],
    ]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))
