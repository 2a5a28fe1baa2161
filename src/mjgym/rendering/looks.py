"""Rendering qualities, and colours that follow the reward."""

from dataclasses import dataclass

import mujoco
import numpy as np

from mjgym.mjcf import Spec
from mjgym.task import Task

# Materials that fade from "<name>_default" to "<name>_highlight" as the reward grows.
REWARDED = ("self", "effector", "target")
SHARPNESS = 4  # exponent of the reward


@dataclass(frozen=True)
class Look:
    """Lighting effects, antialiasing and mesh resolution."""

    shadows: bool  # whether lights cast shadows and floors reflect
    samples: int | None = None  # of each pixel, for antialiasing; None for the model's value
    slices: int | None = None  # around round shapes; None for the model's value
    stacks: int | None = None  # along round shapes; None for the model's value
    quads: int | None = None  # along the sides of boxes and planes; None for the model's value

    def prepare(self, model: mujoco.MjModel) -> None:
        """Write these settings into a model."""
        quality = model.vis.quality
        if not self.shadows:
            quality.shadowsize = 0
        for field, value in (
            ("offsamples", self.samples),
            ("numslices", self.slices),
            ("numstacks", self.stacks),
            ("numquads", self.quads),
        ):
            if value is not None:
                setattr(quality, field, value)


QUALITIES = {
    "reference": Look(shadows=True),
    "fast": Look(shadows=False, samples=0, slices=12, stacks=8, quads=2),
}
"""By name: "reference" is the published look, "fast" has the same shapes and colours without
shadows, reflections, antialiasing and coats, and with coarse shapes.
"""


def dressed(task: Task, look: str = "own") -> Spec:
    """The spec of a task with its textures and skins, or those of the installed dm_control."""
    spec = task.model()
    if look == "published":
        task.dress_as_published(spec)
    else:
        task.dress(spec)
    return spec


def colour_by_reward(model: mujoco.MjModel, reward: float) -> None:
    """Set a model's colours to show a reward.

    Each of the materials `self`, `effector` and `target` gets the colour
    w * highlight + (1 - w) * default with w = clip(reward, 0, 1)^4, where `<name>_highlight` and
    `<name>_default` are materials of the model (the published suite's rule). A material without
    one of the two keeps its colour.
    """
    weight = float(np.clip(reward, 0.0, 1.0)) ** SHARPNESS
    for name in REWARDED:
        ids = [
            mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_MATERIAL.value, f"{name}{suffix}")
            for suffix in ("", "_default", "_highlight")
        ]
        if -1 not in ids:
            shown, default, highlight = ids
            colours = model.mat_rgba
            colours[shown] = weight * colours[highlight] + (1 - weight) * colours[default]
