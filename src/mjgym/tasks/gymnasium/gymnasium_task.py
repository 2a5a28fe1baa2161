"""The base of Gymnasium's MuJoCo tasks: model, frame skip, order of a step, infos."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mjgym import mjcf
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, Viewpoint
from mjgym.task.models import MOST_SUBSTEPS
from mjgym.task.task_fields import steps_in
from mjgym.tasks.gymnasium import installed_models
from mjgym.util.values import one_of, whole_number

OPTIONS = {"dtype": "float64", "width": 480, "height": 480}
"""Gymnasium's values of options that have other defaults here."""

TAGS = ("gymnasium",)


@dataclass(frozen=True, kw_only=True)
class GymnasiumTask(Task):
    """A task of Gymnasium's, with its keyword arguments, numbers and infos.

    `time_limit` is in seconds at the default frame skip: an episode has as many control steps with
    any.

    Raises:
        ValueError: `frame_skip` is less than 1 or huge, or the camera has another word.
    """

    xml_file: str  # a file of Gymnasium's, or a path that begins with "/", "." or "~"
    frame_skip: int  # physics steps per control step
    default_camera_config: Mapping[str, Any] | None = None  # Gymnasium's words for `camera`

    control_timestep: float = field(default=0.05, init=False)  # s, of the frame skip

    lagging = True
    versions: ClassVar[dict[int, str]] = {5: "Gymnasium's version 5"}

    usual_camera: ClassVar[Viewpoint] = Viewpoint()
    """The free camera without `default_camera_config`."""

    def __post_init__(self) -> None:
        whole_number("frame_skip", self.frame_skip, most=MOST_SUBSTEPS)
        usual = {f.name: f.default for f in dataclasses.fields(self)}
        if any(getattr(self, name) != usual[name] for name in ("xml_file", "frame_skip")):
            timestep = self.model().option.timestep
            object.__setattr__(self, "control_timestep", timestep * self.frame_skip)
        for name in self.default_camera_config or ():
            one_of("default_camera_config", name, _CAMERA)

    def episode_steps(self) -> int | None:
        """As many control steps with any frame skip."""
        return steps_in(self.time_limit, type(self).control_timestep)

    @property
    def viewpoint(self) -> Viewpoint:
        config = self.default_camera_config
        if config is None:
            return self.usual_camera
        words = {name: config[name] for name in config if name in _NUMBERS}
        if "lookat" in config:
            words["lookat"] = tuple(map(float, config["lookat"]))
        if (tracked := config.get("trackbodyid", -1)) >= 0:
            bodies = self.model().bodies
            whole_number("default_camera_config: trackbodyid", tracked, 0, len(bodies) - 1)
            words["bodies"] = (bodies[tracked].name,)
        return Viewpoint(**words)

    def model(self) -> mjcf.Spec:
        return installed_models.load(self.xml_file)

    # Infos.

    def places(self, v: View) -> Arrays:
        """Infos at a start and after each control step, by name."""
        return {}

    def memory(self, v: View) -> Arrays:
        return self.places(v)

    def update(self, v: View) -> Arrays:
        return self.places(v)


_NUMBERS = ("azimuth", "elevation", "distance")
_CAMERA = (*_NUMBERS, "lookat", "trackbodyid")


def start_near_rest(v: SingleView, rng: np.random.Generator, noise: float, *, normal: bool) -> None:
    """Write a start about the default pose: positions up to `noise` (m or rad) off, and velocities
    as much, or `normal` with that deviation.
    """
    v.qpos += rng.uniform(-noise, noise, v.model.nq)
    if normal:
        v.qvel += noise * rng.standard_normal(v.model.nv)
    else:
        v.qvel += rng.uniform(-noise, noise, v.model.nv)


def control_cost(v: View, weight: float, action: Array) -> Array:
    """The weighted sum of squared actions, in float32 for float32 actions."""
    xp, short = v.xp, v.xp.astype(action, v.xp.float32)
    alike = xp.all(xp.astype(short, action.dtype) == action, axis=-1)
    costs = (weight * xp.sum(xp.square(x), axis=-1) for x in (short, action))
    return xp.where(alike, *(xp.astype(cost, v.qpos.dtype) for cost in costs))


def length(v: View, vector: Array) -> Array:
    """The Euclidean norm along the last axis, rounded as by `numpy.linalg.norm`."""
    return v.xp.sqrt(v.xp.vecdot(vector, vector))
