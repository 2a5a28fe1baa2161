"""Recorded episodes, whatever the format of their dataset."""

from dataclasses import dataclass
from typing import Any, Protocol

import gymnasium
import numpy as np


class DemonstrationError(RuntimeError):
    """A dataset cannot be written or read; the message says why and what to do."""


@dataclass(frozen=True)
class Replayed:
    """The result of replaying an episode.

    Args:
        steps: that were the same, bit for bit.
        touched: in how many of them somebody had moved or pushed something by hand.
        differs: the time of the first step that was not; None if all were.
    """

    steps: int
    touched: int
    differs: int | None


class Demonstration(Protocol):
    """A recorded episode.

    Attributes:
        actions: (steps, numbers).
        rewards: (steps,).
        seed: of its start; 0 where none was given.
    """

    actions: np.ndarray
    rewards: np.ndarray
    seed: int

    def __len__(self) -> int:
        """The number of steps."""
        ...

    def state(self, t: int) -> dict[str, np.ndarray]:
        """The state just before the action of a time, or after the last one."""
        ...

    def observation(self, t: int) -> Any:
        """The observation that the action of a time followed."""
        ...

    def check(self, env: gymnasium.Env[Any, Any]) -> Replayed:
        """Play it again from its first state, in an environment that is like its own."""
        ...


class Demonstrations(Protocol):
    """A dataset of recorded episodes.

    Attributes:
        count: of episodes.
    """

    count: int

    def environment(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:
        """The environment that the dataset was recorded in, made anew."""
        ...

    def episode(self, number: int) -> Demonstration:
        """An episode, by its number from 0."""
        ...


class Recorder(Protocol):
    """Writes the episodes of an environment, itself an environment.

    Attributes:
        name: of the dataset.
        kept: how many episodes are in it.
    """

    name: str
    kept: int

    def keep(self) -> None:
        """Write the episode as far as it is, if it has any steps."""
        ...
