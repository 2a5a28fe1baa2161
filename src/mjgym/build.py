"""What a single and a vector environment make of a task in the same way."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjgym import mjcf
from mjgym.pixels import Picture, parse
from mjgym.spaces import DTYPES, MODES
from mjgym.task import Arrays, Task

ON_DIVERGENCE = ("truncate", "raise")
RENDER_MODES = (None, "rgb_array", "human")
RENDER_QUALITIES = ("reference", "fast")
WHOLE = 1e-8  # how far control_timestep / timestep may be from a whole number


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

    def __post_init__(self) -> None:
        for name, known in (
            ("observation", MODES),
            ("dtype", DTYPES),
            ("on_divergence", ON_DIVERGENCE),
            ("render_mode", RENDER_MODES),
            ("render_quality", RENDER_QUALITIES),
            ("visualize_reward", (False, True)),
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


def steps_in(time_limit: float, control_timestep: float) -> int | None:
    """Control steps until a time limit (s); None if it is infinite."""
    if time_limit == float("inf"):
        return None
    # The first step whose time reaches the limit; rounding must not add one.
    return int(np.ceil(time_limit / control_timestep - WHOLE))


def owned(entries: Arrays) -> dict[str, np.ndarray]:
    """Copies of what a hook returned, which may be live arrays of the simulation."""
    return {name: np.array(value) for name, value in entries.items()}


def encode_generator(rng: np.random.Generator) -> np.ndarray:
    """A PCG64 generator's state as an array, uint64 (6,)."""
    state: Any = rng.bit_generator.state
    words = []
    for number in (state["state"]["state"], state["state"]["inc"]):
        words += [number >> 64, number & (2**64 - 1)]
    return np.array([*words, state["has_uint32"], state["uinteger"]], dtype=np.uint64)


def decode_generator(rng: np.random.Generator, words: np.ndarray) -> None:
    """Put a generator into the state that `encode_generator` gave."""
    w = [int(x) for x in words]
    state: Any = rng.bit_generator.state
    state["state"] = {"state": w[0] << 64 | w[1], "inc": w[2] << 64 | w[3]}
    state["has_uint32"], state["uinteger"] = w[4], w[5]
    rng.bit_generator.state = state


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
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"state: {name!r} is not finite")
        checked[name] = array
    return checked
