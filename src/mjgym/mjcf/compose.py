"""Plain functions that load, extend and cut a `mujoco.MjSpec`."""

import functools
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mujoco
import numpy as np

from mjgym.mjcf.assets import asset_path
from mjgym.mjcf.debugging import debugging, remember_file, watch
from mjgym.mjcf.elements import (
    IN_TREE,
    KINDS,
    REFERENCES,
    Element,
    Spec,
    described,
    elements,
    enumeration,
    every,
    from_word,
    is_element,
    kind_of,
    names,
    parameters,
    root,
    samples,
    target_kinds,
    to_word,
    tried,
    try_form,
)
from mjgym.mjcf.finding import free_names
from mjgym.mjcf.lint.checking import explain
from mjgym.util.suggestions import or_else

# Rows of numbers of which the first ones may be given alone, as in MJCF.
_LONG = frozenset(
    {"gear", "gainprm", "biasprm", "dynprm", "friction", "data", "solref", "solimp"}
    | {f"sol{what}_{where}" for what in ("ref", "imp") for where in ("limit", "friction")}
)

_ORIENTATIONS = ("quat", "euler", "axisangle", "xyaxes", "zaxis")

# Attributes that say what kind of thing a name belongs to, where a handle says it already.
_SAYS_KIND = {
    "actuator": {"target": "trntype"},
    "sensor": {"objname": "objtype", "refname": "reftype"},
    "equality": {"name1": "objtype", "name2": "objtype"},
}

# What the path of a tendon is made of: the handle or number, and what may come with it.
_WRAPS = {
    "joint": ("joint", "coef"),
    "site": ("site",),
    "geom": ("geom", "sidesite"),
    "pulley": ("divisor",),
}


def load(name: str | Path) -> Spec:
    """A spec from MJCF.

    Args:
        name: one of the package's assets ("dmc/walker.xml"), or the path of a file anywhere.

    Raises:
        FileNotFoundError: there is neither; the message names the nearest assets.
        ValueError: the engine refuses the file; the message says what is wrong in it, with file,
            line and the nearest valid words, see `check`.
    """
    watch()
    try:
        file = asset_path(str(name))
    except FileNotFoundError:
        file = Path(name)
        if not file.is_file():
            raise
    try:
        spec = mujoco.MjSpec.from_file(str(file))
    except (ValueError, RuntimeError) as error:
        raise explain(file, error) from None
    if debugging():
        remember_file(spec, file)
    return spec


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
        return _wrap(parent, kind, attributes)
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
    shortcut, own = _shortcut(kind, attributes)
    base = getattr(attributes.get("default"), kind, samples().get(kind))
    given = _resolved(kind, f"add_{kind}", own, parent if is_spec else None, shortcut, base)
    _check_name(parent, "joint" if kind == "freejoint" else kind, given.get("name"))
    if shortcut is None:
        try_form(kind, f"add_{kind}", given)
    else:
        _try(kind, f"add_{kind}", given, shortcut)
    element = method(**given)
    if "info" not in given and not debugging():
        element.info = ""  # it has its default class's line in a file
    if shortcut is not None:
        _apply(element, shortcut)
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
        _assign_setting(element, attributes)
        return
    kind = kind_of(element)
    if kind == "default":
        parts = ", ".join(part for part in dir(element) if part in KINDS)
        raise TypeError(f"default: assign to one of its parts ({parts})")
    if "name" in attributes:
        raise TypeError(
            f"{described(element)}: rename() changes names, and all that refers to them"
        )
    shortcut, own = _shortcut(kind, attributes)
    given = _resolved(kind, f"add_{kind}", own, None, shortcut, element)
    made = _try(kind, f"add_{kind}", given, shortcut)
    if shortcut is not None:
        _apply(element, shortcut)
    for attribute, value in given.items():
        _copy_attribute(element, attribute, made, value)


def word(element: Any, attribute: str) -> str:
    """An enumerated attribute as MJCF spells it: `word(geom, "type")` is "capsule".

    Raises:
        TypeError: the attribute is no enumeration, or there is none of that name.
    """
    kind = kind_of(element) if is_element(element) else _setting(element)
    of = enumeration(kind, attribute, element)
    if of is None:
        known = [
            name
            for name in dir(element)
            if not name.startswith("_") and enumeration(kind, name, element) is not None
        ]
        raise TypeError(f"{kind}: {attribute!r} is no enumeration{or_else(attribute, known)}")
    return to_word(of(int(getattr(element, attribute))))


