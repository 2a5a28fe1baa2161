"""MJCF as a tree of elements with file, line and byte offsets, and includes expanded."""

import itertools
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from lxml import etree

from mjgym.util import bounded
from mjgym.util.suggestions import close as close_to

MOST_BYTES = 2**26
"""Bytes of one file."""

MOST_ELEMENTS = 50_000
"""Elements of one file, and of a model with all that it includes."""

MOST_DEPTH = 500
"""Nesting depth of elements, which the engine parses recursively."""

_TAG = re.compile(rb"""<(?:[^"'>]|"[^"]*"|'[^']*')*>""")
_ENOUGH_FILES = 5000  # maximum number searched for similar names

_NAMED_BY_FILE = ("mesh", "hfield", "texture", "skin")  # by default


@dataclass(frozen=True)
class Problem:
    """A problem in a file."""

    file: Path  # relative if the path of the model was
    line: int  # of the element, from 1
    message: str  # one sentence without a full stop
    nearest: tuple[str, ...] = ()  # valid replacements, the best first; may be empty

    def __str__(self) -> str:
        new = [word for word in self.nearest if not self.message.endswith(f"'{word}'")]
        hint = f"; did you mean {', '.join(new)}?" if new else ""
        return f"{self.file}:{self.line}: {self.message}{hint}"


class Malformed(ValueError):
    """A file is not XML, cannot be included, or is beyond the limits; `problem` says where."""

    def __init__(self, problem: Problem, *, beyond: bool = False) -> None:
        super().__init__(str(problem))
        self.problem, self.beyond = problem, beyond


