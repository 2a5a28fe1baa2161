"""Pictures as observations: which cameras, how large, of what kind."""

import dataclasses
import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import mujoco
import numpy as np

from mjgym.observables.observe import Image

KEY = "pixels"  # of the picture in an observation; "pixels_<camera>" if there are several


@dataclass(frozen=True)
class Picture:
    """One picture of an observation.

    Args:
        camera: name or index, -1 for the free camera.
        width: in pixels.
        height: in pixels.
        kind: "rgb", uint8 (height, width, 3), or "depth", float32 (height, width) in metres.
    """

    camera: str | int = 0
    width: int = 84
    height: int = 84
    kind: str = "rgb"

    def space(self, lead: tuple[int, ...] = ()) -> gymnasium.spaces.Box:
        """The space of the picture, or of a batch of them."""
        if self.kind == "depth":
            shape = (*lead, self.height, self.width)
            return gymnasium.spaces.Box(0.0, np.inf, shape, np.float32)
        return gymnasium.spaces.Box(0, 255, (*lead, self.height, self.width, 3), np.uint8)


@dataclass(frozen=True)
class Sensed(Picture):
    """A picture that is read as a sensor is, see `mjgym.Observable`.

    Args:
        readings: how many an observation shows, along a first axis; 0 for one, without that axis.
    """

    readings: int = 0

    def space(self, lead: tuple[int, ...] = ()) -> gymnasium.spaces.Box:
        """The space of the picture or pictures, or of a batch of them."""
        return super().space((*lead, self.readings) if self.readings else lead)


def sensed(name: str, image: Image, readings: int, model: mujoco.MjModel) -> Sensed:
    """The picture that an observable reads, checked against the model's cameras.

    Raises:
        ValueError: there is no such camera or kind, or a size is not positive; the message names
            the entry.
    """
    argument = f"observables: {name!r}"
    camera = known_camera(argument, image.camera, model)
    picture = Sensed(camera, image.width, image.height, image.kind, readings)
    _check(picture, argument)
    return picture


def parse(pixels: Mapping[str, Any] | None, model: mujoco.MjModel) -> dict[str, Picture]:
    """The pictures that the keyword argument `pixels` asks for, by their key in the observation.

    Args:
        pixels: fields of `Picture`; `camera` may be a sequence, for one picture from each.
        model: that has the cameras.

    Raises:
        TypeError: `pixels` is not a mapping.
        ValueError: it has an unknown field, kind or camera, or a size that is not positive; the
            message names the nearest valid ones.
    """
    if pixels is not None and not isinstance(pixels, Mapping):
        raise TypeError(f"pixels: expected a dict, got {type(pixels).__name__}")
    fields = dict(pixels or {})
    known = [f.name for f in dataclasses.fields(Picture)]
    for name in fields:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1) or known
            raise ValueError(f"pixels: no field {name!r}; did you mean {', '.join(near)}?")
    cameras = fields.pop("camera", Picture.camera)
    several = isinstance(cameras, Sequence) and not isinstance(cameras, str)
    pictures = {}
    for camera in cameras if several else [cameras]:
        picture = Picture(known_camera("pixels: camera", camera, model), **fields)
        _check(picture, "pixels")
        pictures[f"{KEY}_{camera}" if several else KEY] = picture
    if not pictures:
        raise ValueError("pixels: 'camera' names no camera")
    return pictures


def _check(picture: Picture, argument: str) -> None:
    if picture.kind not in ("rgb", "depth"):
        raise ValueError(f"{argument}: kind {picture.kind!r} is neither 'rgb' nor 'depth'")
    for name in ("width", "height"):
        size = getattr(picture, name)
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"{argument}: {name} must be a whole number of pixels, got {size!r}")


def known_camera(argument: str, camera: str | int, model: mujoco.MjModel) -> str | int:
    """The camera, if there is one such; 0 means the free camera in a model that has no other.

    Raises:
        ValueError: there is no such camera; the message names the argument and the nearest ones.
    """
    names = [model.camera(i).name for i in range(model.ncam)]
    if camera == 0 and not names:
        return -1
    if camera == -1 or camera in names or camera in range(len(names)):
        return camera
    near = difflib.get_close_matches(str(camera), names, n=3) or [*names, "-1 (free)"]
    raise ValueError(f"{argument}: there is no {camera!r}; did you mean {', '.join(near)}?")
