"""Stick a frame into a stand and hang a tool on it."""

import functools
from dataclasses import dataclass
from math import cos, pi, radians, sin, sqrt
from typing import ClassVar

import numpy as np

from mjgym.arrays import Array, total
from mjgym.mjcf import Spec, add, load
from mjgym.placements import Extent, Placement, Several, Uniform
from mjgym.robots.staged_policy import StagedPolicy
from mjgym.rotations import about_z, norm, to_local
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, Viewpoint, register
from mjgym.tasks.robosuite.scripted_policies import hanging_up
from mjgym.tasks.robosuite.tabletop import (
    TABLE_TOP,
    OneTable,
    in_contact,
    move_camera,
    pose_in_hand,
    reward_if,
    upright,
    watch_contact,
    xyzw,
)

STAND, FRAME, TOOL = "stand_root", "frame_root", "tool_root"
WALLS = tuple(f"stand_wall{i}" for i in range(4))

# The cone at the frame's tip: squares, from the point up.
SQUARES = 51
SQUARE_HALVES = (0.001, 0.00325)  # m, of the first and the last square
SQUARE_HEIGHTS = (-0.134263235, -0.115586765)  # m, along the post
THICKNESS = 0.000186765  # m, half a square's
POST = 0.04375  # m, position of the post along the frame's x

# The tool's rings, each of eight bars: half sizes of a bar, and its distance from the centre, m.
BARS = 8
RINGS = {
    "hole1": ((0.003233578, 0.00669696, 0.0035), 0.012934313),
    "hole2": ((0.002309699, 0.005740251, 0.0035), 0.011548494),
}
RING = tuple(f"tool_hole1_hc_{i}" for i in range(BARS))
"""The bars of the larger ring, one after the other."""

# Positions on the table, from its centre, along x and y (m), and rotations (rad).
STAND_PLACE = (-0.08, 0.0)
FRAME_ALONG, FRAME_ACROSS = (-0.06, -0.02), (-0.26, -0.22)
FRAME_TURNED = (7 * pi / 9, 8 * pi / 9)
TOOL_ALONG, TOOL_ACROSS = (0.02, 0.06), (-0.22, -0.18)
TOOL_TURNED = (-2 * pi / 3, -5 * pi / 9)
DROP = 0.001  # m, drop of stand and tool at the start
FRAME_OFFSET = -0.0993  # m, offset of the lying frame as if it stood
EXTENTS = {
    "stand": Extent(0.092195445, -0.08, 0.08),
    "frame": Extent(0.047647796, -0.1408, 0.1408, quat=(sqrt(0.5), -sqrt(0.5), 0.0, 0.0)),
    "tool": Extent(0.114093806, -0.04, 0.04),
}
BODIES = {"stand": STAND, "frame": FRAME, "tool": TOOL}

UPRIGHT = cos(radians(10))  # least cosine of the stand's tilt
IN_STAND = 0.05  # m from the stand's foot, of a frame's tip in the stand
ROD, RING_BODY = "frame_horizontal_frame", "tool_hole1_root"
CLEARANCE = 0.0105 - 0.00375  # m: the ring's inner radius without half the rod
ON_ROD = (0.05, 1.0)  # fractions of the rod's length from the hook, of a hung ring

SEEN_FROM = ((0.483727527, 0.25055791), (0.397132917, 0.278075287, 0.501661258, 0.716446483))
HUNG = 1.0  # the reward of success


