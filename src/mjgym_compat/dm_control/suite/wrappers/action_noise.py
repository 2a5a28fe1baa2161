"""Noise on actions."""

from typing import Any

import numpy as np

from mjgym_compat.dm_control.suite.wrappers import Delegating

_BOUNDS_MUST_BE_FINITE = "action_spec: all bounds must be finite, got {action_spec}"


class Wrapper(Delegating):
    """Adds Gaussian noise to actions, drawn from the task's generator, and clips them."""

    def __init__(self, env: Any, scale: float = 0.01) -> None:
        super().__init__(env)
        spec = env.action_spec()
        if not (np.isfinite(spec.minimum).all() and np.isfinite(spec.maximum).all()):
            raise ValueError(_BOUNDS_MUST_BE_FINITE.format(action_spec=spec))
        self._low, self._high = spec.minimum, spec.maximum
        self._deviation = scale * (spec.maximum - spec.minimum)

    def step(self, action: Any) -> Any:
        noisy = action + self._env.task.random.normal(scale=self._deviation)
        return self._env.step(np.clip(noisy, self._low, self._high))
