"""Soccer pitch: a field with two goals between walls, with a size drawn per match."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym.mjcf import Spec, add, load
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.arenas.any_arena import PLACED, Arena

Half = tuple[float, float]
"""Half-lengths of a rectangle along x and y, m."""
Box = tuple[tuple[float, float, float], tuple[float, float, float]]
"""Centre and half-sizes, m."""

TEAMS = ("home", "away")
SIDES = (-1.0, 1.0)  # of x, where each team defends
WAYS = {"right": -1, "left": 1}  # of y
COLOURS = ((0.12, 0.36, 0.86), (0.88, 0.16, 0.14))  # of the teams: blue and red

GOAL_DEPTH = GOAL_HEIGHT = 8 / 3  # m, half of a goal along x and z, by default
GOAL_WIDTH = 0.33  # half of a goal along y, relative to the pitch's half-width
THICKNESS = 0.07  # radius of a post, relative to the mean of the goal's three half-sizes

# Ends of posts, in halves of a goal from its centre; +x is into the field. The radius of the top
# post is 1.01 times that of the others, that of supports 0.75 times.
POSTS = {
    "right_post": ((1, -1, -1), (1, -1, 1)),
    "left_post": ((1, 1, -1), (1, 1, 1)),
    "top_post": ((1, -1, 1), (1, 1, 1)),
    "right_base": ((1, -1, -1), (-1, -1, -1)),
    "left_base": ((1, 1, -1), (-1, 1, -1)),
    "back_base": ((-1, -1, -1), (-1, 1, -1)),
    "right_support": ((-1, -1, -1), (0.2, -1, 1)),
    "right_top_support": ((0.2, -1, 1), (1, -1, 1)),
    "left_support": ((-1, 1, -1), (0.2, 1, 1)),
    "left_top_support": ((0.2, 1, 1), (1, 1, 1)),
}
_ENDS = np.array(list(POSTS.values()))
_WIDER = np.array([1.01 if "top" in name else 1.0 for name in POSTS])
_THINNER = np.array([0.75 if "support" in name else 1.0 for name in POSTS])
NET = 0.01  # m, half its thickness

CORNERS = ("lower", "mid", "upper")  # sites of a goal: its two corners and its centre
BOX_ONLY = 2  # contype of a closed field's walls, which collide with the ball alone
WALL = 0.5  # m, half the thickness of such a wall
LID = 12.0  # m, height of a closed field
HOARDING = 0.45  # m, half the height of the visual hoardings around the pitch

LIGHTS = tuple((x, y) for x in (-1.0, 1.0) for y in (-1.0, 1.0))  # one over each corner
TOP = 95.0  # m, height of the camera above the whole pitch
MARGIN = 1.1  # view of the camera relative to the pitch
STAND = (8.0, 16.0)  # m, following camera: distance behind the side line, height
DOWN, WIDE = math.radians(42), math.radians(36)  # tilt and angle of the camera on the stand
SEEN = 0.97  # fraction of the width of its 4:3 image that the near side line fills


@dataclass(frozen=True)
class Pitch(Arena):
    """A field with two goals between four walls without end.

    Goals stand within the pitch: the field, which the ball must not leave, ends at their mouths,
    and leaves as much at the other two sides. It is compiled in its smallest size; `draw` sizes it.
    """

    smallest: Half = (32.0, 24.0)  # m; each half-length is uniform between smallest and largest
    largest: Half = (48.0, 36.0)
    keep_aspect_ratio: bool = False  # one draw stands for both half-lengths
    goal: tuple[float, float, float] | None = None  # m, half of it; None: a third of the pitch wide
    box: bool = False  # walls and a lid keep the ball in the field, and let players through
    varies: ClassVar[tuple[str, ...]] = (
        *PLACED, "site_pos", "light_pos", "light_dir", "cam_pos", "cam_fovy",
    )  # fmt: skip

    # Quantities derived from the half-lengths of a pitch.

    def goal_size(self, half: Any) -> np.ndarray:
        """Half of a goal along x, y and z, (3,) m."""
        return np.array(self.goal or (GOAL_DEPTH, GOAL_WIDTH * half[1], GOAL_HEIGHT))

    def goal_place(self, half: Any, side: float) -> np.ndarray:
        """Centre of a goal, (3,) m."""
        depth, _, height = self.goal_size(half)
        return np.array([side * (half[0] - depth), 0.0, height])

    def field(self, half: Any) -> np.ndarray:
        """Half-lengths of the field, (2,) m."""
        return np.array(half) - 2 * float(self.goal_size(half)[0])

    def posts(self, half: Any, side: float) -> tuple[np.ndarray, np.ndarray]:
        """Ends of a goal's posts, (n, 2, 3) m, and their radii, (n,) m."""
        size = self.goal_size(half)
        ends = self.goal_place(half, side) + _ENDS * size * (-side, -side, 1)
        return ends, THICKNESS * float(size.sum()) / 3 * _THINNER * _WIDER

    def _net(self, half: Any, side: float) -> dict[str, Box]:
        """The nets behind and over a goal."""
        depth, width, height = self.goal_size(half)
        x, y, z = self.goal_place(half, side)
        slope = math.hypot(1.2 * depth, 2 * height)
        return {
            "back": ((x + 0.4 * side * depth, y, z), (slope / 2, width, NET)),
            "top": ((x - 0.6 * side * depth, y, z + height), (0.4 * depth, width, NET)),
        }

    def box_walls(self, half: Any) -> dict[str, Box]:
        """The walls of a closed field."""
        along, across = self.field(half)
        _, width, height = self.goal_size(half)
        beside, above = (across - width) / 2, LID / 2 - height
        length = along + 2 * WALL
        walls: dict[str, Box] = {}
        for name, y in WAYS.items():
            place = 0.0, y * (across + WALL), LID / 2
            walls[f"box_{name}"] = place, (length, WALL, LID / 2)
        for team, side in zip(TEAMS, SIDES, strict=True):
            x = side * (along + WALL)
            for name, y in WAYS.items():
                place = x, y * (width + beside), LID / 2
                walls[f"box_{team}_{name}"] = place, (WALL, beside, LID / 2)
            walls[f"box_{team}_over"] = (x, 0.0, 2 * height + above), (WALL, width, above)
        return walls

    def _marks(self, half: Any) -> dict[str, np.ndarray]:
        """Positions of the sites that players observe, (3,) m each."""
        size, field = self.goal_size(half), self.field(half)
        marks = {}
        for team, side in zip(TEAMS, SIDES, strict=True):
            place = self.goal_place(half, side)
            for corner, way in zip(CORNERS, (-1, 0, 1), strict=True):
                marks[f"{team}_goal_{corner}"] = place + way * size
        return {
            **marks,
            "field_lower": np.array([*-field, 0.0]),
            "field_upper": np.array([*field, 0.0]),
        }

    def _camera_position(self, half: Any) -> np.ndarray:
        """Camera position beside a pitch with a view of all of it, (3,) m."""
        along, across = half
        corner = along / (SEEN * math.tan(WIDE / 2) * 4 / 3)  # m, from it to the near corners
        away = corner + across * math.cos(DOWN)
        return np.array([0.0, -away * math.cos(DOWN), away * math.sin(DOWN)])

    # Model.

    def model(self) -> Spec:
        spec = load("locomotion/soccer/pitch.xml")
        half = self.smallest
        for name, mark in self._marks(half).items():
            add(spec.worldbody, "site", name=name, pos=mark, size=(0.05, 0, 0), group=4)
        for team, side, colour in zip(TEAMS, SIDES, COLOURS, strict=True):
            self._add_goal(spec, team, side, (*colour, 1.0))
            # Hoardings along the halves of the sides and behind the goal, as long as `place` says.
            for name, sides in (("_right", (1, 0.06)), ("_left", (1, 0.06)), ("", (0.06, 1))):
                add(
                    spec.worldbody, "geom", name=f"hoarding_{team}{name}", type="box",
                    pos=(0, 0, HOARDING), size=(*sides, HOARDING), contype=0, conaffinity=0,
                    rgba=(*(0.35 + 0.5 * c for c in colour), 1.0),
                )  # fmt: skip
        if self.box:
            for name, (place, size) in self.box_walls(half).items():
                self._add_wall(spec, name, type="box", pos=place, size=size)
            self._add_wall(
                spec, "box_lid", type="plane", pos=(0, 0, LID), zaxis=(0, 0, -1), size=(1e-7,) * 3
            )
        add(
            spec.worldbody, "camera", name="follow", mode="targetbody", targetbody="ball",
            pos=(0, -half[1] - STAND[0], STAND[1]), fovy=32,
        )  # fmt: skip
        add(spec.worldbody, "camera", name="top_down", pos=(0, 0, TOP), fovy=45)
        add(
            spec.worldbody, "camera", name="stand", pos=self._camera_position(half),
            fovy=math.degrees(WIDE), xyaxes=(1, 0, 0, 0, math.sin(DOWN), math.cos(DOWN)),
        )  # fmt: skip
        # It follows the ball and its shadows, which would speckle from far away.
        add(
            spec.body("ball"), "light", name="sun", type="directional", mode="track",
            pos=(-1.75, -2.5, 5), dir=(0.35, 0.5, -1), diffuse=(0.45,) * 3, specular=(0.1,) * 3,
        )  # fmt: skip
        for i, (x, y) in enumerate(LIGHTS):
            add(
                spec.worldbody, "light", name=f"floodlight_{i}", type="spot", pos=(x, y, 1),
                dir=(-x, -y, -1), diffuse=(0.12,) * 3, specular=(0.05,) * 3, cutoff=70,
                castshadow=False,
            )  # fmt: skip
        return spec

    def _add_goal(self, spec: Spec, team: str, side: float, colour: tuple[float, ...]) -> None:
        goal = add(spec.worldbody, "body", name=f"{team}_goal")
        ends, radii = self.posts(self.smallest, side)
        for name, post, radius in zip(POSTS, ends, radii, strict=True):
            add(
                goal, "geom", name=f"{team}_goal_{name}", type="capsule", size=(radius, 0, 0),
                fromto=post.ravel(), rgba=colour,
            )  # fmt: skip
        depth, width, height = self.goal_size(self.smallest)
        tilt = math.atan2(2 * height, -1.2 * side * depth)  # of the net behind it
        for name, (place, size) in self._net(self.smallest, side).items():
            turn = -tilt / 2 if name == "back" else 0.0
            add(
                spec.worldbody, "geom", name=f"{team}_net_{name}", type="box", pos=place,
                size=size, quat=(math.cos(turn), 0, math.sin(turn), 0), material="net",
                contype=0, conaffinity=0,
            )  # fmt: skip
        corners = np.array([(1, -1), (-1, -1), (0.2, 1), (1, 1)]) * (-side * depth, height)
        points = [(x, y, z) for y in (-NET, NET) for x, z in corners]
        add(spec, "mesh", name=f"{team}_net_side", uservert=np.ravel(points))
        for name, way in WAYS.items():
            place = self.goal_place(self.smallest, side) + np.array([0, way * width, 0])
            add(
                spec.worldbody, "geom", name=f"{team}_net_{name}", type="mesh", pos=place,
                meshname=f"{team}_net_side", material="net", contype=0, conaffinity=0,
            )  # fmt: skip

    def _add_wall(self, spec: Spec, name: str, **shape: Any) -> None:
        add(
            spec.worldbody, "geom", name=name, contype=BOX_ONLY, conaffinity=0,
            rgba=(1, 1, 1, 0.08), **shape,
        )  # fmt: skip

    # Per-match values.

    def draw(self, v: SingleView, rng: Any) -> np.ndarray:
        """Draw the size of the pitch, and place everything on it; returns its half-lengths.

        Two draws, or one with `keep_aspect_ratio`.
        """
        share = rng.uniform(size=1 if self.keep_aspect_ratio else 2)
        low, high = np.array(self.smallest), np.array(self.largest)
        half: np.ndarray = low + share * (high - low)
        self.place(v, half)
        return half

    def place(self, v: SingleView, half: Any) -> None:
        """Resize a freshly compiled pitch to half-lengths (2,) m."""
        along, across = half
        field = self.field(half)
        v.geom("ground").size[:2] = field
        v.geom("surroundings").size[:2] = 1.15 * along, 1.15 * across
        v.geom("wall_right").pos[1], v.geom("wall_left").pos[1] = -across, across
        v.geom("wall_home").pos[0], v.geom("wall_away").pos[0] = -along, along
        for name, mark in self._marks(half).items():
            v.site(name).pos = mark
        resized: list[str] = []
        for team, side in zip(TEAMS, SIDES, strict=True):
            ends, radii = self.posts(half, side)
            names = tuple(f"{team}_goal_{name}" for name in POSTS)
            rows = v.rows("geom_pos", names)
            v.geom_pos[rows] = ends.mean(axis=1)
            v.geom_size[rows, 0] = radii
            v.geom_size[rows, 1] = np.linalg.norm(ends[:, 1] - ends[:, 0], axis=-1) / 2
            resized += names
            self._place_drawn(v, half, team, side)
        if self.box:
            for name, (place, size) in self.box_walls(half).items():
                v.geom(name).pos, v.geom(name).size = place, size
                resized.append(name)
        v.refit(resized)
        self._light_and_film(v, half, field)

    def _place_drawn(self, v: SingleView, half: Any, team: str, side: float) -> None:
        along, across = half
        for name, (place, size) in self._net(half, side).items():
            net = v.geom(f"{team}_net_{name}")
            net.pos, net.size = place, size
        moved = self.goal_place(half, side) - self.goal_place(self.smallest, side)
        wider = self.goal_size(half)[1] - self.goal_size(self.smallest)[1]
        for name, way in WAYS.items():
            # A mesh is drawn relative to its inertial frame, not its origin: move it.
            v.geom(f"{team}_net_{name}").pos += moved + np.array([0, way * wider, 0])
            board = v.geom(f"hoarding_{team}_{name}")
            board.pos[:2], board.size[0] = (side * along / 2, way * across), along / 2
        board = v.geom(f"hoarding_{team}")
        board.pos[0], board.size[1] = side * along, across

    def _light_and_film(self, v: SingleView, half: Any, field: np.ndarray) -> None:
        height = 2 / 3 * float(field.mean())
        for i, corner in enumerate(LIGHTS):
            place = np.array([*(corner * field), height])
            light = v.light(f"floodlight_{i}")
            light.pos, light.dir = place, -place * (1, 1, 2) / np.linalg.norm(place * (1, 1, 2))
        v.camera("follow").pos[1] = -half[1] - STAND[0]
        v.camera("stand").pos = self._camera_position(half)
        angle = 2 * math.atan2(MARGIN * max(half), TOP)
        v.camera("top_down").fovy = math.degrees(angle)
