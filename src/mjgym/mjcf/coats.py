"""Coats of fur: smooth skins around the shapes of a creature, computed, for pictures alone."""

from dataclasses import dataclass

import mujoco
import numpy as np

from mjgym.mjcf.compose import add, load, without_textures
from mjgym.mjcf.elements import Spec
from mjgym.mjcf.textures import add_texture, fractal

CORNERS = np.array(np.unravel_index(range(8), (2, 2, 2))).T  # of a cell, (8, 3)
EDGES = [(i, j) for i in range(8) for j in range(i) if np.abs(CORNERS[i] - CORNERS[j]).sum() == 1]
COVERED = 5  # group of the shapes that a coat covers
COLOURS = 256  # along the palette
SHADES = 16  # of each colour, from dark to light tips of hairs
CONTRAST = 0.28  # of the darkest and the lightest hairs, relative to the colour
SHARPNESS = 6  # of the borders between colours
SLENDER = 0.4  # of a shape's least size, its largest fillet
LEAST_WEIGHT = 0.05  # of a bone


@dataclass(frozen=True)
class Coat:
    """A coat around all shapes of some materials."""

    materials: tuple[str, ...]  # of the shapes; neighbours in this order blend into each other
    cell: float  # m, resolution
    blend: float  # m, radius of the fillets between shapes
    hair: tuple[float, float]  # m, length and width of tufts
    underside: str = ""  # material that the coat fades to where it faces the ground; empty for none
    flesh: str = ""  # file of shapes that are added, in the frames of bodies of the same names

    def put_on(self, spec: Spec, prefix: str = "", group: int = 1) -> None:
        """Add the coat to a spec: a skin that moves with the bodies and hides the shapes below.

        Args:
            spec: of the whole scene; the creature is in its default pose.
        """
        bare = without_textures(spec)
        self._add_flesh(bare, prefix)
        model = bare.compile()
        data = mujoco.MjData(model)
        mujoco.mj_kinematics(model, data)
        ids = [model.material(prefix + name).id for name in self.materials]
        geoms = np.flatnonzero(np.isin(model.geom_matid, ids))
        shapes = [_Shape(model, data, int(geom)) for geom in geoms]
        points, faces = _surface(shapes, self.cell, self.blend)
        distances = np.stack([shape.distance(points) for shape in shapes], axis=1)
        nearest = distances.min(axis=1, keepdims=True)

        near = np.exp((nearest - distances) / self.blend)
        outermost = near**SHARPNESS
        colour = outermost @ [ids.index(i) for i in model.geom_matid[geoms]]
        colour /= outermost.sum(axis=1)
        if self.underside:
            down = np.clip(-2 * _normals(points, faces)[:, 2] - 0.4, 0, 1)
            colour += down * (self.materials.index(self.underside) - colour)
        tufts = fractal(points / (self.hair[0], self.hair[1], self.hair[1]))
        coordinates = np.stack([(colour + 0.5) / len(ids), 0.5 + (tufts - 0.5) * 0.95], axis=1)

        bodies = model.geom_bodyid[geoms]
        bones = np.unique(bodies)
        weights = np.stack([near[:, bodies == bone].sum(axis=1) for bone in bones], axis=1)
        weights /= weights.sum(axis=1, keepdims=True)
        weights[weights < LEAST_WEIGHT] = 0
        weights /= weights.sum(axis=1, keepdims=True)
        used = [np.flatnonzero(column) for column in weights.T]
        kept = [k for k, vertices in enumerate(used) if vertices.size]

        name = f"{prefix}coat"
        # Fewer shades than colours: mipmaps blur both by as many texels.
        blends = np.linspace(-0.5, len(ids) - 0.5, COLOURS)
        palette = [np.interp(blends, range(len(ids)), model.mat_rgba[ids, i]) for i in range(3)]
        shades = 1 + CONTRAST * np.linspace(-1, 1, SHADES)[:, None, None]
        add_texture(spec, name, np.clip(np.stack(palette, axis=-1) * shades, 0, 1))
        add(spec, "material", name=name, textures=name, specular=0.1, shininess=0.1)
        covered = [prefix + material for material in self.materials]
        for geom in spec.geoms:
            if geom.material in covered:
                geom.group = COVERED
        skin = spec.add_skin(name=name, material=name, group=group)
        skin.vert, skin.face = points.ravel(), faces.ravel()
        skin.texcoord = coordinates.ravel()
        skin.bodyname = [model.body(bones[k]).name for k in kept]
        skin.bindpos = np.concatenate([data.xpos[bones[k]] for k in kept])
        skin.bindquat = np.concatenate([data.xquat[bones[k]] for k in kept])
        skin.vertid = [used[k].tolist() for k in kept]
        skin.vertweight = [weights[used[k], k].tolist() for k in kept]

    def _add_flesh(self, spec: Spec, prefix: str) -> None:
        for body in load(self.flesh).bodies if self.flesh else ():
            for geom in body.geoms:
                shape = spec.body(prefix + body.name).add_geom(
                    type=geom.type, size=geom.size, pos=geom.pos, material=prefix + geom.material
                )
                shape.alt.euler = geom.alt.euler
                shape.mass = shape.contype = shape.conaffinity = 0


