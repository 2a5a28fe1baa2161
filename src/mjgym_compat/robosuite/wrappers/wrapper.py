"""A wrapper that changes nothing, for others to begin with."""

from typing import Any


class Wrapper:
    """An environment around another one, which it passes everything on to.

    Args:
        env: of `make`, or a wrapper of one.

    Attributes:
        env: the environment that it is around.
    """

    def __init__(self, env: Any) -> None:
        self.env = env

    @property
    def unwrapped(self) -> Any:
        """The environment within all wrappers."""
        return self.env.unwrapped if isinstance(self.env, Wrapper) else self.env

    @classmethod
    def class_name(cls) -> str:
        """The wrapper's own name."""
        return cls.__name__

    def reset(self) -> Any:
        """Begin an episode; its observation."""
        return self.env.reset()

    def step(self, action: Any) -> Any:
        """Advance by one control step: observation, reward, whether it is over, info."""
        return self.env.step(action)

    def render(self, **kwargs: Any) -> Any:
        """Show the present state in a window."""
        return self.env.render(**kwargs)

    def close(self) -> None:
        """Close the environment."""
        self.env.close()

    def observation_spec(self) -> Any:
        """The present observation."""
        return self.env.observation_spec()

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # while it is being made
            raise AttributeError(name)
        return getattr(self.env, name)
