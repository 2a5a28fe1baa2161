"""Rename and remove elements of a `mujoco.MjSpec`; names that are taken."""

from collections import deque
from collections.abc import Iterable
from typing import Any

import mujoco

from mjgym.mjcf.elements import (
    REFERENCES,
    Element,
    Spec,
    described,
    elements,
    every,
    kind_of,
    names,
    target_kinds,
)
from mjgym.util.suggestions import or_else


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


def check_name(parent: Any, kind: str, name: Any) -> None:
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
    one = _any_in_tree(parent if isinstance(parent, mujoco.MjsBody) else parent.parent, kind)
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


def _any_in_tree(body: Element, kind: str) -> Element | None:
    """Some element of a kind in the tree that a body is in, or None; the world is none."""
    while True:
        one = _any_in_body(body, kind)
        if one is not None or body.parent is None:
            break
        body = body.parent
    unseen = deque([body])  # the world: look into its bodies, one by one
    while one is None and unseen:
        above = unseen.popleft()
        below = above.first_body()
        while one is None and below is not None:
            one = _any_in_body(below, kind)
            unseen.append(below)
            below = above.next_body(below)
    return one


def _any_in_body(body: Element, kind: str) -> Element | None:
    """Some element of a kind directly in a body, or the body itself."""
    if kind == "body" and body.parent is not None:
        return body
    return getattr(body, f"first_{kind}")()
