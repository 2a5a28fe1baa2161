"""A toy with a goal, its expert, and datasets of it that are in memory alone."""

from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import mujoco
import numpy as np

import mjgym
from mjgym.datasets import About, DemonstrationError, Episode

ID = "demonstrated/cart-v0"
CART = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <body name="cart">
      <joint name="slide" type="slide" axis="1 0 0" damping="10"/><geom size="0.1"/>
    </body>
  </worldbody>
  <actuator><motor name="push" joint="slide" ctrlrange="-1 1" gear="20"/></actuator>
</mujoco>
"""
STEPS = 60


@mjgym.register(ID, tags=("toy",))
@dataclass(frozen=True)
class Cart(mjgym.Task):
    """Push a cart to the goal."""

    time_limit: float = STEPS * 0.05  # s
    control_timestep: float = 0.05  # s
    farthest: float = 1.0  # m

    def model(self):
        return mujoco.MjSpec.from_string(CART)

    def initialize(self, v, rng):
        v.qpos[0] = rng.uniform(-self.farthest, self.farthest)

    def memory(self, v):
        return {"goal": 0.5 * v.xp.sin(10 * v.qpos[..., 0])}

    def observation(self, v):
        return {"position": v.qpos, "velocity": v.qvel, "goal": v.memory["goal"]}

    def terms(self, v):
        return {"near": v.xp.exp(-abs(v.qpos[..., 0] - v.memory["goal"]))}

    def success(self, v):
        return (abs(v.qpos[..., 0] - v.memory["goal"]) < 0.03) & (abs(v.qvel[..., 0]) < 0.05)


def expert(observation):
    """The action that brings the cart to its goal, (..., 1)."""
    position, velocity, goal = np.moveaxis(observation, -1, 0)
    return np.clip(4 * (goal - position) - 1.5 * velocity, -1, 1)[..., None].astype(np.float32)


def episodes(count=20, seed=0, **kwargs):
    """Episodes of the expert, until three steps after the first success."""
    envs = gymnasium.make_vec(ID, count, threads=1, **kwargs)
    observation, _ = envs.reset(seed=seed)
    seen, acted, paid, succeeded = [observation], [], [], []
    for _ in range(STEPS - 1):
        acted.append(expert(observation))
        observation, reward, _, _, info = envs.step(acted[-1])
        seen.append(observation)
        paid.append(reward)
        succeeded.append(info["success"])
    envs.close()
    seen, acted, paid, succeeded = map(np.array, (seen, acted, paid, succeeded))
    assert succeeded.any(0).all()
    made = []
    for k in range(count):
        end = min(int(succeeded[:, k].argmax()) + 4, len(acted))
        nothing = np.zeros(end, dtype=bool)
        ends = {"terminations": nothing, "truncations": np.arange(end) == end - 1}
        own = {"rewards": paid[:end, k], "successes": succeeded[:end, k]}
        made.append(Episode(seen[: end + 1, k], acted[:end, k], **own, **ends, seed=seed + k))
    return made


class Dataset:
    """A dataset of episodes that are in memory."""

    def __init__(self, made: list[Episode], about: About | None = None) -> None:
        self.name, self.note = "memory", ""
        self.made, self.count = made, len(made)
        self.about = About(ID, {"max_episode_steps": STEPS}) if about is None else about

    def episode(self, number: int) -> Episode:
        return self.made[number]

    def environment(self, **kwargs: Any) -> Any:
        raise DemonstrationError("there is none")

    def changed(self, **columns: Any) -> "Dataset":
        """The same with other columns of the second episode."""
        made = [*self.made]
        made[1] = replace(made[1], **columns)
        return Dataset(made, self.about)
