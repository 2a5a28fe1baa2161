"""Attribute values of MJCF elements: conversion from Python, and text in XML."""

import hashlib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.util.suggestions import or_else


class Asset:
    """Contents of a file that a model names.

    Args:
        contents: of the file.
        extension: of its name, with the dot.
        prefix: beginning of its name; files with the same contents and prefix are one file.
    """

    def __init__(self, contents: str | bytes, extension: str, prefix: str = "") -> None:
        self.contents = contents.encode() if isinstance(contents, str) else contents
        self.extension = extension
        self.prefix = prefix

    def get_vfs_filename(self) -> str:
        """File name, made of the prefix, the SHA-1 of the contents, and the extension."""
        digest = hashlib.sha1(self.contents).hexdigest()
        return "-".join(filter(None, [self.prefix, digest])) + self.extension

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asset) and self.get_vfs_filename() == other.get_vfs_filename()

    def __hash__(self) -> int:
        return hash(self.get_vfs_filename())


def number_text(value: float, precision: int, zero_threshold: float) -> str:
    """Shortest text with at most this many significant digits."""
    if abs(value) < zero_threshold:
        value = 0.0
    return f"{value:.{precision}g}"


@dataclass(frozen=True)
class Text:
    """Any text."""

    def convert(self, value: Any) -> Any:
        """The value in the attribute's own type.

        Raises:
            ValueError: it has none.
        """
        if not isinstance(value, str):
            raise ValueError(f"expected a string, got {value!r}")
        return value

    def text(self, value: Any, precision: int = 17, zero_threshold: float = 0.0) -> str:
        """The value in XML."""
        del precision, zero_threshold
        return str(value)


@dataclass(frozen=True)
class Keyword(Text):
    """One of several words, in any case; booleans stand for "true" and "false"."""

    words: Collection[str]

    def convert(self, value: Any) -> str:
        """See `Text`."""
        if isinstance(value, bool | np.bool_):
            value = "true" if value else "false"
        by_lower = {word.lower(): word for word in self.words}
        word = by_lower.get(str(value).lower())
        if word is None:
            listed = ", ".join(self.words)
            raise ValueError(
                f"expected one of {listed}, got {value!r}{or_else(str(value), list(self.words))}"
            )
        return word


@dataclass(frozen=True)
class Number(Text):
    """A number; several where newer engines take several.

    Args:
        kind: int or float.
    """

    kind: type = float

    def convert(self, value: Any) -> Any:
        """See `Text`."""
        row = Array(None, self.kind).convert(value)
        if self.kind is int and row.size != 1:
            raise ValueError(f"expected one number, got {value!r}")
        if self.kind is int and row[0] != float(np.ravel(value)[0]):
            raise ValueError(f"expected a whole number, got {value!r}")
        return row.item() if row.size == 1 else row

    def text(self, value: Any, precision: int = 17, zero_threshold: float = 0.0) -> str:
        """See `Text`."""
        return Array(None, self.kind).text(np.atleast_1d(value), precision, zero_threshold)


@dataclass(frozen=True)
class Array(Text):
    """A row of numbers.

    Args:
        size: the most of them; None for any number.
        kind: int or float.
    """

    size: int | None = None
    kind: type = float

    def convert(self, value: Any) -> np.ndarray:
        """See `Text`."""
        dtype = np.int64 if self.kind is int else np.float64
        try:
            numbers = value.split() if isinstance(value, str) else value
            array = np.array(numbers, dtype=dtype)
        except (TypeError, ValueError):
            raise ValueError(f"expected numbers, got {value!r}") from None
        if array.ndim > 1:
            raise ValueError(f"expected one row of numbers, got shape {array.shape}")
        array = array.reshape(-1)
        if self.size is not None and array.size > self.size:
            raise ValueError(f"expected no more than {self.size} entries, got {array.size}")
        return array

    def text(self, value: Any, precision: int = 17, zero_threshold: float = 0.0) -> str:
        """See `Text`."""
        if self.kind is int:
            return " ".join(map(str, value.tolist()))
        return " ".join(number_text(x, precision, zero_threshold) for x in value.tolist())


@dataclass(frozen=True)
class Memory(Text):
    """An amount of memory, such as "1M"."""

    def convert(self, value: Any) -> str:
        """See `Text`."""
        text = str(value)
        self.bytes(text)
        return text

    @staticmethod
    def bytes(text: str) -> int:
        """Number of bytes; -1 for the engine's own choice.

        Raises:
            ValueError: it is no amount.
        """
        powers = "BKMGTPE"
        power = powers.find(text[-1:].upper()) if text else -1
        try:
            number = int(text) if power < 0 else int(text[:-1])
        except ValueError:
            raise ValueError(f"expected bytes such as '1M', got {text!r}") from None
        return number if power < 0 else number * 1024**power


@dataclass(frozen=True)
class File(Text):
    """A file, as an `Asset`."""

    def convert(self, value: Any) -> Asset:
        """See `Text`; a path is read."""
        if isinstance(value, Asset):
            return value
        path = Path(str(value))
        return Asset(path.read_bytes(), path.suffix, path.stem)

    def text(self, value: Any, precision: int = 17, zero_threshold: float = 0.0) -> str:
        """See `Text`."""
        del precision, zero_threshold
        name: str = value.get_vfs_filename()
        return name


@dataclass(frozen=True)
class Identifier(Text):
    """The name of an element among those of its kind."""


@dataclass(frozen=True)
class Reference(Text):
    """Another element, itself or by name.

    Args:
        namespace: its kind, or the attribute that holds it ("@objtype").
    """

    namespace: str

    def convert(self, value: Any) -> Any:
        """See `Text`."""
        return value
