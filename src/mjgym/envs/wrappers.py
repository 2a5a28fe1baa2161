"""A wrapper that Gymnasium lacks; to rescale actions, use its `RescaleAction`."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs

from mjgym.util.values import not_negative


class ActionNoise(gymnasium.ActionWrapper[Any, np.ndarray, np.ndarray], RecordConstructorArgs):
    """Adds Gaussian noise to every action and clips the sum to the action space.

    The noise is drawn from the environment's generator, so seeds reproduce it.

    Args:
        scale: standard deviation, as a fraction of the width of each action's range.

    Raises:
        ValueError: the action space is unbounded, or `scale` is negative.
    """

    def __init__(self, env: gymnasium.Env[Any, np.ndarray], scale: float = 0.01) -> None:
        RecordConstructorArgs.__init__(self, scale=scale)
        super().__init__(env)
        space: Any = env.action_space
        if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
            raise ValueError("the action space is unbounded: noise cannot be in proportion to it")
        not_negative("scale", scale)
        self._deviation: np.ndarray = scale * (space.high.astype(float) - space.low)

    def action(self, action: np.ndarray) -> np.ndarray:
        """The noisy action, float64."""
        noisy = action + self._deviation * self.np_random.normal(size=self._deviation.shape)
        space: Any = self.action_space
        return np.asarray(np.clip(noisy, space.low, space.high))
