"""The engine's first error about a model, as a problem with file, line and the nearest word."""

import contextlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import mujoco

from mjgym.mjcf.lint.engine_schema import vocabulary
from mjgym.mjcf.lint.reading import Node, Problem
from mjgym.sim.engine import quiet
from mjgym.util import suggestions

_FEW = 12  # words that are all listed if none is similar
_ALIKE = 0.65  # minimum difflib ratio of similar words
_URDF_JOINTS = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")


def near(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known words similar to a word; all of them if there are none and the list is short."""
    known = list(dict.fromkeys(known))
    return alike(word, known) or (tuple(known) if len(known) <= _FEW else ())


def alike(word: str, known: Iterable[str]) -> tuple[str, ...]:
    return tuple(suggestions.close(word, known, alike=_ALIKE))


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """Suppress the engine's warnings, which are not errors."""
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def refusal(read: Callable[[], mujoco.MjSpec], main: Path) -> str:
    """Read and compile a model of a file; returns the engine's error, empty if there is none."""
    try:
        with silence():
            spec = read()
            spec.modelfiledir = str(main.parent.absolute())
            spec.compile()
    except (ValueError, RuntimeError) as error:
        return str(error)
    return ""


def reason_of(message: str) -> str:
    """The reason in an error's text, without its place and the word "Error"."""
    reason = message.partition("\nElement ")[0].strip()
    return re.sub(r"^((XML Error|Error|ParseXML|Schema violation): )+", "", reason)


def located(root: Node, main: Path, attached: list[Node], message: str) -> Problem:
    """The first error of the engine about a model, at its element.

    Args:
        root: of the model's tree, with absolute paths of files.
        attached: roots of attached models.
        message: the engine's error about the file, in case that the tree does not show the cause.
    """
    text, nodes = root.text()
    error = refusal(lambda: mujoco.MjSpec.from_string(text), main)
    reason = " ".join(reason_of(error or message).split())
    quoted = re.findall(r"'([^']*)'", reason)
    node = _node(root, error, nodes, quoted) if error else None
    if node is None:
        line = None if error else re.search(r"[Ll]ine(?: number=|:? )(\d+)", message)
        return Problem(main, int(line[1]) if line else root.line, reason)
    if not quoted:  # the engine names only the attribute
        quoted = [value for name, value in node.attributes.items() if name in reason.split()]
        reason += "".join(f" {value!r}" for value in quoted)
    names = [n.name for tree in (root, *attached) for n in tree.walk() if n.name]
    words = _URDF_JOINTS if "URDF joint" in reason else names
    known = vocabulary() if "keyword" in reason else words
    nearest = [alike(word, known) for word in quoted if word not in names]
    return node.problem(f"{node.described}: {reason}", next(filter(None, nearest), ()))


def _node(root: Node, error: str, nodes: list[Node], quoted: list[str]) -> Node | None:
    """The element of an error: by its line, by its name and kind, or by a value it complains of."""
    places = re.findall(r"^Element (?:name )?'(.*)'(?:, id (\d+))?(?:, line (\d+))?", error, re.M)
    name, number, line = places[-1] if places else ("", "", "")
    if line and int(line) <= len(nodes):
        node = nodes[int(line) - 1]
        # Otherwise a line of an attached model's file.
        return node if not number or name.startswith(node.attributes.get("name", "")) else None
    reason = reason_of(error)
    below = [node for node in root.walk() if node is not root]
    of_kind = [node for node in below if node.tag in reason]
    named = [node for node in of_kind if name and node.attributes.get("name") == name]
    valued = [node for node in below if set(quoted) & set(node.attributes.values())]
    repeated = valued[1:] if reason.startswith("repeated") else valued
    return next(iter([*named, *(of_kind[int(number) :] if number else ()), *repeated]), None)
