"""A model repaired during checking, so that one mistake does not hide the rest."""

import contextlib
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from mjgym.mjcf.lint.reading import Node, Problem
from mjgym.sim.engine import quiet

# Attributes that refer to a kind that their name does not end in.
_NAMES_OF = {"target": "body", "subtree": "body", "childclass": "class"}
_SAID_BY = {"objname": "objtype", "refname": "reftype"}

# Elements that share a namespace although their tags differ: all of a section, or one with another.
_SHARED = ("actuator", "sensor", "tendon", "equality")
_KINDS = {"freejoint": "joint", "flexcomp": "flex", "default": "class", "xbody": "body"}

_SHORT = 50_000  # bytes of a model that the engine reads in linear time

# Elements that are named after their file by default.
_NAMED_BY_FILE = ("mesh", "hfield", "texture", "skin")


class Draft:
    """The tree of a model, its problems, and the repairs made.

    Attributes:
        main: the model's file.
        root: of the tree.
        problems: reported so far.
        whole: whether all names are known, see `lose`.
        models: the roots of attached models, by name.
        mended: elements that have been changed.
        emptied: elements with contents taken out.
        touched: changed attributes, with their elements.
        gone: names of elements taken out.
    """

    work = 16_000_000  # total bytes of models passed to the engine
    fewest = 10  # minimum number of questions
    lists = 3  # listings of an attribute's words, each some two thousand questions

    def __init__(self, main: Path, root: Node, problems: Iterable[Problem]) -> None:
        self.main, self.root = main, root
        self.problems = list(problems)
        self.whole = True
        self.models: dict[str, Node] = {}
        self.mended: set[Node] = set()
        self.emptied: set[Node] = set()
        self.touched: set[tuple[Node, str]] = set()
        self.gone: set[str] = set()
        self._asked = self._spent = self._listed = 0
        self._length = sum(_size(node) for node in root.walk())
        if self.problems:
            self.lose()

    def may_ask(self) -> bool:
        """Whether the budget allows asking the engine once more."""
        self._asked += 1
        # The engine takes more than twice as long to read twice the text.
        self._spent += self._length * (1 + self._length // _SHORT)
        return self._asked <= self.fewest or self._spent <= self.work

    def may_list(self) -> bool:
        """Whether the budget allows listing the words of one more attribute."""
        self._listed += 1
        return self._listed <= self.lists

    def report(self, node: Node, message: str, nearest: Iterable[str] = ()) -> None:
        """Report a problem of an element."""
        self.problems.append(node.problem(message, nearest))

    def retag(self, node: Node, tag: str) -> None:
        """Change an element's tag."""
        node.tag = tag
        self.mended.add(node)

    def rewrite(self, node: Node, attribute: str, value: str | None) -> None:
        """Change an attribute's value; None deletes the attribute."""
        if value is None:
            node.attributes.pop(attribute, None)
        else:
            node.attributes[attribute] = value
        self.mended.add(node)
        self.touched.add((node, attribute))

    def take_out(self, node: Node) -> None:
        """Take out an element with its contents."""
        self.gone |= {name for inner in node.walk() if (name := name_of(inner))}
        if node.parent is not None:
            self.emptied.add(node.parent)
        node.remove()

    def lose(self) -> None:
        """Part of the model is missing, so an unknown name may be valid."""
        self.whole = False
        for node in [n for n in self.root.walk() if n.tag == "attach"]:
            self.take_out(node)

    def named(self, kind: str) -> list[str]:
        """The names of all elements of a kind, in order."""
        names = [name_of(node) for node in self.root.walk() if kind_of(node) == kind]
        world = ["world"] if kind == "body" else []
        return world + [name for name in names if name]

    def text(self) -> tuple[str, list[Node]]:
        """The tree as XML, and the element of each line."""
        from xml.sax.saxutils import quoteattr  # which brings HTTP and TLS

        lines: list[str] = []
        nodes: list[Node] = []
        left: list[tuple[Node, bool]] = [(self.root, True)]
        while left:
            node, begins = left.pop()
            nodes.append(node)
            if begins:
                attributes = "".join(f" {n}={quoteattr(v)}" for n, v in node.attributes.items())
                lines.append(f"<{node.tag}{attributes}>")
                left.append((node, False))
                left += ((child, True) for child in reversed(node.children))
            else:
                lines.append(f"</{node.tag}>")
        return "\n".join(lines), nodes


def _size(node: Node) -> int:
    """Approximate length of an element's tags as text."""
    return 2 * len(node.tag) + 5 + sum(len(n) + len(v) + 4 for n, v in node.attributes.items())


def kind_of(node: Node) -> str:
    """The kind of an element, by namespace."""
    if node.parent is not None and node.parent.tag in _SHARED:
        return node.parent.tag
    return _KINDS.get(node.tag, node.tag)


def name_of(node: Node) -> str:
    """The name of an element; empty if it has none."""
    if node.tag == "default":
        inner = node.parent is not None and node.parent.tag == "default"
        return node.attributes.get("class", "" if inner else "main")
    file = node.attributes.get("file", "") if node.tag in _NAMED_BY_FILE else ""
    return node.attributes.get("name", Path(file).stem)


def reference(node: Node, attribute: str) -> str | None:
    """The kind of element that an attribute refers to, judged by the attribute's name, or None."""
    stem = attribute.rstrip("0123456789")
    if stem in _SAID_BY:
        said = node.attributes.get(_SAID_BY[stem])
        return _KINDS.get(said, said) if said else None
    if stem in _NAMES_OF:
        return _NAMES_OF[stem]
    kinds = ("joint", "site", "body", "geom", "camera", "tendon", "actuator", "flex")
    assets = ("mesh", "hfield", "material", "texture", "model", "class", "frame", "link")
    return next((kind for kind in (*kinds, *assets) if stem.endswith(kind)), None)


def described(node: Node) -> str:
    """An element in a message: "geom 'foot'"."""
    name = name_of(node)
    return f"{node.tag} {name!r}" if name else node.tag


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Suppress the engine's warnings, which are not errors."""
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
