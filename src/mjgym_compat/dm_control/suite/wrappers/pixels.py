"""Images in observations."""

import collections
from collections.abc import Mapping
from typing import Any

import dm_env
from dm_env import specs

from mjgym_compat.dm_control.suite.wrappers import Delegating

STATE_KEY = "state"


class Wrapper(Delegating):
    """Adds an image to the observation, or replaces it by one."""

    def __init__(
        self,
        env: Any,
        pixels_only: bool = True,
        render_kwargs: Mapping[str, Any] | None = None,
        observation_key: str = "pixels",
    ) -> None:
        super().__init__(env)
        self._pixels_only, self._key = pixels_only, observation_key
        self._render_kwargs = dict(render_kwargs or {})
        spec = env.observation_spec()
        if not isinstance(spec, Mapping):
            spec = {STATE_KEY: spec}
        if observation_key in spec:
            raise ValueError(f"observation_key: there is an entry {observation_key!r} already")
        self._spec = collections.OrderedDict({} if pixels_only else spec)
        image = self._image()
        self._spec[observation_key] = specs.Array(image.shape, image.dtype, observation_key)

    def _image(self) -> Any:
        return self._env.physics.render(**self._render_kwargs)

    def _with_image(self, timestep: dm_env.TimeStep) -> dm_env.TimeStep:
        seen = timestep.observation
        entries = seen if isinstance(seen, Mapping) else {STATE_KEY: seen}
        observation = collections.OrderedDict({} if self._pixels_only else entries)
        observation[self._key] = self._image()
        return timestep._replace(observation=observation)

    def reset(self) -> dm_env.TimeStep:
        return self._with_image(self._env.reset())

    def step(self, action: Any) -> dm_env.TimeStep:
        return self._with_image(self._env.step(action))

    def observation_spec(self) -> Any:
        return self._spec
