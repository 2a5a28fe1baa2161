"""Attributes of new elements in the engine's terms: enumerations, names, complete rows."""

import copy
from collections.abc import Iterable
from typing import Any

import mujoco
import numpy as np

from mjgym.mjcf.elements import (
    IN_TREE,
    KINDS,
    REFERENCES,
    Element,
    Spec,
    described,
    enumeration,
    from_word,
    is_element,
    kind_of,
    names,
    parameters,
    root,
    target_kinds,
    to_word,
    tried,
)
from mjgym.mjcf.finding import free_names
from mjgym.util.suggestions import or_else

# Rows of numbers that may be shortened, as in MJCF.
_LONG = frozenset(
    {"gear", "gainprm", "biasprm", "dynprm", "friction", "data", "solref", "solimp"}
    | {f"sol{what}_{where}" for what in ("ref", "imp") for where in ("limit", "friction")}
)


_MOVED = ("joint", "tendon", "site", "body")  # of actuators, in the order of name lookup


_COLOUR = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)


Shortcut = tuple[str, dict[str, Any]]


def split_shortcut(kind: str, attributes: dict[str, Any]) -> tuple[Shortcut | None, dict[str, Any]]:
    """The engine's method for an actuator type with its arguments, and the other attributes."""
    if kind != "actuator" or attributes.get("type") is None:
        return None, attributes
    enum = enumeration(kind, "type")
    value = attributes["type"]
    is_word = isinstance(value, str)
    name = to_word(from_word(kind, "type", value, enum) if is_word else enum(int(value)))
    method = f"set_to_{name}"
    if not hasattr(mujoco.MjsActuator, method):
        return None, attributes
    taken = [p for p in parameters(mujoco.MjsActuator, method) if p in attributes]
    rest = {k: v for k, v in attributes.items() if k != "type" and k not in taken}
    return (method, {name: attributes[name] for name in taken}), rest


def apply_shortcut(actuator: Element, shortcut: Shortcut) -> None:
    """Set an actuator's type and parameters."""
    method, arguments = shortcut
    try:
        getattr(actuator, method)(**arguments)
    except TypeError:
        listed = ", ".join(parameters(mujoco.MjsActuator, method)) or "none"
        shown = ", ".join(f"{name}={value!r}" for name, value in arguments.items()) or "nothing"
        raise TypeError(
            f"actuator: type {method.removeprefix('set_to_')!r} cannot be made of {shown}; its"
            f" parameters are {listed}"
        ) from None


def tried_with(
    kind: str, method: str, attributes: dict[str, Any], shortcut: Shortcut | None
) -> Element:
    """An element with these attributes in a scratch spec."""
    element = tried(kind, method, attributes)
    if shortcut is not None:
        apply_shortcut(element, shortcut)
    return element


# PyMJCF's names of attributes, by kind; "" is any kind.
_PYMJCF = {
    **{("actuator", kind): "target" for kind in ("joint", "tendon", "site", "body")},
    **{("sensor", k): "objname" for k in ("joint", "site", "body", "geom", "tendon", "actuator")},
    ("", "dclass"): "default",
    ("", "class_"): "default",
    ("material", "texture"): "textures",
    ("geom", "mesh"): "meshname",
    ("geom", "hfield"): "hfieldname",
    ("pair", "geom1"): "geomname1",
    ("pair", "geom2"): "geomname2",
}


def resolved(
    kind: str,
    method: str,
    attributes: dict[str, Any],
    spec: Spec | None,
    shortcut: Shortcut | None,
    base: Element | None,
) -> dict[str, Any]:
    """Attributes in the engine's terms: words as enumerations, handles as names, rows complete.

    Missing numbers of a row come from `base`, an element of the same kind.
    """
    owner = mujoco.MjsBody if kind in (*IN_TREE, "freejoint") else mujoco.MjSpec
    accepted = parameters(owner, method)
    for attribute in attributes:
        if attribute not in accepted:
            extra = parameters(mujoco.MjsActuator, shortcut[0]) if shortcut else ()
            known = sorted({*accepted, *extra})
            here = _PYMJCF.get((kind, attribute)) or _PYMJCF.get(("", attribute))
            hint = f"; it is {here!r} here" if here in known else or_else(attribute, known)
            raise TypeError(f"{method}: no attribute {attribute!r}{hint}")
    values = {name: _value(kind, name, value, spec, base) for name, value in attributes.items()}
    references = REFERENCES.get(kind, {})
    for attribute, by in references.items():
        said = attributes.get(attribute)
        if kind != "tuple" and by not in KINDS and by not in attributes and is_element(said):
            values[by] = _said(kind, attribute, by, said)
    target = attributes.get("target")
    if kind == "actuator" and spec is not None and isinstance(target, str):
        moved = next((k for k in _MOVED if target in names(spec, k)), _MOVED[0])
        by = from_word(kind, "trntype", moved, enumeration(kind, "trntype"))
        values.setdefault("trntype", by)
    if kind == "tuple" and "objtype" not in values:
        handles = attributes.get("objname", ())
        if handles and all(is_element(handle) for handle in handles):
            kinds = [kind_of(handle) for handle in handles]
            values["objtype"] = members(kind, "objtype", kinds, mujoco.mjtObj)
    for attribute in references:
        if attribute in attributes:
            _check_target(kind, attribute, attributes[attribute], values)
    return values


