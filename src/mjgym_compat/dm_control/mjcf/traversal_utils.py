"""Attachment frames of models, and the values that default classes give."""

import copy
from collections.abc import Sequence
from typing import Any

from mjgym_compat.dm_control.mjcf.element import AttachmentFrame, Element, RootElement

_GENERAL = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder")


def get_attachment_frame(mjcf_model: RootElement) -> AttachmentFrame | None:
    return mjcf_model.parent_frame


def get_frame_freejoint(mjcf_model: RootElement) -> Element | None:
    """Free joint of a model's attachment frame, or None."""
    frame = mjcf_model.parent_frame
    if frame is None or "freejoint" not in frame.spec.children:
        return None
    joint: Element | None = frame.freejoint
    return joint


def get_frame_joints(mjcf_model: RootElement) -> list[Element] | None:
    frame = mjcf_model.parent_frame
    return None if frame is None else frame.find_all("joint", immediate_children_only=True)


def get_freejoint(element: Element) -> Element | None:
    """Free joint of a body, <freejoint> or <joint type="free">, or None."""
    children = element.spec.children
    if "freejoint" in children and element.freejoint is not None:
        joint: Element = element.freejoint
        return joint
    joints = element.joint if "joint" in children else []
    return next((joint for joint in joints if joint.type == "free"), None)


def commit_defaults(element: Element, attributes: Sequence[str] | None = None) -> None:
    """Copy attributes from an element's default classes into the element itself."""
    own = element.get_attributes()
    wanted = element.spec.attributes if attributes is None else attributes
    for default in _classes(element):
        for tag in _tags(element):
            if tag not in default.spec.children:
                continue
            for name, value in getattr(default, tag).get_attributes().items():
                if name in wanted and name not in own and name in element.spec.attributes:
                    own[name] = value
                    element.set_attributes(**{name: copy.copy(value)})


def _tags(element: Element) -> tuple[str, ...]:
    """Tags in a default class that apply to an element, the most specific first."""
    parent = element.parent.tag if element.parent is not None else ""
    if parent == "actuator":
        return _GENERAL[1:] + _GENERAL[:1] if element.tag != "general" else _GENERAL
    return (parent,) if parent in ("tendon", "equality") else (element.tag,)


def _classes(element: Element) -> list[Element]:
    """Default classes that apply to an element, the most specific first."""
    start: Any = element.dclass if "class" in element.spec.attributes else None
    above: Element | None = element
    while start is None and above is not None:
        if "childclass" in above.spec.attributes:
            start = above.childclass
        above = above.parent
    if isinstance(start, str):
        start = element.namescope.get("default", start)
    classes = []
    default: Element | None = start if start is not None else element.root.default
    while default is not None and default.tag == "default":
        classes.append(default)
        default = default.parent
    return classes
