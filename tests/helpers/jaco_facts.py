"""The Jaco arm with its hand, alone in the base arena and at its place over a floor."""

import functools
import json
from typing import Any

import mujoco
import numpy as np

from helpers.places import DATA
from mjgym import mjcf, robots

FACTS = DATA / "manipulation"
ARM, HAND = "jaco_arm/", "jaco_arm/jaco_hand/"
JOINTS = tuple(f"{ARM}joint_{i}" for i in range(1, 7))
FINGERS = tuple(f"{HAND}finger_{i}" for i in range(1, 4))
TOOL = f"{HAND}pinchsite"
DOWN = (0.0, np.sqrt(0.5), np.sqrt(0.5), 0.0)  # the tool's orientation at the start of an episode

# The base arena of the published tasks; their robot brings the older collision code with it.
ARENA = """
<mujoco>
  <compiler boundmass="1e-5" boundinertia="1e-11" autolimits="true"/>
  <option timestep="0.002" cone="elliptic" noslip_iterations="5" noslip_tolerance="0">
    <flag nativeccd="disable"/>
  </option>
</mujoco>
"""


@functools.cache
def facts(name: str) -> dict[str, Any]:
    """A record, by the name of its file."""
    return json.loads((FACTS / f"{name}.json").read_text())


@functools.cache
def transitions() -> dict[str, np.ndarray]:
    """12 recorded control steps and 20 starts of a task with nothing but the robot in it."""
    with np.load(FACTS / "transitions" / "reach_site.npz") as file:
        return dict(file)


def jaco() -> mjcf.Spec:
    """The arm with its hand."""
    arm, hand = robots.arms.find("jaco_6_joints"), robots.hands.find("jaco_3_fingers")
    return robots.assembled(arm, hand)


def alone() -> mujoco.MjModel:
    """The robot in the empty arena."""
    arena = mujoco.MjSpec.from_string(ARENA)
    mjcf.attach(arena, jaco())
    return arena.compile()


def over_floor() -> mjcf.Spec:
    """The robot where the published tasks have it, over a floor."""
    arena = mujoco.MjSpec.from_string(ARENA)
    mjcf.add(
        arena.worldbody, "geom", name="ground", type="plane", size=(1, 1, 0.1),
        friction=(0.4, 0.005, 0.0001), solref=(0.002, 1), solimp=(0.95, 0.99, 0.001),
    )  # fmt: skip
    mjcf.attach(arena, jaco(), at=mjcf.add(arena.worldbody, "site", name="base", pos=(0, 0.4, 0)))
    return arena
