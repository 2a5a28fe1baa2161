"""Follow a velocity command on rough ground, as in mjlab.

Zakka, Liao, Yi, Le Lay, Sreenath and Abbeel, "mjlab: A Lightweight Framework for GPU-Accelerated
Robot Learning", 2026, arXiv:2601.22074.
"""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar, Literal

import numpy as np

from mjgym.arrays import Array, alongside, columns, namespace, reshaped, smallest
from mjgym.mjcf import Spec, add
from mjgym.rotations import XX, YX, norm, squared_norm
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Signal, register_variants, variant
from mjgym.tasks.legged import patches
from mjgym.tasks.legged.legged_task import FLOOR, FORCE, add_floor
from mjgym.tasks.legged.servos import hard_steps
from mjgym.tasks.legged.velocity import HIGHEST, NOISE, UP, Velocity

# The height scan: rays downwards from a grid around the root, turned with its heading.
FORWARD = np.linspace(-0.8, 0.8, 17)  # m, fastest
LEFTWARD = np.linspace(-0.5, 0.5, 11)  # m
FARTHEST = 5.0  # m, of a ray; unit of the observed distances
GRID = np.stack(np.meshgrid(FORWARD, LEFTWARD), axis=-1).reshape(-1, 2)
SCAN_NOISE = 0.1  # m, largest error

# The ground's normal: a plane through some of the scanned points, unless they lie on a line or
# scatter.
FITTED = tuple(range(0, 187, 6))
FLATTEST, LINEAR = 0.1, 1e-6  # largest ratio of variances below and above; least of the middle one

FIRST_LEVELS = 6  # rows of the first start
PROMOTED = patches.SIZE / 2  # m, from the start, beyond which the next episode is harder
DEMOTED = 0.5  # of the commanded distance, below which it is easier
MARGIN = 0.3  # m, from the end of the ground, where an episode is cut off
COLLISION_ITERATIONS = 500
SEEN_EXTENT = 2.0  # m, for the camera, which stays with the robot

TRUNK_AXES = ("trunk_x", "trunk_y", UP)  # the world's axes in the trunk's frame

QUADRUPED: dict[str, Any] = {
    "upright_to": "terrain",
    "fallen": "thighs",
    "self_collisions": -0.1,
    "shank_collision": -0.1,
    "trunk_head_collision": -0.1,
}


