"""Elements, attributes and words of MJCF that the installed engine knows."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

import mujoco

from mjgym.mjcf.lint.reading import Node
from mjgym.sim.engine import quiet

_ROW = re.compile(
    r'<td[^>]*class="el">(?P<indent>(?:&nbsp;)*)(?P<tag>.*?)</td>\s*'
    r'<td class="ty">(?P<count>.)</td>\s*<td class="at">(?P<attributes>.*?)</td>',
    re.DOTALL,
)

# The engine prints nothing about these two: they hold what a body holds, and what is none of their
# attributes is ignored. Frames take the attributes of a body that give a pose or a class.
_UNPRINTED = {"frame": (), "replicate": ("count", "offset", "sep")}

# Words that none of the engine's enumerations spells. A word is a candidate only: the engine is
# asked whether it takes it.
_MORE_WORDS = (
    *("true", "false", "auto", "enable", "disable", "degree", "radian", "local", "global"),
    *("sRGB", "zoh", "cubic", "mindist", "netforce", "full", "radial", "trilinear", "distance"),
)


@dataclass(eq=False)
class Kind:
    """The schema of an element at one place.

    Attributes:
        tag: its name.
        unique: whether its parent may have one only.
        attributes: their names.
        children: what may be in it, by tag.
        strict: whether the engine refuses other attributes; if not, it ignores them.
    """

    tag: str
    unique: bool
    attributes: tuple[str, ...]
    children: dict[str, "Kind"] = field(default_factory=dict)
    strict: bool = True

    def walk(self) -> Iterator["Kind"]:
        """It and all that may be in it, each once."""
        seen: dict[Kind, None] = {}
        left = [self]
        while left:
            kind = left.pop(0)
            if kind not in seen:
                seen[kind] = None
                left += kind.children.values()
        return iter(seen)


@functools.cache
def schema() -> Kind:
    """The root of what `mj_printSchema` prints.

    Raises:
        RuntimeError: the installed engine prints it in a form that is not understood.
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
    """The elements that an element can be in, besides frames."""
    return sorted({kind.tag for kind in schema().walk() if tag in kind.children and kind.strict})


class Vocabulary:
    """The words that an attribute can have, for each of which the engine is asked.

    Args:
        node: an element that has the attribute.
        attribute: its name.
    """

    def __init__(self, node: Node, attribute: str) -> None:
        # Bodies in bodies and in frames know the same words, and so do classes in classes.
        path = [above.tag for above in node.above() if above.tag not in _UNPRINTED]
        self._path = tuple(dict.fromkeys(reversed(path)))
        # Which classes there are does not matter here.
        named = {n: v for n, v in node.attributes.items() if n not in ("class", "childclass")}
        named.pop(attribute)
        self._tag, self._attribute = node.tag, attribute
        self._others = tuple(named.items())
        if _refuses(self._path, node.tag, attribute, (), _NO_WORD):  # it needs no others
            self._others = ()

    def closed(self) -> bool:
        """Whether the attribute takes some words only."""
        return not self.takes(_NO_WORD)

    def takes(self, word: str) -> bool:
        """Whether it can have a word."""
        return not _refuses(self._path, self._tag, self._attribute, self._others, word)

    def candidates(self) -> tuple[str, ...]:
        """Words among which all are that it can have."""
        return _candidates()


_NO_WORD = "no-such-word"


@functools.cache
def _refuses(
    path: tuple[str, ...],
    tag: str,
    attribute: str,
    others: tuple[tuple[str, str], ...],
    word: str,
) -> bool:
    said = _refusal(path, tag, {**dict(others), attribute: word})
    return re.search(rf"invalid keyword: '({re.escape(word)}|\(null\))'", said) is not None


def _refusal(path: tuple[str, ...], tag: str, attributes: dict[str, str]) -> str:
    """The parser's error about an element alone; empty if it is valid."""
    from xml.sax.saxutils import quoteattr  # which brings HTTP and TLS

    given = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())
    before = "".join(f"<{t}>" for t in path)
    after = "".join(f"</{t}>" for t in reversed(path))
    try:
        with quiet():
            mujoco.MjSpec.from_string(f"{before}<{tag} {given}/>{after}")
    except (ValueError, RuntimeError) as error:
        return str(error)
    return ""


@functools.cache
def _candidates() -> tuple[str, ...]:
    """Words that the engine may know: of its enumerations, of its schema, and some more."""
    found: dict[str, None] = dict.fromkeys(_MORE_WORDS)
    for kind in schema().walk():
        found |= dict.fromkeys((kind.tag, *kind.attributes))
    for name in dir(mujoco):
        members = getattr(getattr(mujoco, name), "__members__", {})
        for member in members if name.startswith("mjt") else ():
            parts = member.split("_")[1:]
            for first in range(len(parts)):
                word = "_".join(parts[first:])
                found |= dict.fromkeys((word.lower(), word, word.capitalize()))
    return tuple(found)
