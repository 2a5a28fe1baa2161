"""A creature that must press a button with the right force: a task from its model to its batch."""

import argparse
from dataclasses import dataclass
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np
from PIL import Image

from mjgym import Observable, Task, mjcf, observe, register
from mjgym.resets import unit_vector
from mjgym.rotations import about_z, to_local
from mjgym.util import atomic
from mjgym.variation import Normal, Uniform, noises, rotations

ID = "tutorial/creature-press_button-v0"
TIMESTEP, SUBSTEPS = 0.002, 25  # s of a physics step, and their number in a control step
TORSO, THIGH, SHIN, THICKNESS = (0.12, 0.08, 0.04), 0.07, 0.1, 0.012  # m; the torso's half axes
TORSO_MASS, LIMB_MASS, STIFFNESS = 0.3, 0.01, 2.0  # kg, kg, N m/rad
LIMBS = ("hip", (THIGH, 0, 0), (0, 0, 1), 30), ("knee", (0, 0, -SHIN), (0, 1, 0), 60)  # m, degrees
BUTTON, RIM = (0.04, 0.04, 0.004), 0.004  # m, half sides, and how far its sensor reaches beyond
BLUE, RED, GREEN = (0.2, 0.4, 0.7, 1), (0.8, 0.1, 0.1, 1), (0.1, 0.7, 0.2, 1)
# The area of a disc grows with the square of its radius: its square is uniform, not the radius.
CREATURE_RADIUS = Uniform(0, 0.2**2) ** 0.5  # m from the middle
BUTTON_RADIUS = Uniform(0.5**2, 0.7**2) ** 0.5  # m from the middle, where no leg is at the start
YAW = rotations.About((0, 0, 1), Uniform(-np.pi, np.pi))
NOISE = noises.additive(Normal(0, 0.01))  # rad and rad/s


def leg() -> mjcf.Spec:
    """Two limbs on hinges, with servos for the angles (rad) of the action."""
    spec = mjcf.Spec()
    limb, start = spec.worldbody, (0, 0, 0)
    for name, end, axis, reach in LIMBS:
        limb = mjcf.add(limb, "body", name=name, pos=start)
        hinge = mjcf.add(limb, "joint", name=name, axis=axis, range=(-reach, reach), armature=1e-3)
        ends, size = (0, 0, 0, *end), (THICKNESS, 0, 0)
        mjcf.add(limb, "geom", type="capsule", fromto=ends, size=size, mass=LIMB_MASS, rgba=BLUE)
        servo = mjcf.add(spec, "actuator", name=name, target=hinge)
        servo.set_to_position(kp=STIFFNESS, dampratio=1, inheritrange=True)
        start = end
    return spec


def creature(legs: int) -> mjcf.Spec:
    """A torso with copies of a leg all around, the first in front."""
    spec = mjcf.Spec()
    torso = mjcf.add(spec.worldbody, "body", name="torso")
    mjcf.add(torso, "geom", type="ellipsoid", size=TORSO, mass=TORSO_MASS, rgba=BLUE)
    for i, angle in enumerate(2 * np.pi * np.arange(legs) / legs):
        place = TORSO * np.array([np.cos(angle), np.sin(angle), 0])
        hip = mjcf.add(torso, "site", pos=place, quat=about_z(angle))
        mjcf.attach(spec, leg(), at=hip, name=f"leg{i}")
    return spec


