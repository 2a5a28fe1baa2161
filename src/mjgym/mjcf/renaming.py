"""Renaming an element and all references to it."""

from collections.abc import Iterable
from typing import Any

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


def rename(spec: Spec, element: Any, name: str) -> None:
    """Rename an element, and update all references to it.

    Raises:
        ValueError: the name is empty or taken, the element is not in the model, or it is on the
            path of a tendon, which the engine cannot update: name such elements before laying the
            path. Nothing has been changed then.
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
        default_class = getattr(element, "classname", None)
        if default_class is not None:
            classes[id(default_class)] = default_class
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
