"""Functions by name, with tags."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

_NAME_ALREADY_EXISTS = "a function named {name!r} is already there"
_F = TypeVar("_F", bound=Callable[..., Any])


class TaggedTasks(Mapping[str, Callable[..., Any]]):
    """Functions by name; `@tasks.add("easy")` above one adds it."""

    def __init__(self, allow_overriding_keys: bool = False) -> None:
        self.allow_overriding_keys = allow_overriding_keys
        self._functions: dict[str, Callable[..., Any]] = {}
        self._tags: dict[str, dict[str, Callable[..., Any]]] = {}

    def add(self, *tags: str) -> Callable[[_F], _F]:
        """A decorator that adds a function with tags."""

        def register(function: _F) -> _F:
            name = function.__name__
            if name in self._functions and not self.allow_overriding_keys:
                raise ValueError(_NAME_ALREADY_EXISTS.format(name=name))
            self._functions[name] = function
            for tag in tags:
                self._tags.setdefault(tag, {})[name] = function
            return function

        return register

    def tagged(self, *tags: str) -> dict[str, Callable[..., Any]]:
        if not tags:
            return {}
        names = set.intersection(*(set(self._tags.get(tag, ())) for tag in tags))
        return {name: f for name, f in self._functions.items() if name in names}

    def tags(self) -> list[str]:
        return list(self._tags)

    def __getitem__(self, name: str) -> Callable[..., Any]:
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)
