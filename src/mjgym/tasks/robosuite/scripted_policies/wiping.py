"""Scripted policy of Wipe."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.tasks.robosuite.scripted_policies.motions import WHOLE_TURN, Reading, facing
from mjgym.tasks.robosuite.scripted_policies.tools import tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.wipe import Wipe

SPONGE = np.array([0.12, 0.05])  # m, sides of the wiped area, along the table's x and y
OVERLAP = np.array([0.03, 0.015])  # m, overlap of neighbouring press positions
HEADING = np.pi  # rad, of the sponge: the opposite heading is near a joint's limit
MARGIN = np.array([0.03, 0.02])  # m, beyond the farthest spots, since a pressed arm lags
ABOVE = 0.05  # m, of the sponge over the table before it descends
PRESS = 0.01  # m, goal of the sponge below the table's face: some 40 N
PRESSED = 0.015  # m, from the sponge to that goal


def wipe(task: "Wipe") -> StagedPolicy:
    """Slide the sponge along lanes, stopping on each place until it is pressed into the table.

    A sliding sponge skips, and wipes little; a resting one wipes everything under it. The lanes lie
    along y, clipped to the observed circle of the remaining spots.

    Raises:
        ValueError: the observation has each spot instead of their circle.
    """
    if not task.condensed:
        raise ValueError("condensed: the script reads the circle of the spots that are left")
    tools = tools_of(task, 1, hands=False)
    (tool,) = tools.tools
    middle = np.array(task.middle)

    def on(place: tuple[float, float], height: float) -> Reading:
        """A place, from the table's centre, moved into the square of the spots' circle."""
        goal = middle[0:2] + np.array(place)

        def target(observation: Observation) -> np.ndarray:
            centre = observation["wipe_centroid"]
            radius = observation["wipe_radius"].reshape((*centre.shape[:-1], 1))
            near = np.clip(goal, centre[..., 0:2] - radius, centre[..., 0:2] + radius)
            return np.concatenate([near, np.full_like(radius, middle[2] + height)], axis=-1)

        return target

    def heading(observation: Observation) -> np.ndarray:
        return np.full(observation["wipe_centroid"].shape[:-1], HEADING)

    def pressed(observation: Observation) -> np.ndarray:
        return np.asarray(tool.position(observation)[..., 2] < middle[2])

    def always(observation: Observation) -> np.ndarray:
        return np.full(observation["wipe_centroid"].shape[:-1], True)

    turn = facing(tool, heading, WHOLE_TURN)
    places = winding(np.array(task.room))
    stages = (
        Stage(on(places[0], ABOVE), CLOSE, turn, near=0.03, straight=0.2),
        *(Stage(on(place, -PRESS), CLOSE, turn, near=PRESSED, until=pressed) for place in places),
        Stage(tool.position, CLOSE, lost=always),  # to the first place again
    )
    return StagedPolicy(tools, [stages], parts=(1,))


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
