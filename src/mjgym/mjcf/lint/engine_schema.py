"""Elements, attributes and words of MJCF that the installed engine knows."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import mujoco

from mjgym.mjcf.elements import enumerated

_ELEMENT = re.compile(r"^( *)(\S+) \((.)\) *(.*)$")

# The engine does not print these two: they hold what a body holds, and unknown attributes are
# ignored. Frames take the attributes of a body that set a pose or a class.
_UNPRINTED = {"frame": (), "replicate": ("count", "offset", "sep")}

# Words missing from the engine's enumerations.
_MORE_WORDS = (
    *("true", "false", "auto", "enable", "disable", "degree", "radian", "local", "global"),
    *("sRGB", "zoh", "cubic", "mindist", "netforce", "full", "radial", "trilinear", "distance"),
)


@dataclass(eq=False)
class Kind:
    """The schema of an element at one place."""

    tag: str
    unique: bool  # whether its parent may have only one
    attributes: tuple[str, ...]
    children: dict[str, "Kind"] = field(default_factory=dict)  # allowed elements, by tag
    strict: bool = True  # whether the engine refuses other attributes; otherwise it ignores them

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


def printed() -> list[tuple[int, str, str, list[str]]]:
    """The rows of `mj_printSchema`: depth, tag ("(world)body"), count and attributes."""
    rows: list[tuple[int, str, str, list[str]]] = []
    for line in mujoco.mj_printSchema(False, False).splitlines():
        if match := _ELEMENT.match(line):
            spaces, tag, count, attributes = match.groups()
            rows.append((len(spaces) // 3, tag, count, attributes.split()))
        elif rows:
            rows[-1][3].extend(line.split())
    return rows


@functools.cache
def schema() -> Kind:
    """The root of the engine's schema."""
    above: list[Kind] = []
    for depth, printed_tag, count, attributes in printed():
        outer, _, tag = printed_tag.removeprefix("(").rpartition(")")
        kind = Kind(tag, count in "!?", tuple(attributes))
        if count == "R":
            kind.children[tag] = kind
        if outer:  # "(world)body": at the top it is called worldbody and takes no attributes
            kind.children |= {
                tag: Kind(tag, False, (*attributes, *more), kind.children, strict=False)
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
    return sorted({kind.tag for kind in schema().walk() if tag in kind.children and kind.strict})


@functools.cache
def vocabulary() -> tuple[str, ...]:
    """Words of the engine's enumerations, and some more."""
    enumerations = [getattr(mujoco, name) for name in dir(mujoco) if name.startswith("mjt")]
    listed = [enum for enum in enumerations if getattr(enum, "__members__", None)]
    words = (word for enum in listed for word in enumerated(enum))
    return tuple(dict.fromkeys((*_MORE_WORDS, *words)))
