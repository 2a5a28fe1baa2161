"""Custom classes that settings name as "module:Class"."""

from collections.abc import Iterable

from mjgym.policies.run_errors import ConfigError
from mjgym.util import code_references
from mjgym.util.suggestions import or_else


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
