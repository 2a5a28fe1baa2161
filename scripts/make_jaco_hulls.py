"""Make the convex hulls of the Jaco's links from measured numbers.

python scripts/make_jaco_hulls.py    writes the meshes and prints each link's error

Each link is the convex hull of a few drums: cylinders with rounded edges, placed at its joints.
Their free numbers are fitted so that the hull's support function matches the measured one along 26
directions and along the axes of its body.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjgym.util import atomic

ROOT = Path(__file__).resolve().parents[1]
MEASURED = ROOT / "tests" / "data" / "manipulation" / "jaco_hulls.json"
FOLDER = ROOT / "assets" / "robots" / "jaco"
RUN = "python scripts/make_jaco_hulls.py"

NARROW_EDGE = 0.003  # m: a narrower one has fewer facets
DIGITS = 4  # decimals of a vertex in m: 0.1 mm
PULL = 0.03  # regularisation towards initial values
EVERYTHING = ("x", "y", "z", "radius", "half", "edge")
IN_PLANE = (
    "x",
    "y",
    "radius",
    "half",
    "edge",
)  # of a finger, which is symmetric in z = 0
LEAST = {"radius": 0.0005, "half": 0.0005, "edge": 0.0015}  # m, lower limits of the fit


@dataclass(frozen=True)
class Drum:
    """A cylinder with rounded edges, in its body's frame.

    Args:
        x, y, z: centre, m.
        axis: a direction.
        radius: of its flat ends, m.
        half: half the length between the flat ends' edges, m.
        edge: radius of the rounding that is added all around, m.
        fit: fitted numbers among "x", "y", "z", "radius", "half" and "edge".
        mirrored: whether its mirror image in the plane x = 0 is included.
        turns: vertices in a ring around the axis.
    """

    x: float
    y: float
    z: float
    axis: tuple[float, float, float] = (0.0, 0.0, 1.0)
    radius: float = 0.0
    half: float = 0.0
    edge: float = 0.0
    fit: tuple[str, ...] = ()
    mirrored: bool = False
    turns: int = 32

    def images(self) -> "list[Drum]":
        """The drum, and its mirror image if it has one."""
        if not self.mirrored:
            return [self]
        a, b, c = self.axis
        return [self, replace(self, x=-self.x, axis=(-a, b, c))]

    def direction(self) -> np.ndarray:
        """Normalised axis, (3,)."""
        return np.array(self.axis) / np.linalg.norm(self.axis)

    def support(self, directions: np.ndarray) -> np.ndarray:
        """Support function about the body's origin: directions (n, 3) to distances (n,)."""
        along = directions @ self.direction()
        across = np.sqrt(np.maximum(0.0, 1 - along**2))
        middle = directions @ (self.x, self.y, self.z)
        return middle + self.radius * across + self.half * np.abs(along) + self.edge

    def rings(self) -> list[np.ndarray]:
        """Points on its surface, ring by ring along the axis, each (turns, 3)."""
        axis = self.direction()
        side = np.cross(axis, (1.0, 0.0, 0.0) if abs(axis[0]) < 0.9 else (0.0, 1.0, 0.0))
        side /= np.linalg.norm(side)
        turn = np.arange(self.turns) * 2 * np.pi / self.turns
        around = np.outer(np.cos(turn), side) + np.outer(np.sin(turn), np.cross(axis, side))
        rings = []
        for end in (-1, 1):
            for angle in np.linspace(0, np.pi / 2, 4 if self.edge > NARROW_EDGE else 3)[::end]:
                height = end * (self.half + self.edge * np.sin(angle))
                radius = self.radius + self.edge * np.cos(angle)
                rings.append((self.x, self.y, self.z) + height * axis + radius * around)
        return rings


X = (1.0, 0.0, 0.0)
Y = (0.0, 1.0, 0.0)
ELBOW = (0.0, np.sqrt(3) / 2, 0.5)  # the wrist's second axis, 60 degrees from the first
WIDE, NARROW = 0.04125, 0.0315  # m, radii of the links below and above the wrist

