"""Output of commands: text for a terminal or a pipe, or JSON."""

import contextlib
import importlib.util
import json
import math
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NoReturn, cast

import typer

from mjgym.util import atomic
from mjgym.util.bounded import reason
from mjgym.util.packaged import install
from mjgym.util.values import plain

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

PIPED_WIDTH = 200  # columns without a terminal, enough to search whole lines
NARROW = 70  # columns, below which a table would mostly fold


def console(*, stderr: bool = False) -> "Console":
    """A console for text, without markup: names may contain brackets."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    terminal = stream.isatty()
    return Console(
        file=stream if terminal else cast(IO[str], _Trimmed(stream)),
        width=None if terminal or "COLUMNS" in os.environ else PIPED_WIDTH,
        markup=False,
        highlight=False,
        emoji=False,
    )


def say(text: object, *, stderr: bool = False) -> None:
    console(stderr=stderr).print(text, soft_wrap=True)


def fail(text: object) -> NoReturn:
    say(text, stderr=True)
    raise typer.Exit(1)


@contextlib.contextmanager
def failing(*errors: type[Exception], prefix: str = "") -> Iterator[None]:
    """Print these errors instead of a traceback, and exit with status 1."""
    try:
        yield
    except errors as error:
        fail(f"{prefix}{sentence(error)}")


def sentence(error: BaseException) -> str:
    return reason(error) if isinstance(error, OSError | MemoryError) else str(error)


@contextlib.contextmanager
def refusing(*errors: type[Exception], prefix: str = "", hint: str | None = None) -> Iterator[None]:
    """Report these errors as those of the command line, or of its argument `hint`."""
    try:
        yield
    except errors as error:
        raise typer.BadParameter(f"{prefix}{error}", param_hint=hint) from None


def require_folder(*files: Path | None, hint: str | None = None) -> None:
    """Check that output files can be written, before there is anything to write."""
    try:
        for file in filter(None, files):
            atomic.require_folder(file)
    except OSError as error:
        raise typer.BadParameter(reason(error), param_hint=hint) from None


def progress(*texts: str) -> "Progress":
    """A progress bar on a terminal's stderr; texts replace the count and the time left."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    shown = console(stderr=True)
    behind: list[ProgressColumn] = [TextColumn(text) for text in texts]
    behind = behind or [MofNCompleteColumn(), TimeRemainingColumn()]
    columns = (TextColumn("{task.description}"), BarColumn(), *behind)
    return Progress(*columns, console=shown, transient=True, disable=not shown.is_terminal)


class _Trimmed:
    """A stream that strips the padding of tables at line ends."""

    def __init__(self, stream: IO[str]) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        return self._stream.write(re.sub(r" +$", "", text, flags=re.MULTILINE))


def table(*columns: str, right: tuple[str, ...] = (), fold: tuple[str, ...] = ()) -> "Table":
    """A table without frame; columns of `fold` shrink first if space is short."""
    from rich import box
    from rich.table import Table

    grid = Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        collapse_padding=True,
        header_style="bold",
    )
    for title in columns:
        grid.add_column(
            title,
            justify="right" if title in right else "left",
            overflow="fold",
            ratio=1 if title in fold else None,
        )
    return grid


def fits(out: "Console", made: "Table") -> bool:
    return width_of(out, made) <= out.width


def width_of(out: "Console", made: "Table") -> int:
    return out.measure(made, options=out.options.update(width=10_000)).maximum


def is_piped() -> bool:
    return not sys.stdout.isatty() and "COLUMNS" not in os.environ


def facts(rows: dict[str, str]) -> "Table":
    """A table of names and values."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in rows.items():
        grid.add_row(name, value)
    return grid


def print_json(data: Any) -> None:
    print(to_json(data))


def to_json(data: Any) -> str:
    """Strict JSON; non-finite numbers become null."""
    return json.dumps(_finite(plain(data)), indent=2, allow_nan=False)


def _finite(data: Any) -> Any:
    if isinstance(data, float) and not math.isfinite(data):
        return None
    if isinstance(data, dict):
        return {name: _finite(item) for name, item in data.items()}
    if isinstance(data, list):
        return [_finite(item) for item in data]
    return data


@contextlib.contextmanager
def reserved(json: bool) -> Iterator[None]:
    with contextlib.redirect_stdout(sys.stderr) if json else contextlib.nullcontext():
        yield


def require(*packages: str, extra: str = "train") -> None:
    """Check that packages of an extra are installed."""
    missing = [name for name in packages if importlib.util.find_spec(name) is None]
    if missing:
        are = "is" if len(missing) == 1 else "are"
        fail(f"{' and '.join(missing)} {are} not installed: {install(extra)}")
