"""Base class of wrappers."""

from typing import Any


class Wrapper:
    """A wrapper that forwards everything it does not define to an environment or a wrapper."""

    def __init__(self, env: Any) -> None:
        self.env = env

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    # Wrappers call these of their base class.

    def reset(self) -> Any:
        return self.env.reset()

    def step(self, action: Any) -> Any:
        return self.env.step(action)

    def render(self, **options: Any) -> Any:
        return self.env.render(**options)

    def observation_spec(self) -> Any:
        return self.env.observation_spec()

    @property
    def action_spec(self) -> Any:
        return self.env.action_spec

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # during construction
            raise AttributeError(name)
        return getattr(self.env, name)
