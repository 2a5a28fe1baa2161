"""Variations as JSON, in which Gymnasium writes the specification of an environment.

`EnvSpec.to_json` makes a dict of every dataclass among the keyword arguments and loses the class:
`factor(Uniform(0.8, 1.2))` and `offset(Uniform(0.8, 1.2))` would be the same. A variation therefore
has its class among its fields, and `revived` reads it back.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

_KEY = "variation_class"
_known: dict[str, type["Written"]] = {}  # by name


@dataclass(frozen=True, eq=False)
class Written:
    """Base of classes that `dataclasses.asdict` turns into dicts, and `revived` back."""

    variation_class: str = field(init=False, repr=False, default="")

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _known[_name(cls)] = cls


def _name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def _own_class(self: Written) -> str:
    cls = type(self)
    if "__dataclass_fields__" not in vars(cls):  # its parameters would be left out
        raise TypeError(f"{cls.__name__} cannot be written as JSON: it is not a dataclass")
    return _name(cls)


# The field's value follows from the class, which the decorator does not know.
setattr(Written, _KEY, property(_own_class))


def revived(value: Any) -> Any:
    """Read variations back from dicts; everything else stays unchanged."""
    if isinstance(value, Mapping):
        inner = {key: revived(item) for key, item in value.items()}
        if _KEY in inner:
            return _made(inner)
        return inner if any(inner[key] is not value[key] for key in value) else value
    if isinstance(value, list | tuple):
        items = [revived(item) for item in value]
        same = all(a is b for a, b in zip(items, value, strict=True))
        return value if same else type(value)(items)
    return value


def _made(written: dict[str, Any]) -> Written:
    name = written.pop(_KEY)
    cls = _known.get(name)
    if cls is None:
        raise ValueError(
            f"{_KEY}: there is no class {name!r}; import its module first if it is your own"
        )
    wanted = {f.name for f in fields(cls) if f.init}
    if set(written) != wanted:
        raise ValueError(f"{name} has the parameters {sorted(wanted)}, got {sorted(written)}")
    return cls(**{key: _as_tuple(value) for key, value in written.items()})


def _as_tuple(value: Any) -> Any:
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value
