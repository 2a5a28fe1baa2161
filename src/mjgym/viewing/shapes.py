"""Meshes of the bodies of a batch's sub-environments; those that look alike share theirs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import mujoco
import numpy as np
import trimesh
from mjviser import conversions

SHAPED = ("geom", "site")  # kinds of elements that have shapes
USUAL = (1, 1, 1, 0, 0, 0)  # 1 for a group that is shown where nobody says otherwise
DEPTH = -20.0  # m, below which parts of the world lie that an episode does not use
# Fields of MjModel on which the meshes of bodies depend, and which episodes can write.
_GEOM = ("geom_size", "geom_pos", "geom_quat", "geom_rgba")
_SITE = ("site_size", "site_pos", "site_quat", "site_rgba")
_SHARED = ("mat_rgba", "hfield_size", "hfield_data")
_PLANE = mujoco.mjtGeom.mjGEOM_PLANE.value
_TERRAIN = mujoco.mjtGeom.mjGEOM_HFIELD.value

Look: TypeAlias = tuple[int, bytes]
"""A body, and all that its meshes are made from."""


@dataclass
class Shape:
    """Meshes of a body in some sub-environments."""

    body: int  # its index
    meshes: list[trimesh.Trimesh]  # in the body's frame; one for each texture
    ids: list[int] = field(default_factory=list)  # of the sub-environments, ascending


class Shapes:
    """The shapes of all bodies in all sub-environments, as `see` has last found them.

    Args:
        groups: six numbers for geoms and for sites, 1 for a group that is shown.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        left_out: Collection[int] = (),
        groups: Mapping[str, Sequence[int]] | None = None,
    ) -> None:
        groups = dict.fromkeys(SHAPED, USUAL) if groups is None else groups
        shown = [g for g in range(model.ngeom) if groups["geom"][model.geom_group[g]]]
        self._geoms = _by_body(model.geom_bodyid, [g for g in shown if g not in left_out])
        sites = [s for s in range(model.nsite) if groups["site"][model.site_group[s]]]
        self._sites = _by_body(model.site_bodyid, sites)
        self._seen: dict[int, bytes] = {}  # by sub-environment
        self._looks: dict[int, list[Look]] = {}
        self._meshes: dict[Look, list[trimesh.Trimesh]] = {}

    def see(self, i: int, model: mujoco.MjModel) -> bool:
        """Update a sub-environment's looks from its model; returns whether they have changed."""
        seen = b"".join(getattr(model, name).tobytes() for name in (*_GEOM, *_SITE, *_SHARED))
        if self._seen.get(i) == seen:
            return False
        self._seen[i] = seen
        bodies = sorted(self._geoms.keys() | self._sites.keys())
        self._looks[i] = [(body, self._look(body, model)) for body in bodies]
        for look in self._looks[i]:
            if look not in self._meshes:
                self._meshes[look] = self._mesh(look[0], model)
        return True

    def drawable(self) -> dict[Look, Shape]:
        """The shapes to draw now, by look; unused meshes are dropped."""
        shapes: dict[Look, Shape] = {}
        for i in sorted(self._looks):
            for look in self._looks[i]:
                shapes.setdefault(look, Shape(look[0], self._meshes[look])).ids.append(i)
        self._meshes = {look: shape.meshes for look, shape in shapes.items()}
        return shapes

    def _look(self, body: int, model: mujoco.MjModel) -> bytes:
        geoms, sites = self._geoms.get(body, []), self._sites.get(body, [])
        parts = [getattr(model, name)[geoms] for name in _GEOM]
        parts += [getattr(model, name)[sites] for name in _SITE]
        materials = model.geom_matid[geoms]
        parts.append(model.mat_rgba[materials[materials >= 0]])
        if (model.geom_type[geoms] == _TERRAIN).any():
            parts += [model.hfield_size, model.hfield_data]
        return b"".join(part.tobytes() for part in parts)

    def _mesh(self, body: int, model: mujoco.MjModel) -> list[trimesh.Trimesh]:
        geoms = [g for g in self._geoms.get(body, []) if colour(model, g)[3] > 0]
        if body == 0:  # the floor hides them from cameras, but the page's is a grid
            geoms = [g for g in geoms if model.geom_pos[g, 2] > DEPTH]
        planes = [g for g in geoms if model.geom_type[g] == _PLANE]
        solid = [g for g in geoms if model.geom_type[g] != _PLANE]
        sites = [s for s in self._sites.get(body, []) if model.site_rgba[s, 3] > 0]
        if body == 0:
            sites = [s for s in sites if model.site_pos[s, 2] > DEPTH]
        meshes = [_quad(model, g) for g in planes]
        meshes += [
            conversions.merge_geoms(model, alike)
            for alike in conversions.group_geoms_by_visual_compat(model, solid)
        ]
        if sites:
            meshes.append(conversions.merge_sites(model, sites))
        return meshes


def _by_body(bodies: np.ndarray, elements: list[int]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for element in elements:
        found.setdefault(int(bodies[element]), []).append(element)
    return found


def colour(model: mujoco.MjModel, geom: int) -> np.ndarray:
    """The colour of a geom, (4,): its material's, or its own if it has none.

    Where the material has a texture, it is multiplied by the texture's mean.
    """
    material = model.geom_matid[geom]
    if material < 0:
        return np.asarray(model.geom_rgba[geom])
    found: np.ndarray = model.mat_rgba[material].copy()
    texture = model.mat_texid[material, mujoco.mjtTextureRole.mjTEXROLE_RGB]
    if texture >= 0:
        found[:3] *= _texels(model, int(texture)).mean(axis=(0, 1)) / 255
    return found


def sky(model: mujoco.MjModel) -> np.ndarray | None:
    """The colours of the skybox from its highest to its lowest row, uint8 (rows, 1, 3); or None."""
    for texture in np.flatnonzero(model.tex_type == mujoco.mjtTexture.mjTEXTURE_SKYBOX):
        faces = _texels(model, int(texture))
        side = faces.shape[1]
        front = faces[4 * side : 5 * side] if len(faces) == 6 * side else faces[:side]
        return np.asarray(front.mean(axis=1, keepdims=True).astype(np.uint8))
    return None


def _texels(model: mujoco.MjModel, texture: int) -> np.ndarray:
    height, width = model.tex_height[texture], model.tex_width[texture]
    channels, start = model.tex_nchannel[texture], model.tex_adr[texture]
    data = model.tex_data[start : start + height * width * channels]
    return np.asarray(data.reshape(height, width, channels)[..., :3])


def _quad(model: mujoco.MjModel, geom: int) -> trimesh.Trimesh:
    half = model.geom_size[geom, :2]
    corners = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * [*half, 0.0]
    colours = np.tile((255 * colour(model, geom)).astype(np.uint8), (4, 1))
    faces = [[0, 1, 2], [0, 2, 3]]
    mesh = trimesh.Trimesh(corners, faces, vertex_colors=colours, process=False)
    frame: Any = np.eye(4)
    axes = np.empty(9)
    mujoco.mju_quat2Mat(axes, model.geom_quat[geom])
    frame[:3, :3], frame[:3, 3] = axes.reshape(3, 3), model.geom_pos[geom]
    mesh.apply_transform(frame)
    return mesh
