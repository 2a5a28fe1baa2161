"""Keyword arguments of environments: those that all share, and those of each kind of batch."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import mujoco
from gymnasium.vector import AutoresetMode

from mjgym.envs import pixels
from mjgym.envs.overlays import Overlay
from mjgym.envs.spaces import DTYPES, MODES
from mjgym.observables import Image
from mjgym.observables.sensing import ObservableLike
from mjgym.task import Task
from mjgym.util.suggestions import or_else
from mjgym.util.values import one_of, whole_number
from mjgym.variation.draws import Draws
from mjgym.variation.varying import Varying

ON_DIVERGENCE = ("truncate", "raise")
RENDER_MODES = (None, "rgb_array", "human")
RENDER_QUALITIES = ("reference", "fast")
LOOKS = ("own", "published")
VARY_EVERY = ("episode", "reset", "never")
OUTPUTS = ("torch", "numpy")
MOST_THREADS = 4096
MOST_FRAMES = 1000  # of a stack
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
        width, height: of `render()`, in pixels.
        render_quality: "reference" (the published look) or "fast" (without shadows, reflections
            and coats).
        look: "own", or "published" for dog and rat: skins, meshes and textures of the installed
            dm_control, in images alone.
        show: extra elements that `render()` shows, e.g. ("joints", "contacts"); see
            `mjgym.envs.overlays.Overlay.of`. Images in observations never have them.
        groups: groups of elements that `render()` shows, e.g. {"geom": (0, 1, 2, 3)}.
        observables: how entries of the observation are read (`mjgym.Observable`), and additional
            entries (`mjgym.observe`), by name.
        vary: model fields that vary (distributions of `mjgym.variation`), by field and name, e.g.
            "body_mass[torso]"; see `mjgym.variation.varying.Varying`. "published" for those of the
            task's definition, `Task.published_variations`.
        vary_every: "episode" draws them for each episode, "reset" only for those that the user's
            `reset` starts, "never" for the first one and those with a seed.

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
    look: str = "own"
    show: Sequence[str] = ()
    groups: Mapping[str, Any] | None = None
    visualize_reward: bool = False
    observables: Mapping[str, ObservableLike] | None = None
    vary: Mapping[str, Any] | Literal["published"] | None = None
    vary_every: str = "episode"

    def __post_init__(self) -> None:
        if isinstance(self.dtype, type):  # np.float64
            object.__setattr__(self, "dtype", self.dtype.__name__)
        for name, known in (
            ("observation", MODES),
            ("dtype", DTYPES),
            ("on_divergence", ON_DIVERGENCE),
            ("render_mode", RENDER_MODES),
            ("render_quality", RENDER_QUALITIES),
            ("look", LOOKS),
            ("visualize_reward", (False, True)),
            ("vary_every", VARY_EVERY),
        ):
            one_of(name, getattr(self, name), known)
        for name in ("width", "height"):
            whole_number(name, getattr(self, name), most=pixels.MAX_SIZE)
        if self.frame_stack is not None:
            whole_number("frame_stack", self.frame_stack, most=MOST_FRAMES)
            if self.observation == "goal":
                raise ValueError('frame_stack: observation="goal" shows one frame')
        if self.pixels is not None and "pixels" not in self.observation:
            raise ValueError(f"pixels: observation={self.observation!r} has no pictures")
        Overlay.from_words(self.show, self.groups)

    def pictures(self, model: mujoco.MjModel) -> dict[str, Image]:
        return pixels.parse(self.pixels, model) if "pixels" in self.observation else {}

    def draws(self, model: mujoco.MjModel, task: Task, n: int) -> Draws | None:
        """The user's variations of a task's model in n simulations; None if nothing varies.

        Raises:
            ValueError: "published" is asked of a task that publishes none.
        """
        variations = self.vary
        if variations == "published":
            variations = task.published_variations
            if not variations:
                raise ValueError(f'vary: {type(task).__name__} has no "published" variations')
        if variations is None:
            return None
        return Draws(Varying(variations, model), self.vary_every, n)


@dataclass(frozen=True)
class BatchOptions:
    """Keyword arguments that all vector environments share, besides `Options`."""

    # Control steps after which an episode is truncated; None for no limit
    max_episode_steps: int | None = None
    # "NextStep", "SameStep" or "Disabled", as Gymnasium defines them
    autoreset_mode: str | AutoresetMode = AutoresetMode.NEXT_STEP

    def __post_init__(self) -> None:
        mode = getattr(self.autoreset_mode, "value", self.autoreset_mode)
        one_of("autoreset_mode", mode, [known.value for known in AutoresetMode])
        object.__setattr__(self, "autoreset_mode", AutoresetMode(mode))


@dataclass(frozen=True)
class VectorOptions(BatchOptions):
    """Keyword arguments of `mjgym.VectorEnv`, besides `Options`."""

    threads: int | None = None
    # Whether to return copies of the observations; else the next step overwrites them
    copy: bool = True
    overlap: int = 1  # number of groups that step in turn; for `make_vec` and `OverlappedVectorEnv`

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.threads is not None:
            whole_number("threads", self.threads, most=MOST_THREADS)
        one_of("copy", self.copy, (False, True))
        if self.overlap != 1:
            raise ValueError("overlap: make_vec and OverlappedVectorEnv step groups")


@dataclass(frozen=True)
class WarpOptions(BatchOptions):
    """Keyword arguments of a batch on MuJoCo Warp, besides `Options`.

    Args:
        device: "cpu", "cuda" or "cuda:<number>".
        output: "torch", or "numpy" for clients that need arrays; actions may be either.
        nconmax: contacts per world, averaged over all; None for twice the need of some episodes
            with random actions.
        njmax: constraint rows per world; None as for `nconmax`.
        start_threads: threads that draw the next episodes' starts ahead; 0 to draw a start when an
            episode begins. None for one on a GPU where starts run physics for a while, else zero.
            Not used with `vary`.
        deterministic: whether the engine gives the same numbers in every run, which takes longer:
            the order of sums on a GPU is otherwise nondeterministic.
    """

    device: str = "cuda"
    output: str = "torch"
    nconmax: int | None = None
    njmax: int | None = None
    start_threads: int | None = None
    deterministic: bool = False
    threads: ClassVar[None] = None
    copy: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("output", self.output, OUTPUTS)
        one_of("deterministic", self.deterministic, (False, True))
        for name, least in (("nconmax", 1), ("njmax", 1), ("start_threads", 0)):
            if (number := getattr(self, name)) is not None:
                whole_number(name, number, least)


def names(options: type[Options] | type[BatchOptions]) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(options))


def divided(batch: type[BatchOptions], arguments: Mapping[str, Any]) -> tuple[Any, Options]:
    """The keyword arguments of a vector environment: those of its kind, and the shared ones."""
    own = names(batch)
    return (
        batch(**{name: value for name, value in arguments.items() if name in own}),
        Options(**{name: value for name, value in arguments.items() if name not in own}),
    )


def check_reset_options(options: Any, known: tuple[str, ...] = ()) -> None:
    """Refuse unknown options of `reset`; the message suggests the nearest ones."""
    if options is None:
        return
    if not isinstance(options, Mapping):
        raise TypeError(f"options: expected a dict, got {type(options).__name__}")
    for name in options:
        if name not in known:
            raise ValueError(f"options: reset has no {name!r}{or_else(name, known)}")
