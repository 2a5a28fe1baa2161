"""Parts of ToolHang: a stand, a frame to insert into it, and a tool."""

from math import cos, pi, sin

import numpy as np

from mjgym.mjcf import Spec, add, load
from mjgym.rotations import about_z

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
