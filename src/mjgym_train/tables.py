"""Tables of dataclasses as CSV files, a column for each field."""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, fields
from pathlib import Path
from typing import Any, TypeVar

from mjgym.policies.run_errors import RunError

T = TypeVar("T")


def columns(cls: Any) -> list[str]:
    return [field.name for field in fields(cls)]


def read(path: Path, cls: type[T]) -> list[T]:
    """The rows of a file, for fields that are text or numbers."""
    kinds: list[Any] = [field.type for field in fields(cls)]  # type: ignore[arg-type]
    try:
        with path.open(newline="", encoding="utf-8") as file:
            header, *lines = csv.reader(file)
    except csv.Error as error:
        raise ValueError(str(error)) from None
    if header != columns(cls):
        raise ValueError(f"its columns are {', '.join(header)}, not {', '.join(columns(cls))}")
    return [cls(*(kind(cell) for kind, cell in zip(kinds, line, strict=True))) for line in lines]


def kept(path: Path, cls: type[T]) -> list[T]:
    """The rows of a file, [] if it does not exist; RunError if it is damaged."""
    try:
        return read(path, cls) if path.exists() else []
    except (OSError, ValueError) as error:
        raise RunError(f"{path} is damaged: {error}") from None


def text(rows: Iterable[Any], cls: Any) -> str:
    """The content of a file with these rows."""
    content = io.StringIO(newline="")
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow(columns(cls))
    writer.writerows(map(astuple, rows))
    return content.getvalue()
