"""Elements by name and by kind."""

import itertools
import weakref
from collections.abc import Container, Iterator

import mujoco

from mjgym.mjcf.elements import (
    IN_TREE,
    KINDS,
    Element,
    Spec,
    elements,
    names,
)
from mjgym.util.suggestions import or_else

# Name prefixes of attached models. A model attached by the engine's own `attach` is missing: the
# engine does not tell the prefix.
_prefixes: weakref.WeakKeyDictionary[Spec, str] = weakref.WeakKeyDictionary()


def remember_prefix(spec: Spec, prefix: str) -> None:
    """Record the prefix that a model is attached with."""
    _prefixes[spec] = prefix


def prefix_of(spec: Spec) -> str:
    """The full prefix of the names of an attached model; empty if it is not attached."""
    prefix = ""
    while spec.parent is not None:
        prefix = _prefixes.get(spec, "") + prefix
        spec = spec.parent
    return prefix


def find(spec: Spec, kind: str, name: str) -> Element:
    """The element of a kind and name.

    Args:
        spec: the model. A model attached with `attach` is searched by its original names and by its
            present ones.
        kind: "body", "joint", "geom", "actuator", "mesh", ...; "default" for a default class.
        name: of the element; "world" is the world body.

    Raises:
        ValueError: there is no such kind or name; the message names the nearest.
    """
    if kind == "default":
        element = spec.find_default(name)
        if element is None:
            raise ValueError(f"model {spec.modelname!r} has no default class {name!r}")
        return element
    elements(spec, kind)  # raises for an unknown kind
    if not isinstance(name, str) or not name:
        raise ValueError(f"{kind}: expected a name, got {name!r}")
    prefix, model = prefix_of(spec), spec
    while kind == "key" and model.parent is not None:
        model = model.parent  # keyframes are merged into the root model
    for wanted in dict.fromkeys((prefix + name, name)):
        element = getattr(model, kind)(wanted)
        if element is not None:
            return element
    near = or_else(name, [known.removeprefix(prefix) for known in names(spec, kind)])
    raise ValueError(f"model {spec.modelname!r} has no {kind} {name!r}{near}")


def find_all(
    within: Spec | mujoco.MjsBody, kind: str, *, exclude_attached: bool = False
) -> list[Element]:
    """All elements of a kind, in the order of the model.

    Args:
        within: a model, or a body, which is searched with the bodies below it.
        kind: "body", "joint", "geom", "actuator", "mesh", ...; bodies exclude the world and
            `within` itself.
        exclude_attached: leave out elements of attached models. The frame body of an attached
            model, its free joint, and merged keyframes (which hold the state of the whole model)
            belong to the parent.

    Raises:
        ValueError: there is no such kind, or bodies do not hold it; the message names the nearest.
    """
    if isinstance(within, mujoco.MjSpec):
        items = elements(within, kind)
    elif kind in IN_TREE:
        items = list(within.find_all(kind))
    else:
        known = IN_TREE if kind not in KINDS else ()
        hint = or_else(kind, known) if known else f"; it has {', '.join(IN_TREE)}"
        raise ValueError(f"a body has no elements called {kind!r}{hint}")
    if kind == "body":
        items = [body for body in items if body.parent is not None]
    if exclude_attached:
        compiler = within.compiler  # attached elements keep the settings of their model
        items = [element for element in items if element.compiler is compiler]
    return items


def name_unnamed(spec: Spec) -> None:
    """Name each unnamed element: "unnamed_geom_0", "unnamed_geom_1", ...

    `attach` and `compile` do so themselves. Frames stay unnamed: nothing in a compiled model refers
    to them.
    """
    # The engine looks up the empty name faster than Python lists all elements.
    unnamed = [kind for kind in KINDS if getattr(spec, kind)("") is not None]
    name_all({kind: elements(spec, kind) for kind in unnamed})


def name_all(parts: dict[str, list[Element]]) -> dict[str, list[str]]:
    """Name the unnamed elements; returns all names by kind."""
    named = {}
    for kind, listed in parts.items():
        known = named[kind] = [element.name for element in listed]
        if "" in known and kind not in ("frame", "plugin"):
            free = free_names(kind, set(known))
            for i, element in enumerate(listed):
                if not known[i]:
                    element.name = known[i] = next(free)
    return named


def free_names(kind: str, taken: Container[str]) -> Iterator[str]:
    """Free names for unnamed elements."""
    for number in itertools.count():
        name = f"unnamed_{kind}_{number}"
        if name not in taken:
            yield name
