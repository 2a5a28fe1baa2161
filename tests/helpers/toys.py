"""Small tasks for the tests: a cart that is pushed, one that writes down its hooks, and a pole."""

from dataclasses import dataclass
from typing import Any, ClassVar

import mujoco
import numpy as np

import mjgym
from mjgym import Observable, observe, variation

CART = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="cart"><joint name="slide" type="slide" axis="1 0 0"/><geom size="0.1"/></body>
  </worldbody>
  <actuator><motor name="push" joint="slide" ctrlrange="-1 1"/></actuator>
</mujoco>
"""
SUBSTEPS = 3
EPISODE = 4  # control steps, after which the task itself cuts the episode off


@dataclass(frozen=True)
class Cart(mjgym.Task):
    """A cart that is pushed."""

    time_limit, control_timestep = 10.0, 0.02  # s

    def model(self):
        return mujoco.MjSpec.from_string(CART)

    def initialize(self, v, rng):
        v.qpos[0] = rng.uniform(-1, 1)

    def observation(self, v):
        return {"position": v.qpos, "velocity": v.qvel}

    def terms(self, v):
        return {"near": 1 / (1 + abs(v.qpos[..., 0]))}


@dataclass(frozen=True)
class Follow(Cart):
    """Push as hard to the right as the cart is to the right of the middle: learnt at once."""

    time_limit = 0.4  # s

    def terms(self, v):
        return {"close": v.xp.exp(-4 * (v.ctrl[..., 0] - v.memory["start"]) ** 2)}

    def memory(self, v):
        return {"start": v.qpos[..., 0]}


@dataclass(frozen=True)
class Probe(mjgym.Task):
    """A cart that writes down which of its hooks is called."""

    time_limit, control_timestep = 10.0, SUBSTEPS * 0.01  # s
    calls: ClassVar[list[str]] = []

    def compiled_step(self, *_):
        return "a compiled step calls no hooks, and writes none down"

    def model(self):
        return mujoco.MjSpec.from_string(CART)

    def initialize(self, v, rng):
        self.calls.append("initialize")
        v.qpos[0] = rng.uniform(-1, 1)

    def memory(self, v):
        self.calls.append("memory")
        return {"goal": v.xp.zeros(v.lead), "steps": v.xp.zeros(v.lead), "seen": v.xp.zeros(v.lead)}

    def before_step(self, v, action):
        self.calls.append("before_step")
        return {"goal": v.qpos[..., 0] + action[..., 0]}

    def control(self, v, action):
        self.calls.append("control")
        return (v.memory["goal"] - v.qpos[..., 0])[..., None]

    def current_forces(self, v):
        self.calls.append("current_forces")
        return v.qpos[..., 0] > 0

    def terms(self, v):
        self.calls.append("terms")
        return {"near": 1 - abs(v.qpos[..., 0] - v.memory["goal"])}

    def reward(self, terms):
        self.calls.append("reward")
        return terms["near"]

    def terminated(self, v):
        self.calls.append("terminated")
        return v.qpos[..., 0] > 1e3

    def truncated(self, v):
        self.calls.append("truncated")
        return v.memory["steps"] >= EPISODE - 1

    def success(self, v):
        self.calls.append("success")
        return v.qpos[..., 0] > 0.5

    def update(self, v):
        self.calls.append("update")
        return {"steps": v.memory["steps"] + 1}

    def observation(self, v):
        self.calls.append("observation")
        return {"position": v.qpos[..., 0], "steps": v.memory["steps"]}


@dataclass(frozen=True)
class EverySubstep(Probe):
    """The same with what happens between physics steps."""

    control_every_substep = True

    def substep(self, v):
        self.calls.append("substep")
        return {"seen": v.memory["seen"] + 1}


OPTIONS = {
    "plain": {},
    "varied": {"vary": {"body_mass[cart]": variation.factor(variation.Uniform(0.5, 2.0))}},
    # The source is the engine's own, so that reading it calls no hook.
    "sensed": {
        "observables": {"own": Observable(observe.field("qpos"), update_interval=2, delay=1)}
    },
}


ROOM = """
<mujoco>
  <asset>
    <texture name="sky" type="skybox" builtin="gradient" rgb1=".4 .6 .8" rgb2="0 0 0" width="256"/>
    <texture name="grid" type="2d" builtin="checker" rgb1=".1 .2 .3" rgb2=".2 .3 .4" width="64"
             height="64"/>
    <material name="grid" texture="grid" texrepeat="2 2"/>
  </asset>
  <worldbody>
    <light pos="0 0 4"/>
    <camera name="fixed" pos="0 -3 1.5" xyaxes="1 0 0 0 1 2"/>
    <geom name="floor" type="plane" size="2 2 2" material="grid"/>
    <body name="pole" pos="0 0 .8">
      <joint name="hinge" axis="0 1 0"/>
      <geom name="pole" type="capsule" fromto="0 0 0 0 0 .5" size=".05" rgba=".8 .6 .4 1"/>
    </body>
  </worldbody>
  <actuator>
    <motor name="torque" joint="hinge" ctrlrange="-1 1" ctrllimited="true"/>
  </actuator>
</mujoco>
"""


class Room(mjgym.Task):
    """A pole and little else: OpenGL has it ready sooner than the floors and skies of the suite."""

    def model(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_string(ROOM)

    def initialize(self, v: Any, rng: Any) -> None:
        v.joint("hinge").qpos = rng.uniform(-np.pi, np.pi)

    def observation(self, v: Any) -> dict[str, Any]:
        return {"position": v.qpos}

    def terms(self, v: Any) -> dict[str, Any]:
        return {"still": 1.0 - v.xp.abs(v.qvel[..., 0])}