class _Shape:
    """A sphere, capsule or ellipsoid in the world."""

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> None:
        self.place, self.axes = data.geom_xpos[geom], data.geom_xmat[geom].reshape(3, 3)
        self.kind, self.size = mujoco.mjtGeom(model.geom_type[geom]), model.geom_size[geom]
        self.reach = float(model.geom_rbound[geom])
        capsule = self.kind == mujoco.mjtGeom.mjGEOM_CAPSULE
        self.slender = float(self.size[0] if capsule else self.size[self.size > 0].min())

    def distance(self, points: np.ndarray) -> np.ndarray:
        """Signed distances of points (..., 3), m; those of an ellipsoid to first order."""
        p = (points - self.place) @ self.axes
        if self.kind == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
            outside = np.linalg.norm(p / self.size, axis=-1)
            slope = np.linalg.norm(p / self.size**2, axis=-1)
            return np.asarray(outside * (outside - 1) / np.maximum(slope, 1e-9))
        if self.kind == mujoco.mjtGeom.mjGEOM_CAPSULE:
            p[..., 2] -= np.clip(p[..., 2], -self.size[1], self.size[1])
        return np.asarray(np.linalg.norm(p, axis=-1) - self.size[0])


def _surface(shapes: list[_Shape], cell: float, blend: float) -> tuple[np.ndarray, np.ndarray]:
    """Surface nets of the shapes' smooth union: vertices (n, 3) in m, triangles (m, 3)."""
    margin = blend + 2 * cell
    low = np.min([s.place - s.reach for s in shapes], axis=0) - margin
    high = np.max([s.place + s.reach for s in shapes], axis=0) + margin
    shape = tuple(np.ceil((high - low) / cell).astype(int))
    field = np.full(shape, 1e3, np.float32)
    for s in sorted(shapes, key=lambda s: -s.slender):
        first = np.floor((s.place - s.reach - margin - low) / cell).astype(int).clip(0)
        last = np.ceil((s.place + s.reach + margin - low) / cell).astype(int)
        box = tuple(slice(i, j) for i, j in zip(first, last, strict=True))
        points = low + cell * np.moveaxis(np.mgrid[box], 0, -1)
        a, b = field[box], s.distance(points)
        radius = min(blend, SLENDER * s.slender)
        fillet = np.maximum(radius - np.abs(a - b), 0)
        field[box] = np.minimum(a, b) - fillet**2 / (4 * radius)
    solid = field < 0
    corners = [tuple(slice(c, c + n - 1) for c, n in zip(k, shape, strict=True)) for k in CORNERS]
    count = np.sum([solid[corner] for corner in corners], axis=0, dtype=np.int8)
    cells = np.argwhere((count > 0) & (count < 8))
    number = np.full(count.shape, -1)
    number[tuple(cells.T)] = range(len(cells))
    values = [field[tuple((cells + corner).T)] for corner in CORNERS]
    total, crossings = np.zeros((len(cells), 3)), np.zeros((len(cells), 1))
    for i, j in EDGES:
        cut = (values[i] < 0) != (values[j] < 0)
        t = values[i][cut] / (values[i][cut] - values[j][cut])
        total[cut] += CORNERS[i] + t[:, None] * (CORNERS[j] - CORNERS[i])
        crossings[cut] += 1
    vertices = low + cell * (cells + total / crossings)
    faces = []
    for axis, along in enumerate(np.eye(3, dtype=int)):
        ends = [
            tuple(
                slice(1, n - 1) if d != axis else slice(k, n - 1 + k) for d, n in enumerate(shape)
            )
            for k in (0, 1)
        ]
        out = solid[ends[1]][solid[ends[0]] != solid[ends[1]]]
        at = np.argwhere(solid[ends[0]] != solid[ends[1]]) + 1 - along
        u, v = np.roll(along, 1), np.roll(along, 2)
        a, b, c, d = (number[tuple((at - step).T)] for step in (0 * u, u, u + v, v))
        b, d = np.where(out, d, b), np.where(out, b, d)
        faces += [np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)]
    return vertices, np.concatenate(faces)


def _normals(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    a, b, c = points[faces].swapaxes(0, 1)
    normals = np.zeros_like(points)
    for corner in faces.T:
        np.add.at(normals, corner, np.cross(b - a, c - a))
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    return normals
