"""Paths of tendons, point by point."""

from typing import Any

from mjgym.mjcf.attributes import name_of
from mjgym.mjcf.elements import Element, described, is_element, kind_of
from mjgym.util.suggestions import or_else

# Elements of a tendon's path: the handle or number, and optional attributes.
_WRAPS = {
    "joint": ("joint", "coef"),
    "site": ("site",),
    "geom": ("geom", "sidesite"),
    "pulley": ("divisor",),
}


def wrap(tendon: Element, kind: str, attributes: dict[str, Any]) -> Any:
    """Append an element to the path of a tendon."""
    if kind not in _WRAPS:
        raise ValueError(f"a tendon's path has no {kind!r}{or_else(kind, _WRAPS)}")
    known = _WRAPS[kind]
    for attribute in attributes:
        if attribute not in known:
            raise TypeError(f"tendon {kind}: no attribute {attribute!r}; there are {known}")
    if known[0] not in attributes:
        raise TypeError(f"tendon {kind}: {known[0]!r} is missing")
    if kind == "pulley":
        return tendon.wrap_pulley(float(attributes["divisor"]))
    named = {}
    for attribute, wanted in ((known[0], kind), ("sidesite", "site")):
        value = attributes.get(attribute, "")
        if is_element(value):
            if kind_of(value) != wanted:
                raise TypeError(f"tendon {kind}: expected a {wanted}, got {described(value)}")
            value = name_of(f"tendon {kind}", attribute, value, None)
        elif not isinstance(value, str):
            raise TypeError(f"tendon {kind}: expected a name or a handle, got {value!r}")
        named[attribute] = value
    if kind == "joint":
        return tendon.wrap_joint(named["joint"], float(attributes.get("coef", 1.0)))
    if kind == "site":
        return tendon.wrap_site(named["site"])
    return tendon.wrap_geom(named["geom"], named["sidesite"])
