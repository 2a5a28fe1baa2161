"""The engine's first error about a model, as a problem with file, line and the nearest word."""

import contextlib
import itertools
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import mujoco

from mjgym.mjcf.lint.reading import Node, Problem
from mjgym.mjcf.lint.schema import words_of
from mjgym.sim.engine import quiet
from mjgym.util import suggestions

_FEW = 12  # words that are all listed if none is similar
_ALIKE = 0.65  # minimum difflib ratio of similar words
_NEAREST = 3  # maximum number of suggestions
_FREE = ("name", "class", "childclass")  # attributes that take any word
_URDF_JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def near(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known words similar to a word; all of them if there are none and the list is short."""
    known = list(dict.fromkeys(known))
    return alike(word, known) or (tuple(known) if len(known) <= _FEW else ())


def alike(word: str, known: Iterable[str], most: int = _NEAREST) -> tuple[str, ...]:
    """The known words similar to a word, ignoring case, the best first."""
    return tuple(suggestions.close(word, known, most, _ALIKE))


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Suppress the engine's warnings, which are not errors."""
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def ask(model: Node | Callable[[], mujoco.MjSpec], main: Path) -> tuple[str, list[Node]]:
    """Compile a model; returns the error, empty if there is none, and a tree's element per line.

    Args:
        model: tree of elements, or a function that reads the model.
    """
    text, nodes = model.text() if isinstance(model, Node) else ("", [])
    try:
        with silence():
            spec = mujoco.MjSpec.from_string(text) if isinstance(model, Node) else model()
            spec.modelfiledir = str(main.parent.absolute())
            spec.compile()
    except (ValueError, RuntimeError) as error:
        return str(error), nodes
    return "", nodes


def reason_of(message: str) -> str:
    """The reason in an error's text, without its place and the word "Error"."""
    reason = message.partition("\nElement ")[0].strip()
    return re.sub(r"^((XML Error|Error|ParseXML|Schema violation): )+", "", reason)


def located(root: Node, main: Path, models: dict[str, Node], message: str) -> Problem:
    """The first error of the engine about a model, at its element.

    Args:
        root: of the model's tree, with absolute paths of files.
        main: the model's file.
        models: roots of attached models, by name.
        message: the engine's error about the file, in case that the tree does not show the cause.
    """
    error, nodes = ask(root, main)
    reason = reason_of(error)
    node = _node(root, error, nodes) if error else None
    if node is None:
        line = re.search(r"[Ll]ine(?: number=|:? )(\d+)", message)
        number = int(line[1]) if line and not error else root.line
        return Problem(main, number, " ".join(reason_of(error or message).split()))
    if missing := re.match(r"required attribute missing: '(\w+)'", reason):
        return node.problem(f"{node.described} needs the attribute {missing[1]!r}", (missing[1],))
    quoted = re.findall(r"'([^']*)'", reason)
    problem = (
        _unknown_word(reason, node)
        or _repeated(reason, node, root)
        or _numbers(reason, node)
        or _unknown_name(quoted, node, root, models)
    )
    said = reason if node.name in quoted else f"{node.described}: {reason}"
    return problem or node.problem(said)


def _node(root: Node, message: str, nodes: list[Node]) -> Node | None:
    places = re.findall(r"^Element (?:name )?'(.*)'(?:, id (\d+))?(?:, line (\d+))?", message, re.M)
    if not places:
        return _node_by_words(root, reason_of(message))
    name, number, line = places[-1]
    if line:
        node = nodes[int(line) - 1] if 0 < int(line) <= len(nodes) else None
        known = node is not None and (
            not number or name.startswith(node.attributes.get("name", ""))
        )
        return node if known else None  # else a line of an attached model's file
    section = {"keyframe": "key"}
    tags = {section.get(word, word) for word in re.findall(r"\w+", message)}
    listed = [n for n in root.walk() if n.parent is not root and n.kind in tags]
    named = [n for n in listed if name and n.attributes.get("name") == name]
    if named:
        return named[0]
    return listed[int(number)] if number and int(number) < len(listed) else None


def _node_by_words(root: Node, reason: str) -> Node | None:
    """The element of a message that does not say its place."""
    earlier: set[tuple[str, str]] = set()
    for node in root.walk():
        if reason.startswith("repeated") and node.name and (node.kind, node.name) in earlier:
            return node
        earlier.add((node.kind, node.name))
    return None


def _unknown_word(reason: str, node: Node) -> Problem | None:
    if keyword := re.match(r"invalid keyword: '([^']*)'", reason):
        for attribute, value in node.attributes.items():
            if keyword[1] not in (value, "(null)") or attribute in _FREE:
                continue
            words = words_of(node, attribute)
            tried = [value] if keyword[1] == value else value.split()
            if wrong := [word for word in tried if word not in words]:
                said = f"{node.described}: {attribute} has no word {wrong[0]!r}"
                return node.problem(said, near(wrong[0], words))
    if "URDF joint" in reason and "joint type" in reason:
        word = node.attributes["type"]
        said = f"{node.described}: type has no word {word!r}"
        return node.problem(said, near(word, _URDF_JOINTS))
    return None


def _repeated(reason: str, node: Node, root: Node) -> Problem | None:
    if not reason.startswith("repeated"):
        return None
    first = next(n for n in root.walk() if (n.kind, n.name) == (node.kind, node.name))
    taken = root.named(node.kind)
    free = next(n for i in itertools.count(2) if (n := f"{node.name}_{i}") not in taken)
    where = f", first at {first.where}" if first is not node else ""
    return node.problem(f"a second {node.kind} called {node.name!r}{where}", (free,))


def _numbers(reason: str, node: Node) -> Problem | None:
    told = re.search(r"bad format in attribute '(\w+)'", reason)
    if told is None or told[1] not in node.attributes:
        return None
    words, said = node.attributes[told[1]].split(), f"{node.described}: {told[1]}"
    if wrong := [word for word in words if not _NUMBER.fullmatch(word)]:
        spaced = re.sub("[,;]+", " ", " ".join(words)).split()
        meant = " ".join(spaced) if all(_NUMBER.fullmatch(word) for word in spaced) else ""
        message = f"{said} has {wrong[0]!r}, which is no number"
        return node.problem(message, (meant,) if meant else ())
    wrong = [word for word in words if not re.fullmatch(r"[-+]?\d+", word)] or words
    meant = " ".join(str(round(float(word))) for word in words)
    return node.problem(f"{said} has {wrong[0]!r}, which is no whole number", (meant,))


def _unknown_name(
    quoted: list[str], node: Node, root: Node, models: dict[str, Node]
) -> Problem | None:
    for owner in root.walk() if root.tag == "robot" else (node, *node.children):
        for attribute, value in owner.attributes.items():
            kind = owner.reference(attribute)
            if kind is None or (quoted and value not in quoted):
                continue
            if owner.tag != "attach":
                known = root.named(kind)
            elif attribute == "model":
                known = list(models)
            else:
                model = models.get(owner.attributes.get("model", ""))
                known = [] if model is None else model.named(kind)
            if value not in known:
                said = f"{owner.described}: there is no {kind} {value!r}"
                return owner.problem(said, near(value, known))
    return None
