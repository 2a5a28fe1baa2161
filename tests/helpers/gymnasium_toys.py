"""Small environments registered with Gymnasium alone, as another package would."""

import gymnasium
import numpy as np
from gymnasium import spaces


class Reach(gymnasium.Env):
    """A point on a line that reaches a goal, with the entries of a goal environment."""

    def __init__(self):
        part = spaces.Box(-10, 10, (1,), np.float64)
        names = ("observation", "achieved_goal", "desired_goal")
        self.observation_space = spaces.Dict(dict.fromkeys(names, part))
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)

    def compute_reward(self, achieved, desired, info):
        return -(np.abs(achieved - desired)[..., 0] > 0.1).astype(float)

    def _seen(self):
        return {"observation": self.x, "achieved_goal": self.x, "desired_goal": self.goal}

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.x, self.goal = np.zeros(1), self.np_random.uniform(-1, 1, 1)
        return self._seen(), {}

    def step(self, action):
        self.x = self.x + 0.2 * np.asarray(action, float)
        reward = float(self.compute_reward(self.x, self.goal, {}))
        return self._seen(), reward, False, False, {"is_success": float(reward == 0)}


class Switches(gymnasium.Env):
    """Two switches of three positions; the reward is the share that stands as observed."""

    observation_space = spaces.MultiDiscrete([3, 3])

    def __init__(self, sizes=(3, 3)):
        self.action_space = spaces.MultiDiscrete(sizes)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.wanted = self.np_random.integers(3, size=2)
        return self.wanted, {}

    def step(self, action):
        assert self.action_space.contains(action)
        reward = float((action == self.wanted).mean())
        self.wanted = self.np_random.integers(3, size=2)
        return self.wanted, reward, False, False, {}


class Lists(gymnasium.Env):
    """It observes lists, which have no fixed size."""

    observation_space = spaces.Sequence(spaces.Discrete(2))
    action_space = spaces.Discrete(2)


class Whims(Switches):
    """It takes its numbers from a generator that no seed reaches."""

    generator = np.random.default_rng(0)

    def reset(self, *, seed=None, options=None):
        return self.generator.integers(3, size=2), {}


def register():
    """Register them, for 20 steps."""
    for cls in (Reach, Switches, Lists, Whims):
        gymnasium.register(f"toys/{cls.__name__}-v0", entry_point=cls, max_episode_steps=20)
    gymnasium.register("toys/Uneven-v0", entry_point=Switches, kwargs={"sizes": (2, 3)})
