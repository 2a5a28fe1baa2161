"""The contract between a task and the environments that run it, one at a time or many at once.

This page holds what most tasks need; `mjgym.task.optional_hooks` is the second one. `mjgym guide
writing_a_task` explains both, and `mjgym guide coming_from` says where the callbacks of
dm_control's composer have gone.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from mjgym.actions import Action, Model, controls
from mjgym.arrays import Array, namespace
from mjgym.mjcf import Spec
from mjgym.sim.single import SingleView
from mjgym.sim.views import View
from mjgym.task.fields import WHOLE, steps_in
from mjgym.task.optional_hooks import Arrays, OptionalHooks
from mjgym.task.registration import Registration, TaskType, on_register, register, registrations
from mjgym.task.signals import Signal, vector_names
from mjgym.task.viewpoint import Viewpoint

__all__ = [
    "WHOLE",
    "Action",
    "Array",
    "Arrays",
    "GoalTask",
    "Model",
    "Registration",
    "Signal",
    "Task",
    "TaskType",
    "Viewpoint",
    "on_register",
    "register",
    "registrations",
    "steps_in",
    "vector_names",
]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task(OptionalHooks):
    """A control task: a model, how an episode starts, what is observed and what is rewarded.

    A task is a frozen dataclass. Its fields are its keyword arguments, and it has no other state:
    what an episode must remember goes through `memory`.

    `model`, `actions` and `initialize` are plain code for one simulation. All other hooks are pure
    functions of a `View` and run for one simulation (`v.lead == ()`) or for all sub-environments at
    once (`v.lead == (n,)`), on the arrays of any library: they index from the right (`x[..., 2]`,
    `axis=-1`), take functions from `v.xp`, and have neither a loop over environments nor an `if` on
    an array. They may return live arrays: the engine copies.

    Every task needs `model`, `initialize`, `observation`, `terms` and, unless it is their product,
    `reward`. The other hooks of this page have defaults, and so have those of the second page:
    memory, what moves within a control step, sensors, players, labels. Their order in a control
    step stands in `mjgym.loop.episode`.
    """

    time_limit: float  # s, of an episode; inf for none
    control_timestep: float  # s, between two actions: a whole number of the model's own timestep

    @property
    def varies(self) -> tuple[str, ...]:
        """Fields of MjModel that `initialize` writes to, e.g. `varies = ("geom_pos",)`.

        They start each episode at their defaults.
        """
        return ()

    @property
    def viewpoint(self) -> str | int | Viewpoint:
        """The camera that shows the task to people where none is asked for: in `render()`,
        `mjgym view`, `mjgym record` and the gallery."""
        return 0

    # The model, the start of an episode, the observation.

    def model(self) -> Spec:
        """The model; it depends on the fields alone, and equal tasks are compiled once.

        `mjgym.task.models.clear_cache()` forgets models whose files have changed.
        """
        raise NotImplementedError(f"{type(self).__name__} must define model()")

    def initialize(self, v: SingleView, rng: Any) -> None:
        """Write the start of one episode.

        Args:
            v: a scratch simulation at the model's defaults, writable (`v.qpos`, `v.qvel`, `v.act`,
                the fields in `varies`, ...), with `v.forward()` and `v.step(n)`; nothing has been
                computed of the defaults. The engine takes over what is written. Of a batch,
                starts with a long `v.step(n)` are written by several threads, each with a `v`.
            rng: the sub-environment's `numpy.random.Generator`.
        """

    def observation(self, v: View) -> Arrays:
        """The observation's entries by name; their order is that of the flat observation."""
        raise NotImplementedError(f"{type(self).__name__} must define observation()")

    # How an action drives the model.

    def actions(self, model: Model) -> Sequence[Action]:
        """Names and ranges of the numbers of an action; by default the actuators' controls."""
        return controls(model)

    def control(self, v: View, action: Array) -> Array:
        """The actuators' controls, (..., nu), for an action; by default the action itself."""
        return action

    # The reward and the end of an episode.

    def terms(self, v: View) -> Arrays:
        """The factors of the reward by name, each of shape `v.lead`, or with players behind it."""
        raise NotImplementedError(f"{type(self).__name__} must define terms()")

    def reward(self, terms: Arrays) -> Array:
        """The reward, of the shape of its terms; by default their product."""
        product: Array = 1.0
        for term in terms.values():
            product = product * term
        return product

    def terminated(self, v: View) -> Array:
        """Whether the episode has come to an end that is part of the task, bool; default never."""
        return False

    def success(self, v: View) -> Array | None:
        """Whether the goal is reached, bool of shape `v.lead`; None if the task has no goal."""
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class GoalTask(Task):
    """A task whose success is that something comes to be where a goal says.

    With `observation="goal"` its environments have the form of Gymnasium-Robotics: what is achieved
    and what is desired are entries of the observation, and reward and success follow from these
    alone. So a transition can be learned from as if another goal had been set (hindsight experience
    replay, Andrychowicz et al., 2017). Other observations leave the task's own reward as it is.

    A goal task needs `achieved`, `desired` and `reached` beside the hooks of every task. Nothing
    that ends its episodes may depend on the goal.
    """

    @property
    def shows_goal(self) -> tuple[str, ...]:
        """Entries of `observation` that tell the goal, which `observation="goal"` leaves out.

        They would go on to tell the episode's own goal where another one is learned from.
        """
        return ()

    def achieved(self, v: View) -> Array:
        """The goal that the present state fulfils, (..., k); it reads no memory that `update`
        changes."""
        raise NotImplementedError(f"{type(self).__name__} must define achieved()")

    def desired(self, v: View) -> Array:
        """The episode's goal, (..., k), of the same quantities as `achieved`."""
        raise NotImplementedError(f"{type(self).__name__} must define desired()")

    def reached(self, achieved: Array, desired: Array) -> Array:
        """Whether goals are reached, bool (...), a pure function of goals (..., k)."""
        raise NotImplementedError(f"{type(self).__name__} must define reached()")

    def compute_reward(self, achieved: Array, desired: Array, info: Any) -> Array:
        """The reward of goals (..., k), (...); by default 0 where they are reached, -1 elsewhere.

        Args:
            achieved: goals that states fulfil.
            desired: goals that were set.
            info: of the steps, as Gymnasium-Robotics passes it; {} in the environment's own steps.
        """
        reached = self.reached(achieved, desired)
        xp = namespace(reached)
        return xp.asarray(reached, dtype=xp.float64) - 1.0

    def success(self, v: View) -> Array | None:
        """Whether the goal is reached, bool of shape `v.lead`."""
        return self.reached(self.achieved(v), self.desired(v))
