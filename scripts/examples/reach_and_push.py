"""Goal tasks for hindsight: a hand that reaches for places and pushes a cube to them."""

import argparse
from dataclasses import dataclass

import gymnasium as gym
import numpy as np

from mjgym import GoalTask, mjcf, register
from mjgym.resets import unit_vector
from mjgym.rotations import norm

REACH, PUSH = "tutorial/hand-reach-v0", "tutorial/hand-push-v0"
SPEED, DAMPING = 0.5, 100.0  # m/s, largest target velocity, and N s/m of its servos
HAND, CUBE = 0.02, 0.025  # m, radius and half side
HIGH = 0.2  # m, where the hand starts
ROOM = (0.15, 0.15, 0.15)  # m, half sides of the box of target places around the start
NEAREST, FURTHEST = 0.06, 0.2  # m, from the centre of the table to the cube and to its place
RED, GREEN, BLUE = (0.8, 0.1, 0.1, 1), (0.1, 0.7, 0.2, 0.4), (0.2, 0.4, 0.7, 1)


@register(REACH, tags=("tutorial",))
@dataclass(frozen=True)
class Reach(GoalTask):
    """Move a hand to a place in the air.

    Reward: 0 within the tolerance of the place, else -1.

    Start: the hand 20 cm above the middle of the table; the place anywhere within 15 cm of it along
    each axis.

    Observation: `hand_pos` (m), `hand_vel` (m/s) and `place` (m).
    """

    tolerance: float = 0.05  # m
    time_limit, control_timestep = 2.0, 0.04  # s
    varies = ("site_pos",)  # of the place
    shows_goal = ("place",)

    def model(self):
        spec = mjcf.Spec()
        world = spec.worldbody
        mjcf.add(world, "light", pos=(0, 0, 2))
        mjcf.add(world, "camera", pos=(0, -0.8, 0.6), xyaxes=(1, 0, 0, 0, 0.5, 0.9))
        mjcf.add(world, "geom", type="plane", size=(0.5, 0.5, 0.1), rgba=(0.7, 0.7, 0.7, 1))
        place = {"size": (self.tolerance, 0, 0), "rgba": GREEN}
        mjcf.add(world, "site", name="place", type="sphere", **place)
        hand = mjcf.add(world, "body", name="hand", pos=(0, 0, HIGH), gravcomp=1)
        for name, axis in zip("xyz", np.eye(3), strict=True):
            slide = mjcf.add(hand, "joint", name=name, type="slide", axis=axis)
            servo = mjcf.add(spec, "actuator", name=name, target=slide)
            servo.set_to_velocity(kv=DAMPING)
            servo.ctrlrange, servo.ctrllimited = (-SPEED, SPEED), True
        mjcf.add(hand, "geom", type="sphere", size=(HAND, 0, 0), mass=1, rgba=BLUE)
        return spec

    def initialize(self, v, rng):
        v.site("place").pos[:] = (0, 0, HIGH) + rng.uniform(-1, 1, 3) * ROOM

    def observation(self, v):
        hand, place = v.body("hand").xpos, v.site("place").xpos
        return {"hand_pos": hand, "hand_vel": v.qvel[..., :3], "place": place}

    def terms(self, v):
        return {"goal": self.compute_reward(self.achieved(v), self.desired(v), {})}

    def achieved(self, v):
        return v.body("hand").xpos

    def desired(self, v):
        return v.site("place").xpos

    def reached(self, achieved, desired):
        return norm(achieved - desired) <= self.tolerance


@register(PUSH, tags=("tutorial",))
@dataclass(frozen=True)
class Push(Reach):
    """Push a cube to a place on the table.

    Reward: 0 with the cube within the tolerance of the place, else -1.

    Start: the hand above the middle of the table; cube and place 6 to 20 cm from there, in any
    direction.

    Observation: `cube_pos` (m), `hand_to_cube`, from hand to cube (m), and `cube_vel` (m/s).
    """

    def model(self):
        spec = super().model()
        cube = mjcf.add(spec.worldbody, "body", name="cube", pos=(0, 0, CUBE))
        mjcf.add(cube, "freejoint", name="cube")
        mjcf.add(cube, "geom", type="box", size=(CUBE, CUBE, CUBE), mass=0.1, rgba=RED)
        return spec

    def initialize(self, v, rng):
        cube, place = (rng.uniform(NEAREST, FURTHEST) * unit_vector(rng, 2) for _ in range(2))
        v.joint("cube").qpos[:2] = cube
        v.site("place").pos[:] = *place, CUBE

    def observation(self, v):
        cube, velocity = v.body("cube").xpos, v.qvel[..., 3:6]
        ahead = cube - v.body("hand").xpos
        pose = {"cube_pos": cube, "hand_to_cube": ahead, "cube_vel": velocity}
        return {**super().observation(v), **pose}

    def achieved(self, v):
        return v.body("cube").xpos


def main() -> None:
    """Compare the rewards of a batch with those of its goals, in both tasks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=50, help="control steps of each task")
    arguments = parser.parse_args()
    for id in (REACH, PUSH):
        envs = gym.make_vec(id, num_envs=64, observation="goal", autoreset_mode="SameStep")
        envs.reset(seed=0)
        reached = 0
        for _ in range(arguments.steps - 1):
            observation, rewards, *_, info = envs.step(envs.action_space.sample())
            goals = observation["achieved_goal"], observation["desired_goal"]
            assert np.array_equal(rewards, envs.unwrapped.compute_reward(*goals, info))
            # In hindsight every step has reached what it achieved.
            assert not envs.unwrapped.compute_reward(goals[0], goals[0], info).any()
            reached += int((rewards == 0).sum())
        print(f"{id}: {reached} of {64 * (arguments.steps - 1)} random steps at the goal")


if __name__ == "__main__":
    main()