def _value(kind: str, attribute: str, value: Any, spec: Spec | None, base: Element | None) -> Any:
    enum = enumeration(kind, attribute)
    if enum is not None:
        return members(kind, attribute, value, enum)
    if attribute in ("default", "plugin"):
        wanted = "Mjs" + attribute.capitalize()
        if value is not None and type(value).__name__ != wanted:
            raise TypeError(f"{kind} {attribute}: expected a handle ({wanted}), got {value!r}")
        return value
    if attribute in REFERENCES.get(kind, {}):
        name = _named(kind, attribute, value, spec)
        return _roles(name) if attribute == "textures" else name
    if attribute in _LONG and base is not None:
        return _completed(value, getattr(base, attribute))
    if is_element(value):
        if attribute == "childclass":
            return value.name
        raise TypeError(f"{kind} {attribute}: takes no handle, got {described(value)}")
    return value


def _completed(value: Any, row: Any) -> Any:
    numbers = np.atleast_1d(np.asarray(value))
    if numbers.ndim > 1 or numbers.dtype.kind not in "iufb" or len(numbers) > len(row):
        return value  # refused by the engine
    return [*numbers.tolist(), *list(row)[len(numbers) :]]


def _roles(textures: Any) -> Any:
    """A material's textures by role; a single one is its colour."""
    if isinstance(textures, str):
        textures = [""] * _COLOUR + [textures]
    if isinstance(textures, list):
        return textures + [""] * (int(mujoco.mjtTextureRole.mjNTEXROLE) - len(textures))
    return textures


def members(kind: str, attribute: str, value: Any, enum: Any) -> Any:
    """MJCF words as members of an enumeration."""
    if isinstance(value, str):
        return from_word(kind, attribute, value, enum)
    if attribute == "objtype" and kind == "tuple":
        return [int(members(kind, "objtype", v, enum)) for v in value]
    return value


def _said(kind: str, attribute: str, by: str, handle: Element) -> Any:
    """Value of the attribute that names the kind of a referenced element."""
    enum = enumeration(kind, by)
    what = kind_of(handle)
    if what == "body" and kind == "sensor":
        raise TypeError(
            f"sensor {attribute}: of a body, say {by}='body' (its centre of mass and inertial axes)"
            f" or {by}='xbody' (its own frame)"
        )
    try:
        return from_word(kind, by, what, enum)
    except ValueError:
        raise TypeError(f"{kind} {attribute}: cannot be {described(handle)}") from None


def _named(kind: str, attribute: str, value: Any, spec: Spec | None) -> Any:
    if is_element(value):
        return name_of(kind, attribute, value, spec)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_named(kind, attribute, part, spec) for part in value]
    return value


def name_of(kind: str, attribute: str, handle: Element, spec: Spec | None) -> str:
    """The name of a referenced element; an unnamed one gets a free name."""
    if not handle.name:
        handle_kind = kind_of(handle)
        if spec is not None:
            taken = set(names(spec, handle_kind))
        elif handle_kind in IN_TREE:
            taken = {element.name for element in root(handle).find_all(handle_kind)}
        else:
            raise ValueError(
                f"{kind} {attribute}: the {handle_kind} has no name to refer to it by;"
                f' mjcf.add(spec, "{handle_kind}", ...) gives it one'
            )
        handle.name = next(free_names(handle_kind, taken))
    return str(handle.name)


def _check_target(kind: str, attribute: str, value: Any, attributes: dict[str, Any]) -> None:
    said = attributes.get(REFERENCES[kind][attribute], 0)
    handles = [value] if is_element(value) else value if isinstance(value, list | tuple) else []
    says = said if kind == "tuple" and isinstance(said, list) else [said] * len(handles)
    for handle, what in zip(handles, says, strict=False):
        if is_element(handle):
            wanted = target_kinds(kind, attribute, what)
            if wanted and kind_of(handle) not in wanted:
                raise TypeError(
                    f"{kind} {attribute}: expected a {' or '.join(wanted)}, got {described(handle)}"
                )


def setting_kind(part: Any) -> str:
    return type(part).__name__.removeprefix("Mj").removeprefix("s").lower()


def assign_setting(part: Any, attributes: dict[str, Any]) -> None:
    """Change settings of a part of a spec, all or nothing."""
    kind = setting_kind(part)
    is_part = type(part).__name__.startswith("Mj")
    if not is_part or isinstance(part, mujoco.MjModel | mujoco.MjData):
        raise TypeError(f"expected an element or a part of a MjSpec, got {type(part).__name__}")
    values = {}
    for attribute, value in attributes.items():
        if attribute.startswith("_") or not hasattr(part, attribute):
            known = [name for name in dir(part) if not name.startswith("_")]
            raise TypeError(f"{kind}: no attribute {attribute!r}{or_else(attribute, known)}")
        enum = enumeration(kind, attribute, part)
        values[attribute] = members(kind, attribute, value, enum) if enum is not None else value
    before = {attribute: copy.copy(getattr(part, attribute)) for attribute in values}
    try:
        for attribute, value in values.items():
            setattr(part, attribute, value)
    except (TypeError, ValueError):
        for attribute, value in before.items():
            setattr(part, attribute, value)
        shown = ", ".join(f"{name}={value!r}" for name, value in attributes.items())
        raise TypeError(f"{kind}: the engine does not take the types in {shown}") from None


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
