"""Registries of named objects, from the package and from users' modules."""

import importlib
import pkgutil
import sys
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from mjgym.util import code_references
from mjgym.util.suggestions import or_else

Thing = TypeVar("Thing")
ThingType = TypeVar("ThingType", bound=type[Any])


class Catalogue(Generic[Thing]):
    """A registry of objects of one kind, by name."""

    def __init__(self, kind: str, base: type[Thing], package: str = "") -> None:
        self._kind = kind
        self._base = base
        self._package = package  # whose modules register objects; imported before a look-up
        self._things: dict[str, Thing] = {}
        self._sources: dict[str, Callable[[str], Thing]] = {}
        self._found: dict[str, Thing] = {}  # by "prefix:rest" or "module:Class"

    def add(self, name: str, thing: Thing) -> None:
        self._things[name] = thing

    def register(self, name: str, **fields: Any) -> Callable[[ThingType], ThingType]:
        """Class decorator: register an instance of a class under a name."""

        def decorate(thing_class: ThingType) -> ThingType:
            self.add(name, thing_class(**fields))
            return thing_class

        return decorate

    def add_source(self, prefix: str, source: Callable[[str], Thing]) -> None:
        self._sources[prefix] = source

    def _import_package(self) -> None:
        if self._package:
            folder, self._package = importlib.import_module(self._package), ""
            for module in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
                importlib.import_module(module.name)

    def names(self) -> list[str]:
        self._import_package()
        return sorted(self._things)

    def find(self, name: str | Thing, *, argument: str = "") -> Thing:
        """Look up an object by its name or "module:Class"; objects are returned as they are."""
        if isinstance(name, self._base):
            return name
        asked = argument or self._kind
        if not isinstance(name, str):
            raise TypeError(
                f'{asked}: expected a name, "module:Class" or an instance of'
                f" {self._base.__name__}, not {name!r}"
            )
        self._import_package()
        for known in (self._things, self._found):
            if name in known:
                return known[name]
        prefix, colon, rest = name.partition(":")
        if colon and prefix in self._sources:
            self._found[name] = self._sources[prefix](rest)
            return self._found[name]
        if colon:
            return self._load(name, asked)
        hint = or_else(name, self.names())
        raise ValueError(f'{asked}: no {name!r}{hint} (or "module:Class" of your own)')

    def _fits(self, value: Any) -> bool:
        if isinstance(value, type):
            return issubclass(value, self._base)
        return isinstance(value, self._base)

    def _hint(self, module: str, attribute: str) -> str:
        there = vars(sys.modules[module]).items()
        known = [n for n, x in there if self._fits(x) and x is not self._base]
        return or_else(attribute, known) if known else ""

    def _load(self, name: str, asked: str) -> Thing:
        module, _, attribute = name.partition(":")
        try:
            loaded = code_references.load(name)
        except AttributeError:
            hint = self._hint(module, attribute)
            reason = f"there is no {attribute!r} in {module}{hint}"
            raise ValueError(f"{asked}: {name!r} cannot be imported: {reason}") from None
        except (ImportError, ValueError) as error:
            raise ValueError(f"{asked}: {name!r} cannot be imported: {error}") from None
        if not self._fits(loaded):
            hint = self._hint(module, attribute)
            raise ValueError(f"{asked}: {name!r} is no {self._base.__name__}{hint}")
        thing: Thing = loaded() if isinstance(loaded, type) else loaded
        self._found[name] = thing
        return thing
