"""A fingertip that reaches for a target: a task to start from."""

from dataclasses import dataclass

import numpy as np
from mjgym import Task, register
from mjgym.mjcf import Spec
from mjgym.rewards import tolerance
from mjgym.rotations import norm

TARGET_RADIUS = 0.03  # m
NEAREST, FARTHEST = 0.05, 0.2  # m from the shoulder, where a target may be

# MJCF, as in a file; mjgym.mjcf.load("arm.xml") reads one.
XML = """
<mujoco>
  <option timestep="0.01"/>
  <default>
    <joint type="hinge" axis="0 0 1" damping="0.01"/>
    <geom type="capsule" size="0.01" density="500" contype="0" conaffinity="0"/>
  </default>
  <worldbody>
    <light pos="0 0 1" diffuse="0.4 0.4 0.4"/>
    <camera name="above" pos="0 0 0.6"/>
    <geom name="floor" type="plane" size="1 1 1" pos="0 0 -0.05" rgba="0.3 0.4 0.4 1"/>
    <site name="target" size="0.03" rgba="1 0.4 0.3 1"/>
    <body name="upper_arm">
      <joint name="shoulder"/>
      <geom fromto="0 0 0 0.12 0 0" rgba="0.3 0.55 0.9 1"/>
      <body name="forearm" pos="0.12 0 0">
        <joint name="elbow" range="-160 160"/>
        <geom fromto="0 0 0 0.1 0 0" rgba="0.4 0.65 1 1"/>
        <site name="fingertip" pos="0.1 0 0" size="0.012" rgba="1 0.8 0.3 1"/>
      </body>
    </body>
  </worldbody>
  <actuator>
    <motor name="shoulder" joint="shoulder" ctrlrange="-1 1" gear="0.05"/>
    <motor name="elbow" joint="elbow" ctrlrange="-1 1" gear="0.05"/>
  </actuator>
</mujoco>
"""


@register("my/my_task-reach-v0")
@dataclass(frozen=True)
class MyTaskReach(Task):
    """Reach the target with the fingertip.

    Reward: 1 with the fingertip in the target, less with the distance to it.

    Start: any angles of the joints; the target anywhere around the shoulder.

    Observation: `angles` of the joints; `velocities` of the joints; `to_target`, from
    the fingertip to the target along x and y.
    """

    # Fields are keyword arguments: gymnasium.make("my/my_task-reach-v0", margin=0.2).
    margin: float = 0.1  # m from the target, where the reward has fallen to a tenth

    time_limit, control_timestep = 5.0, 0.05  # s
    varies = ("site_pos",)  # model fields that initialize() writes

    def model(self) -> Spec:
        """The model, built once for each environment."""
        return Spec.from_string(XML)

    def initialize(self, v, rng):
        """One episode's start: plain code, for one simulation at a time."""
        v.qpos = rng.uniform(-2.5, 2.5, size=2)  # rad
        angle, distance = rng.uniform(-np.pi, np.pi), rng.uniform(NEAREST, FARTHEST)
        v.site("target").pos[:2] = distance * np.cos(angle), distance * np.sin(angle)

    # The hooks below run for one simulation or a batch: index from the right, no loops.

    def observation(self, v):
        """The observation: arrays by name, in the order of the flat observation."""
        to_target = self.to_target(v)[..., :2]
        return {"angles": v.qpos, "velocities": v.qvel, "to_target": to_target}

    def terms(self, v):
        """The reward's terms by name; the reward is their product."""
        distance = norm(self.to_target(v))
        return {"near": tolerance(distance, (0, TARGET_RADIUS), margin=self.margin)}

    def success(self, v):
        """Whether the goal is reached, for info["success"]."""
        return norm(self.to_target(v)) < TARGET_RADIUS

    def to_target(self, v):
        """From the fingertip, in the world: (..., 3) in m."""
        return v.site("target").xpos - v.site("fingertip").xpos
