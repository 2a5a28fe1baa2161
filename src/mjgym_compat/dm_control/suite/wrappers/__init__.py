"""Environments that change another's actions or observations."""

from typing import Any

import dm_env


class Delegating(dm_env.Environment):  # type: ignore[misc]
    """An environment that forwards to another one."""

    def __init__(self, env: Any) -> None:
        self._env = env

    def reset(self) -> Any:
        return self._env.reset()

    def step(self, action: Any) -> Any:
        return self._env.step(action)

    def observation_spec(self) -> Any:
        return self._env.observation_spec()

    def action_spec(self) -> Any:
        return self._env.action_spec()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_env":
            raise AttributeError(name)
        return getattr(self._env, name)
