"""Add elements to a `mujoco.MjSpec`, and change their attributes."""

from typing import Any

import mujoco

from mjgym.mjcf.attributes import (
    apply_shortcut,
    copy_attribute,
    find_shortcut,
    resolve,
    try_element,
)
from mjgym.mjcf.debugging import debugging, watch
from mjgym.mjcf.elements import (
    KINDS,
    Spec,
    described,
    enumeration,
    is_element,
    kind_of,
    samples,
    to_word,
    try_form,
)
from mjgym.mjcf.paths import extend_path
from mjgym.mjcf.renaming import check_name
from mjgym.mjcf.settings import assign_setting, setting_kind
from mjgym.util.suggestions import or_else


def add(parent: Any, kind: str, **attributes: Any) -> Any:
    """Add an element to a body or frame (or, for sensors and the like, to a spec).

    Enumerations are given as MJCF spells them (`type="capsule"`), and where a name is expected, a
    handle is taken as well: `add(spec, "actuator", type="position", target=knee, kp=20)`. A handle
    also says what kind of thing it is, so that `trntype` or `objtype` need not be given. It stands
    for its element: `rename` and `attach` change the name wherever it has been written.

    An actuator's `type` ("motor", "position", "velocity", "muscle", ...) takes the parameters of
    that type, as the engine's `set_to_...` names them. Of a row of numbers (`gear`, `friction`,
    `gainprm`, `solref`, ...) the first ones can be given alone, and of a material's `textures` a
    single one, which is its colour.

    A default class is added with its `name` and the class above it as `default` (without it, the
    model's main class). The path of a tendon is added to the tendon, in order: `add(tendon,
    "joint", joint=hip, coef=2)`, `add(tendon, "site", site=tip)`, `add(tendon, "geom", geom=hull,
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
        TypeError: the element has no such attribute, or a value is of a wrong type.
    """
    watch()
    if isinstance(parent, mujoco.MjsTendon):
        return extend_path(parent, kind, attributes)
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
    shortcut, own = find_shortcut(kind, attributes)
    base = getattr(attributes.get("default"), kind, samples().get(kind))
    given = resolve(kind, f"add_{kind}", own, parent if is_spec else None, shortcut, base)
    check_name(parent, "joint" if kind == "freejoint" else kind, given.get("name"))
    if shortcut is None:
        try_form(kind, f"add_{kind}", given)
    else:
        try_element(kind, f"add_{kind}", given, shortcut)
    element = method(**given)
    if "info" not in given and not debugging():
        element.info = ""  # it has its default class's line in a file
    if shortcut is not None:
        apply_shortcut(element, shortcut)
    return element


def assign(element: Any, **attributes: Any) -> None:
    """Change attributes of an element, with the words, handles and checks of `add`.

    Numbers are taken as `add` takes them: `assign(geom, size=0.1)`. Of an orientation the one that
    is given counts (`euler`, `axisangle`, `xyaxes`, `zaxis` or `quat`). The settings of a spec can
    be assigned to as well: `assign(spec.option, integrator="implicitfast")`,
    `assign(spec.compiler, conflict="merge")`.

    Args:
        element: a handle, or a part of a spec (`spec.option`, `spec.compiler`, `spec.visual.map`).
        **attributes: as in `add`; not `name`, for which there is `rename`.

    Raises:
        ValueError: an enumeration has no such word, or the engine refuses a value.
        TypeError: there is no such attribute, or a value is of a wrong type. Nothing has been
            changed in either case.
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
    shortcut, own = find_shortcut(kind, attributes)
    given = resolve(kind, f"add_{kind}", own, None, shortcut, element)
    made = try_element(kind, f"add_{kind}", given, shortcut)
    if shortcut is not None:
        apply_shortcut(element, shortcut)
    for attribute, value in given.items():
        copy_attribute(element, attribute, made, value)


def word(element: Any, attribute: str) -> str:
    """An enumerated attribute as MJCF spells it: `word(geom, "type")` is "capsule".

    Raises:
        TypeError: the attribute is no enumeration, or there is none of that name.
    """
    kind = kind_of(element) if is_element(element) else setting_kind(element)
    of = enumeration(kind, attribute, element)
    if of is None:
        known = [
            name
            for name in dir(element)
            if not name.startswith("_") and enumeration(kind, name, element) is not None
        ]
        raise TypeError(f"{kind}: {attribute!r} is no enumeration{or_else(attribute, known)}")
    return to_word(of(int(getattr(element, attribute))))


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
    made = spec.add_default(name, attributes.get("default") or spec.default)
    if made is None:
        raise ValueError(f"default: the name {name!r} is taken")
    return made
