"""The interface of simulations that environments step."""

import abc
import contextlib
from collections.abc import Iterator
from typing import Any

from mjgym.loop.episode import DivergenceError


class PhysicsError(DivergenceError):
    """MuJoCo warned about a state from which it cannot continue."""


class Physics(abc.ABC):
    """A simulation that an `Environment` steps."""

    legacy_step = True

    @abc.abstractmethod
    def step(self, nstep: int = 1) -> None:
        """Advance by some physics steps."""

    @abc.abstractmethod
    def time(self) -> float:
        """The time since the start of the episode, s."""

    @abc.abstractmethod
    def timestep(self) -> float:
        """The physics time step, s."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Reset to the default state."""

    @abc.abstractmethod
    def after_reset(self) -> None:
        """Recompute everything that depends on the initial state."""

    def set_control(self, control: Any) -> None:
        raise NotImplementedError("set_control is not supported.")

    @contextlib.contextmanager
    def reset_context(self) -> Iterator["Physics"]:
        with contextlib.suppress(PhysicsError):
            self.reset()
        yield self
        self.after_reset()

    @contextlib.contextmanager
    def check_invalid_state(self) -> Iterator[None]:
        yield
