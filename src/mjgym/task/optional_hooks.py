"""The second part of a task's contract: hooks that few tasks need."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from mjgym.arrays import Array
from mjgym.mjcf import Spec
from mjgym.observables import Observable
from mjgym.sim.compiled import CompiledStep, compile_step
from mjgym.sim.views import View
from mjgym.task.signals import Signal
from mjgym.task.task_fields import Fields, steps_in

Arrays = dict[str, Array]


class OptionalHooks(Fields):
    """Hooks of `mjgym.Task` that few tasks need; those not overridden cost nothing.

    `mjgym.loop.episode` states their order in a control step.
    """

    time_limit: float  # both are fields of `Task`
    control_timestep: float

    control_every_substep: ClassVar[bool] = False
    """Compute `control` before each physics step instead of each control step."""

    lagging: ClassVar[bool] = False
    """Step as Gymnasium's own tasks do: `mj_step`, then `mj_rnePostConstraint`.

    Derived quantities (`xpos`, `cvel`, `sensordata`, ...) then belong to the last evaluation of the
    dynamics, one physics step behind positions and velocities; contact forces on bodies
    (`cfrc_ext`) are computed; and a start is computed with the actuators on.
    """

    versions: ClassVar[dict[int, str]] = {0: "the first version"}
    """The change that each version of the id brought."""

    # Memory: an episode's numbers that persist between control steps.

    def memory(self, v: View) -> Arrays:
        """The memory at the start of an episode: arrays of leading shape `v.lead`."""
        return {}

    def update(self, v: View) -> Arrays:
        """Memory entries to set after a control step, for the observation and the next step.

        For example, `{"best": v.xp.maximum(v.memory["best"], height)}` lets the next reward count
        progress beyond the best height, while the current one still sees the previous best.
        """
        return {}

    @property
    def kept(self) -> tuple[str, ...]:
        """Memory entries of a simulation's last episode that `initialize` finds in `v.kept`.

        For curricula. After seeding, `v.kept` is empty.
        """
        return ()

    @property
    def reported(self) -> tuple[str, ...]:
        """Name the entries that `info` shows too.

        Memory entries at a start and after each control step, terms after each control step.
        """
        return ()

    # Within a control step.

    def before_step(self, v: View, action: Array) -> Arrays:
        """Move objects and remember the action, once per control step.

        Returns:
            Whole arrays by name: entries of the memory, and fields of MjData to write (`mocap_pos`,
            `qpos`, ...). Derived fields are recomputed in the first physics step.
        """
        return {}

    def substep(self, v: View) -> Arrays:
        """Memory entries to set after a physics step, for events shorter than a control step.

        Returns:
            The same entries in every call; a task whose hook returns {} is stepped without it.
        """
        return {}

    def compiled_step(self, dtype: str, goals: Any, varied: tuple[str, ...]) -> CompiledStep | str:
        """The whole control step as one compiled function, or the reason why there is none.

        By default, the extra `fast` compiles the hooks themselves, see
        `mjgym.sim.compiled.compile_step`.
        """
        return compile_step(self, dtype, goals, varied)

    def current_forces(self, v: View) -> Array:
        """Tell whether to recompute force and acceleration sensors after this control step, bool.

        Otherwise they belong to the start of its last physics step, as in the published suite. A
        plain True applies to every step.
        """
        return False

    # Ends, sensing, players.

    def truncated(self, v: View) -> Array:
        """Tell whether something outside the task cuts the episode off, bool; never by default.

        The environment handles the time limit.
        """
        return False

    def episode_steps(self) -> int | None:
        """Control steps per episode, None for no limit."""
        return steps_in(self.time_limit, self.control_timestep)

    @property
    def observables(self) -> Mapping[str, Observable]:
        """Delays, noise and the like of observation entries, and entries with their own source.

        By name; the keyword argument replaces them one by one.
        """
        return {}

    @property
    def published_variations(self) -> Mapping[str, Any]:
        """Variations of the published definition, which `vary="published"` turns on."""
        return {}

    @property
    def players(self) -> tuple[str, ...]:
        """The names of the players, if several act in an episode.

        Observations and rewards then have an axis of players after `v.lead`, and an action is the
        concatenation of the players' actions, of equal length. An episode ends for all of them at
        once.
        """
        return ()

    def as_one_agent(self) -> Any:
        """The task as `gymnasium.make` runs it: itself, unless it has players."""
        return self

    # Labels, rendering, demonstrations.

    def labels(self, v: View) -> dict[str, Signal]:
        """Labels of the entries of `observation` that `mjgym.describe.labels` cannot derive.

        Names, units, frames and sources are derived by running `observation` on labels, meanings
        from the docstring's paragraph "Observation: ...".
        """
        return {}

    def dress(self, spec: Spec) -> None:
        """Add to a spec of `model()` what only images show: skins, textures, materials.

        Bodies, geoms and sites must stay, but for their materials and groups.
        """

    @property
    def has_published_look(self) -> bool:
        """True for tasks whose `dress_as_published` does more than `dress`."""
        return False

    def dress_as_published(self, spec: Spec) -> None:
        """Add to a spec the meshes, skins and textures of the published package, for images."""
        self.dress(spec)

    def colours(self, v: View) -> Arrays:
        """Colours that show the episode's state, (..., 4) each, by "geom <name>", "site <name>" or
        "material <name>"; called only for rendering.
        """
        return {}

    def arrows(self, v: View) -> Arrays:
        """Arrows that viewers draw, from a point to another, (..., 6) by name, m in world axes."""
        return {}

    def scripted_policy(self) -> Callable[[Any], Any] | None:
        """A scripted policy from observation entries by name, (..., k) each, to the action.

        None by default. A policy with memory has a method `restart`, of a mask of environments or
        None for all; one that needs to know what was done in place of its action, `executed`.
        """
        return None
