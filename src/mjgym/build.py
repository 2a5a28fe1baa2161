"""What a single and a vector environment make of a task in the same way."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjgym import mjcf
from mjgym.observables import Sensing, merge
from mjgym.observables.observe import Image
from mjgym.observables.sensing import Given
from mjgym.pixels import Picture, parse, sensed
from mjgym.sim.draws import Draws
from mjgym.sim.varying import Varying
from mjgym.sim.view import View
from mjgym.spaces import DTYPES, MODES, Layout
from mjgym.task import WHOLE, Arrays, Task

OBSERVABLES = "observables."  # prefix of the readings in the state

ON_DIVERGENCE = ("truncate", "raise")
RENDER_MODES = (None, "rgb_array", "human")
RENDER_QUALITIES = ("reference", "fast")
VARY_EVERY = ("episode", "reset", "never")


class DivergenceError(RuntimeError):
    """A simulation met a state that is not finite; raised with `on_divergence="raise"`."""


@dataclass(frozen=True)
class Options:
    """Keyword arguments that single and vector environments share.

    Args:
        observation: "flat" (one vector, the entries in the task's order), "dict", "pixels",
            "flat+pixels" or "dict+pixels".
        dtype: of the entries, "float32" or "float64" (the simulator's own precision).
        pixels: what the pictures of an observation show: `camera` (name, index, -1 for the free
            camera, or a sequence of them), `width`, `height`, `kind` ("rgb" or "depth").
        on_divergence: "truncate" ends an episode whose simulation is no longer finite with the last
            finite observation, reward 0 and `info["diverged"]`; "raise" raises `DivergenceError`.
        render_mode: None, "rgb_array" or "human".
        camera: of `render()`: name, index, or -1 for the free camera.
        width: of `render()`, in pixels.
        height: of `render()`, in pixels.
        render_quality: "reference" (the published look) or "fast" (no shadows or reflections).
        visualize_reward: let the colours of the bodies follow the reward.
        observables: how entries of the observation are read (`mjgym.Observable`), and entries of
            one's own (`mjgym.observe`), by name.
        vary: numbers of the model that vary (distributions of `mjgym.variation`), by field and
            name, e.g. "body_mass[torso]"; see `mjgym.sim.varying.Varying`.
        vary_every: "episode" draws them for each episode, "reset" only for those that a call of
            `reset` starts and not an autoreset, "never" once, for the first episode.

    Raises:
        ValueError: a value is unknown; the message names the argument and the valid ones.
    """

    observation: str = "flat"
    dtype: str = "float32"
    pixels: Mapping[str, Any] | None = None
    on_divergence: str = "truncate"
    render_mode: str | None = None
    camera: str | int = 0
    width: int = 84
    height: int = 84
    render_quality: str = "reference"
    visualize_reward: bool = False
    observables: Mapping[str, Given] | None = None
    vary: Mapping[str, Any] | None = None
    vary_every: str = "episode"

    def __post_init__(self) -> None:
        for name, known in (
            ("observation", MODES),
            ("dtype", DTYPES),
            ("on_divergence", ON_DIVERGENCE),
            ("render_mode", RENDER_MODES),
            ("render_quality", RENDER_QUALITIES),
            ("visualize_reward", (False, True)),
            ("vary_every", VARY_EVERY),
        ):
            value = getattr(self, name)
            if value not in known:
                raise ValueError(f"{name}: {value!r} is none of {', '.join(map(str, known))}")
        for name in ("width", "height"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name}: must be at least 1 pixel, got {getattr(self, name)}")
        if self.pixels is not None and "pixels" not in self.observation:
            raise ValueError(f"pixels: observation={self.observation!r} has no pictures")

    def pictures(self, model: mujoco.MjModel) -> dict[str, Picture]:
        """The pictures of an observation, checked against the model's cameras."""
        return parse(self.pixels, model) if "pixels" in self.observation else {}

    def varying(self, model: mujoco.MjModel) -> Varying | None:
        """What varies of a model besides what the task does; None if nothing."""
        return None if self.vary is None else Varying(self.vary, model)

    def draws(self, varying: Varying | None, n: int) -> Draws | None:
        """The varied numbers of n simulations; None if nothing varies."""
        return None if varying is None else Draws(varying, self.vary_every, n)

    def sensing(
        self, task: Task, view: View, model: mujoco.MjModel, n: int, steps: int
    ) -> tuple[Layout, Sensing | None]:
        """How an observation is laid out, and its readings where entries are not read plainly.

        Args:
            task: the task.
            view: of one simulation.
            model: of that simulation.
            n: number of simulations that are observed.
            steps: physics steps in a control step.

        Raises:
            ValueError: what `observables` says does not fit; the message names the entry.
        """
        entries = task.observation(view)
        observables = merge(entries, task.observables, self.observables)
        images = [name for name, o in observables.items() if isinstance(o.source, Image)]
        for name in images:  # a wrong picture is refused by its own name
            sensed(name, observables[name].source, 0, model)  # type: ignore[arg-type]
        given = [n for n, o in observables.items() if o.enabled and n in (self.observables or {})]
        if self.observation == "pixels":
            unseen = [name for name in given if name not in images]
            if unseen:
                raise ValueError(
                    f"observables: observation='pixels' has no entry {unseen[0]!r};"
                    " 'flat+pixels' and 'dict+pixels' have"
                )
            observables = {name: observables[name] for name in images}
        elif "pixels" not in self.observation:
            asked = [name for name in images if name in given]
            if asked:
                raise ValueError(
                    f"observables: {asked[0]!r} is a picture; it needs"
                    " observation='flat+pixels', 'dict+pixels' or 'pixels'"
                )
            observables = {n: o for n, o in observables.items() if n not in images}
        if not observables:
            pictures = self.pictures(model)
            return Layout(entries, self.observation, self.dtype, pictures), None

        def blank(image: Image) -> np.ndarray:
            space = sensed("", image, 0, model).space()
            return np.zeros(space.shape, space.dtype)

        plain = {} if self.observation == "pixels" else entries
        sensing = Sensing(observables, plain, view, blank, n, steps)
        seen = {name: sensed(name, *seen, model) for name, seen in sensing.images.items()}
        chosen = {} if seen and self.pixels is None else self.pictures(model)
        sample = {name: np.zeros(s) for name, s in sensing.shapes.items() if name not in seen}
        return Layout(sample, self.observation, self.dtype, {**chosen, **seen}), sensing


def compile_model(task: Task) -> mujoco.MjModel:
    """The task's model without textures, which only pictures need."""
    return mjcf.without_textures(task.model()).compile()


def substeps(task: Task, model: mujoco.MjModel) -> int:
    """Physics steps in a control step.

    Raises:
        ValueError: the control timestep is not a whole number of physics timesteps.
    """
    ratio = task.control_timestep / model.opt.timestep
    n = round(ratio)
    if n < 1 or abs(ratio - n) > WHOLE:
        raise ValueError(
            f"{type(task).__name__}: control_timestep {task.control_timestep} s must be a whole"
            f" number of physics timesteps of {model.opt.timestep} s"
        )
    return int(n)


@dataclass(frozen=True)
class Hooks:
    """Which optional hooks a task has defined: the others cost nothing.

    Args:
        before_step: it moves something itself.
        substep: it remembers something of each physics step.
        one_by_one: something of it runs between physics steps.
        refreshed: it wants forces anew in some control steps.
        truncated: it cuts episodes off.
    """

    before_step: bool
    substep: bool
    one_by_one: bool
    refreshed: bool
    truncated: bool

    @classmethod
    def of(cls, task: Task) -> "Hooks":
        """The hooks of a task."""

        def has(hook: str) -> bool:
            return getattr(type(task), hook) is not getattr(Task, hook)

        return cls(
            before_step=has("before_step"),
            substep=has("substep"),
            one_by_one=has("substep") or task.control_every_substep,
            refreshed=has("refreshed"),
            truncated=has("truncated"),
        )


def owned(entries: Arrays) -> dict[str, np.ndarray]:
    """Copies of what a hook returned, which may be live arrays of the simulation."""
    return {name: np.array(value) for name, value in entries.items()}


def check_state(state: Any, current: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The entries to write, as arrays of the right shapes, before anything is written.

    Args:
        state: what the user gave.
        current: the present state, for its names and shapes.

    Raises:
        TypeError: not a dict.
        ValueError: an entry is unknown, of a wrong shape, or not finite; the message names it.
    """
    if not isinstance(state, dict):
        raise TypeError(f"state: expected a dict of arrays, got {type(state).__name__}")
    checked = {}
    for name, value in state.items():
        if name not in current:
            near = difflib.get_close_matches(str(name), current, n=3) or list(current)
            raise ValueError(f"state: no entry {name!r}; did you mean {', '.join(near)}?")
        wanted = current[name]
        try:
            array = np.asarray(value, dtype=wanted.dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(f"state: {name!r} is not an array of numbers: {error}") from None
        if array.shape != wanted.shape:
            raise ValueError(f"state: {name!r} has shape {array.shape}, expected {wanted.shape}")
        # Readings are what they have been, be it infinite.
        readings = name.startswith(OBSERVABLES)
        if array.dtype.kind == "f" and not (readings or np.isfinite(array).all()):
            raise ValueError(f"state: {name!r} is not finite")
        checked[name] = array
    return checked
