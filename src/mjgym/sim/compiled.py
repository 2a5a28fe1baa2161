"""Compiled control steps: their interface, and how to get one.

A control step runs a dozen hooks, some of them before each of many physics steps. In NumPy that
takes many calls, between which a simulation leaves the CPU cache. A compiled step makes all of it
in one call for one simulation after another, without Python in between. `mjgym_fast` compiles
hooks; it is found by its entry point.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import mujoco
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.views import View
from mjgym.util import plugins


class Outcome(NamedTuple):
    """Results of a step, of shape lead; None for hooks that a compiled step does not compute.

    Attributes:
        terms: the reward's factors by name.
        diverged: mask of simulations whose state or reward is not finite; None if all are.
        not_finite: mask of observations that are not finite; None if all are.
    """

    terms: dict[str, Array] | None = None
    reward: Array | None = None
    terminated: Array | None = None
    truncated: Array | None = None
    success: Array | None = None
    diverged: Array | None = None
    not_finite: Array | None = None


Generator = Callable[[int], np.random.Generator]
"""Returns the random generator of simulation i."""


class Stepper(Protocol):
    """The control steps of one simulation or many.

    Attributes:
        starts: whether it can write starts.
    """

    starts: bool

    def begin(self, ids: Sequence[int], generator: Generator) -> None:
        """Write starts of some simulations, whose states and varied fields are the defaults."""

    def advance(
        self, view: View, action: Array, where: Array | None, n: int, target: int
    ) -> Outcome:
        """Make a control step of n physics steps in all simulations, or in a mask of them.

        Args:
            view: live arrays of the simulations; its memory is the stepper's from here on.
            action: (*lead, k): actions, or controls if it does not compute the hook `control`.
            target: address of the observations, which are written for all simulations; 0: none.
        """


class BatchStepper(Stepper, Protocol):
    """The control steps of a batch.

    `advance` also takes actions of (n, T, k): T control steps of each simulation in turn, until its
    episode ends. Results have these axes, too, and mean nothing after the end.

    Attributes:
        noted: how many output arrays it writes.
    """

    noted: int

    def note(self, outputs: Mapping[str, np.ndarray]) -> None:
        """Set the output arrays, by field of MjData."""

    def forget(self, ids: np.ndarray) -> None:
        """Clear warnings, warm starts and varied fields of some simulations."""

    def close(self) -> None:
        """Stop the threads."""


class CompiledStep(Protocol):
    """A task's control step as a compiled function."""

    @property
    def hooks(self) -> frozenset[str]:
        """Hooks that it computes, by name."""

    @property
    def reasons(self) -> Mapping[str, str]:
        """Why it leaves other hooks to NumPy, by hook."""

    def single(self, model: mujoco.MjModel, data: mujoco.MjData) -> Stepper:
        """The steps of one simulation."""

    def batch(
        self,
        models: Sequence[mujoco.MjModel],
        kept: np.ndarray,
        state: np.ndarray,
        outputs: Mapping[str, np.ndarray],
        fields: Mapping[str, np.ndarray],
        arrays: Mapping[str, np.ndarray],
        threads: int,
    ) -> BatchStepper:
        """The steps of a batch.

        Args:
            models: the model that is stepped, which may lack geoms that only rendering needs, or
                one for each simulation.
            kept: ids in the batch of the geoms that it has.
            state: states of the batch, (n, ...), current between two calls.
            outputs: output arrays of the batch by field of MjData; `note` adds later ones.
            fields: per-simulation model fields, (n, ...) each.
            arrays: the batch's live arrays of states by field of MjData.
        """


def compile_step(task: Any, dtype: str, goals: Any, varied: tuple[str, ...]) -> CompiledStep | str:
    """A task's control step as a compiled function, or the reason why there is none.

    Args:
        dtype: dtype of its observation, "float32" or "float64".
        goals: goals that determine reward and success and are observed, or None.
        varied: fields of the model that differ between simulations.
    """
    try:
        compiler: Callable[..., CompiledStep | str] = plugins.load(plugins.LAWS, "hooks")
    except LookupError as error:
        return str(error.args[0])
    return compiler(task, dtype, goals, varied)
