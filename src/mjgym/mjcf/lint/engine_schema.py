"""Elements, attributes and words of MJCF that the installed engine knows."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import mujoco

from mjgym.mjcf.elements import enumerated

_ROW = re.compile(
    r'<td[^>]*class="el">(?P<indent>(?:&nbsp;)*)(?P<tag>.*?)</td>\s*'
    r'<td class="ty">(?P<count>.)</td>\s*<td class="at">(?P<attributes>.*?)</td>',
    re.DOTALL,
)

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


@functools.cache
def schema() -> Kind:
    """The root of the schema that `mj_printSchema` prints."""
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
    return sorted({kind.tag for kind in schema().walk() if tag in kind.children and kind.strict})


@functools.cache
def vocabulary() -> tuple[str, ...]:
    """Words of the engine's enumerations, and some more."""
    enumerations = [getattr(mujoco, name) for name in dir(mujoco) if name.startswith("mjt")]
    listed = [enum for enum in enumerations if getattr(enum, "__members__", None)]
    words = (word for enum in listed for word in enumerated(enum))
    return tuple(dict.fromkeys((*_MORE_WORDS, *words)))
