"""Wrappers that Gymnasium lacks; to rescale actions, use its `RescaleAction`."""

from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils import RecordConstructorArgs


def _noise(space: Any, scale: float) -> np.ndarray:
    """Standard deviations of an action's noise, in the units of the action."""
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        raise ValueError("the action space is unbounded: noise cannot be in proportion to it")
    if not scale >= 0:
        raise ValueError(f"scale: must not be negative, got {scale}")
    return np.asarray(scale * (space.high.astype(float) - space.low))


class ActionNoise(
    gymnasium.ActionWrapper[Any, np.ndarray, np.ndarray],
    RecordConstructorArgs,
):
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
        self._deviation = _noise(env.action_space, scale)

    def action(self, action: np.ndarray) -> np.ndarray:
        """The noisy action, float64."""
        noisy = action + self._deviation * self.np_random.normal(size=self._deviation.shape)
        space: Any = self.action_space
        return np.clip(noisy, space.low, space.high)


class VectorActionNoise(
    gymnasium.vector.VectorActionWrapper[Any, np.ndarray, np.ndarray, np.ndarray],
    RecordConstructorArgs,
):
    """`ActionNoise` for a vector environment, with each sub-environment's generator."""

    def __init__(
        self,
        env: gymnasium.vector.VectorEnv[Any, np.ndarray, np.ndarray],
        scale: float = 0.01,
    ) -> None:
        RecordConstructorArgs.__init__(self, scale=scale)
        super().__init__(env)
        self._deviation = _noise(env.single_action_space, scale)

    def actions(self, actions: np.ndarray) -> np.ndarray:
        """The noisy actions, float64."""
        generators: Any = self.env.np_random
        normal = np.stack([rng.normal(size=self._deviation.shape) for rng in generators])
        space: Any = self.env.action_space
        clipped: np.ndarray = np.clip(actions + self._deviation * normal, space.low, space.high)
        return clipped
