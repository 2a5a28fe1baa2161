"""Images in observations: cameras, sizes and kinds."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import mujoco
import numpy as np

from mjgym.observables import Image
from mjgym.task import Task
from mjgym.task.viewpoint import Viewpoint
from mjgym.util.suggestions import or_else
from mjgym.util.values import one_of, whole_number

MAX_SIZE = 16384  # pixels of an image's width or height that OpenGL is sure to render
KEY = "pixels"  # of the image in an observation; "pixels_<camera>" if there are several


def space(image: Image, lead: tuple[int, ...] = (), readings: int = 0) -> gymnasium.spaces.Box:
    """The space of an image, or of a batch of shape lead.

    `readings` is the number of images along a first axis; 0 for one without that axis.
    """
    lead = (*lead, readings) if readings else lead
    if image.kind == "depth":
        return gymnasium.spaces.Box(0.0, np.inf, (*lead, image.height, image.width), np.float32)
    return gymnasium.spaces.Box(0, 255, (*lead, image.height, image.width, 3), np.uint8)


def blank(image: Image) -> np.ndarray:
    empty = space(image)
    return np.zeros(empty.shape, empty.dtype)


def parse(pixels: Mapping[str, Any] | None, model: mujoco.MjModel) -> dict[str, Image]:
    """The images that `pixels` asks for, by observation key; `camera` may be a sequence."""
    if pixels is not None and not isinstance(pixels, Mapping):
        raise TypeError(f"pixels: expected a dict, got {type(pixels).__name__}")
    fields = dict(pixels or {})
    known = [f.name for f in dataclasses.fields(Image)]
    for name in fields:
        if name not in known:
            raise ValueError(f"pixels: no field {name!r}{or_else(name, known)}")
    cameras = fields.pop("camera", Image.camera)
    several = isinstance(cameras, Sequence) and not isinstance(cameras, str)
    images = {}
    for camera in cameras if several else [cameras]:
        image = Image(known_camera("pixels: camera", camera, model), **fields)
        check("pixels", image, model)
        images[f"{KEY}_{camera}" if several else KEY] = image
    if not images:
        raise ValueError("pixels: 'camera' names no camera")
    return images


def check(argument: str, image: Image, model: mujoco.MjModel) -> None:
    """Refuse an image that the model cannot provide."""
    known_camera(argument, image.camera, model)
    one_of(f"{argument}: kind", image.kind, ("rgb", "depth"))
    for name in ("width", "height"):
        whole_number(f"{argument}: {name}", getattr(image, name), most=MAX_SIZE)


def viewpoint(task: Task, model: mujoco.MjModel) -> str | int | Viewpoint:
    """The default camera of a task; see `Task.viewpoint`."""
    argument, where = f"{type(task).__name__}.viewpoint", task.viewpoint
    if isinstance(where, Viewpoint):
        return known_bodies(argument, where, model)
    return known_camera(argument, where, model)


def known_bodies(argument: str, viewpoint: Viewpoint, model: mujoco.MjModel) -> Viewpoint:
    """The viewpoint; ValueError, with the nearest names, if the model lacks its bodies."""
    names = [model.body(i).name for i in range(model.nbody)] if viewpoint.bodies else []
    for body in viewpoint.bodies:
        if body not in names:
            raise ValueError(f"{argument}: there is no body {body!r}{or_else(body, names)}")
    return viewpoint


def known_camera(argument: str, camera: str | int, model: mujoco.MjModel) -> str | int:
    """The camera, if it exists; 0 means the free camera in a model without cameras."""
    names = [model.camera(i).name for i in range(model.ncam)]
    if camera == 0 and not names:
        return -1
    if camera == -1 or camera in names or camera in range(len(names)):
        return camera
    hint = or_else(camera, [*names, "-1 (free)"])
    raise ValueError(f"{argument}: there is no {camera!r}{hint}")
