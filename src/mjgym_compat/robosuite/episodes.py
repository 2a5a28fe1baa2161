"""Keyword arguments of `make` about episodes, windows and images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco

from mjgym.util.suggestions import or_else
from mjgym.util.values import one_of
from mjgym_compat.robosuite import macros

CONVENTIONS = ("opengl", "opencv")
RENDERERS = ("mjviewer", "mujoco")
SEGMENTATIONS = ("instance", "class", "element")
ALL_OF_A_KIND = "all-"  # prefix of a camera kind: that camera of every robot
VISUAL_GROUP = 1  # of geoms
FREE = -1  # the free camera


@dataclass(frozen=True)
class Episodes:
    """Arguments about episodes, windows and images.

    Those of cameras are for all or for each.

    Raises:
        ValueError: a value is not supported; the message names the argument.
    """

    horizon: int = 1000  # control steps; with 0 an episode is over after its first step
    ignore_done: bool = False  # go on beyond the horizon
    hard_reset: bool = True  # redraw the objects' sizes
    seed: int | None = None  # of the first episode
    has_renderer: bool = False
    has_offscreen_renderer: bool = True
    renderer: str = "mjviewer"  # or "mujoco", which is the same here
    renderer_config: Mapping[str, Any] | None = None
    render_camera: str | Sequence[str] | None = "frontview"  # None: the free camera
    render_visual_mesh: bool = True
    render_collision_mesh: bool = False
    use_camera_obs: bool = True
    camera_names: Any = "agentview"  # "all-eye_in_hand" is that of every robot
    camera_heights: Any = 256  # pixels
    camera_widths: Any = 256
    camera_depths: Any = False
    camera_segmentations: Any = None  # kinds of `SEGMENTATIONS`
    image_convention: str | None = None  # default: `macros.IMAGE_CONVENTION`
    upright: bool = field(default=False, init=False)
    concatenated: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        convention = self.image_convention or macros.IMAGE_CONVENTION
        one_of("image_convention", convention, CONVENTIONS)
        object.__setattr__(self, "upright", convention == "opencv")
        object.__setattr__(self, "concatenated", bool(macros.CONCATENATE_IMAGES))
        if not isinstance(self.horizon, int):
            raise ValueError(f"horizon: expected a whole number of steps, got {self.horizon!r}")
        one_of("renderer", str(self.renderer).lower(), RENDERERS)
        if self.renderer_config is not None:
            raise ValueError(
                "renderer_config: only None here, as windows begin with render_camera; move a"
                " camera with vary={'cam_pos[frontview]': ...}"
            )
        if self.render_collision_mesh:
            raise ValueError(
                "render_collision_mesh: only False here, as collision shapes are transparent; look"
                " at env.sim.model.geom_size"
            )
        if self.use_camera_obs and not self.has_offscreen_renderer:
            raise ValueError("use_camera_obs: pictures need has_offscreen_renderer=True")
        if self.use_camera_obs and self.camera_names is None:
            raise ValueError("camera_names: expected one or more with use_camera_obs=True")

    @property
    def hidden_groups(self) -> tuple[int, ...]:
        return () if self.render_visual_mesh else (VISUAL_GROUP,)

    def window_camera(self, model: mujoco.MjModel) -> str | int:
        """The initial camera of the window."""
        named = self.render_camera
        if named is None:
            return FREE
        names = [named] if isinstance(named, str) else list(named)
        if len(names) > 1 and str(self.renderer).lower() != "mujoco":
            raise ValueError(f"render_camera: a window shows one camera, not {len(names)}")
        for name in names:
            known_cameras(name, model, "render_camera")
        return names[0]

    def pictures(self, model: mujoco.MjModel) -> list["Picture"]:
        """The images of an observation."""
        if not self.use_camera_obs:
            return []
        names = self.camera_names
        names = [names] if isinstance(names, str) else list(names)
        columns = [
            self._each(field, len(names))
            for field in ("camera_heights", "camera_widths", "camera_depths")
        ]
        columns.append(self._segmentations(len(names)))
        return [
            Picture(camera, *asked)
            for name, *asked in zip(names, *columns, strict=True)
            for camera in known_cameras(name, model)
        ]

    def _each(self, field: str, count: int) -> list[Any]:
        value = getattr(self, field)
        if not isinstance(value, list | tuple):
            return [value] * count
        if len(value) != count:
            raise ValueError(f"{field}: {len(value)} of them for {count} cameras")
        return list(value)

    def _segmentations(self, count: int) -> list[tuple[str, ...]]:
        asked = self.camera_segmentations
        if isinstance(asked, list | tuple) and any(isinstance(x, list | tuple) for x in asked):
            if len(asked) != count:
                raise ValueError(f"camera_segmentations: {len(asked)} of them for {count} cameras")
            each = [x if isinstance(x, list | tuple) else [x] for x in asked]
        else:
            each = [asked if isinstance(asked, list | tuple) else [asked]] * count
        for kind in {kind for kinds in each for kind in kinds if kind is not None}:
            one_of("camera_segmentations", kind, SEGMENTATIONS)
        return [tuple(kind for kind in kinds if kind is not None) for kinds in each]


@dataclass(frozen=True)
class Picture:
    """A camera's part of an observation: image, depth and segmentations."""

    camera: str
    height: int
    width: int
    depth: bool
    segmentations: tuple[str, ...]


def known_cameras(name: str, model: mujoco.MjModel, what: str = "camera_names") -> list[str]:
    """The camera of a name, or the cameras of a kind of every robot; ValueError without any."""
    cameras = [model.camera(i).name for i in range(model.ncam)]
    kind = name.removeprefix(ALL_OF_A_KIND)
    matches = [c for c in cameras if (c == name if kind == name else c.endswith(kind))]
    if not matches:
        raise ValueError(f"{what}: no {name!r}{or_else(kind, cameras)}")
    return matches
