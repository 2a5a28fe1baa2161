"""XPath edits of an MJCF file that leave every other byte unchanged."""

import difflib
import re
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lxml import etree

from mjgym.mjcf.lint.checking import examine, examine_part
from mjgym.mjcf.lint.reading import MOST_BYTES, Node, parse, tolerable
from mjgym.mjcf.lint.refusals import alike
from mjgym.util import atomic, bounded

_ATTRIBUTE = re.compile(rb"""(\s+)([^\s=/>"']+)(\s*=\s*)("[^"]*"|'[^']*')""")


def edit(
    path: str | Path,
    xpath: str,
    *,
    set: Mapping[str, str | None] | None = None,
    remove: bool = False,
    dry_run: bool = False,
) -> str:
    """Change the elements of an XML file that an XPath selects, and nothing else.

    Comments, includes, the order of attributes, line breaks and indentation stay. Includes are not
    followed. The result is checked with `check` (a file that others include, with the schema
    alone), and is not written if that reports a problem which the file did not have before;
    otherwise it replaces the file atomically.

    Args:
        path: an MJCF or URDF file, or one that such a file includes.
        xpath: XPath 1.0 that selects elements, e.g. `//geom[@name='foot']`.
        set: values of attributes by name; None deletes the attribute.

    Returns:
        The change as a unified diff; empty if there is none.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: not exactly one change is asked for, the XPath is invalid or selects no elements
            (the message names the nearest ones), the file is not XML, or the result has a new
            problem. Nothing has been written.
    """
    if bool(set) == remove:
        raise ValueError("give either set or remove")
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file {file}")
    before = bounded.content(file, MOST_BYTES)
    root = parse(before, file)
    selected = _selected(before, root, xpath)
    after = _changed(before, selected, set or {})
    _check_result(file, before, after)
    if not dry_run and after != before:
        atomic.write_bytes(file, after)
    old, new = (text.decode(errors="replace").splitlines(True) for text in (before, after))
    lines = difflib.unified_diff(old, new, fromfile=str(file), tofile=str(file))
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _selected(content: bytes, root: Node, xpath: str) -> list[Node]:
    """The elements that an XPath selects, in document order, without those inside another one."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    tree = etree.fromstring(tolerable(content), parser).getroottree()
    try:
        hits = tree.xpath(xpath)
    except etree.XPathError as error:
        raise ValueError(f"{xpath!r} is no XPath: {error}") from None
    if not isinstance(hits, list) or not all(
        etree.iselement(item) and isinstance(item.tag, str) for item in hits
    ):
        raise ValueError(f"{xpath!r} selects no elements but attributes, text or a value")
    if not hits:
        raise ValueError(f"{xpath!r} selects nothing in {root.file}{_hint(tree, xpath)}")
    elements = tree.getroot().iter(etree.Element)
    return [node for node, element in zip(root.walk(), elements, strict=True) if element in hits]


def _hint(tree: Any, xpath: str) -> str:
    """The known word nearest to the first one of an XPath that a file lacks."""
    elements = list(tree.getroot().iter(etree.Element))
    known = {str(element.tag) for element in elements}
    known |= {word for element in elements for pair in element.attrib.items() for word in pair}
    words = re.findall(r"[^\W\d][\w.:-]*", xpath)
    near = next((close for w in words if w not in known and (close := alike(w, known))), ())
    return f"; did you mean {', '.join(near)}?" if near else ""


def _changed(content: bytes, nodes: list[Node], values: Mapping[str, str | None]) -> bytes:
    """The text with changed attributes, or without the elements if there are no values."""
    declared = re.match(rb"<\?xml[^>]*encoding\s*=\s*[\"']([\w.-]+)", content)
    encoding = declared[1].decode() if declared else "utf-8"
    if not values and any(node.parent is None for node in nodes):
        raise ValueError("the root cannot be removed")
    for node in reversed(nodes):  # so that byte offsets stay valid
        if values:
            start, stop = node.start, node.inner
            new = _with_values(content[start:stop], values, encoding)
        elif any(outer in nodes for outer in node.above()):
            continue
        else:
            (start, stop), new = _whole_lines(content, node), b""
        content = content[:start] + new + content[stop:]
    return content


def _with_values(tag: bytes, values: Mapping[str, str | None], encoding: str) -> bytes:
    """A start tag with changed attribute values; new attributes come last."""
    from xml.sax.saxutils import escape  # which brings HTTP and TLS

    for name, value in values.items():
        if not re.fullmatch(r"[A-Za-z_][\w.-]*", name):
            raise ValueError(f"{name!r} cannot be the name of an attribute")
        old = next((a for a in _ATTRIBUTE.finditer(tag) if a[2].decode(encoding) == name), None)
        if value is None:
            if old is not None:
                tag = tag[: old.start()] + tag[old.end() :]
            continue
        quote = '"' if old is None else old[4][:1].decode()
        text = escape(value, {quote: "&quot;" if quote == '"' else "&apos;", "\n": "&#10;"})
        new = f"{quote}{text}{quote}".encode(encoding, "xmlcharrefreplace")
        if old is not None:
            tag = tag[: old.start(4)] + new + tag[old.end(4) :]
        else:
            end = re.search(rb"\s*/?>$", tag)
            assert end is not None
            tag = tag[: end.start()] + f" {name}=".encode() + new + tag[end.start() :]
    return tag


def _whole_lines(content: bytes, node: Node) -> tuple[int, int]:
    """The span of an element, with its lines if nothing else is on them."""
    start, stop = node.start, node.stop
    line = content.rfind(b"\n", 0, start) + 1
    rest = re.compile(rb"[ \t]*\r?\n").match(content, stop)
    if rest is not None and not content[line:start].strip():
        return line, rest.end()
    return start, stop


def _check_result(file: Path, before: bytes, after: bytes) -> None:
    if parse(after, file).tag in ("mujoco", "robot"):
        earlier = examine(file, before)
        # The engine's first error after one that was mended may be as old.
        later = examine(file, after, compiles=not earlier)
    else:
        earlier, later = examine_part(before, file), examine_part(after, file)
    old = Counter((problem.file, problem.message) for problem in earlier)
    listed = ""
    for problem in later:
        if not old[problem.file, problem.message]:
            listed += f"\n{problem}"
        old[problem.file, problem.message] -= 1
    if listed:
        raise ValueError(f"nothing is written, for the result has new problems:{listed}")
