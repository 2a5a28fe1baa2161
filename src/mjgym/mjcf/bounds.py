"""Bounds of what a model file may ask for, checked before the engine allocates it.

A few bytes of MJCF can stand for any number of elements and bytes: nested `<replicate>`, height
fields, textures. The engine takes them at their word.
"""

import math
import os
from pathlib import Path

from mjgym.mjcf.lint.reading import Malformed, Node, Problem, parse, read

MOST_ELEMENTS = 1_000_000
"""Elements of a model, copies included: a hundred times those of the largest known robots."""

MOST_VALUES = 2**28
"""Numbers of a height field, pixels of a texture, or points of a flexible body."""

MOST_DEPTH = 500
"""Elements within each other; the engine reads them by recursion."""

# Sizes that an element's attributes ask for, as products of all their numbers.
_SIZES = {
    "hfield": ("nrow", "ncol"),
    "texture": ("width", "height"),
    "flexcomp": ("count",),
    "composite": ("count",),
    "numeric": ("size",),
}
_TOTALS = ("nuserdata", "nkey", "nstack", "nconmax", "njmax")


def require_bounded(file: Path) -> None:
    """See that a model file, and what it includes and attaches, ask for no more than the bounds.

    A file that is no XML passes: the engine refuses it.

    Args:
        file: MJCF or URDF.

    Raises:
        ValueError: it asks for more; the message names file and line.
    """
    root, _ = read(file, {})
    if root is not None:
        _raise(excess(root))


def require_bounded_text(text: str) -> None:
    """See that MJCF in a text asks for no more than the bounds.

    Raises:
        ValueError: it asks for more; the message names the line.
    """
    try:
        root = parse(text.encode(), Path("model.xml"))
    except Malformed:
        return
    _raise(excess(root))


def _raise(problem: Problem | None) -> None:
    if problem is not None:
        raise ValueError(str(problem))


def excess(root: Node) -> Problem | None:
    """The first element with which a model asks for more than the bounds; None if none does."""
    try:
        _count(root, frozenset())
    except _Excess as error:
        return error.node.problem(str(error))
    return None


class _Excess(Exception):
    def __init__(self, node: Node, message: str) -> None:
        super().__init__(message)
        self.node = node


def _count(root: Node, outer: frozenset[str]) -> float:
    """Elements of a model, copies included.

    Args:
        root: of the model.
        outer: the absolute paths of the models that attach it, which the engine refuses.

    Raises:
        _Excess: the model is beyond the bounds.
    """
    attached = {
        node.attributes.get("name", ""): _count_file(node, outer)
        for node in root.walk()
        if node.tag == "model" and "file" in node.attributes
    }
    total = 0.0
    left = [(root, 1.0, 1)]  # with the number of copies, and the depth
    while left:
        node, copies, depth = left.pop()
        if depth > MOST_DEPTH:
            raise _Excess(node, f"too deep: more than {MOST_DEPTH} elements are within each other")
        if node.tag == "replicate":
            copies *= max(1.0, _product(node, ("count",)))
        weight = attached.get(node.attributes.get("model", ""), 1.0) if node.tag == "attach" else 1
        total += copies * weight
        if total > MOST_ELEMENTS:
            raise _Excess(node, f"the model has more than {MOST_ELEMENTS:,} elements")
        size = _product(node, _SIZES.get(node.tag, ()))
        if node.tag == "size":
            counts = [n for n in node.attributes if n in _TOTALS or n.startswith("nuser_")]
            size = max((_product(node, (name,)) for name in counts), default=0.0)
        if copies * size > MOST_VALUES:
            raise _Excess(node, f"{node.tag} asks for {size:.3g} values, at most {MOST_VALUES:,}")
        left += [(child, copies, depth + 1) for child in node.children]
    return total


def _count_file(node: Node, outer: frozenset[str]) -> float:
    path = node.file.parent / node.attributes["file"]
    absolute = os.path.abspath(path)
    if absolute in outer or not path.is_file():
        return 1.0
    root, _ = read(path, {})
    return 1.0 if root is None else _count(root, outer | {absolute})


def _product(node: Node, names: tuple[str, ...]) -> float:
    """The product of all numbers in some attributes; what is none counts as 1."""
    numbers = [word for name in names for word in node.attributes.get(name, "").split()]
    return math.prod(abs(_number(word)) for word in numbers)


def _number(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        return 1.0
    return 1.0 if math.isnan(value) else value
