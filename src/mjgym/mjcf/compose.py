"""Functions that load and edit a `mujoco.MjSpec`."""

from pathlib import Path
from typing import Any

import mujoco

from mjgym.mjcf.attributes import (
    apply_shortcut,
    assign_setting,
    resolved,
    setting_kind,
    split_shortcut,
    tried_with,
    wrap,
)
from mjgym.mjcf.debugging import debugging, remember_file, watch
from mjgym.mjcf.elements import (
    KINDS,
    Element,
    Spec,
    described,
    elements,
    enumeration,
    is_element,
    kind_of,
    names,
    samples,
    to_word,
    try_form,
)
from mjgym.mjcf.finding import check_name, free_names
from mjgym.mjcf.lint.checking import explain
from mjgym.mjcf.size_limits import require_bounded
from mjgym.util.packaged import asset_path
from mjgym.util.suggestions import or_else

_ORIENTATIONS = ("quat", "euler", "axisangle", "xyaxes", "zaxis")


def load(name: str | Path) -> Spec:
    """Load a spec from MJCF.

    Raises:
        FileNotFoundError: there is neither; the message names the nearest assets.
        ValueError: the engine refuses the file (the message lists its errors with file, line and
            the nearest valid words, see `check`), or it exceeds `mjgym.mjcf.size_limits`.
    """
    watch()
    try:
        file = asset_path(str(name))
    except FileNotFoundError:
        file = Path(name)
        if not file.is_file():
            raise
        require_bounded(file)
    try:
        spec = mujoco.MjSpec.from_file(str(file))
    except (ValueError, RuntimeError) as error:
        raise explain(file, error) from None
    if debugging():
        remember_file(spec, file)
    return spec


_REFERRED = ("material", "mesh", "hfield", "texture")  # assets: a handle does not tell its model


def add(parent: Any, kind: str, **attributes: Any) -> Any:
    """Add an element to a body or frame (or, for sensors and the like, to a spec).

    Enumerations are spelt as in MJCF (`type="capsule"`), and a handle can stand for a name:
    `add(spec, "actuator", type="position", target=knee, kp=20)`. A handle also implies the kind of
    the element, so `trntype` or `objtype` can be left out; the name of an actuator's target is
    looked up among joints, tendons, sites and bodies. References follow when `rename` or `attach`
    changes a name.

    An actuator's `type` ("motor", "position", "velocity", "muscle", ...) takes the parameters of
    the engine's `set_to_...` method. Rows of numbers (`gear`, `friction`, `gainprm`, `solref`, ...)
    may be shortened, and `textures` of a material may be a single one, its colour.

    A default class is added with its `name` and the class above it as `default` (the model's main
    class if left out). The path of a tendon is added to the tendon, in order: `add(tendon, "joint",
    joint=hip, coef=2)`, `add(tendon, "site", site=tip)`, `add(tendon, "geom", geom=hull,
    sidesite=side)`, `add(tendon, "pulley", divisor=2)`.

    Args:
        parent: an `MjsBody`, an `MjsFrame`, an `MjSpec`, or an `MjsTendon`.
        kind: "body", "freejoint", "geom", "site", "camera", "sensor", "actuator", "default", ...
        **attributes: of the element, as MjSpec names them, and `default`: the handle of a default
            class.

    Returns:
        The new element.

    Raises:
        ValueError: the parent takes no such element, an enumeration has no such word, the name is
            taken, or the engine refuses a value. Nothing has been added then.
        TypeError: the element has no such attribute, or a value has a wrong type.
    """
    watch()
    if isinstance(parent, mujoco.MjsTendon):
        return wrap(parent, kind, attributes)
    is_spec = isinstance(parent, mujoco.MjSpec)
    if is_spec and parent.parent is not None:
        raise ValueError(
            f"model {parent.modelname!r} is attached to {parent.parent.modelname!r}; add a {kind}"
            " to that"
        )
    method = getattr(parent, f"add_{kind}", None)
    if method is None:
        kinds = [m.removeprefix("add_") for m in dir(parent) if m.startswith("add_")]
        raise ValueError(f"nothing called {kind!r} can be added here{or_else(kind, kinds)}")
    if kind == "default":
        return _add_default(parent, attributes)
    shortcut, rest = split_shortcut(kind, attributes)
    base = getattr(attributes.get("default"), kind, samples().get(kind))
    values = resolved(kind, f"add_{kind}", rest, parent if is_spec else None, shortcut, base)
    if kind in _REFERRED and not values.get("name"):  # a handle to it must give a name
        taken = set(names(parent, kind))
        stem = Path(values.get("file", "")).stem  # the engine's default name
        values["name"] = stem if stem and stem not in taken else next(free_names(kind, taken))
    check_name(parent, "joint" if kind == "freejoint" else kind, values.get("name"))
    if shortcut is None:
        try_form(kind, f"add_{kind}", values)
    else:
        tried_with(kind, f"add_{kind}", values, shortcut)
    element = method(**values)
    if "info" not in values and not debugging():
        element.info = ""  # the line of its default class in a file
    if shortcut is not None:
        apply_shortcut(element, shortcut)
    return element


