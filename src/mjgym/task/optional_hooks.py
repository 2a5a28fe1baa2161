"""The second page of a task's contract: the hooks that few tasks need."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from mjgym.actions import Model
from mjgym.arrays import Array
from mjgym.observables import Observable
from mjgym.sim.compiled import CompiledLaw
from mjgym.sim.views import View
from mjgym.task.fields import Fields, steps_in
from mjgym.task.signals import Signal

Arrays = dict[str, Array]


class OptionalHooks(Fields):
    """The hooks of `mjgym.Task` that few tasks need; they cost nothing where not defined.

    Their order among the others in a control step stands in `mjgym.loop.episode`.
    """

    time_limit: float  # both are fields of `Task`
    control_timestep: float

    control_every_substep: ClassVar[bool] = False
    """Compute `control` before each physics step instead of each control step."""

    versions: ClassVar[dict[int, str]] = {0: "the first version"}
    """The change that each version of the id brought."""

    # Memory: numbers that an episode keeps from one control step to the next.

    def memory(self, v: View) -> Arrays:
        """The memory at the start of an episode: arrays whose shapes begin with `v.lead`."""
        return {}

    def update(self, v: View) -> Arrays:
        """Entries of the memory after a control step, for the observation and the next step.

        For example, `{"best": v.xp.maximum(v.memory["best"], height)}` lets the next reward pay
        for what is higher than ever, while this one still sees how high it has been before.
        """
        return {}

    # Within a control step.

    def before_step(self, v: View, action: Array) -> Arrays:
        """Move things and remember the action, once per control step.

        Returns:
            By name, whole: entries of the memory, and fields of MjData to write (`mocap_pos`,
            `qpos`, ...). Derived fields are recomputed in the first physics step.
        """
        return {}

    def substep(self, v: View) -> Arrays:
        """Entries of the memory after a physics step: what comes and goes in a control step."""
        return {}

    def compiled_law(self, model: Model) -> CompiledLaw | str:
        """`control` and `substep` as one compiled function, or a sentence why there is none.

        With `control_every_substep`, a simulation on the processor then makes all physics steps of
        a control step in one call. The function gives the hooks' own numbers, or differs from them
        by rounding alone.

        Args:
            model: the compiled model.
        """
        return "the task has no compiled law"

    def current_forces(self, v: View) -> Array:
        """Whether sensors of forces and accelerations are of the end of this control step, bool.

        That takes one more computation of them. They are otherwise of the start of its last physics
        step, as in the published suite. A plain True is so for every step.
        """
        return False

    # Ends, sensing, players.

    def truncated(self, v: View) -> Array:
        """Whether something that is no part of the task cuts the episode off, bool; default never.

        The time limit is the environment's business.
        """
        return False

    def episode_steps(self) -> int | None:
        """Control steps in an episode, None for no limit."""
        return steps_in(self.time_limit, self.control_timestep)

    @property
    def observables(self) -> Mapping[str, Observable]:
        """Delays, noise and the like of entries of the observation, by name, and entries that have
        a source of their own; the keyword argument replaces them one by one."""
        return {}

    @property
    def players(self) -> tuple[str, ...]:
        """Names of those who act in an episode together, where they are several.

        Then observations and rewards have an axis of players behind `v.lead`, and an action is
        theirs one after the other, each as long as the others'. How the episode ends is the same
        for all of them.
        """
        return ()

    def as_one_agent(self) -> Any:
        """The task as `gymnasium.make` gives it: itself, unless it has players."""
        return self

    # For people.

    def labels(self, v: View) -> dict[str, Signal]:
        """Labels of the entries of `observation` that `mjgym.describe.labels` cannot derive.

        Names, units, frames and sources come from running `observation` on labels, meanings from
        the docstring's paragraph "Observation: ...".
        """
        return {}

    def colours(self, v: View) -> Arrays:
        """Colours that show the episode's state, (..., 4) each, by "geom <name>", "site <name>"
        or "material <name>"; only asked for when something is drawn."""
        return {}

    def scripted_policy(self) -> Callable[[Any], Any] | None:
        """A policy by rules, from an observation's entries by name, (..., k) each, to the action.

        It may remember what it has seen, and then has a method `restart` that begins anew. None
        where there is none.
        """
        return None
