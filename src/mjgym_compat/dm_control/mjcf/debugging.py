"""Debug mode: elements remember the lines of Python that made and changed them.

It is on after `enable_debug_mode`, or if a program's arguments have `--pymjcf_debug`; with
`--pymjcf_debug_full_dump_dir=FOLDER` a model that does not compile is written there.
"""

import linecache
import re
import sys
from pathlib import Path
from typing import Any, NamedTuple

_FLAG, _DUMP_FLAG = "--pymjcf_debug", "--pymjcf_debug_full_dump_dir"
_OURS = str(Path(__file__).parent)
_LINE = re.compile(r"line (\d+)")

_STATE: dict[str, Any] = {}  # what was set in the program, which goes before its arguments


class StackTraceEntry(NamedTuple):
    """A call: file, line, function, and the line's text."""

    filename: str
    line_number: int
    function_name: str
    text: str


def debug_mode() -> bool:
    """Whether debug mode is on."""
    enabled: bool = _STATE.get("enabled", _FLAG in sys.argv)
    return enabled


def enable_debug_mode() -> None:
    """Turn debug mode on."""
    _STATE["enabled"] = True


def disable_debug_mode() -> None:
    """Turn debug mode off."""
    _STATE["enabled"] = False


def set_full_dump_dir(dump_path: str) -> None:
    """Set the folder that models which do not compile are written to; "" for none."""
    _STATE["dump"] = dump_path


def get_full_dump_dir() -> str:
    """Folder that models which do not compile are written to; "" for none."""
    given = [arg.partition("=")[2] for arg in sys.argv if arg.startswith(f"{_DUMP_FLAG}=")]
    folder: str = _STATE.get("dump", "".join(given[-1:]))
    return folder


def get_current_stack_trace() -> list[StackTraceEntry]:
    """Calls outside this package that led here, innermost last; [] without debug mode."""
    if not debug_mode():
        return []
    entries: list[StackTraceEntry] = []
    frame: Any = sys._getframe(1)
    while frame is not None:
        file, line = frame.f_code.co_filename, frame.f_lineno
        if entries or not file.startswith(_OURS):
            text = linecache.getline(file, line).strip()
            entries.append(StackTraceEntry(file, line, frame.f_code.co_name, text))
        frame = frame.f_back
    return entries[::-1]


def explained(error: ValueError, model: Any) -> ValueError:
    """A compiler's error about a model, with the lines that made and changed the element.

    Writes the model to the folder for dumps, if debug mode is on and there is one.
    """
    if not debug_mode():
        return ValueError(f"{error}\nRun with {_FLAG} to see the lines that made the element.")
    lines, elements = _numbered(model)
    parts = [str(error)]
    if match := _LINE.search(str(error)):
        element = elements.get(int(match[1]) - 1)
        parts += [] if element is None else [_history(element)]
    if folder := get_full_dump_dir():
        _dump(Path(folder), lines, elements)
    else:
        parts.append(f"Run with {_DUMP_FLAG}=FOLDER to write the model with all lines there.")
    return ValueError("\n".join(parts))


def _numbered(model: Any) -> tuple[list[str], dict[int, Any]]:
    """Lines of the model's XML, and the element of each line."""
    made: dict[Any, Any] = {}
    xml = model.to_xml(debug_context=made)
    from lxml import etree

    lines = etree.tostring(xml, pretty_print=True, encoding=str).splitlines()
    elements: dict[int, Any] = {}
    open_elements: list[Any] = []
    order = xml.iter()
    for number, line in enumerate(lines):
        text = line.strip()
        if text.startswith("</"):
            elements[number] = open_elements.pop()
            continue
        elements[number] = made.get(next(order))
        if not text.endswith("/>"):
            open_elements.append(elements[number])
    return lines, elements


def _history(element: Any) -> str:
    rows = [f"Element: {element}", f"made at {_place(element.get_init_stack())}"]
    for name, stack in element.get_last_modified_stacks_for_all_attributes().items():
        rows.append(f"{name!r} was set at {_place(stack)}")
    return "\n  ".join(rows)


def _place(stack: list[StackTraceEntry] | None) -> str:
    return f"{stack[-1].filename}:{stack[-1].line_number}" if stack else "an unknown line"


def _dump(folder: Path, lines: list[str], elements: dict[int, Any]) -> None:
    numbers: dict[int, int] = {}
    marked = []
    for line, element in zip(lines, elements.values(), strict=True):
        if element is None:
            marked.append(line)
            continue
        number = numbers.setdefault(id(element), len(numbers))
        marked.append(f"{line}<!--pymjcfdebug:{number}-->")
        calls = "\n".join(map(str, element.get_init_stack() or ()))
        text = f"{_history(element)}\n\n{element.to_xml_string()}\n{calls}\n"
        (folder / f"{number}.dump").write_text(text)
    (folder / "model.xml").write_text("\n".join(marked))
