"""Settings of a spec: options, compiler, visual."""

from typing import Any

import mujoco

from mjgym.mjcf.attributes import members
from mjgym.mjcf.elements import enumeration
from mjgym.util.suggestions import or_else


def setting_kind(part: Any) -> str:
    """The name of a part of a spec, "option" for example."""
    return type(part).__name__.removeprefix("Mj").removeprefix("s").lower()


def assign_setting(part: Any, attributes: dict[str, Any]) -> None:
    """Change settings of a part of a spec, all or nothing.

    Raises:
        TypeError: there is no such setting, or a value has a wrong type.
        ValueError: an enumeration has no such word.
    """
    kind = setting_kind(part)
    is_part = type(part).__name__.startswith("Mj")
    if not is_part or isinstance(part, mujoco.MjModel | mujoco.MjData):
        raise TypeError(f"expected an element or a part of a MjSpec, got {type(part).__name__}")
    resolved = {}
    for attribute, value in attributes.items():
        if attribute.startswith("_") or not hasattr(part, attribute):
            known = [name for name in dir(part) if not name.startswith("_")]
            raise TypeError(f"{kind}: no attribute {attribute!r}{or_else(attribute, known)}")
        enum = enumeration(kind, attribute, part)
        resolved[attribute] = members(kind, attribute, value, enum) if enum is not None else value
    before = {attribute: _kept(getattr(part, attribute)) for attribute in resolved}
    try:
        for attribute, value in resolved.items():
            setattr(part, attribute, value)
    except (TypeError, ValueError):
        for attribute, value in before.items():
            setattr(part, attribute, value)
        shown = ", ".join(f"{name}={value!r}" for name, value in attributes.items())
        raise TypeError(f"{kind}: the engine does not take the types in {shown}") from None


def _kept(value: Any) -> Any:
    return value.copy() if hasattr(value, "copy") else value