@register("robosuite/ToolHang-v0", tags=("tabletop", "one-arm"))
@dataclass(frozen=True)
class ToolHang(OneTable):
    """Stick the frame's tip into the stand and hang the tool by its larger ring on the frame's rod.

    Start: the arm near its published pose; the stand on the table, the frame and the tool lying
    beside it, at places and angles that are drawn for each episode.

    Observation: the robot's entries (see `Tabletop`), then of each object, `base` (the stand's
    foot), `frame` (its corner) and `tool` (its middle), `<object>_to_robot0_eef_pos` (m) and
    `<object>_to_robot0_eef_quat` (x, y, z, w) as the hand sees it, `<object>_pos` and
    `<object>_quat`; `frame_is_assembled` and `tool_on_frame`, 1 where it is so.

    Reward: 1 for success, nothing on the way. Success: the frame is in the stand: the stand upright
    within 10 degrees, the frame's tip within 5 cm of its foot, and the frame's post between the
    stand's opposite walls; and the tool hangs: no hand touches it, its larger ring touches the
    frame's rod and has it within, between the hook and the post.
    """

    reward_type: str = "sparse"

    agentview = ((*SEEN_FROM[0], 1.263937906), SEEN_FROM[1])
    viewpoint = Viewpoint(azimuth=150, elevation=-28, distance=1.35, lookat=(-0.15, 0.0, 1.05))
    most = HUNG
    object_names = tuple(BODIES)
    bodies: ClassVar = BODIES
    reward_types = ("sparse",)

    @property
    def default_placement(self) -> Placement:
        x, y = STAND_PLACE
        return Several(
            (
                Uniform(("stand",), (x, x), (y, y), 0.0, "z", False, False, TABLE_TOP, DROP),
                Uniform(
                    ("frame",), FRAME_ALONG, FRAME_ACROSS, FRAME_TURNED,
                    clear=False, reference=TABLE_TOP, z_offset=FRAME_OFFSET,
                ),
                Uniform(
                    ("tool",), TOOL_ALONG, TOOL_ACROSS, TOOL_TURNED,
                    clear=False, reference=TABLE_TOP, z_offset=DROP,
                ),
            )
        )  # fmt: skip

    def furnish(self, scene: Spec) -> None:
        super().furnish(scene)
        move_camera(scene, "sideview", ((*SEEN_FROM[0], 1.213937906), SEEN_FROM[1]))
        add_stand_frame_and_tool(scene)
        watch_contact(scene, RING_BODY, ROD)
        watch_contact(scene, self.hand, TOOL)

    @functools.cached_property
    def hand(self) -> str:
        manipulator = self.manipulators[0]
        return f"{manipulator.hand_prefix}{manipulator.hand.model().worldbody.first_body().name}"

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return EXTENTS

    def objects(self, v: View) -> Arrays:
        points = {
            "base": (STAND, v.geom("stand_base").xpos),
            "frame": (FRAME, v.site("frame_intersection_site").xpos),
            "tool": (TOOL, v.body(TOOL).xpos),
        }
        arm = self.manipulators[0]
        hand = v.body(arm.link).xmat
        entries = {}
        for name, (body, point) in points.items():
            _, turned = pose_in_hand(v, arm, body)
            entries[f"{name}_to_robot0_eef_pos"] = to_local(hand, point - v.site(arm.tool).xpos)
            entries[f"{name}_to_robot0_eef_quat"] = turned
            entries[f"{name}_pos"] = point
            entries[f"{name}_quat"] = xyzw(upright(v.body(body).xquat, v), v)
        entries["frame_is_assembled"] = reward_if(v, self.assembled(v), 1.0)
        entries["tool_on_frame"] = reward_if(v, self.hung(v), 1.0)
        return entries

    def assembled(self, v: View) -> Array:
        """Tell whether the frame is in the stand, bool."""
        foot = v.geom("stand_base").xpos
        stand = v.site("stand_mount_site").xpos - foot
        upright = stand[..., 2] > UPRIGHT * norm(stand)
        in_stand = norm(v.site("frame_tip_site").xpos - foot) < IN_STAND
        post = v.site("frame_mount_site").xpos, v.site("frame_intersection_site").xpos
        walls = [beside(v.geom(wall).xpos, *post) for wall in WALLS]
        between = (total(walls[0] * walls[2]) < 0) & (total(walls[1] * walls[3]) < 0)
        return v.xp.asarray(upright & in_stand & between)

    def hung(self, v: View) -> Array:
        """Tell whether the tool hangs on the frame, bool."""
        rod = v.site("frame_hang_site").xpos, v.site("frame_intersection_site").xpos
        centre = v.site("tool_hole1_center").xpos
        near = norm(beside(centre, *rod)) < CLEARANCE
        opposite = [beside(v.geom(RING[i]).xpos, *rod) for i in (0, 4)]
        around = total(opposite[0] * opposite[1]) < 0
        along = share_along(centre, *rod)
        there = (along > ON_ROD[0]) & (along < ON_ROD[1])
        held = in_contact(v, self.hand, TOOL)
        return in_contact(v, RING_BODY, ROD) & near & around & there & ~held

    def terms(self, v: View) -> Arrays:
        return {"hang": reward_if(v, self.success(v), HUNG)}

    def success(self, v: View) -> Array:
        return self.assembled(v) & self.hung(v)

    def scripted_policy(self) -> StagedPolicy:
        return hanging_up.hang_up(self)


def add_stand_frame_and_tool(scene: Spec) -> None:
    """Add the three to a scene; their names begin with "stand_", "frame_" and "tool_"."""
    frame, tool = load("robosuite/frame.xml"), load("robosuite/tool.xml")
    post = frame.body("root")
    places = np.linspace(SQUARE_HEIGHTS[0], SQUARE_HEIGHTS[1], SQUARES)
    halves = np.linspace(SQUARE_HALVES[0], SQUARE_HALVES[1], SQUARES)
    for i, (height, half) in enumerate(zip(places, halves, strict=True)):
        add(
            post, "geom", name=f"tip_cone_{i}", size=(half, half, THICKNESS),
            pos=(POST, 0, height),
        )  # fmt: skip
    for ring, (half, radius) in RINGS.items():
        body = tool.body(f"{ring}_root")
        for i in range(BARS):
            angle = pi - i * 2 * pi / BARS
            add(
                body, "geom", default=tool.find_default("bar"), name=f"{ring}_hc_{i}", size=half,
                pos=(radius * cos(angle), radius * sin(angle), 0), quat=about_z(angle),
            )  # fmt: skip
    for name, part in (("stand", load("robosuite/stand.xml")), ("frame", frame), ("tool", tool)):
        scene.attach(part, prefix=f"{name}_", frame=scene.worldbody.add_frame())


def share_along(point: Array, start: Array, end: Array) -> Array:
    """Projection of a point onto a line, (...): 0 at its start, 1 at its end."""
    line = end - start
    return total((point - start) * line) / total(line * line)


def beside(point: Array, start: Array, end: Array) -> Array:
    """Perpendicular from a line to a point, (..., 3) m."""
    return point - start - share_along(point, start, end)[..., None] * (end - start)
