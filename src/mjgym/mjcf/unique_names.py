"""A fast check that an element's name is free."""

from collections import deque
from typing import Any

import mujoco

from mjgym.mjcf.elements import Element


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
    """Whether an element of the tree around a body or frame has a name.

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