def assign(element: Any, **attributes: Any) -> None:
    """Change attributes of an element, with the words, handles and checks of `add`.

    Numbers are taken as in `add`: `assign(geom, size=0.1)`. An orientation (`euler`, `axisangle`,
    `xyaxes`, `zaxis` or `quat`) replaces any other. Settings of a spec can be assigned too:
    `assign(spec.option, integrator="implicitfast")`, `assign(spec.compiler, conflict="merge")`.

    Args:
        element: a handle, or a part of a spec (`spec.option`, `spec.compiler`, `spec.visual.map`).
        **attributes: as in `add`; for `name` use `rename`.

    Raises:
        ValueError: an enumeration has no such word, or the engine refuses a value.
        TypeError: there is no such attribute, or a value has a wrong type. Nothing has been changed
            in either case.
    """
    watch()
    if not is_element(element):
        assign_setting(element, attributes)
        return
    kind = kind_of(element)
    if kind == "default":
        parts = ", ".join(part for part in dir(element) if part in KINDS)
        raise TypeError(f"default: assign to one of its parts ({parts})")
    if "name" in attributes:
        raise TypeError(
            f"{described(element)}: rename() changes names, and all that refers to them"
        )
    shortcut, rest = split_shortcut(kind, attributes)
    values = resolved(kind, f"add_{kind}", rest, None, shortcut, element)
    sample = tried_with(kind, f"add_{kind}", values, shortcut)
    if shortcut is not None:
        apply_shortcut(element, shortcut)
    for attribute, value in values.items():
        _copy_attribute(element, attribute, sample, value)


def word(element: Any, attribute: str) -> str:
    """An enumerated attribute as MJCF spells it ("capsule"); TypeError if it is not enumerated."""
    kind = kind_of(element) if is_element(element) else setting_kind(element)
    enum = enumeration(kind, attribute, element)
    if enum is None:
        known = [
            name
            for name in dir(element)
            if not name.startswith("_") and enumeration(kind, name, element) is not None
        ]
        raise TypeError(f"{kind}: {attribute!r} is no enumeration{or_else(attribute, known)}")
    return to_word(enum(int(getattr(element, attribute))))


def remove(spec: Spec, kind: str, *names: str) -> None:
    """Delete named elements.

    Deleting a body also deletes its contents and all references to it and to them. References to
    elements of other kinds must be removed too, or the model does not compile.

    Raises:
        ValueError: there is no such kind, or no element of that kind and name; nothing has been
            deleted then.
    """
    known = [e.name for e in elements(spec, kind) if e.name != "world"]
    for name in names:
        if name not in known:
            raise ValueError(f"the model has no {kind} {name!r}{or_else(name, known)}")
    for name in names:
        element = getattr(spec, kind)(name)
        if element is not None:  # else deleted with its body
            spec.delete(element)


def without_textures(spec: Spec) -> Spec:
    """A copy of a spec without textures: the same physics in a fraction of the memory."""
    bare = spec.copy()
    for material in bare.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(bare.textures):
        bare.delete(texture)
    return bare


def _add_default(spec: Spec, attributes: dict[str, Any]) -> Any:
    unknown = [name for name in attributes if name not in ("name", "default")]
    if unknown:
        raise TypeError(
            f"add_default: no attribute {unknown[0]!r}; there are name and default, and what the"
            " class holds is assigned to its parts"
        )
    name = attributes.get("name")
    if not isinstance(name, str) or not name:
        raise TypeError(f"add_default: name: expected a string, got {name!r}")
    default = spec.add_default(name, attributes.get("default") or spec.default)
    if default is None:
        raise ValueError(f"default: the name {name!r} is taken")
    return default


def _copy_attribute(element: Element, attribute: str, sample: Element, value: Any) -> None:
    """Copy an attribute, as the engine has set it on `element`, to `made`."""
    inertial = attribute.startswith("i") and attribute[1:] in _ORIENTATIONS
    bare = attribute[1:] if inertial else attribute
    if bare in _ORIENTATIONS:
        target, other = (element.ialt, sample.ialt) if inertial else (element.alt, sample.alt)
        target.type = other.type
        if bare != "quat":
            setattr(target, bare, getattr(other, bare))
            return
    if attribute == "default":
        element.classname = value
    elif attribute == "plugin":
        element.plugin = value
    else:
        new = getattr(sample, attribute)
        vector = type(new).__name__.endswith("Vec")
        setattr(element, attribute, list(new) if vector else new)