@register(ID, tags=("tutorial",))
@dataclass(frozen=True)
class PressButton(Task):
    """Press a button, neither too gently nor too hard.

    Reward: the share of the control step's physics steps with a force in the range.

    Start: standing, anywhere in a disc and turned anywhere; the button lies in a ring around it.
    """

    legs: int = 6
    gentlest: float = 1.0  # N
    hardest: float = 3.0  # N; the creature weighs 4.1
    time_limit, control_timestep = 20.0, SUBSTEPS * TIMESTEP  # s
    varies = ("body_pos",)  # of the button
    # Noise and a further entry: the mean touch of the physics steps.
    observables: ClassVar = {
        **dict.fromkeys(("angles", "velocities"), Observable(noise=NOISE)),
        "touch": Observable(observe.sensor("touch"), buffer_size=SUBSTEPS, aggregator="mean"),
    }

    def model(self) -> mjcf.Spec:
        spec = mjcf.Spec()
        spec.option.timestep = TIMESTEP
        world = spec.worldbody
        mjcf.add(world, "light", pos=(0, 0, 3))
        mjcf.add(world, "camera", pos=(0, -1.5, 1.5), xyaxes=(1, 0, 0, 0, 1, 1))
        mjcf.add(world, "geom", type="plane", size=(0, 0, 0.1), rgba=(0.7, 0.7, 0.7, 1))
        button = mjcf.add(world, "body", name="button")
        mjcf.add(button, "geom", name="button", type="box", size=BUTTON, rgba=RED)
        # A touch sensor adds up the normal forces of the contacts within its site.
        pad = mjcf.add(button, "site", name="pad", type="box", size=np.add(BUTTON, RIM), group=3)
        mjcf.add(spec, "sensor", name="touch", type="touch", objname=pad)
        mjcf.attach(spec, creature(self.legs), name="creature", free=True)
        return spec

    def initialize(self, v, rng):
        v.body("button").pos[:2] = BUTTON_RADIUS(rng) * unit_vector(rng, 2)
        v.qpos[:7] = *(CREATURE_RADIUS(rng) * unit_vector(rng, 2)), SHIN + THICKNESS, *YAW(rng)

    def observation(self, v):
        torso = v.body("creature/torso")
        button = to_local(torso.xmat, v.body("button").xpos - torso.xpos)
        # The hinges' numbers come after the free joint's.
        return {"angles": v.qpos[..., 7:], "velocities": v.qvel[..., 6:], "button": button}

    def is_right(self, v):
        """Tell whether the present force is in the range, bool of shape `v.lead`."""
        force = v.sensor("touch").data[..., 0]
        return (force >= self.gentlest) & (force <= self.hardest)

    # `substep` counts after each physics step, `terms` reads the count, `update` resets it.
    def memory(self, v):
        return {"right": v.xp.zeros(v.lead)}

    update = memory

    def substep(self, v):
        return {"right": v.memory["right"] + self.is_right(v)}

    def terms(self, v):
        return {"right_force": v.memory["right"] / SUBSTEPS}

    def colours(self, v):
        return {"geom button": v.xp.where(self.is_right(v)[..., None], GREEN, RED)}


def main() -> None:
    """Compare a batch of 64 with as many single runs, and draw on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40, help="control steps to compare")
    parser.add_argument("--out", help="a PNG to write: the button, free and pressed")
    arguments = parser.parse_args()
    env: Any = gym.make(ID, render_mode="rgb_array", width=400, height=400)
    envs = gym.make_vec(ID, num_envs=64)  # its sub-environment i begins with seed 0 + i
    actions = [envs.action_space.sample() for _ in range(arguments.steps)]
    batch = [envs.reset(seed=0)[0], *(envs.step(action)[0] for action in actions)]
    for i in range(64):
        single = [env.reset(seed=i)[0], *(env.step(action[i])[0] for action in actions)]
        assert np.array_equal(single, [o[i] for o in batch]), f"sub-environment {i} differs"
    print(f"64 sub-environments equal single ones, bit for bit, in {len(actions)} steps")
    if arguments.out:
        env.reset(seed=0)
        free, (x, y, _) = env.render(), env.unwrapped.data.body("button").xpos
        pose = x - TORSO[0] - THIGH, y, SHIN + THICKNESS + 2 * BUTTON[2], 1, 0, 0, 0
        still = np.zeros(env.action_space.shape)
        env.unwrapped.set_state({"qpos": [*pose, *still]})  # the first foot is on the button
        rewards = [env.step(still)[1] for _ in range(20)]
        print(f"a foot on the button: reward {rewards[-1]:g}")
        with atomic.replacing(arguments.out) as part:
            Image.fromarray(np.hstack([free, env.render()])).save(part)


if __name__ == "__main__":
    main()