@register_variants(
    "legged/{}-velocity-rough-v0",
    g1=variant(
        "A humanoid follows a velocity command on rough ground.",
        robot="g1",
        body_ang_vel=-0.05,
        angular_momentum=-0.02,
        self_collisions=-1.0,
    ),
    go2=variant("A Go2 follows a velocity command on rough ground.", robot="go2", **QUADRUPED),
    go1=variant("A Go1 follows a velocity command on rough ground.", **QUADRUPED),
)
@dataclass(frozen=True)
class RoughVelocity(Velocity):
    """A legged robot follows a velocity command over stairs, slopes, waves and rubble.

    Reward: 0.02 s times the weighted sum of the terms, which are named as in mjlab; their weights
    are keyword arguments.

    Start: in its usual pose at rest, near the centre of a patch of ground. A patch is harder in the
    next episode if the robot ended more than 4 m from its start, and easier if it went less than
    half of the commanded way. The episode ends when the root tilts by more than 70 degrees, or with
    `fallen="thighs"` when a thigh hits the ground.

    Observation: `base_lin_vel`, velocity of the inertial measurement unit; `base_ang_vel`, its
    angular velocity; `projected_gravity`, direction of gravity as the root sees it; `joint_pos`,
    position of each joint relative to the usual pose, as the encoders show it; `joint_vel`,
    velocity of each joint; `actions`, the last action; `command`, wanted velocity forward, to the
    left, and about the vertical; `height_scan`, height of the root above points of the ground
    around it.

    With `privileged` follow heights, times in the air, contacts and contact forces of the feet.
    """

    level: int | None = None  # row of patches, 0 to 9; None: by success
    terrain_seed: int = 0  # of the ground's random heights
    upright_to: Literal["gravity", "terrain"] = "gravity"  # what the trunk stands upright on
    fallen: Literal["tilt", "thighs"] = "tilt"  # what ends an episode
    shank_collision: float = 0.0  # weight, as that which follows
    trunk_head_collision: float = 0.0

    largest_noise: ClassVar[Mapping[str, float]] = {**NOISE, "height_scan": SCAN_NOISE / FARTHEST}
    ground: ClassVar[Mapping[str, str]] = {"reftype": "body", "refname": "world"}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.level is not None and not 0 <= self.level < patches.LEVELS:
            raise ValueError(f"level: 0 to {patches.LEVELS - 1}, got {self.level}")
        needed = {"thighs": self.fallen == "thighs", "shanks": self.shank_collision,
                  "torso": self.trunk_head_collision}  # fmt: skip
        for part, wanted in needed.items():
            if wanted and not getattr(self.body, part):
                raise ValueError(f"robot {type(self.body).__name__} names no geoms of its {part}")

    # The ground.

    def add_ground(self, spec: Spec) -> None:
        add_floor(spec)
        spec.delete(spec.geom(FLOOR))
        spec.option.ccd_iterations = COLLISION_ITERATIONS
        spec.stat.extent = SEEN_EXTENT
        heights = patches.terrain(self.terrain_seed).heights
        half_x, half_y = patches.terrain(self.terrain_seed).half
        lowest, extent = heights.min(), np.ptp(heights)
        add(
            spec, "hfield", name=FLOOR, nrow=heights.shape[0], ncol=heights.shape[1],
            size=(half_x, half_y, extent, 0.1), userdata=((heights - lowest) / extent).ravel(),
        )  # fmt: skip
        look = {"condim": 3, "material": "tiles"}
        add(
            spec.worldbody, "geom", name=FLOOR, type="hfield", hfieldname=FLOOR,
            pos=(0, 0, lowest), **look,
        )  # fmt: skip
        rim = patches.BORDER / 2
        for name, x, y, wide, long in (
            ("east", half_x + rim, 0, rim, half_y + 2 * rim),
            ("west", -half_x - rim, 0, rim, half_y + 2 * rim),
            ("north", 0, half_y + rim, half_x, rim),
            ("south", 0, -half_y - rim, half_x, rim),
        ):
            add(
                spec.worldbody, "geom", name=name, type="box", pos=(x, y, -0.5),
                size=(wide, long, 0.5), **look,
            )  # fmt: skip

    def _add_sensors(self, spec: Spec) -> None:
        super()._add_sensors(spec)
        if self.upright_to == "terrain":
            for name, kind in zip(TRUNK_AXES[:2], ("framexaxis", "frameyaxis"), strict=True):
                self.watch(
                    spec, name, type=kind, objtype="body", objname="world", reftype="xbody",
                    refname=self.body.trunk,
                )  # fmt: skip
        for geom in (name for names in self._watched.values() for name in names):
            self.watch(
                spec, _touch(geom), type="contact", objtype="geom", objname=geom, intprm=FORCE,
                **self.ground,
            )  # fmt: skip

    @functools.cached_property
    def _watched(self) -> dict[str, tuple[str, ...]]:
        """Geoms whose contacts with the ground count."""
        robot = self.body
        return {
            "thighs": robot.thighs if self.fallen == "thighs" else (),
            "shank_collision": robot.shanks if self.shank_collision else (),
            "trunk_head_collision": robot.torso if self.trunk_head_collision else (),
        }

    def ground_height(self, x: Array, y: Array) -> Array:
        """Height of the ground under points, m, of any shape."""
        ground = patches.terrain(self.terrain_seed)
        half_x, half_y = ground.half
        points_y, points_x = ground.heights.shape
        heights = alongside(ground.heights, x)
        xp = namespace(x)
        along, across = (x + half_x) / patches.CELL, (y + half_y) / patches.CELL
        j = xp.clip(xp.floor(along), 0, points_x - 2)
        i = xp.clip(xp.floor(across), 0, points_y - 2)
        u, w = along - j, across - i
        first = xp.astype(i * points_x + j, xp.int64)
        flat = reshaped(heights, (-1,))

        def at(offset: int) -> Array:
            rows = columns(flat, reshaped(first + offset, (-1,)))
            return reshaped(rows, x.shape)

        near, far = at(0), at(points_x + 1)
        # The engine halves a cell along this diagonal.
        lower = near + (at(1) - near) * u + (far - at(1)) * w
        upper = near + (far - at(points_x)) * u + (at(points_x) - near) * w
        inside = (abs(x) <= half_x) & (abs(y) <= half_y)
        return xp.where(inside, xp.where(u >= w, lower, upper), 0.0)

    # Start and curriculum.

    @property
    def drawn_sizes(self) -> Mapping[str, int]:
        return {**super().drawn_sizes, "patch": 2}  # row and column

    @property
    def kept(self) -> tuple[str, ...]:
        return (*super().kept, "next_level", "column")

    def initialize(self, v: SingleView, rng: Any) -> None:
        super().initialize(v, rng)
        shares = np.array([share for _, share in patches.KINDS.values()])
        first_level, first_column = rng.integers(FIRST_LEVELS), rng.choice(len(shares), p=shares)
        level = int(v.kept.get("next_level", first_level))
        column = int(v.kept.get("column", first_column))
        if level >= patches.LEVELS:
            level = int(rng.integers(patches.LEVELS))
        if self.level is not None:
            level = self.level
        v.qpos[:3] += patches.terrain(self.terrain_seed).origins[level, column]
        self.drawn_numbers(v, "patch")[:] = level, column

    def memory(self, v: View) -> Arrays:
        patch = self.drawn_numbers(v, "patch")
        level, column = patch[..., 0], patch[..., 1]
        origins = patches.terrain(self.terrain_seed).origins.reshape(-1, 3)
        place = v.xp.astype(level * len(patches.KINDS) + column, v.xp.int64)
        origin = columns(v.from_numpy(origins), reshaped(place, (-1,)), axis=0)
        return {
            **super().memory(v),
            "level": level,
            "column": column,
            "origin": reshaped(origin, (*v.lead, 3)),  # m, of the patch
            "next_level": level,
            "hits": self._hits(v),  # m, points of the ground that the rays have hit
        }

    def update(self, v: View) -> Arrays:
        xp, m = v.xp, v.memory
        walked = norm(v.qpos[..., :2] - m["origin"][..., :2])
        wanted = norm(m["command"][..., :2]) * self.time_limit
        up, down = walked > PROMOTED, walked < DEMOTED * wanted
        up, down = (xp.astype(xp.asarray(moved), xp.float64) for moved in (up, down & ~up))
        return {
            **super().update(v),
            "next_level": xp.maximum(m["level"] + up - down, 0.0),
            "hits": self._hits(v),
        }

    # What the robot sees of the ground.

    def _hits(self, v: View) -> Array:
        xp, root = v.xp, v.body(self.body.root)
        ahead, aside = (v.from_numpy(GRID[:, k]) for k in range(2))
        forward, left = root.xmat[..., XX : XX + 1], root.xmat[..., YX : YX + 1]
        length = xp.sqrt(forward**2 + left**2)
        cosine, sine = forward / length, left / length
        x = root.xpos[..., :1] + cosine * ahead - sine * aside
        y = root.xpos[..., 1:2] + sine * ahead + cosine * aside
        return xp.stack([x, y, self.ground_height(x, y)], axis=-1)

    def heights(self, v: View) -> Array:
        sites, robot = v.take("site_xpos", self.body.feet), self.body
        angles = np.arange(robot.foot_points) * 2 * pi / robot.foot_points
        ring = robot.foot_radius * np.stack([np.cos(angles), np.sin(angles)])
        ahead, aside = (v.from_numpy(np.append(0.0, offsets)) for offsets in ring)
        x, y = sites[..., 0, None] + ahead, sites[..., 1, None] + aside
        return v.xp.clip(smallest(sites[..., 2, None] - self.ground_height(x, y)), 0.0, HIGHEST)

    def _normal(self, v: View) -> Array:
        """The ground's normal around the root, (..., 3); upwards."""
        xp = v.xp
        points = columns(v.memory["hits"], FITTED, axis=-2)
        points = points - xp.mean(points, axis=-2, keepdims=True)
        variances, axes = xp.linalg.eigh(xp.matrix_transpose(points) @ points)
        least, middle, most = (variances[..., k] for k in range(3))
        planar = (least < FLATTEST * xp.maximum(middle, 1e-7)) & (
            middle > LINEAR * xp.maximum(most, 1e-7)
        )
        normal = axes[..., :, 0]
        normal = xp.where(normal[..., 2:] >= 0, normal, -normal)
        return xp.where(planar[..., None], normal, v.from_numpy(np.array([0.0, 0.0, 1.0])))

    def tilt(self, v: View, seen: Mapping[str, Array]) -> Array:
        if self.upright_to == "gravity":
            return super().tilt(v, seen)
        axes, normal = self.seen(v, TRUNK_AXES), self._normal(v)
        parts = (axes[name] * normal[..., k : k + 1] for k, name in enumerate(TRUNK_AXES))
        return squared_norm(sum(parts)[..., :2])

    # Reward, end, observation.

    def terms(self, v: View) -> Arrays:
        touched = {
            term: hard_steps(v, tuple(map(_touch, geoms)))
            for term, geoms in self._watched.items()
            if geoms and term != "thighs"
        }
        return {**super().terms(v), **touched}

    def terminated(self, v: View) -> Array:
        if self.fallen == "tilt":
            return super().terminated(v)
        return hard_steps(v, tuple(map(_touch, self._watched["thighs"]))) > 0

    def truncated(self, v: View) -> Array:
        half_x, half_y = patches.terrain(self.terrain_seed).half
        x, y = abs(v.qpos[..., 0]), abs(v.qpos[..., 1])
        end = patches.BORDER - MARGIN
        return (x > half_x + end) | (y > half_y + end)

    def observation(self, v: View) -> Arrays:
        xp, entries = v.xp, super().observation(v)
        depth = v.body(self.body.root).xpos[..., 2:] - v.memory["hits"][..., 2]
        scan = xp.where(depth > FARTHEST, FARTHEST, depth) / FARTHEST
        seen = {name: entries.pop(name) for name in tuple(entries) if name.startswith("foot_")}
        return {**entries, "height_scan": scan, **seen}

    def known_labels(self) -> dict[str, Signal]:
        names = tuple(f"{x:.1f} {y:.1f}" for x, y in GRID.tolist())
        scan = Signal(
            "height of the root above the ground, at points forward and left (m), in 5 m", names,
            "5 m", self.body.root, "memory hits",
        )  # fmt: skip
        return {**super().known_labels(), "height_scan": scan}


def _touch(geom: str) -> str:
    return f"{geom}_touch"
