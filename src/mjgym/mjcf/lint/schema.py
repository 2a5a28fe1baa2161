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

# The engine does not print these two: they hold what a body holds, and unknown attributes are
# ignored. Frames take the attributes of a body that set a pose or a class.
_UNPRINTED = {"frame": (), "replicate": ("count", "offset", "sep")}

# Words missing from the engine's enumerations. They are candidates only: the engine is asked
# whether it takes them.
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


class Vocabulary:
    """The values that an attribute can have; the engine's parser is asked for each."""

    def __init__(self, node: Node, attribute: str) -> None:
        # Nested bodies, frames and classes accept the same words as the outermost.
        path = [above.tag for above in node.above() if above.tag not in _UNPRINTED]
        self._path = tuple(dict.fromkeys(reversed(path)))
        self._tag, self._attribute = node.tag, attribute
        self._others: dict[str, str] = {}
        if not self.closed():  # it may need other attributes; but the model's classes are unknown
            names = [n for n in node.attributes if n not in ("class", "childclass", attribute)]
            self._others = {name: node.attributes[name] for name in names}

    def closed(self) -> bool:
        """Whether the attribute takes only certain words."""
        return not self.takes(_NO_WORD)

    def takes(self, word: str) -> bool:
        """Whether the attribute takes a word."""
        pattern = rf"invalid keyword: '({re.escape(word)}|\(null\))'"
        return re.search(pattern, self._error(word)) is None

    def fits(self, numbers: str) -> bool:
        """Whether the attribute takes so many numbers."""
        pattern = rf"'{self._attribute}' (does not have enough|has too much) data"
        return re.search(pattern, self._error(numbers)) is None

    def _error(self, value: str) -> str:
        """The parser's error about the element alone with a value; empty if it is valid."""
        from xml.sax.saxutils import quoteattr  # which brings HTTP and TLS

        attributes = {**self._others, self._attribute: value}
        text = " ".join(f"{name}={quoteattr(value)}" for name, value in attributes.items())
        before = "".join(f"<{tag}>" for tag in self._path)
        after = "".join(f"</{tag}>" for tag in reversed(self._path))
        try:
            with quiet():
                mujoco.MjSpec.from_string(f"{before}<{self._tag} {text}/>{after}")
        except (ValueError, RuntimeError) as error:
            return str(error)
        return ""


_NO_WORD = "no-such-word"


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
