"""The contract between a task and the environments that run it, single or batched.

This module holds what most tasks need; `mjgym.task.optional_hooks` holds the rest. `mjgym guide
writing_a_task` explains both, and `mjgym guide coming_from` maps the callbacks of dm_control's
composer.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from mjgym.actions import Action, Model, controls
from mjgym.arrays import Array, namespace
from mjgym.mjcf import Spec
from mjgym.sim.single import SingleView
from mjgym.sim.views import View
from mjgym.task.optional_hooks import Arrays, OptionalHooks
from mjgym.task.viewpoint import Viewpoint


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task(OptionalHooks):
    """A control task: model, initial states, observation and reward.

    A task is a frozen dataclass. Its fields are its keyword arguments, and it has no other state:
    an episode's state is kept in `memory`.

    `model`, `actions` and `initialize` are plain code for one simulation. All other hooks are pure
    functions of a `View` and run for one simulation (`v.lead == ()`) or for all sub-environments at
    once (`v.lead == (n,)`), on arrays of any library: they index from the right (`x[..., 2]`,
    `axis=-1`), take functions from `v.xp`, and have neither loops over environments nor `if` on
    arrays. They may return live arrays: the engine copies.

    Every task needs `model`, `initialize`, `observation`, `terms` and, unless it is their product,
    `reward`. The other hooks here and in `OptionalHooks` have defaults: memory, motion within a
    control step, sensors, players, labels. `mjgym.loop.episode` states their order.
    """

    time_limit: float  # s per episode; may be inf
    control_timestep: float  # s between two actions: a multiple of the model's timestep

    @property
    def varies(self) -> tuple[str, ...]:
        """Fields of MjModel that `initialize` writes to, e.g. `varies = ("geom_pos",)`.

        They are reset to their defaults before each episode.
        """
        return ()

    @property
    def viewpoint(self) -> str | int | Viewpoint:
        """The default camera of `render()`, `mjgym view`, `mjgym record` and the gallery."""
        return 0

    # Model, initial state, observation.

    def model(self) -> Spec:
        """The model; depends on the fields only, and equal tasks are compiled once.

        `mjgym.task.models.clear_cache()` drops models after their files have changed.
        """
        raise NotImplementedError(f"{type(self).__name__} must define model()")

    def initialize(self, v: SingleView, rng: Any) -> None:
        """Write the start of one episode.

        Args:
            v: a scratch simulation at the model's defaults, writable (`v.qpos`, `v.qvel`, `v.act`,
                the fields in `varies`, ...), with `v.forward()` and `v.step(n)`; nothing has been
                computed yet. The engine copies the result. In a batch, several threads write starts
                that use a long `v.step(n)`, each with its own `v`.
            rng: the sub-environment's `numpy.random.Generator`.
        """

    def observation(self, v: View) -> Arrays:
        """Entries of the observation by name, in the order of the flat observation."""
        raise NotImplementedError(f"{type(self).__name__} must define observation()")

    # Actions.

    def actions(self, model: Model) -> Sequence[Action]:
        """Names and ranges of the action's dimensions; by default the actuators' controls."""
        return controls(model)

    def control(self, v: View, action: Array) -> Array:
        """The actuators' controls, (..., nu), for an action; by default the action itself."""
        return action

    # Reward and end of an episode.

    def terms(self, v: View) -> Arrays:
        """The reward's factors by name, of shape `v.lead`, or with a trailing axis of players."""
        raise NotImplementedError(f"{type(self).__name__} must define terms()")

    def reward(self, terms: Arrays) -> Array:
        """The reward, of the shape of its terms; by default their product."""
        product: Array = 1.0
        for term in terms.values():
            product = product * term
        return product

    def terminated(self, v: View) -> Array:
        """Tell whether the task ends the episode, bool; never by default."""
        return False

    def success(self, v: View) -> Array | None:
        """Tell whether the goal is reached, bool of shape `v.lead`; None without a goal."""
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class GoalTask(Task):
    """A task that succeeds once a state reaches a goal.

    With `observation="goal"` its environments have the form of Gymnasium-Robotics: achieved and
    desired goals are entries of the observation, and reward and success depend on these alone, so a
    transition can be relabelled with another goal (hindsight experience replay, Andrychowicz et
    al., 2017). Other observations keep the task's reward.

    A goal task needs `achieved`, `desired` and `reached` besides the hooks of every task. The end
    of its episodes must not depend on the goal.
    """

    @property
    def shows_goal(self) -> tuple[str, ...]:
        """Entries of `observation` that reveal the goal, which `observation="goal"` leaves out.

        They would contradict a relabelled goal.
        """
        return ()

    def achieved(self, v: View) -> Array:
        """The goal that the state achieves, (..., k); reads no memory that `update` changes."""
        raise NotImplementedError(f"{type(self).__name__} must define achieved()")

    def desired(self, v: View) -> Array:
        """The episode's goal, (..., k), in the same quantities as `achieved`."""
        raise NotImplementedError(f"{type(self).__name__} must define desired()")

    def reached(self, achieved: Array, desired: Array) -> Array:
        """Tell whether goals are reached, bool (...), a pure function of goals (..., k)."""
        raise NotImplementedError(f"{type(self).__name__} must define reached()")

    def compute_reward(self, achieved: Array, desired: Array, info: Any) -> Array:
        """Reward (...) for goals (..., k); by default 0 where they are reached, -1 elsewhere.

        Args:
            info: the steps' info, as Gymnasium-Robotics passes it; {} in the environment's steps.
        """
        reached = self.reached(achieved, desired)
        xp = namespace(reached)
        return xp.asarray(reached, dtype=xp.float64) - 1.0

    def success(self, v: View) -> Array | None:
        """Tell whether the goal is reached, bool of shape `v.lead`."""
        return self.reached(self.achieved(v), self.desired(v))
