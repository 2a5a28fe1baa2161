"""Keyword arguments of `make` about episodes, windows and images."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import mujoco

from mjgym.util.suggestions import or_else
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

    Args:
        horizon: control steps of an episode; with 0 it is over after its first step.
        ignore_done: whether an episode continues beyond the horizon.
        hard_reset: whether a reset redraws the objects' sizes.
        seed: of the first episode; None for an unpredictable one.
        has_renderer: whether `render` opens a window.
        has_offscreen_renderer: whether images can be rendered, as `use_camera_obs` requires.
        renderer: of the window: "mjviewer" or "mujoco", which are equivalent here.
        renderer_config: None, since `render_camera` configures the window.
        render_camera: initial camera of the window; None for the free camera.
        render_collision_mesh: False, since collision geoms are transparent here.
        camera_names: one, or several; "all-eye_in_hand" is that of every robot.
        camera_heights: of all or of each, pixels.
        camera_widths: of all or of each, pixels.
        camera_depths: whether all or each come with depth.
        camera_segmentations: kinds of `SEGMENTATIONS` for all cameras, or a list of kinds (or None)
            for each.
        image_convention: row order of images, default: `macros.IMAGE_CONVENTION`.

    Raises:
        ValueError: a value is not supported; the message names the argument.
    """

    horizon: int = 1000
    ignore_done: bool = False
    hard_reset: bool = True
    seed: int | None = None
    has_renderer: bool = False
    has_offscreen_renderer: bool = True
    renderer: str = "mjviewer"
    renderer_config: Mapping[str, Any] | None = None
    render_camera: str | Sequence[str] | None = "frontview"
    render_visual_mesh: bool = True
    render_collision_mesh: bool = False
    use_camera_obs: bool = True
    camera_names: Any = "agentview"
    camera_heights: Any = 256
    camera_widths: Any = 256
    camera_depths: Any = False
    camera_segmentations: Any = None
    image_convention: str | None = None
    upright: bool = field(default=False, init=False)
    concatenated: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        convention = self.image_convention or macros.IMAGE_CONVENTION
        if convention not in CONVENTIONS:
            raise ValueError(
                f"image_convention: no {convention!r}{or_else(convention, CONVENTIONS)}"
            )
        object.__setattr__(self, "upright", convention == "opencv")
        object.__setattr__(self, "concatenated", bool(macros.CONCATENATE_IMAGES))
        if not isinstance(self.horizon, int):
            raise ValueError(f"horizon: expected a whole number of steps, got {self.horizon!r}")
        if str(self.renderer).lower() not in RENDERERS:
            raise ValueError(f"renderer: no {self.renderer!r}{or_else(self.renderer, RENDERERS)}")
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
        """The initial camera of the window.

        Raises:
            ValueError: there is no such camera, or there are several.
        """
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
            if kind not in SEGMENTATIONS:
                raise ValueError(f"camera_segmentations: no {kind!r}{or_else(kind, SEGMENTATIONS)}")
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
    """The camera of a name, or the cameras of a kind of every robot.

    Raises:
        ValueError: there is no such camera; the message names the nearest.
    """
    cameras = [model.camera(i).name for i in range(model.ncam)]
    kind = name.removeprefix(ALL_OF_A_KIND)
    matches = [c for c in cameras if (c == name if kind == name else c.endswith(kind))]
    if not matches:
        raise ValueError(f"{what}: no {name!r}{or_else(kind, cameras)}")
    return matches