def rename(spec: Spec, element: Any, name: str) -> None:
    """Give an element another name, and let all that refers to it follow.

    Args:
        spec: the model that the element is in.
        element: its handle, which stays good.
        name: the new one.

    Raises:
        ValueError: the name is empty or taken, the element is not in the model, or the path of a
            tendon runs over it: the engine cannot write another name there, so elements of such a
            path must have their names before it is laid. Nothing has been changed then.
    """
    kind = kind_of(element)
    if kind == "default":
        raise TypeError("rename: default classes cannot be renamed")
    if not isinstance(name, str) or not name:
        raise ValueError(f"{described(element)}: expected a name, got {name!r}")
    if not any(known is element for known in elements(spec, kind)):
        raise ValueError(f"{described(element)} is not in model {spec.modelname!r}")
    before = element.name
    if name == before:
        return
    if name in names(spec, kind):
        raise ValueError(f"{described(element)}: the name {name!r} is taken")
    for tendon in spec.tendons if before else ():
        for wrap in (tendon.path[i] for i in range(len(tendon.path))):
            if wrap.target is element or wrap.sidesite is element:
                raise ValueError(
                    f"{described(element)}: the path of {described(tendon)} runs over it and cannot"
                    " follow; rename it before the path is laid"
                )
    element.name = name
    if before:
        for other_kind, other in _referring(spec):
            _follow(other_kind, other, kind, before, name)


def _referring(spec: Spec) -> Iterable[tuple[str, Element]]:
    """Everything in a spec that can hold names, default classes included."""
    classes = {id(spec.default): spec.default}
    for kind, element in every(spec):
        if kind in REFERENCES:
            yield kind, element
        own = getattr(element, "classname", None)
        if own is not None:
            classes[id(own)] = own
    for default in classes.values():
        for kind in REFERENCES:
            if hasattr(default, kind):
                yield kind, getattr(default, kind)


def _follow(kind: str, element: Element, renamed: str, before: str, name: str) -> None:
    for attribute, by in REFERENCES[kind].items():
        value = getattr(element, attribute)
        if kind == "tuple":
            said = list(element.objtype)
            new = [
                name if old == before and renamed in target_kinds(kind, attribute, what) else old
                for old, what in zip(value, said, strict=True)
            ]
        elif renamed not in target_kinds(kind, attribute, getattr(element, by, None)):
            continue
        elif isinstance(value, str):
            if value == before:
                setattr(element, attribute, name)
            continue
        else:
            new = [name if old == before else old for old in value]
        if new != list(value):
            setattr(element, attribute, new)


def remove(spec: Spec, kind: str, *names: str) -> None:
    """Delete named elements.

    A body takes with it everything in it and everything that refers to it or to what is in it.
    What refers to an element of another kind must be removed too, or the model does not compile.

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
        if element is not None:  # or it has gone with a body before it
            spec.delete(element)


def without_textures(spec: Spec) -> Spec:
    """A copy of a spec that has no textures: the same physics in a fraction of the memory."""
    bare = spec.copy()
    for material in bare.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(bare.textures):
        bare.delete(texture)
    return bare


_COLOUR = int(mujoco.mjtTextureRole.mjTEXROLE_RGB)

_Shortcut = tuple[str, dict[str, Any]]


def _shortcut(kind: str, attributes: dict[str, Any]) -> tuple[_Shortcut | None, dict[str, Any]]:
    """The engine's method for an actuator of the given type with its arguments, and the rest."""
    if kind != "actuator" or attributes.get("type") is None:
        return None, attributes
    of = enumeration(kind, "type")
    given = attributes["type"]
    name = to_word(from_word(kind, "type", given, of) if isinstance(given, str) else of(int(given)))
    method = f"set_to_{name}"
    if not hasattr(mujoco.MjsActuator, method):
        return None, attributes
    taken = [p for p in parameters(mujoco.MjsActuator, method) if p in attributes]
    rest = {k: v for k, v in attributes.items() if k != "type" and k not in taken}
    return (method, {name: attributes[name] for name in taken}), rest


def _apply(actuator: Element, shortcut: _Shortcut) -> None:
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


def _try(kind: str, method: str, given: dict[str, Any], shortcut: _Shortcut | None) -> Element:
    """An element with the given attributes in a spec that nobody sees."""
    made = tried(kind, method, given)
    if shortcut is not None:
        _apply(made, shortcut)
    return made


@functools.cache
def _accepted(kind: str, method: str) -> frozenset[str]:
    owner = mujoco.MjsBody if kind in (*IN_TREE, "freejoint") else mujoco.MjSpec
    return frozenset(parameters(owner, method))


