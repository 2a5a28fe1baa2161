"""Things by name: the package's own, and those of a user's modules."""

import difflib
import importlib
from typing import Any, Generic, TypeVar

Thing = TypeVar("Thing")


class Catalogue(Generic[Thing]):
    """Things of one kind by name.

    Args:
        kind: what they are, for messages.
        base: the class that all of them extend.
    """

    def __init__(self, kind: str, base: type[Thing]) -> None:
        self._kind = kind
        self._base = base
        self._things: dict[str, Thing] = {}

    def add(self, name: str, thing: Thing) -> None:
        """Give a thing a name."""
        self._things[name] = thing

    def names(self) -> list[str]:
        """All names, sorted."""
        return sorted(self._things)

    def find(self, name: str) -> Thing:
        """The thing of a name, or "module:Class" of a user's own.

        Raises:
            ValueError: there is none; the message names the nearest ones.
        """
        if name in self._things:
            return self._things[name]
        if ":" in name:
            return self._load(name)
        near = difflib.get_close_matches(name, self._things, n=3) or self.names()
        raise ValueError(
            f"{self._kind}: no {name!r}; did you mean {', '.join(near)}?"
            ' (or "module:Class" of your own)'
        )

    def _load(self, name: str) -> Thing:
        module, _, attribute = name.partition(":")
        try:
            found: Any = getattr(importlib.import_module(module), attribute)
        except (ImportError, AttributeError) as error:
            raise ValueError(f"{self._kind}: {name!r} cannot be imported: {error}") from None
        thing = found() if isinstance(found, type) else found
        if not isinstance(thing, self._base):
            raise ValueError(f"{self._kind}: {name!r} is no {self._base.__name__}")
        self._things[name] = thing
        return thing