# Drums of each link. Joint positions and radii are the model's; the initial values of the other
# numbers are rough.
LINKS: dict[str, list[Drum]] = {
    # A column with its two plugs.
    "base": [
        Drum(0, 0, 0.001, radius=0.033, edge=0.001, fit=("radius",)),
        Drum(0, 0, 0.085, radius=WIDE - 0.002, half=0.067, edge=0.002, fit=("z", "half")),
        Drum(0.027, 0.034, 0.05, edge=0.006, fit=("x", "y", "z", "edge"), turns=16),
        Drum(-0.034, 0.027, 0.05, edge=0.006, fit=("x", "y", "z", "edge"), turns=16),
    ],
    # Straight below the first joint, then narrower around the second, with a domed cap.
    "shoulder": [
        Drum(0, 0, -0.011, radius=WIDE, half=0.011, fit=("z", "half")),
        Drum(0, -0.02, -0.11875, Y, radius=0.02, edge=0.02, fit=("y", "radius", "edge")),
        Drum(0, 0.0, -0.11875, Y, radius=WIDE - 0.002, edge=0.002, fit=("y", "radius")),
    ],
    # From the second joint to the third, the backs domed.
    "arm": [
        Drum(0, 0, -0.003, radius=WIDE - 0.002, edge=0.002, fit=("z",)),
        Drum(0, 0, -0.02, radius=0.015, edge=0.025, fit=("z", "radius", "edge")),
        Drum(0, -0.41, -0.003, radius=WIDE - 0.002, edge=0.002, fit=("z",)),
        Drum(0, -0.41, -0.02, radius=0.015, edge=0.025, fit=("z", "radius", "edge")),
    ],
    "forearm": [
        Drum(0, 0, -0.003, radius=WIDE - 0.002, edge=0.002, fit=("z",)),
        Drum(0, 0, -0.02, radius=0.015, edge=0.025, fit=("z", "radius", "edge")),
        Drum(0, 0.2, -0.0114, Y, radius=NARROW, half=0.005, fit=("y", "z", "radius", "half")),
    ],
    "wrist": [
        Drum(0, 0, -0.005, radius=NARROW, half=0.005, fit=("z", "half")),
        Drum(0, -0.037, -0.064, ELBOW, radius=NARROW - 0.002, edge=0.002, fit=("y", "z")),
        Drum(0, -0.02, -0.052, ELBOW, radius=NARROW - 0.006, edge=0.006, fit=("y", "z", "edge")),
    ],
    # A collar on the wrist, a palm, and mounts for the thumb and the two fingers opposite to it.
    "hand_3finger_main": [
        Drum(0, 0, -0.005, radius=NARROW, half=0.005, fit=("z", "half", "radius")),
        Drum(0, -0.003, -0.08, radius=0.036, half=0.005, edge=0.01,
             fit=("y", "z", "radius", "half", "edge")),
        Drum(0.003, 0.033, -0.1, X, half=0.012, edge=0.018, fit=EVERYTHING, turns=24),
        Drum(0.025, -0.025, -0.1, X, half=0.012, edge=0.015, fit=EVERYTHING,
             mirrored=True, turns=24),
    ],
    # Palm closure between the fingers.
    "hand_3finger_insert": [
        Drum(0, 0.01, -0.1, half=0.01, radius=0.005, edge=0.005, fit=EVERYTHING),
        Drum(0.015, -0.01, -0.1, half=0.01, radius=0.005, edge=0.005, fit=EVERYTHING,
             mirrored=True),
    ],
    "finger_proximal": [
        Drum(0.002, -0.004, 0, half=0.005, radius=0.003, edge=0.006, fit=IN_PLANE, turns=24),
        Drum(0.02, -0.01, 0, half=0.005, radius=0.006, edge=0.006, fit=IN_PLANE, turns=24),
        Drum(0.043, -0.004, 0, half=0.005, radius=0.003, edge=0.006, fit=IN_PLANE, turns=24),
    ],
    "finger_distal": [
        Drum(0.0, -0.004, 0, half=0.005, radius=0.003, edge=0.006, fit=IN_PLANE, turns=24),
        Drum(0.02, -0.006, 0, half=0.005, radius=0.003, edge=0.006, fit=IN_PLANE, turns=24),
        Drum(0.037, -0.003, 0, half=0.003, radius=0.002, edge=0.003, fit=IN_PLANE, turns=24),
    ],
}  # fmt: skip


