"""Base class of wrappers."""

from typing import Any


class Wrapper:
    """A wrapper that forwards everything to an environment.

    Args:
        env: of `make`, or another wrapper.

    Attributes:
        env: the wrapped environment.
    """

    def __init__(self, env: Any) -> None:
        self.env = env

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped if isinstance(self.env, Wrapper) else self.env

    @classmethod
    def class_name(cls) -> str:
        """The name of the wrapper's class."""
        return cls.__name__

    def reset(self) -> Any:
        """Start an episode; returns its observation."""
        return self.env.reset()

    def step(self, action: Any) -> Any:
        """Advance by one control step: observation, reward, whether the episode is over, info."""
        return self.env.step(action)

    def render(self, **kwargs: Any) -> Any:
        return self.env.render(**kwargs)

    def close(self) -> None:
        self.env.close()

    def observation_spec(self) -> Any:
        return self.env.observation_spec()

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # during construction
            raise AttributeError(name)
        return getattr(self.env, name)
