"""A policy of stages: each moves the tool to a place, with the fingers open or closed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Observation = Mapping[str, np.ndarray]

OPEN, CLOSE = -1.0, 1.0  # of the action's gripper dimension
STEP, TURN = 0.05, 0.5  # m and rad per control step, at an action of 1
LEAD = 2.0  # the action asks for twice the remaining way, because the tool lags behind


@dataclass(frozen=True)
class Stage:
    """One move of a scripted policy.

    Args:
        target: the tool's target position, (..., 3) m, as a function of the observation.
        fingers: `OPEN` or `CLOSE`.
        near: the next stage begins within this distance of the target, m.
        steps: the least number of control steps in this stage.
        until: a further condition on the observation, bool, for the next stage to begin.
        turn: the angle (rad) by which the tool still has to turn about the vertical; None: no turn.
    """

    target: Callable[[Observation], np.ndarray]
    fingers: float
    near: float = 0.01
    steps: int = 0
    until: Callable[[Observation], np.ndarray] | None = None
    turn: Callable[[Observation], np.ndarray] | None = None


class ScriptedPolicy:
    """A sequence of stages; each environment goes through them at its own pace.

    Args:
        stages: in order; the last one never ends.
    """

    def __init__(self, stages: tuple[Stage, ...]) -> None:
        self._stages = stages
        self._stage: Any = None
        self._steps: Any = None

    def restart(self, where: np.ndarray | None = None) -> None:
        """Go back to the first stage: in all environments, or where a mask, bool, is True."""
        if where is None or self._stage is None:
            self._stage = None
        else:
            self._stage, self._steps = (np.where(where, 0, x) for x in (self._stage, self._steps))

    def __call__(self, observation: Observation) -> np.ndarray:
        """The action, (..., 7) float32, for an observation's entries."""
        tool = observation["robot0_eef_pos"]
        if self._stage is None:
            self._stage = self._steps = np.zeros(tool.shape[:-1], dtype=np.int64)
        ways = np.stack([stage.target(observation) - tool for stage in self._stages])
        way = _rows(ways, self._stage)
        action = np.zeros((*tool.shape[:-1], 7), dtype=np.float32)
        action[..., 0:3] = np.clip(LEAD * way / STEP, -1, 1)
        for i, stage in enumerate(self._stages):
            if stage.turn is not None:
                turn = np.clip(stage.turn(observation) / TURN, -1, 1)
                action[..., 5] += np.where(self._stage == i, turn, 0)
        action[..., 6] = np.array([stage.fingers for stage in self._stages])[self._stage]
        self._advance(observation, np.sqrt((ways * ways).sum(axis=-1)))
        return action

    def _advance(self, observation: Observation, distances: np.ndarray) -> None:
        ready = [
            (distances[i] < stage.near)
            & (self._steps >= stage.steps)
            & (True if stage.until is None else stage.until(observation))
            for i, stage in enumerate(self._stages[:-1])
        ]
        ready.append(np.zeros_like(ready[0]))
        done = _rows(np.stack(ready), self._stage)
        self._stage = self._stage + done
        self._steps = np.where(done, 0, self._steps + 1)


def _rows(rows: np.ndarray, which: np.ndarray) -> np.ndarray:
    """Pick each environment's stage from rows (stages, ..., *rest): (..., *rest)."""
    index = which.reshape(1, *which.shape, *[1] * (rows.ndim - 1 - which.ndim))
    return np.asarray(np.take_along_axis(rows, index, axis=0)[0])