@dataclass(eq=False)
class Node:
    """An element."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int  # of its "<", from 1
    start: int  # byte offset of its "<"
    parent: "Node | None" = None
    inner: int = 0  # byte offset after the ">" of its start tag
    stop: int = 0  # byte offset after its end tag, or `inner` if it has no end tag
    children: list["Node"] = field(default_factory=list)

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"

    def problem(self, message: str, nearest: Iterable[str] = ()) -> Problem:
        return Problem(self.file, self.line, message, tuple(nearest))

    def beyond(self, message: str) -> Malformed:
        return Malformed(self.problem(message), beyond=True)

    def walk(self) -> Iterator["Node"]:
        """This element and everything below it, in document order."""
        left = [self]
        while left:
            node = left.pop()
            yield node
            left += reversed(node.children)

    def above(self) -> Iterator["Node"]:
        """The enclosing elements, innermost first."""
        node = self.parent
        while node is not None:
            yield node
            node = node.parent

    @property
    def name(self) -> str:
        """Its name; empty if it has none."""
        if self.tag == "default":
            inner = self.parent is not None and self.parent.tag == "default"
            return self.attributes.get("class", "" if inner else "main")
        file = self.attributes.get("file", "") if self.tag in _NAMED_BY_FILE else ""
        return self.attributes.get("name", Path(file).stem)

    @property
    def described(self) -> str:
        """It in a message: "geom 'foot'"."""
        return f"{self.tag} {self.name!r}" if self.name else self.tag

    def text(self) -> tuple[str, list["Node"]]:
        """It as XML, and the element of each line."""
        from xml.sax.saxutils import quoteattr  # which brings HTTP and TLS

        lines: list[str] = []
        nodes: list[Node] = []
        left: list[tuple[Node, bool]] = [(self, True)]
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


def parse(content: bytes, file: Path) -> Node:
    """The tree of one file, without expanding includes.

    Double hyphens in comments are accepted, as the engine does.
    """
    content = tolerable(content)
    parser = expat.ParserCreate()
    open_: list[Node] = []
    roots: list[Node] = []
    count = 0

    def refuse(said: str) -> Malformed:
        return Malformed(Problem(file, parser.CurrentLineNumber, said), beyond=True)

    def declare(*_: object) -> None:
        raise refuse("declares an entity, which the engine does not read")

    def begin(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MOST_ELEMENTS:
            raise refuse(f"the model has more than {MOST_ELEMENTS:,} elements")
        if len(open_) >= MOST_DEPTH:
            raise refuse(f"too deep: more than {MOST_DEPTH} elements are within each other")
        start = parser.CurrentByteIndex
        parent = open_[-1] if open_ else None
        node = Node(tag, attributes, file, parser.CurrentLineNumber, start, parent)
        tag_text = _TAG.match(content, start)
        node.inner = node.stop = len(content) if tag_text is None else tag_text.end()
        (parent.children if parent else roots).append(node)
        open_.append(node)

    def end(_: str) -> None:
        node = open_.pop()
        if not content.endswith(b"/>", node.start, node.inner):
            node.stop = content.find(b">", parser.CurrentByteIndex) + 1

    parser.StartElementHandler = begin
    parser.EndElementHandler = end
    parser.EntityDeclHandler = declare
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise Malformed(_malformed(content, file, error)) from None
    except Malformed:
        raise
    except (LookupError, ValueError) as error:  # unknown encoding
        raise Malformed(Problem(file, 1, f"no XML: {error}")) from None
    return roots[0]


def tolerable(content: bytes) -> bytes:
    """Text of the same length without hyphens in comments, where XML forbids some."""
    parts, end = [], 0
    while (start := content.find(b"<!--", end)) >= 0:
        stop = content.find(b"-->", start + 4)
        if stop < 0:
            break
        parts += [content[end : start + 4], content[start + 4 : stop].replace(b"-", b" ")]
        end = stop
    return b"".join([*parts, content[end:]])


def _malformed(content: bytes, file: Path, error: expat.ExpatError) -> Problem:
    """The syntax error as lxml reports it, in more detail than expat."""
    if not content.strip():
        return Problem(file, 1, "the file is empty")
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    try:
        etree.fromstring(content, parser)
    except etree.XMLSyntaxError:
        entries = list(parser.error_log)
        if entries:
            said = entries[0].message
            return Problem(file, entries[0].line, f"no XML: {said[:1].lower()}{said[1:]}")
    return Problem(file, error.lineno, f"no XML: {expat.ErrorString(error.code)}")


def read(main: Path, content: bytes | None = None) -> tuple[Node | None, list[Problem]]:
    """The tree of a model with its includes expanded, as in the engine.

    An included file is looked up from the folder of the model and then from the folder of the
    including file. It is replaced by the elements in its root, whatever the root's tag, and must
    not be included twice.

    Returns:
        The root, or None if the model cannot be read; and the problems of files and includes.

    Raises:
        Malformed: it is beyond the limits.
    """
    try:
        root = parse(_bytes(main) if content is None else content, main)
    except Malformed as error:
        if error.beyond:
            raise
        return None, [error.problem]
    places = {os.path.abspath(main): "this is the model itself"}
    problems: list[Problem] = []
    left = [root]  # no recursion: the depth is unbounded
    while left:
        node = left.pop()
        inner = node.children
        if node.tag == "include" and node.parent is not None:
            outer = node.parent
            try:
                inner = _included(node, main, places)
            except Malformed as error:
                if error.beyond:
                    raise
                problems.append(error.problem)
                inner = []
            for element in inner:
                element.parent = outer
            place = outer.children.index(node)
            outer.children[place : place + 1] = inner
        left += reversed(inner)
    return root, problems


def _included(include: Node, main: Path, places: dict[str, str]) -> list[Node]:
    """The elements of an included file; `places` says where each file is included."""

    def wrong(message: str, nearest: Iterable[str] = ()) -> Malformed:
        return Malformed(include.problem(message, nearest))

    name = include.attributes.get("file")
    if name is None:
        raise wrong("include needs the attribute 'file'", ("file",))
    if include.children:
        raise wrong("include has elements of its own, which it cannot have")
    folders = (main.parent, include.file.parent)
    path = find_file(name, *folders)
    if path is None and any(
        os.path.exists(folder / name) for folder in folders if "\0" not in name
    ):
        raise include.beyond(f"include: {name!r} is no regular file")
    if path is None:
        raise wrong(f"include: there is no file {name!r}", near_files(name, *folders, but=main))
    absolute = os.path.abspath(path)
    if absolute in places:
        raise wrong(f"include: {name!r} comes twice or in a circle, {places[absolute]}")
    places[absolute] = f"first at {include.where}"
    elements = parse(_bytes(path), path).children
    if not elements:
        raise wrong(f"include: there are no elements in {str(path)!r}")
    return elements


def _bytes(path: Path) -> bytes:
    try:
        return bounded.content(path, MOST_BYTES)
    except bounded.FileError as error:
        reason = str(error).removeprefix(f"{path}: ")
        raise Malformed(Problem(path, 1, f"the file cannot be read: {reason}")) from None


def find_file(name: str, *folders: Path) -> Path | None:
    """The first existing file of that name in the folders."""
    paths = (Path(os.path.normpath(folder / name)) for folder in folders)
    # Unlike `Path.is_file`, this returns False for invalid names.
    return next((path for path in paths if os.path.isfile(path)), None)


def near_files(name: str, *folders: Path, but: Path | None = None) -> tuple[str, ...]:
    """Find up to three files in some folders, other than `but`, named much like a missing one."""
    known: dict[str, str] = {}
    for folder in folders:
        for path in (p for p in _below(folder) if p.suffix == Path(name).suffix and p != but):
            known.setdefault(path.relative_to(folder).as_posix(), path.name)
    same = [path for path, last in known.items() if last == Path(name).name]
    close = close_to(name, known)
    lasts = close_to(Path(name).name, set(known.values()))
    alike = [path for last in lasts for path in known if known[path] == last]
    return tuple(dict.fromkeys([*same, *close, *alike]))[:3]


def _below(folder: Path) -> Iterator[Path]:
    walk = os.walk(folder)
    files = (Path(root, name) for root, _, names in walk for name in sorted(names))
    return itertools.islice(files, _ENOUGH_FILES)
