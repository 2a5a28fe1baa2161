"""Elements, attributes and words of MJCF that the installed engine knows."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import mujoco

from mjgym.mjcf.elements import enumerated, enumeration
from mjgym.mjcf.lint.reading import Node

_ROW = re.compile(
    r'<td[^>]*class="el">(?P<indent>(?:&nbsp;)*)(?P<tag>.*?)</td>\s*'
    r'<td class="ty">(?P<count>.)</td>\s*<td class="at">(?P<attributes>.*?)</td>',
    re.DOTALL,
)

# The engine does not print these two: they hold what a body holds, and unknown attributes are
# ignored. Frames take the attributes of a body that set a pose or a class.
_UNPRINTED = {"frame": (), "replicate": ("count", "offset", "sep")}

_INTERNAL = 100  # value from which on members are the engine's own, such as shapes for drawing

# Words missing from the engine's enumerations.
_MORE_WORDS = (
    *("true", "false", "auto", "enable", "disable", "degree", "radian", "local", "global"),
    *("sRGB", "zoh", "cubic", "mindist", "netforce", "full", "radial", "trilinear", "distance"),
)


@dataclass(eq=False)
class Kind:
    """The schema of an element at one place.

    Attributes:
        unique: whether its parent may have only one.
        children: allowed elements, by tag.
        strict: whether the engine refuses other attributes; otherwise it ignores them.
    """

    tag: str
    unique: bool
    attributes: tuple[str, ...]
    children: dict[str, "Kind"] = field(default_factory=dict)
    strict: bool = True

    def walk(self) -> Iterator["Kind"]:
        """This kind and all kinds below it, each once."""
        kinds: dict[Kind, None] = {}
        left = [self]
        while left:
            kind = left.pop(0)
            if kind not in kinds:
                kinds[kind] = None
                left += kind.children.values()
        return iter(kinds)


@functools.cache
def schema() -> Kind:
    """The root of the schema that `mj_printSchema` prints.

    Raises:
        RuntimeError: the installed engine prints it in an unknown form.
    """
    above: list[Kind] = []
    for row in _ROW.finditer(mujoco.mj_printSchema(True, False)):
        depth = row["indent"].count("&nbsp;") // 4
        outer, tag = re.fullmatch(r"(?:\((\w+)\))?(\w+)", row["tag"]).groups()  # type: ignore[union-attr]
        attributes = () if "<" in row["attributes"] else tuple(row["attributes"].split())
        kind = Kind(tag, row["count"] in "!?", attributes)
        if row["count"] == "R":
            kind.children[tag] = kind
        if outer:  # "(world)body": at the top it is called worldbody and takes no attributes
            kind.children |= {
                tag: Kind(tag, False, attributes + more, kind.children, strict=False)
                for tag, more in _UNPRINTED.items()
            }
            top = Kind(f"{outer}{tag}", False, (), kind.children)
        else:
            top = kind
        if depth:
            above[depth - 1].children[top.tag] = top
        above[depth:] = [kind]
    if not above or above[0].tag != "mujoco":
        raise RuntimeError(f"MuJoCo {mujoco.__version__} prints a schema that is not understood")
    return above[0]


def parents(tag: str) -> list[str]:
    """The elements that can contain an element, besides frames."""
    return sorted({kind.tag for kind in schema().walk() if tag in kind.children and kind.strict})


def words_of(node: Node, attribute: str) -> tuple[str, ...]:
    """The words that an attribute takes, if it is an enumeration; else all that may be meant."""
    part = getattr(mujoco.MjSpec(), node.tag, None)
    enum = enumeration(node.kind, attribute, part)
    if enum is None:
        return candidates()
    return tuple(word for word, member in enumerated(enum).items() if int(member) < _INTERNAL)


@functools.cache
def candidates() -> tuple[str, ...]:
    """Words the engine may know: from its enumerations, its schema, and some more."""
    words: dict[str, None] = dict.fromkeys(_MORE_WORDS)
    for kind in schema().walk():
        words |= dict.fromkeys((kind.tag, *kind.attributes))
    for name in dir(mujoco):
        members = getattr(getattr(mujoco, name), "__members__", {})
        for member in members if name.startswith("mjt") else ():
            parts = member.split("_")[1:]
            for first in range(len(parts)):
                word = "_".join(parts[first:])
                words |= dict.fromkeys((word.lower(), word, word.capitalize()))
    return tuple(words)
