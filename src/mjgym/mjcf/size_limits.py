"""Limits on the size of a model file, checked before the engine allocates memory.

A few bytes of MJCF can ask for any number of elements and bytes (nested `<replicate>`, height
fields, textures), and the engine does not check.
"""

import contextlib
import math
import os
from pathlib import Path

from mjgym.mjcf.lint.reading import Malformed, Node, Problem, parse, read

MOST_ELEMENTS = 1_000_000
"""Elements of a model, copies included: a hundred times as many as in the largest known robots."""

MOST_VALUES = 2**28
"""Values of a height field, pixels of a texture, or points of a flex."""

MOST_DEPTH = 500
"""Nesting depth of elements, which the engine parses recursively."""

# Attributes that set an element's size: the product of all their numbers.
_SIZES = {
    "hfield": ("nrow", "ncol"),
    "texture": ("width", "height"),
    "flexcomp": ("count",),
    "composite": ("count",),
    "numeric": ("size",),
}
_TOTALS = ("nuserdata", "nkey", "nstack", "nconmax", "njmax")


def require_bounded(file: Path) -> None:
    """Raise if a model file, with its includes and attached models, exceeds the limits.

    A file that is not XML passes: the engine refuses it.

    Args:
        file: MJCF or URDF.

    Raises:
        ValueError: it exceeds them; the message names file and line.
    """
    root, _ = read(file)
    if root is not None:
        _count(root, frozenset())


def require_bounded_text(text: str) -> None:
    """Raise ValueError, with the line, if MJCF text exceeds the limits."""
    try:
        root = parse(text.encode(), Path("model.xml"))
    except Malformed:
        return
    _count(root, frozenset())


def excess(root: Node) -> Problem | None:
    """The first element of a model that exceeds the limits, or None."""
    try:
        _count(root, frozenset())
    except Malformed as error:
        return error.problem
    return None


def _count(root: Node, outer: frozenset[str]) -> float:
    """Number of elements, copies included; `outer` are the absolute paths of attaching models."""
    attached = {
        node.attributes.get("name", ""): _count_file(node, outer)
        for node in root.walk()
        if node.tag == "model" and "file" in node.attributes
    }
    total = 0.0
    left = [(root, 1.0, 1)]  # number of copies, depth
    while left:
        node, copies, depth = left.pop()
        if depth > MOST_DEPTH:
            raise Malformed(
                node.problem(f"too deep: more than {MOST_DEPTH} elements are within each other")
            )
        if node.tag == "replicate":
            copies *= max(1.0, _product(node, ("count",)))
        weight = attached.get(node.attributes.get("model", ""), 1.0) if node.tag == "attach" else 1
        total += copies * weight
        if total > MOST_ELEMENTS:
            raise Malformed(node.problem(f"the model has more than {MOST_ELEMENTS:,} elements"))
        size = _product(node, _SIZES.get(node.tag, ()))
        if node.tag == "size":
            counts = [n for n in node.attributes if n in _TOTALS or n.startswith("nuser_")]
            size = max((_product(node, (name,)) for name in counts), default=0.0)
        if copies * size > MOST_VALUES:
            raise Malformed(
                node.problem(f"{node.tag} asks for {size:.3g} values, at most {MOST_VALUES:,}")
            )
        left += [(child, copies, depth + 1) for child in node.children]
    return total


def _count_file(node: Node, outer: frozenset[str]) -> float:
    path = node.file.parent / node.attributes["file"]
    absolute = os.path.abspath(path)
    if absolute in outer or not path.is_file():
        return 1.0
    root, _ = read(path)
    return 1.0 if root is None else _count(root, outer | {absolute})


def _product(node: Node, names: tuple[str, ...]) -> float:
    """Product of all numbers in some attributes; anything else counts as 1."""
    numbers = [word for name in names for word in node.attributes.get(name, "").split()]
    product = 1.0
    for word in numbers:
        with contextlib.suppress(ValueError):
            product *= 1.0 if math.isnan(value := float(word)) else abs(value)
    return product
