"""A policy of stages: tables of poses that one or more tools move to, computed per observation.

The next stage begins when every tool has arrived. An episode that drops its object or exceeds a
stage's patience goes back to the start of the current part of the task.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from mjgym.rotations import norm

Observation = Mapping[str, np.ndarray]

OPEN, CLOSE = -1.0, 1.0  # finger commands
PATIENCE = 120  # control steps allowed per stage


@dataclass(frozen=True)
class Stage:
    """One move of one tool, from the current observation."""

    target: np.ndarray  # target position of the tool, (..., 3) m
    fingers: float  # `OPEN`, `CLOSE`, or between
    turn: np.ndarray | None = None  # remaining rotation vector, (..., 3) rad
    near: float = 0.01  # m, of the target: the next stage begins within it,
    straight: float = np.inf  # rad, within this angle of the target orientation,
    steps: int = 0  # after at least this number of control steps,
    until: np.ndarray | None = None  # and where this condition, (...) bool, holds
    lost: np.ndarray | None = None  # where it holds, (...) bool, back to the start of the part
    speed: float = 1.0  # largest fraction of the tool's maximum displacement and rotation per step


@dataclass(frozen=True)
class Motion:
    """Remaining motion of a tool, per episode."""

    way: np.ndarray  # displacement, (..., 3) m in world axes
    turn: np.ndarray  # rotation vector, (..., 3) rad in world axes
    fingers: np.ndarray  # from `OPEN` to `CLOSE`, (...)
    speed: np.ndarray  # largest fraction of the maximum displacement and rotation per control step


class Tool(Protocol):
    """A tool at the time of an observation."""

    @property
    def position(self) -> np.ndarray:
        """Its position, (..., 3) m."""
        ...


class Body(Protocol):
    """Tools of a policy, as observed and as moved by actions."""

    def tools(self, observation: Observation) -> Sequence[Tool]:
        """The tools at the time of an observation."""
        ...

    def action(self, observation: Observation, motions: Sequence[Motion]) -> np.ndarray:
        """Action, (..., numbers) float32, for the remaining motion of each tool."""
        ...


Part = Callable[..., Sequence[Stage | tuple[Stage, ...]]]
"""A part of a task: its stages for an observation and the tools; tuples have one for each tool."""


class StagedPolicy:
    """Parts of a task in order; each episode of a batch proceeds at its pace.

    Args:
        body: tools to move.
        parts: functions of an observation and of each of `body.tools`, which return always the same
            number of stages. The last stage of all times out after `PATIENCE` steps, as if the
            object had been lost.
    """

    def __init__(self, body: Body, *parts: Part) -> None:
        self._body = body
        self._parts = parts
        self._progress: Any = None  # part, stage in it, and control steps in that, per episode

    def restart(self, where: np.ndarray | None = None) -> None:
        """Go back to the first stage: in all environments, or where a mask, bool, is True."""
        if where is None or self._progress is None:
            self._progress = None
        else:
            self._progress = np.where(where, 0, self._progress)

    def __call__(self, observation: Observation) -> np.ndarray:
        """Action, (..., numbers) float32, for an observation."""
        tools = self._body.tools(observation)
        lead = tools[0].position.shape[:-1]
        if self._progress is None:
            self._progress = np.zeros((3, *lead), dtype=np.int64)
        part, stage, steps = self._progress
        way, turn = np.zeros((2, len(tools), *lead, 3))
        fingers, speed = np.zeros((2, len(tools), *lead))
        ended, finished, lost = np.zeros((3, *lead), dtype=bool)
        for number in np.unique(part):
            rows = self._parts[number](observation, *tools)
            for place in np.unique(stage[part == number]):
                here = (part == number) & (stage == place)
                row = rows[place]
                last = place == len(rows) - 1
                done = here & ~(last and number == len(self._parts) - 1)
                for i, move in enumerate((row,) if isinstance(row, Stage) else row):
                    ahead = move.target - tools[i].position
                    around = np.zeros_like(ahead) if move.turn is None else move.turn
                    way[i] = np.where(here[..., None], ahead, way[i])
                    turn[i] = np.where(here[..., None], around, turn[i])
                    fingers[i] = np.where(here, move.fingers, fingers[i])
                    speed[i] = np.where(here, move.speed, speed[i])
                    done = done & (norm(ahead) < move.near) & (norm(around) < move.straight)
                    done = done & (steps >= move.steps)
                    if move.until is not None:
                        done = done & move.until
                    if move.lost is not None:
                        lost = lost | (here & move.lost)
                ended = ended | done
                finished = finished | (done & last)
        lost = lost | (~ended & (steps >= PATIENCE))
        self._progress = np.stack(
            [
                part + (finished & ~lost),
                np.where(lost | finished, 0, stage + ended),
                np.where(lost | ended, 0, steps + 1),
            ]
        )
        motions = [Motion(*motion) for motion in zip(way, turn, fingers, speed, strict=True)]
        return self._body.action(observation, motions)


class SideBySide:
    """Policies that run at the same time, each with other numbers of the action and 0 elsewhere."""

    def __init__(self, *policies: StagedPolicy) -> None:
        self._policies = policies

    def restart(self, where: np.ndarray | None = None) -> None:
        for policy in self._policies:
            policy.restart(where)

    def __call__(self, observation: Observation) -> np.ndarray:
        return np.asarray(sum(policy(observation) for policy in self._policies))
