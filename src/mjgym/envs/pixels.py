"""Pictures as observations: which cameras, how large, of what kind."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import mujoco
import numpy as np

from mjgym.observables import Image
from mjgym.task import Task
from mjgym.task.viewpoint import Viewpoint
from mjgym.util.numbers import whole_number
from mjgym.util.suggestions import or_else

MAX_SIZE = 16384  # pixels of a picture's width or height; no more are sure to be drawn
KEY = "pixels"  # of the picture in an observation; "pixels_<camera>" if there are several


def space(image: Image, lead: tuple[int, ...] = (), readings: int = 0) -> gymnasium.spaces.Box:
    """The space of a picture, or of a batch of them.

    Args:
        image: the picture.
        lead: shape of the batch.
        readings: how many pictures an observation shows, along a first axis; 0 for one, without
            that axis.
    """
    lead = (*lead, readings) if readings else lead
    if image.kind == "depth":
        return gymnasium.spaces.Box(0.0, np.inf, (*lead, image.height, image.width), np.float32)
    return gymnasium.spaces.Box(0, 255, (*lead, image.height, image.width, 3), np.uint8)


def blank(image: Image) -> np.ndarray:
    """A picture of nothing, for its shape and kind of numbers."""
    empty = space(image)
    return np.zeros(empty.shape, empty.dtype)


def parse(pixels: Mapping[str, Any] | None, model: mujoco.MjModel) -> dict[str, Image]:
    """The pictures that the keyword argument `pixels` asks for, by their key in the observation.

    Args:
        pixels: fields of `Image`; `camera` may be a sequence, for one picture from each.
        model: that has the cameras.

    Raises:
        TypeError: `pixels` is not a mapping.
        ValueError: it has an unknown field, kind or camera, or a size that is not positive; the
            message names the nearest valid ones.
    """
    if pixels is not None and not isinstance(pixels, Mapping):
        raise TypeError(f"pixels: expected a dict, got {type(pixels).__name__}")
    fields = dict(pixels or {})
    known = [f.name for f in dataclasses.fields(Image)]
    for name in fields:
        if name not in known:
            raise ValueError(f"pixels: no field {name!r}{or_else(name, known)}")
    cameras = fields.pop("camera", Image.camera)
    several = isinstance(cameras, Sequence) and not isinstance(cameras, str)
    pictures = {}
    for camera in cameras if several else [cameras]:
        picture = Image(known_camera("pixels: camera", camera, model), **fields)
        check("pixels", picture, model)
        pictures[f"{KEY}_{camera}" if several else KEY] = picture
    if not pictures:
        raise ValueError("pixels: 'camera' names no camera")
    return pictures


def check(argument: str, image: Image, model: mujoco.MjModel) -> None:
    """Refuse a picture that the model cannot give.

    Raises:
        ValueError: there is no such camera or kind, or a size is not positive; the message begins
            with the argument.
    """
    known_camera(argument, image.camera, model)
    if image.kind not in ("rgb", "depth"):
        raise ValueError(f"{argument}: kind {image.kind!r} is neither 'rgb' nor 'depth'")
    for name in ("width", "height"):
        whole_number(f"{argument}: {name}", getattr(image, name), most=MAX_SIZE)


def viewpoint(task: Task, model: mujoco.MjModel) -> str | int | Viewpoint:
    """The camera that shows a task to people where none is asked for; see `Task.viewpoint`.

    Raises:
        ValueError: the task names a camera or a body that its model does not have.
    """
    argument, where = f"{type(task).__name__}.viewpoint", task.viewpoint
    if isinstance(where, Viewpoint):
        return known_bodies(argument, where, model)
    return known_camera(argument, where, model)


def known_bodies(argument: str, viewpoint: Viewpoint, model: mujoco.MjModel) -> Viewpoint:
    """The viewpoint, if the model has its bodies.

    Raises:
        ValueError: it has not; the message names the argument and the nearest ones.
    """
    names = [model.body(i).name for i in range(model.nbody)] if viewpoint.bodies else []
    for body in viewpoint.bodies:
        if body not in names:
            raise ValueError(f"{argument}: there is no body {body!r}{or_else(body, names)}")
    return viewpoint


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
    hint = or_else(camera, [*names, "-1 (free)"])
    raise ValueError(f"{argument}: there is no {camera!r}{hint}")
