"""Actions in another range."""

from typing import Any

import numpy as np
from dm_env import specs

from mjgym_compat.dm_control.suite.wrappers import Delegating

_ACTION_SPEC_MUST_BE_BOUNDED_ARRAY = "action_spec: must be a BoundedArray, got {}"
_MUST_BE_FINITE = "{name}: all values must be finite, got {bounds}"
_MUST_BROADCAST = "{name}: must broadcast to shape {shape}, got {bounds}"


class Wrapper(Delegating):
    """Rescales actions from a given range to the environment's."""

    def __init__(self, env: Any, minimum: Any, maximum: Any) -> None:
        super().__init__(env)
        spec = env.action_spec()
        if not isinstance(spec, specs.BoundedArray):
            raise ValueError(_ACTION_SPEC_MUST_BE_BOUNDED_ARRAY.format(spec))
        for name, bounds in (("minimum", minimum), ("maximum", maximum)):
            if not np.isfinite(bounds).all():
                raise ValueError(_MUST_BE_FINITE.format(name=name, bounds=bounds))
            try:
                np.broadcast_to(bounds, spec.shape)
            except ValueError:
                text = _MUST_BROADCAST.format(name=name, bounds=bounds, shape=spec.shape)
                raise ValueError(text) from None
        scale = (spec.maximum - spec.minimum) / (np.asarray(maximum) - minimum)
        self._low, self._scale, self._minimum = spec.minimum, scale, minimum
        low = np.broadcast_to(minimum, spec.shape)
        high = np.broadcast_to(maximum, spec.shape)
        kind = np.result_type(low, high, spec.dtype)
        self._spec = specs.BoundedArray(spec.shape, kind, low, high, spec.name)

    def step(self, action: Any) -> Any:
        return self._env.step(self._low + self._scale * (action - self._minimum))

    def action_spec(self) -> specs.BoundedArray:
        return self._spec