def measured(hull: dict[str, Any], directions: list[list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """Directions and measured support of the hull along them, both in its body's frame.

    The last six are the axes of the body; the others were measured in the geom's frame.

    Returns:
        Directions (32, 3), and distances (32,) in m from the body's origin.
    """
    matrix = np.zeros(9)
    mujoco.mju_quat2Mat(matrix, np.array(hull["geom_quat"]))
    along = np.array(directions) @ matrix.reshape(3, 3).T
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    distances = np.array(hull["support"]) + along @ np.array(hull["geom_pos"])
    box = hull["box_in_body_frame"]
    axes = np.eye(3)
    return (
        np.concatenate([along, -axes, axes]),
        np.concatenate([distances, -np.array(box["lower"]), box["upper"]]),
    )


def fitted(drums: list[Drum], directions: np.ndarray, distances: np.ndarray) -> list[Drum]:
    """Fit drums to the measured support by the Levenberg-Marquardt method."""

    def build(numbers: np.ndarray) -> list[Drum]:
        left = iter(np.maximum(numbers, floor))
        return [replace(d, **{name: float(next(left)) for name in d.fit}) for d in drums]

    def errors(numbers: np.ndarray) -> np.ndarray:
        shape = [image for drum in build(numbers) for image in drum.images()]
        reach = np.max([drum.support(directions) for drum in shape], axis=0)
        return np.concatenate([reach - distances, PULL * (numbers - start)])

    names = [name for drum in drums for name in drum.fit]
    start = np.array([getattr(drum, name) for drum in drums for name in drum.fit])
    floor = np.array([LEAST.get(name, -np.inf) for name in names])
    numbers, damping = start, 1e-3
    for _ in range(300):
        now = errors(numbers)
        slopes = np.stack(
            [(errors(numbers + step) - now) / 1e-7 for step in 1e-7 * np.eye(len(numbers))], axis=1
        )
        square = slopes.T @ slopes
        change = np.linalg.solve(square + damping * np.eye(len(numbers)), -slopes.T @ now)
        if (errors(numbers + change) ** 2).sum() < (now**2).sum():
            numbers, damping = np.maximum(numbers + change, floor), damping / 3
        else:
            damping *= 4
    return build(numbers)


def convex(points: np.ndarray) -> np.ndarray:
    """Mask of the points that are vertices of their convex hull, (n,) bool."""
    spec = mujoco.MjSpec()
    mesh = spec.add_mesh(name="hull", uservert=points.ravel().tolist())
    spec.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_MESH, meshname=mesh.name)
    graph = spec.compile().mesh_graph
    corners = np.zeros(len(points), dtype=bool)
    corners[graph[2 + graph[0] : 2 + 2 * graph[0]]] = True
    return corners


def vertices(drums: Iterable[Drum]) -> list[np.ndarray]:
    """Vertices of the drums' convex hull, rounded, ring by ring."""
    shape = [image for drum in drums for image in drum.images()]
    rings = [np.round(ring, DIGITS) + 0.0 for drum in shape for ring in drum.rings()]
    points = np.concatenate(rings)
    _, first = np.unique(points, axis=0, return_index=True)
    once = np.zeros(len(points), dtype=bool)
    once[first] = True
    corners = once.copy()
    corners[once] = convex(points[once])
    ends = np.cumsum([len(ring) for ring in rings])[:-1]
    pairs = zip(rings, np.split(corners, ends), strict=True)
    return [ring[corner] for ring, corner in pairs if corner.any()]


def mesh_file(hulls: dict[str, list[np.ndarray]]) -> str:
    """MJCF of meshes."""
    lines = ["<mujoco>", f"  <!-- Written by {RUN}: corners in m, in the frame of the link. -->",
             "  <asset>"]  # fmt: skip
    for name, rings in hulls.items():
        lines.append(f'    <mesh name="{name}" vertex="')
        lines += [
            "      " + "  ".join(" ".join(f"{x:g}" for x in point) for point in ring)
            for ring in rings
        ]
        lines[-1] += '"/>'
    return "\n".join([*lines, "  </asset>", "</mujoco>", ""])


def main() -> None:
    """Fit, print and write."""
    record = json.loads(MEASURED.read_text())
    files: dict[str, dict[str, list[np.ndarray]]] = {"arm_hulls.xml": {}, "hand_hulls.xml": {}}
    print("link                 vertices  rms mm  worst mm")
    for full, hull in record["hulls"].items():
        name = full.rpartition("/")[2]
        directions, distances = measured(hull, record["directions"])
        rings = vertices(fitted(LINKS[name], directions, distances))
        points = np.concatenate(rings)
        errors = ((directions @ points.T).max(axis=1) - distances)[: len(record["directions"])]
        rms, worst = np.sqrt((errors**2).mean()) * 1e3, np.abs(errors).max() * 1e3
        print(f"{name:20} {len(points):8}  {rms:6.2f}  {worst:8.2f}")
        files["hand_hulls.xml" if "hand/" in full else "arm_hulls.xml"][name] = rings
    for file, hulls in files.items():
        atomic.write_text(FOLDER / file, mesh_file(hulls))


if __name__ == "__main__":
    main()
