"""Scripted policy of Wipe."""

from typing import TYPE_CHECKING

import numpy as np

from mjgym.robots.staged_policy import CLOSE, Observation, Stage, StagedPolicy
from mjgym.rotations import norm
from mjgym.tasks.robosuite.scripted_policies.motions import HALF_TURN, QUARTER_TURN, facing
from mjgym.tasks.robosuite.scripted_policies.tools import tools_of

if TYPE_CHECKING:
    from mjgym.tasks.robosuite.wipe import Wipe

ABOVE = 0.05  # m, of the sponge over the table before it descends
ROW = 0.09  # m, from row to row, along the sponge's length
LEFT_OVER, ARRIVED = 0.03, 0.02  # m, that a stroke goes beyond the spots, and where it ends
PACE = 0.02  # m, that the goal is ahead of the sponge
# How far the goal is below the table, m: the more the less the sponge's face has sunk in.
PRESSED, SUNK, GAIN, LEAST, MOST = 0.012, -0.0003, 15.0, 0.004, 0.03
PATIENCE = 200  # control steps that a row may take: the sponge sticks


def wipe(task: "Wipe") -> StagedPolicy:
    """Wipe to and fro along x, in rows from one side to the other, where spots are left.

    Raises:
        ValueError: the observation has each spot in the place of their centroid.
    """
    if not task.condensed:
        raise ValueError("condensed: the script of Wipe reads the spots' centroid; expected True")
    tools = tools_of(task, 1, hands=False)
    (tool,) = tools.tools
    middle, (half_x, half_y) = np.array(task.middle), task.room
    count = max(int(np.ceil(2 * half_y / ROW)), 1)
    rows = middle[1] + (np.arange(count) - (count - 1) / 2) * (2 * half_y / count)
    ends = middle[0] + np.array([-1.0, 1.0]) * (half_x + LEFT_OVER)

    def along_y(observation: Observation) -> np.ndarray:
        """The heading of the sponge's length."""
        return np.full(tool.position(observation).shape[:-1], QUARTER_TURN)

    turn = facing(tool, along_y, HALF_TURN)

    def stroke(x: float, y: float) -> Stage:
        """The stage that wipes up to a point."""
        end = np.array([x, y])

        def ahead(observation: Observation) -> np.ndarray:
            place = tool.position(observation)
            way = np.clip(end - place[..., 0:2], -PACE, PACE)
            high = place[..., 2:3] - middle[2] - SUNK
            pressed = np.clip(PRESSED + GAIN * high, LEAST, MOST)
            return np.concatenate([place[..., 0:2] + way, middle[2] - pressed], axis=-1)

        def there(observation: Observation) -> np.ndarray:
            return norm(tool.position(observation)[..., 0:2] - end) < ARRIVED

        def clean(observation: Observation) -> np.ndarray:
            """Whether all spots that are left lie beside the row."""
            shape = tool.position(observation).shape[:-1]
            beside = np.abs(observation["wipe_centroid"][..., 1] - y) - ROW / 2
            return np.asarray(beside > observation["wipe_radius"].reshape(shape))

        def done(observation: Observation) -> np.ndarray:
            return there(observation) | clean(observation)

        return Stage(ahead, CLOSE, turn, near=np.inf, until=done)

    first = np.array([ends[0], rows[0], middle[2] + ABOVE])
    stages = [Stage(lambda observation: first, CLOSE, turn, near=0.03)]
    for i, y in enumerate(rows):
        stages += [stroke(x, y) for x in (ends if i % 2 == 0 else ends[::-1])]
    return StagedPolicy(tools, [stages], patience=PATIENCE)
