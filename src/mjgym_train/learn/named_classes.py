"""Classes that settings name: custom ones as "module:Class", and those of PyTorch."""

from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any, TypeVar

from mjgym.policies.run_errors import ConfigError
from mjgym.util import code_references
from mjgym.util.suggestions import or_else

T = TypeVar("T")


def imported(name: str, setting: str, known: Iterable[str]) -> type:
    """The class that "module:Class" names; ConfigError if there is none."""
    if ":" not in name:
        raise ConfigError(f"{setting}: there is no {name!r}{or_else(name, known)}")
    try:
        cls: type = code_references.load(name)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(f"{setting}: {name}: {error}") from None
    if not isinstance(cls, type):
        raise ConfigError(f"{setting}: {name} is no class")
    return cls


def made_of_torch(
    setting: str,
    module: ModuleType,
    base: type[T],
    given: Mapping[str, Any],
    *args: Any,
    **own: Any,
) -> T:
    """An object of the subclass of `base` in a module that `given["name"]` names.

    Args:
        given: the name, and arguments that override `own`.

    Raises:
        ConfigError: there is no such class, or it does not take the arguments.
    """
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value is not base
    }
    arguments = {**own, **given}
    name = str(arguments.pop("name", ""))
    if name not in classes:
        raise ConfigError(
            f"{setting}: there is no {name!r} in {module.__name__}{or_else(name, classes)}"
        )
    try:
        return classes[name](*args, **arguments)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{setting}: {error}") from None
