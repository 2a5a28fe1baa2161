"""A policy of stages: each moves tools to poses computed from the observation.

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
    """One move of one tool.

    Args:
        target: target position of the tool, (..., 3) m, as a function of the observation.
        fingers: `OPEN`, `CLOSE`, or between.
        turn: remaining rotation of the tool, a rotation vector in world axes, (..., 3) rad; None:
            no rotation.
        near: the next stage begins within this distance of the target, m,
        straight: within this angle of the target orientation, rad,
        steps: after at least this number of control steps,
        until: and where this condition on the observation, bool, holds.
        lost: where this condition, bool, holds, the episode goes back to the start of the part.
        speed: largest fraction of the tool's maximum displacement and rotation per control step.
    """

    target: Callable[[Observation], np.ndarray]
    fingers: float
    turn: Callable[[Observation], np.ndarray] | None = None
    near: float = 0.01
    straight: float = np.inf
    steps: int = 0
    until: Callable[[Observation], np.ndarray] | None = None
    lost: Callable[[Observation], np.ndarray] | None = None
    speed: float = 1.0


@dataclass(frozen=True)
class Motion:
    """Remaining motion of a tool, per episode.

    Args:
        way: displacement, (..., 3) m in world axes.
        turn: rotation vector, (..., 3) rad in world axes.
        fingers: from `OPEN` to `CLOSE`, (...).
        speed: largest fraction of the maximum displacement and rotation per control step, (...).
    """

    way: np.ndarray
    turn: np.ndarray
    fingers: np.ndarray
    speed: np.ndarray


class Body(Protocol):
    """Tools of a policy, as observed and as moved by actions."""

    @property
    def count(self) -> int:
        """Number of tools."""
        ...

    def position(self, observation: Observation, tool: int) -> np.ndarray:
        """Position of a tool, (..., 3) m."""
        ...

    def action(self, observation: Observation, motions: Sequence[Motion]) -> np.ndarray:
        """Action, (..., numbers) float32, for the remaining motion of each tool."""
        ...


class StagedPolicy:
    """A sequence of stages; each episode of a batch proceeds at its pace.

    Args:
        body: tools to move.
        sequences: stages of each tool, of equal lengths; the n-th stages begin together. The last
            ones time out after `patience` steps, as if the object had been lost.
        patience: control steps allowed per stage.
        parts: indices of the stages that begin parts of the task, in order, besides 0.
    """

    def __init__(
        self,
        body: Body,
        sequences: Sequence[Sequence[Stage]],
        patience: int = PATIENCE,
        parts: Sequence[int] = (),
    ) -> None:
        self._body = body
        self._stages = list(zip(*sequences, strict=True))
        self._patience = patience
        numbers = np.arange(len(self._stages))
        begins = np.array([0, *parts])
        self._begin = begins[np.searchsorted(begins, numbers, side="right") - 1]
        self._stage: Any = None
        self._steps: Any = None

    def restart(self, where: np.ndarray | None = None) -> None:
        """Go back to the first stage: in all environments, or where a mask, bool, is True."""
        if where is None or self._stage is None:
            self._stage = None
        else:
            self._stage, self._steps = (np.where(where, 0, x) for x in (self._stage, self._steps))

    def __call__(self, observation: Observation) -> np.ndarray:
        """Action, (..., numbers) float32, for an observation."""
        places = [self._body.position(observation, i) for i in range(self._body.count)]
        lead = places[0].shape[:-1]
        if self._stage is None:
            self._stage = self._steps = np.zeros(lead, dtype=np.int64)
        way, turn = np.zeros((2, len(places), *lead, 3))
        fingers, speed = np.zeros((2, len(places), *lead))
        ended, lost = np.zeros((2, *lead), dtype=bool)
        for number in np.unique(self._stage):
            here = self._stage == number
            done = here & (number < len(self._stages) - 1)
            for i, stage in enumerate(self._stages[number]):
                ahead = stage.target(observation) - places[i]
                around = np.zeros_like(ahead) if stage.turn is None else stage.turn(observation)
                way[i] = np.where(here[..., None], ahead, way[i])
                turn[i] = np.where(here[..., None], around, turn[i])
                fingers[i] = np.where(here, stage.fingers, fingers[i])
                speed[i] = np.where(here, stage.speed, speed[i])
                done = done & (norm(ahead) < stage.near) & (norm(around) < stage.straight)
                done = done & (self._steps >= stage.steps)
                if stage.until is not None:
                    done = done & stage.until(observation)
                if stage.lost is not None:
                    lost = lost | (here & stage.lost(observation))
            ended = ended | done
        lost = lost | (~ended & (self._steps >= self._patience))
        self._stage = np.where(lost, self._begin[self._stage], self._stage + ended)
        self._steps = np.where(lost | ended, 0, self._steps + 1)
        motions = [Motion(*motion) for motion in zip(way, turn, fingers, speed, strict=True)]
        return self._body.action(observation, motions)


class SideBySide:
    """Policies for parts of a robot that run at the same time, each at its pace.

    Args:
        policies: each sets different numbers of the action and leaves the rest at 0.
    """

    def __init__(self, policies: Sequence[StagedPolicy]) -> None:
        self._policies = policies

    def restart(self, where: np.ndarray | None = None) -> None:
        """Go back to the first stages: in all environments, or where a mask, bool, is True."""
        for policy in self._policies:
            policy.restart(where)

    def __call__(self, observation: Observation) -> np.ndarray:
        """Action, (..., numbers) float32, for an observation."""
        return np.asarray(sum(policy(observation) for policy in self._policies))