def _resolved(
    kind: str,
    method: str,
    attributes: dict[str, Any],
    spec: Spec | None,
    shortcut: _Shortcut | None,
    base: Element | None,
) -> dict[str, Any]:
    """Attributes as the engine takes them: words as numbers, handles as names, rows complete.

    What is missing of a row comes from `base`, an element of the kind.
    """
    accepted = _accepted(kind, method)
    for attribute in attributes:
        if attribute not in accepted:
            extra = parameters(mujoco.MjsActuator, shortcut[0]) if shortcut else ()
            hint = or_else(attribute, sorted(accepted | set(extra)))
            raise TypeError(f"{method}: no attribute {attribute!r}{hint}")
    given = {name: _value(kind, name, value, spec, base) for name, value in attributes.items()}
    for attribute, by in _SAYS_KIND.get(kind, {}).items():
        if is_element(attributes.get(attribute)) and by not in attributes:
            given[by] = _said(kind, attribute, by, attributes[attribute])
    if kind == "tuple" and "objtype" not in given:
        handles = attributes.get("objname", ())
        if handles and all(is_element(handle) for handle in handles):
            kinds = [kind_of(handle) for handle in handles]
            given["objtype"] = _members(kind, "objtype", kinds, mujoco.mjtObj)
    for attribute in REFERENCES.get(kind, {}):
        if attribute in attributes:
            _check_target(kind, attribute, attributes[attribute], given)
    return given


def _value(kind: str, attribute: str, value: Any, spec: Spec | None, base: Element | None) -> Any:
    """The value of an attribute as the engine takes it."""
    of = enumeration(kind, attribute)
    if of is not None:
        return _members(kind, attribute, value, of)
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
    """A row of numbers with its first ones replaced by those given."""
    numbers = np.atleast_1d(np.asarray(value))
    if numbers.ndim > 1 or numbers.dtype.kind not in "iufb" or len(numbers) > len(row):
        return value  # which the engine refuses
    return [*numbers.tolist(), *list(row)[len(numbers) :]]


def _roles(textures: Any) -> Any:
    """The textures of a material in all their roles, of which colour is the usual one."""
    if isinstance(textures, str):
        textures = [""] * _COLOUR + [textures]
    if isinstance(textures, list):
        return textures + [""] * (int(mujoco.mjtTextureRole.mjNTEXROLE) - len(textures))
    return textures


def _members(kind: str, attribute: str, value: Any, of: Any) -> Any:
    if isinstance(value, str):
        return from_word(kind, attribute, value, of)
    if attribute == "objtype" and kind == "tuple":
        return [int(_members(kind, "objtype", v, of)) for v in value]
    return value


def _said(kind: str, attribute: str, by: str, handle: Element) -> Any:
    """The attribute that names the kind of a referenced element."""
    of = enumeration(kind, by)
    what = kind_of(handle)
    if what == "body" and kind == "sensor":
        raise TypeError(
            f"sensor {attribute}: of a body, say {by}='body' (its centre of mass and inertial axes)"
            f" or {by}='xbody' (its own frame)"
        )
    try:
        return from_word(kind, by, what, of)
    except ValueError:
        raise TypeError(f"{kind} {attribute}: cannot be {described(handle)}") from None


def _named(kind: str, attribute: str, value: Any, spec: Spec | None) -> Any:
    """Names in the place of handles."""
    if is_element(value):
        return _name(kind, attribute, value, spec)
    if isinstance(value, Iterable) and not isinstance(value, str | bytes):
        return [_named(kind, attribute, part, spec) for part in value]
    return value


def _name(kind: str, attribute: str, handle: Element, spec: Spec | None) -> str:
    if not handle.name:
        own = kind_of(handle)
        if spec is not None:
            taken = set(names(spec, own))
        elif own in IN_TREE:
            taken = {element.name for element in root(handle).find_all(own)}
        else:
            raise ValueError(f"{kind} {attribute}: the {own} has no name to refer to it by")
        handle.name = next(free_names(own, taken))
    return str(handle.name)


def _check_target(kind: str, attribute: str, value: Any, given: dict[str, Any]) -> None:
    """Whether a handle is of a kind that an attribute can refer to."""
    said = given.get(REFERENCES[kind][attribute], 0)
    handles = [value] if is_element(value) else value if isinstance(value, list | tuple) else []
    says = said if kind == "tuple" and isinstance(said, list) else [said] * len(handles)
    for handle, what in zip(handles, says, strict=False):
        if is_element(handle):
            wanted = target_kinds(kind, attribute, what)
            if wanted and kind_of(handle) not in wanted:
                raise TypeError(
                    f"{kind} {attribute}: expected a {' or '.join(wanted)}, got {described(handle)}"
                )


