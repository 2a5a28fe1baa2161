"""Tiled planes in front of boxes whose sizes change between episodes."""

import mujoco
import numpy as np

PREFIX = "tiled_"
"""Beginning of the names of materials whose boxes, unturned, are drawn as planes, one a tile.

A tile is a square with sides of 1 / texrepeat in m, and lies in the middle of each plane.
"""

# Axes of the planes as seen from outside: x and y of the plane, then its normal, by axis and sign.
_FACES = np.array(
    [
        [[0, -1, 0], [0, 0, 1], [-1, 0, 0]],
        [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
        [[1, 0, 0], [0, 0, 1], [0, -1, 0]],
        [[-1, 0, 0], [0, 0, 1], [0, 1, 0]],
        [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ],
    float,
)
_PLANE = mujoco.mjtGeom.mjGEOM_PLANE
_COLOUR = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)


def tiled(model: mujoco.MjModel) -> list[int]:
    return [i for i in range(model.nmat) if model.material(i).name.startswith(PREFIX)]


def lay(
    model: mujoco.MjModel, data: mujoco.MjData, materials: list[int], scene: mujoco.MjvScene
) -> None:
    """Add the planes to a scene: of boxes all faces but the lower, of level planes themselves."""
    white = np.ones(4, np.float32)
    for geom in np.flatnonzero(np.isin(model.geom_matid, materials)):
        material = int(model.geom_matid[geom])
        repeat = float(model.mat_texrepeat[material, 0])
        size, faces = model.geom_size[geom].copy(), _FACES
        if model.geom_type[geom] == _PLANE:
            size[2], faces = 0, _FACES[-1:]
        for face in faces:
            half = np.abs(face @ size)
            count = np.maximum(1, np.round(2 * repeat * half[:2])).astype(int)
            tile = np.array([*half[:2] / count, 1 / repeat])
            for cell in np.ndindex(*count):
                along = (2 * np.array(cell) + 1 - count) * tile[:2]
                at = data.geom_xpos[geom] + along @ face[:2] + face[2] * half[2]
                plane = scene.geoms[scene.ngeom]
                mujoco.mjv_initGeom(plane, _PLANE, tile, at, face.T.ravel(), white)
                plane.texid = int(model.mat_texid[material, _COLOUR])
                plane.matid, plane.texrepeat = material, 2 * repeat * tile[:2]
                scene.ngeom += 1
