"""Readers of untrusted files and texts: bounded in size, with errors of one sentence.

A few bytes can ask for any amount of memory or time: nested brackets, aliases of aliases, numbers
of a million digits, devices that never end. All that reads JSON, YAML, literals or text of others
does it here; arrays and models have their own bounds in `npz`, `hdf5_files` and `size_limits`.
"""

import ast
import json
import os
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    import yaml

MOST_BYTES = 2**24
"""Bytes of a text, unless its reader says otherwise."""

MOST_YAML_BYTES = 2**18
"""Bytes of a YAML text, whose parser needs seconds for each MiB."""

MOST_LITERAL = 2**16
"""Characters of a literal on the command line."""

MOST_ENTRIES = 100_000
"""Entries of a YAML text; those of an alias count at each use."""

MOST_DEPTH = 100
"""Nesting depth of JSON and YAML."""

MOST_DIGITS = 20
"""Digits of a whole number, as many as 64 bits have."""


class UserError(Exception):
    """An error in a user's input; its message is a sentence, which commands print alone."""


class FileError(UserError, ValueError):
    """A file cannot be read, or its content is damaged or too large; the message names it."""


class ShortageError(UserError, ValueError):
    """An argument needs more memory or threads than are available."""


def reason(error: BaseException) -> str:
    """Describe a fault of a file or its content in a sentence."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MemoryError):
        return f"there is not enough memory{f': {error}' if str(error) else ''}"
    if isinstance(error, UnicodeDecodeError):
        return "is not text in UTF-8"
    if isinstance(error, RecursionError):
        return "is nested too deeply"
    if isinstance(error, KeyError):
        return f"{error} is missing"
    problem = getattr(error, "problem", None)  # of PyYAML, without its lines of context
    said = problem if isinstance(problem, str) else str(error)
    return " ".join(said.split()) or type(error).__name__


def opened(path: str | Path) -> IO[bytes]:
    """Open a regular file for reading; a pipe or device, which may never end, is refused."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(None, "is no regular file", str(path))
    return file


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def content(path: str | Path, most: int = MOST_BYTES, *, pipes: bool = False) -> bytes:
    """Read a file.

    Args:
        pipes: wait for the writer of a pipe, which is refused else.
    """
    try:
        is_pipe = pipes and stat.S_ISFIFO(os.stat(path).st_mode)
        with Path(path).open("rb") if is_pipe else opened(path) as file:
            found = file.read(most + 1)
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: {getattr(error, 'strerror', None) or error}") from None
    if len(found) > most:
        raise FileError(f"{path}: has more than {most:,} bytes")
    return found


def text(path: str | Path, most: int = MOST_BYTES, *, pipes: bool = False) -> str:
    """Read a text in UTF-8; see `content`."""
    try:
        return content(path, most, pipes=pipes).decode()
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: {reason(error)}") from None


def read_json(path: str | Path) -> Any:
    return json_of(text(path), str(path))


def json_of(written: str | bytes, where: str) -> Any:
    """Parse JSON."""
    try:
        if len(written) > MOST_BYTES:
            raise ValueError(f"has more than {MOST_BYTES:,} characters")
        data = json.loads(written, parse_int=_whole_number)
        _require_shallow(data)
    except (RecursionError, ValueError) as error:
        raise FileError(f"{where}: {reason(error)}") from None
    return data


def _whole_number(digits: str) -> int:
    if len(digits) > MOST_DIGITS:
        raise ValueError(f"a number has {len(digits)} digits")
    return int(digits)


def _require_shallow(data: Any) -> None:
    level = [data]
    for _ in range(MOST_DEPTH):
        level = [
            item
            for value in level
            if isinstance(value, dict | list)
            for item in (value.values() if isinstance(value, dict) else value)
            if isinstance(item, dict | list)
        ]
        if not level:
            return
    raise RecursionError


def yaml_node(written: str, where: str) -> "yaml.Node | None":
    """Parse YAML into nodes; None if it is empty."""
    import yaml

    try:
        if len(written) > MOST_YAML_BYTES:
            raise ValueError(f"has more than {MOST_YAML_BYTES:,} characters")
        node: yaml.Node | None = yaml.compose(written, yaml.SafeLoader)
        if node is not None:
            _extent(node, {})
    except (RecursionError, ValueError, yaml.YAMLError) as error:
        raise _of_yaml(where, error) from None
    return node


def yaml_value(node: "yaml.Node", where: str) -> Any:
    """Convert a node of `yaml_node` to plain data; FileError for an invalid date or number."""
    import yaml

    try:
        return yaml.SafeLoader("").construct_document(node)
    except (RecursionError, ValueError, yaml.YAMLError) as error:
        raise _of_yaml(where, error) from None


def _of_yaml(where: str, error: Exception) -> FileError:
    mark = getattr(error, "problem_mark", None)
    return FileError(f"{where}{f':{mark.line + 1}' if mark else ''}: {reason(error)}")


def yaml_of(written: str, where: str) -> Any:
    node = yaml_node(written, where)
    return None if node is None else yaml_value(node, where)


def _extent(node: Any, known: dict[int, tuple[int, int]]) -> tuple[int, int]:
    """Count a node's entries and depth, including its children; ValueError beyond the bounds."""
    if id(node) in known:
        return known[id(node)]
    known[id(node)] = MOST_ENTRIES + 1, 0  # until it is known: a node within itself
    value = node.value
    inner = [part for item in value for part in (item if isinstance(item, tuple) else (item,))]
    below = [] if isinstance(value, str) else [_extent(part, known) for part in inner]
    entries = 1 + sum(count for count, _ in below)
    depth = 1 + max((depth for _, depth in below), default=0)
    if depth > MOST_DEPTH:
        raise RecursionError
    if entries > MOST_ENTRIES:
        raise ValueError(f"has more than {MOST_ENTRIES:,} entries")
    known[id(node)] = entries, depth
    return entries, depth


def literal(written: str) -> Any:
    """Evaluate a Python literal; ValueError if the text is not a literal or exceeds the bounds."""
    if len(written) > MOST_LITERAL:
        raise ValueError(f"has more than {MOST_LITERAL:,} characters")
    try:
        return ast.literal_eval(written)
    except (MemoryError, RecursionError, SyntaxError, TypeError) as error:
        raise ValueError(f"{written[:40]!r} is no literal") from error
