"""The code blocks of a Markdown file, and a program that runs them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_BLOCK = re.compile(r"(?:<!-- module: (\w+) -->\n)?```python( gl)?\n(.*?)```", re.DOTALL)


def modules(page: Path) -> dict[str, str]:
    """The blocks that are modules of their own, by name."""
    return {name: code for name, _, code in _BLOCK.findall(page.read_text()) if name}


def needs_gl(page: Path) -> bool:
    """Whether a block draws."""
    return any(gl for _, gl, _ in _BLOCK.findall(page.read_text()))


def program(page: Path) -> str:
    """All other blocks one after the other, each at the line where it stands on the page."""
    text = page.read_text()
    lines = [""] * text.count("\n")
    for block in _BLOCK.finditer(text):
        if not block[1]:
            first = text.count("\n", 0, block.start(3))
            code = block[3].splitlines()
            lines[first : first + len(code)] = code
    return "\n".join(lines)


def write_modules(folder: Path, *pages: Path) -> None:
    """Write the modules of some pages into a folder."""
    for page in pages:
        for name, code in modules(page).items():
            (folder / f"{name}.py").write_text(code)
