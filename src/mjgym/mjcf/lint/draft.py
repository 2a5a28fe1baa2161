"""A model that is mended while it is checked, so that one mistake does not hide the others."""

import contextlib
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

from mjgym.mjcf.lint.reading import Node, Problem
from mjgym.sim.engine import quiet

# Attributes that hold a name but do not end in the kind of thing that has it.
_NAMES_OF = {"target": "body", "subtree": "body", "childclass": "class"}
_SAID_BY = {"objname": "objtype", "refname": "reftype"}

# Elements that share their names although their tags differ: all of a section, or one with another.
_SHARED = ("actuator", "sensor", "tendon", "equality")
_KINDS = {"freejoint": "joint", "flexcomp": "flex", "default": "class", "xbody": "body"}

_SHORT = 50_000  # bytes of a model, up to which the engine reads it in proportion

# What has the name of its file if it is given none.
_NAMED_BY_FILE = ("mesh", "hfield", "texture", "skin")


class Draft:
    """The tree of a model, what is wrong with it, and what has been changed in it.

    Attributes:
        main: the model's file.
        root: of the tree.
        problems: what is wrong.
        whole: whether every name is known, see `lose`.
        models: the roots of the models that it attaches, by name.
        mended: elements of which something has been changed.
        emptied: elements of which something that was in them has been taken out.
        touched: attributes that have been changed, with their elements.
        gone: names of elements that have been taken out.
    """

    work = 16_000_000  # bytes of models that the engine is asked about, one after the other
    fewest = 10  # questions that it is asked in any case
    lists = 3  # of all words of an attribute, each of which is some two thousand questions

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
        """Whether the engine may be asked once more about the draft."""
        self._asked += 1
        # The engine takes more than twice as long to read what is twice as long.
        self._spent += self._length * (1 + self._length // _SHORT)
        return self._asked <= self.fewest or self._spent <= self.work

    def may_list(self) -> bool:
        """Whether it may be asked for all words of one more attribute."""
        self._listed += 1
        return self._listed <= self.lists

    def report(self, node: Node, message: str, nearest: Iterable[str] = ()) -> None:
        """Write down what is wrong with an element."""
        self.problems.append(node.problem(message, nearest))

    def retag(self, node: Node, tag: str) -> None:
        """Give an element another tag."""
        node.tag = tag
        self.mended.add(node)

    def rewrite(self, node: Node, attribute: str, value: str | None) -> None:
        """Give an attribute another value, or none."""
        if value is None:
            node.attributes.pop(attribute, None)
        else:
            node.attributes[attribute] = value
        self.mended.add(node)
        self.touched.add((node, attribute))

    def take_out(self, node: Node) -> None:
        """Take out an element with all that is in it."""
        self.gone |= {name for inner in node.walk() if (name := name_of(inner))}
        if node.parent is not None:
            self.emptied.add(node.parent)
        node.remove()

    def lose(self) -> None:
        """Part of the model is not there, so that a name which is not known may be all right."""
        self.whole = False
        for node in [n for n in self.root.walk() if n.tag == "attach"]:
            self.take_out(node)

    def named(self, kind: str) -> list[str]:
        """The names of all elements of a kind, in order."""
        found = [name_of(node) for node in self.root.walk() if kind_of(node) == kind]
        world = ["world"] if kind == "body" else []
        return world + [name for name in found if name]

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
                given = "".join(f" {n}={quoteattr(v)}" for n, v in node.attributes.items())
                lines.append(f"<{node.tag}{given}>")
                left.append((node, False))
                left += ((child, True) for child in reversed(node.children))
            else:
                lines.append(f"</{node.tag}>")
        return "\n".join(lines), nodes


def _size(node: Node) -> int:
    """Approximate length of an element's tags as text."""
    return 2 * len(node.tag) + 5 + sum(len(n) + len(v) + 4 for n, v in node.attributes.items())


def kind_of(node: Node) -> str:
    """The kind of an element, among those that share a namespace."""
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
    """The kind of thing whose name an attribute holds, judged by its own name, or None."""
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
    """Without the engine's warnings, which are no errors."""
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
