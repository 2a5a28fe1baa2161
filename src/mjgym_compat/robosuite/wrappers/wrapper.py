"""Base class of wrappers."""

from typing import Any


class Wrapper:
    """A wrapper that forwards everything it does not define to an environment.

    Args:
        env: of `make`, or another wrapper.

    Attributes:
        env: the wrapped environment; `unwrapped` is the one inside all wrappers.
    """

    def __init__(self, env: Any) -> None:
        self.env = env

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # during construction
            raise AttributeError(name)
        return getattr(self.env, name)
