"""Elements by name and by kind, and free names."""

import itertools
import weakref
from collections import deque
from collections.abc import Container, Iterator
from typing import Any

import mujoco

from mjgym.mjcf.elements import IN_TREE, KINDS, Element, Spec, elements, names
from mjgym.util.suggestions import or_else

# Name prefixes of attached models. A model attached by the engine's own `attach` is missing: the
# engine does not tell the prefix.
_prefixes: weakref.WeakKeyDictionary[Spec, str] = weakref.WeakKeyDictionary()


def remember_prefix(spec: Spec, prefix: str) -> None:
    _prefixes[spec] = prefix


def prefix_of(spec: Spec) -> str:
    """The full name prefix of an attached model; empty if it is not attached."""
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


def find_all(within: Spec | mujoco.MjsBody, kind: str) -> list[Element]:
    """All elements of a kind, in the order of the model.

    Args:
        within: a model, or a body, which is searched with the bodies below it.
        kind: "body", "joint", "geom", "actuator", "mesh", ...; bodies exclude the world and
            `within` itself.

    Raises:
        ValueError: there is no such kind, or bodies do not hold it; the message names the nearest.
    """
    if isinstance(within, mujoco.MjSpec):
        items = elements(within, kind)
    elif kind in IN_TREE:
        items = list(within.find_all(kind))
    else:
        hint = f"; it has {', '.join(IN_TREE)}" if kind in KINDS else or_else(kind, IN_TREE)
        raise ValueError(f"a body has no elements called {kind!r}{hint}")
    return [body for body in items if body.parent is not None] if kind == "body" else items


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


def check_name(parent: Any, kind: str, name: Any) -> None:
    """Raise if a name is taken, which the engine reports only after it has added the element."""
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
    """Tell whether an element of the tree around a body or frame has a name.

    The engine refuses to rename an element to a name that is taken, and checks it a hundred times
    faster than Python can compare names; so a nearby element is given the name for a moment.
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
    """An element of a kind in the tree around a body, except the world, or None."""
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
    """An element of a kind directly in a body, or the body itself, or None."""
    if kind == "body" and body.parent is not None:
        return body
    return getattr(body, f"first_{kind}")()