def _check_name(parent: Any, kind: str, name: Any) -> None:
    """That no element has a name already: the engine says so only when it has made another."""
    if not name:
        return
    if not isinstance(name, str):
        raise TypeError(f"{kind} name: expected a string, got {name!r}")
    if isinstance(parent, mujoco.MjSpec):
        taken = getattr(parent, kind)(name) is not None
    else:
        taken = _taken_in_tree(parent, kind, name)
    if taken:
        raise ValueError(f"{kind}: the name {name!r} is taken")


def _taken_in_tree(parent: Any, kind: str, name: str) -> bool:
    """Whether an element of the tree that a body or frame is in has a name.

    The engine refuses to rename an element to a name that is taken, which it looks up a hundred
    times faster than Python can compare the names; so one that is near is given that name for a
    moment.
    """
    one = _near(parent if isinstance(parent, mujoco.MjsBody) else parent.parent, kind)
    if one is None:
        return False
    before = one.name
    if before == name:
        return True
    try:
        object.__setattr__(one, "name", name)  # and not seen by debug()
    except ValueError:
        return True
    object.__setattr__(one, "name", before)
    return False


def _near(body: Element, kind: str) -> Element | None:
    """Some element of a kind in the tree that a body is in, or None; the world is none."""
    while True:
        one = _in(body, kind)
        if one is not None or body.parent is None:
            break
        body = body.parent
    unseen = deque([body])  # the world: look into its bodies, one by one
    while one is None and unseen:
        above = unseen.popleft()
        below = above.first_body()
        while one is None and below is not None:
            one = _in(below, kind)
            unseen.append(below)
            below = above.next_body(below)
    return one


def _in(body: Element, kind: str) -> Element | None:
    """Some element of a kind directly in a body, or the body itself."""
    if kind == "body" and body.parent is not None:
        return body
    return getattr(body, f"first_{kind}")()


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


def _wrap(tendon: Element, kind: str, attributes: dict[str, Any]) -> Any:
    """Lay the path of a tendon over one more thing."""
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
            value = _name(f"tendon {kind}", attribute, value, None)
        elif not isinstance(value, str):
            raise TypeError(f"tendon {kind}: expected a name or a handle, got {value!r}")
        named[attribute] = value
    if kind == "joint":
        return tendon.wrap_joint(named["joint"], float(attributes.get("coef", 1.0)))
    if kind == "site":
        return tendon.wrap_site(named["site"])
    return tendon.wrap_geom(named["geom"], named["sidesite"])


def _copy_attribute(element: Element, attribute: str, made: Element, value: Any) -> None:
    """Give an element an attribute as the engine has set it on another."""
    inertial = attribute.startswith("i") and attribute[1:] in _ORIENTATIONS
    bare = attribute[1:] if inertial else attribute
    if bare in _ORIENTATIONS:
        own, other = (element.ialt, made.ialt) if inertial else (element.alt, made.alt)
        own.type = other.type
        if bare != "quat":
            setattr(own, bare, getattr(other, bare))
            return
    if attribute == "default":
        element.classname = value
    elif attribute == "plugin":
        element.plugin = value
    else:
        new = getattr(made, attribute)
        setattr(element, attribute, new if isinstance(new, str | bytes) else _plain(new))


def _plain(value: Any) -> Any:
    """A vector of the engine as a list; its other values as they are."""
    return list(value) if type(value).__name__.endswith("Vec") else value


def _setting(part: Any) -> str:
    return type(part).__name__.removeprefix("Mj").removeprefix("s").lower()


def _assign_setting(part: Any, attributes: dict[str, Any]) -> None:
    kind = _setting(part)
    is_part = type(part).__name__.startswith("Mj")
    if not is_part or isinstance(part, mujoco.MjModel | mujoco.MjData):
        raise TypeError(f"expected an element or a part of a MjSpec, got {type(part).__name__}")
    resolved = {}
    for attribute, value in attributes.items():
        if attribute.startswith("_") or not hasattr(part, attribute):
            known = [name for name in dir(part) if not name.startswith("_")]
            raise TypeError(f"{kind}: no attribute {attribute!r}{or_else(attribute, known)}")
        of = enumeration(kind, attribute, part)
        resolved[attribute] = _members(kind, attribute, value, of) if of is not None else value
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
