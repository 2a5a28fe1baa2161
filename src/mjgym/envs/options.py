"""Keyword arguments that `Env` and `VectorEnv` share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco

from mjgym.envs import pixels
from mjgym.envs.overlays import Overlay
from mjgym.envs.spaces import DTYPES, MODES
from mjgym.observables import Image
from mjgym.observables.sensing import ObservableLike
from mjgym.util.numbers import whole_number
from mjgym.util.suggestions import or_else
from mjgym.variation.draws import Draws
from mjgym.variation.varying import Varying

ON_DIVERGENCE = ("truncate", "raise")
RENDER_MODES = (None, "rgb_array", "human")
RENDER_QUALITIES = ("reference", "fast")
VARY_EVERY = ("episode", "reset", "never")
RESET_MASK = "reset_mask"  # option of a batch's `reset`


@dataclass(frozen=True)
class Options:
    """Keyword arguments that single and vector environments share.

    Args:
        observation: "flat" (one vector, the entries in the task's order), "dict", "pixels",
            "flat+pixels", "dict+pixels", or, for a `GoalTask`, "goal" (`observation`,
            `achieved_goal` and `desired_goal`, with the goal's reward).
        dtype: dtype of the entries, "float32" or "float64" (the simulator's precision).
        pixels: images in the observation: `camera` (name, index, -1 for the free camera, or a
            sequence of them), `width`, `height`, `kind` ("rgb" or "depth").
        frame_stack: number of stacked observations, along a new first axis, the current one last;
            None for no such axis. The first observation of an episode fills the stack, as in
            Gymnasium's `FrameStackObservation`.
        on_divergence: "truncate" ends an episode that is no longer finite with the last finite
            observation, reward 0 and `info["diverged"]`; "raise" raises `DivergenceError`.
        render_mode: None, "rgb_array" or "human".
        camera: camera of `render()`: name, index, -1 for the free camera, or None for the task's
            viewpoint.
        width: width of `render()`, in pixels.
        height: height of `render()`, in pixels.
        render_quality: "reference" (the published look) or "fast" (no shadows or reflections).
        show: extra elements that `render()` shows, e.g. ("joints", "contacts"); see
            `mjgym.envs.overlays.Overlay.of`. Images in observations never have them.
        groups: groups of elements that `render()` shows, e.g. {"geom": (0, 1, 2, 3)}.
        visualize_reward: whether body colours follow the reward.
        observables: how entries of the observation are read (`mjgym.Observable`), and additional
            entries (`mjgym.observe`), by name.
        vary: model fields that vary (distributions of `mjgym.variation`), by field and name, e.g.
            "body_mass[torso]"; see `mjgym.variation.varying.Varying`.
        vary_every: "episode" draws them for each episode, "reset" only for those that the user's
            `reset` starts, "never" once, for the first episode.

    Raises:
        ValueError: a value is unknown; the message names the argument and the valid ones.
    """

    observation: str = "flat"
    dtype: str = "float32"
    pixels: Mapping[str, Any] | None = None
    frame_stack: int | None = None
    on_divergence: str = "truncate"
    render_mode: str | None = None
    camera: str | int | None = None
    width: int = 84
    height: int = 84
    render_quality: str = "reference"
    show: Sequence[str] = ()
    groups: Mapping[str, Any] | None = None
    visualize_reward: bool = False
    observables: Mapping[str, ObservableLike] | None = None
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
            whole_number(name, getattr(self, name), most=pixels.MAX_SIZE)
        if self.frame_stack is not None:
            whole_number("frame_stack", self.frame_stack)
            if self.observation == "goal":
                raise ValueError('frame_stack: observation="goal" shows one frame')
        if self.pixels is not None and "pixels" not in self.observation:
            raise ValueError(f"pixels: observation={self.observation!r} has no pictures")
        Overlay.of(self.show, self.groups)

    def pictures(self, model: mujoco.MjModel) -> dict[str, Image]:
        """The images of an observation, checked against the model's cameras."""
        return pixels.parse(self.pixels, model) if "pixels" in self.observation else {}

    def varying(self, model: mujoco.MjModel) -> Varying | None:
        """The user's variations of a model; None if there are none."""
        return None if self.vary is None else Varying(self.vary, model)

    def draws(self, varying: Varying | None, n: int) -> Draws | None:
        """The varied values of n simulations; None if nothing varies."""
        return None if varying is None else Draws(varying, self.vary_every, n)


def check_reset_options(options: Any, known: tuple[str, ...] = ()) -> None:
    """Refuse unknown options of `reset`.

    Raises:
        TypeError: not a dict.
        ValueError: one is unknown; the message suggests the nearest ones.
    """
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise TypeError(f"options: expected a dict, got {type(options).__name__}")
    for name in options:
        if name not in known:
            raise ValueError(f"options: reset has no {name!r}{or_else(name, known)}")
