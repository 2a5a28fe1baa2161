"""`mjgym guide`: the guides, in a terminal."""

import ast
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from mjgym.cli.output import console, facts
from mjgym.cli.shared_options import beginning
from mjgym.util.packaged import assets, scripts
from mjgym.util.suggestions import or_else

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

INDEX = "index.md"
_LISTED = re.compile(r"\]\((\w+)\.md\)")  # a link in the index
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)
_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\([^)\n]+\)")
WIDTH = 104  # columns, at most: an indented line of code


@dataclass(frozen=True)
class Guide:
    """One guide."""

    name: str  # on the command line
    summary: str  # its first sentence
    text: str  # Markdown


def guides() -> dict[str, Guide]:
    """All guides by name, in the order of the index; others come last."""
    folder = assets() / "guides"
    there = {path.stem: path for path in sorted(folder.glob("*.md")) if path.name != INDEX}
    listed = _LISTED.findall((folder / INDEX).read_text("utf-8"))
    names = dict.fromkeys([name for name in listed if name in there] + list(there))
    texts = {name: there[name].read_text("utf-8") for name in names}
    return {
        name: Guide(name, re.sub(r"[`*]", "", _LINK.sub(r"\1", _paragraph(text, 1))), text)
        for name, text in texts.items()
    }


def programs() -> dict[str, Guide]:
    """Tutorials and examples by name, one program each."""
    folders = [scripts() / folder for folder in ("tutorials", "examples")]
    files = [path for folder in folders for path in sorted(folder.glob("*.py"))]
    texts = {path.stem: path.read_text("utf-8") for path in files}
    documented = {name: ast.get_docstring(ast.parse(text)) or "" for name, text in texts.items()}
    return {n: Guide(n, _paragraph(documented[n], 0), text) for n, text in texts.items()}


def _paragraph(text: str, number: int) -> str:
    return text.split("\n\n")[number].replace("\n", " ")


def guide(
    name: Annotated[
        str | None,
        typer.Argument(
            help="The guide to show; without it, list all.",
            autocompletion=lambda incomplete: beginning(incomplete, [*guides(), *programs()]),
        ),
    ] = None,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the Markdown source.")
    ] = False,
) -> None:
    """Show a guide, a tutorial or an example; without a name, list them.

    Tutorials and examples are programs: mjgym guide press_button --markdown > press_button.py
    """
    known, runnable = guides(), programs()
    if name is None:
        out = console()
        out.print(facts({guide.name: guide.summary for guide in known.values()}))
        out.print("\nTutorials and examples, programs to run", style="bold")
        out.print(facts({program.name: program.summary for program in runnable.values()}))
        return
    wanted = re.sub(r"\.(md|py)$", "", name).replace("-", "_").lower()
    known = runnable | known
    page = known.get(wanted)
    if page is None:
        hint = or_else(name, known)
        raise typer.BadParameter(f"there is no guide {name!r}{hint}", param_hint="'[NAME]'")
    if markdown:
        print(page.text)
        return
    out = console()
    text = f"```python\n{page.text}```" if wanted in runnable else page.text
    shown = _rendered(text)
    if out.is_terminal:
        os.environ.setdefault("LESS", "FRX")  # colours, and no pager for a single screen
        with out.pager(styles=True):
            out.print(shown, width=min(out.width, WIDTH))
    else:
        out.print(shown, width=min(out.width, WIDTH))


def _rendered(text: str) -> Any:
    from rich.markdown import Heading, Markdown
    from rich.text import Text

    class Title(Heading):
        def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
            text = self.text.copy()
            text.justify = "left"
            yield Text("") if self.tag != "h1" else Text("", end="")
            yield text

    class Rendered(Markdown):
        elements: ClassVar[dict[str, Any]] = {**Markdown.elements, "heading_open": Title}

    text = _LINK.sub(r"\1", _COMMENT.sub("", text))
    return Rendered(text, code_theme="ansi_dark", hyperlinks=False)
