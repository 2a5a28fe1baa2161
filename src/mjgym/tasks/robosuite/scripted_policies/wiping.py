"""Scripted policy of Wipe."""

from collections.abc import Sequence

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.tasks.robosuite.scripted_policies.motions import WHOLE_TURN
from mjgym.tasks.robosuite.scripted_policies.tools import Tool, tools_of
from mjgym.tasks.robosuite.tabletop import Tabletop

SPONGE = np.array([0.12, 0.05])  # m, sides of the wiped area, along the table's x and y
OVERLAP = np.array([0.03, 0.015])  # m, overlap of neighbouring press positions
HEADING = np.array(np.pi)  # rad, of the sponge: the opposite heading is near a joint's limit
MARGIN = np.array([0.03, 0.02])  # m, beyond the farthest spots, since a pressed arm lags
ABOVE = 0.05  # m, of the sponge over the table before it descends
PRESS = 0.01  # m, goal of the sponge below the table's face: some 40 N
PRESSED = 0.015  # m, from the sponge to that goal


def wipe(
    task: Tabletop, middle: Sequence[float], room: Sequence[float], condensed: bool
) -> StagedPolicy:
    """Slide the sponge along lanes, stopping on each place until it is pressed into the table.

    A sliding sponge skips, and wipes little; a resting one wipes everything under it. The lanes lie
    along y, clipped to the observed circle of the remaining spots.

    Args:
        middle: centre of the table's face, (3,) m.
        room: half the sides of the area of the spots, (2,) m.
        condensed: whether the observation has the circle of the remaining spots.

    Raises:
        ValueError: the observation has each spot instead of their circle.
    """
    if not condensed:
        raise ValueError("condensed: the script reads the circle of the spots that are left")
    places = np.array(middle)[0:2] + np.array(winding(np.array(room)))

    def near_spots(observation: Observation, places: np.ndarray, height: float) -> np.ndarray:
        """Places moved into the square of the spots' circle, (n, ..., 3) m."""
        centre = observation["wipe_centroid"][..., 0:2]
        radius = observation["wipe_radius"].reshape((*centre.shape[:-1], 1))
        goals = places.reshape(-1, *(1,) * (centre.ndim - 1), 2)
        near = np.clip(goals, centre - radius, centre + radius)
        return np.concatenate([near, np.full_like(near[..., 0:1], middle[2] + height)], axis=-1)

    def descend(observation: Observation, tool: Tool) -> list[Stage]:
        turn = tool.facing(HEADING, WHOLE_TURN)
        (above,) = near_spots(observation, places[:1], ABOVE)
        return [Stage(above, CLOSE, turn, near=0.03, straight=0.2)]

    def press(observation: Observation, tool: Tool) -> list[Stage]:
        turn = tool.facing(HEADING, WHOLE_TURN)
        pressed = tool.position[..., 2] < middle[2]
        return [
            *(
                Stage(place, CLOSE, turn, near=PRESSED, until=pressed)
                for place in near_spots(observation, places, -PRESS)
            ),
            Stage(tool.position, CLOSE, lost=np.array(True)),  # to the first place again
        ]

    return StagedPolicy(tools_of(task, 1, hands=False), descend, press)


def winding(room: np.ndarray) -> list[tuple[float, float]]:
    """Places of the sponge that cover an area in a zigzag of lanes.

    Args:
        room: half the area's sides, (2,) m.
    """
    farthest = np.maximum(room + MARGIN - SPONGE / 2, 0.0)
    counts = np.ceil(2 * farthest / (SPONGE - OVERLAP)).astype(int) + 1
    lanes, along = (
        np.linspace(-end, end, count) for end, count in zip(farthest, counts, strict=True)
    )
    return [
        (float(x), float(y))
        for i, x in enumerate(lanes)
        for y in (along if i % 2 == 0 else along[::-1])
    ]
