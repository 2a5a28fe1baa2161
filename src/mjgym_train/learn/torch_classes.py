"""Classes of PyTorch that settings name, with their arguments."""

from collections.abc import Mapping
from types import ModuleType
from typing import Any, TypeVar

from mjgym.policies.run_errors import ConfigError
from mjgym.util.suggestions import or_else

T = TypeVar("T")


def made_of_torch(
    setting: str,
    module: ModuleType,
    base: type[T],
    given: Mapping[str, Any],
    *args: Any,
    **kwargs: Any,
) -> T:
    """An object of the subclass of `base` in a module that `given["name"]` names.

    Args:
        given: the name, and arguments that override `kwargs`.

    Raises:
        ConfigError: there is no such class, or it does not take the arguments.
    """
    classes = {
        name: value
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, base) and value is not base
    }
    name = str(given.get("name", ""))
    if name not in classes:
        raise ConfigError(
            f"{setting}: there is no {name!r} in {module.__name__}{or_else(name, classes)}"
        )
    arguments = {**kwargs, **given}
    del arguments["name"]
    try:
        return classes[name](*args, **arguments)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{setting}: {error}") from None
