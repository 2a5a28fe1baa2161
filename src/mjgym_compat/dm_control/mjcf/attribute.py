"""Types of MJCF attributes: conversion from Python values and to text in XML."""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control.mjcf import skin
from mjgym_compat.dm_control.mjcf.constants import FRAME, PREFIX_SEPARATOR

_INVALID_REFERENCE_TYPE = "expected a reference to a <{valid_type}>, got a <{actual_type}>"


class Asset:
    """Contents of a file referred to by a model."""

    def __init__(self, contents: str | bytes, extension: str, prefix: str = "") -> None:
        self._contents = contents.encode() if isinstance(contents, str) else contents
        self.extension = extension
        self.prefix = prefix

    @property
    def contents(self) -> bytes:
        return self._contents

    def get_vfs_filename(self, filename_with_hash: bool = True) -> str:
        """File name, made of the prefix, the SHA-1 of the contents, and the extension."""
        if self.prefix and not filename_with_hash:
            return self.prefix + self.extension
        digest = hashlib.sha1(self.contents).hexdigest()
        return "-".join(filter(None, [self.prefix, digest])) + self.extension

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Asset) and self.get_vfs_filename() == other.get_vfs_filename()

    def __hash__(self) -> int:
        return hash(self.get_vfs_filename())


class SkinAsset(Asset):
    """A skin file; bones are written with the full identifiers of their bodies."""

    def __init__(
        self, contents: bytes, extension: str, prefix: str, get_body: Callable[[str], Any]
    ) -> None:
        super().__init__(contents, extension, prefix)
        self._skin = skin.parse(self._contents, get_body)

    @property
    def contents(self) -> bytes:
        return skin.serialize(self._skin)


def number_text(value: float, precision: int, zero_threshold: float) -> str:
    """Shortest text with at most this many significant digits."""
    if abs(value) < zero_threshold:
        value = 0.0
    return f"{value:.{precision}g}"


@dataclass(frozen=True)
class Text:
    """Any text."""

    def convert(self, value: Any, element: Any) -> Any:
        """The value in the attribute's own type."""
        if not isinstance(value, str):
            raise ValueError(f"Expect a string value: got {value!r}")
        return value

    def text(self, value: Any, precision: int = 17, zero_threshold: float = 0.0) -> str | None:
        """The value in XML; None if it is not written."""
        return str(value)


@dataclass(frozen=True)
class Keyword(Text):
    """One of several words, in any case; booleans stand for "true" and "false"."""

    words: Collection[str]

    def convert(self, value: Any, element: Any) -> str:
        words = list(self.words)
        text = str(value).lower()
        word = next((word for word in words if word.lower() == text), None)
        if word is None:
            raise ValueError(
                f"Expect keyword to be one of {words}: got {value!r}{or_else(text, words)}"
            )
        return word


@dataclass(frozen=True)
class Number(Text):
    """An int or float, or an array of them where newer engines accept several."""

    kind: type = float

    def convert(self, value: Any, element: Any) -> Any:
        whole = self.kind is int
        try:
            row = Array(None, self.kind).convert(value, element)
            exact = not whole or row == np.float64(value)
        except (TypeError, ValueError):
            exact = False
        if not exact:
            kind = "an integer" if whole else "a float"
            raise ValueError(f"Expect {kind} value: got {value!r}") from None
        return row.item() if row.size == 1 else row

    def text(self, value: Any, precision: int = 17, zero_threshold: float = 0.0) -> str:
        return Array(None, self.kind).text(np.atleast_1d(value), precision, zero_threshold)


@dataclass(frozen=True)
class Array(Text):
    """A one-dimensional array of at most `size` ints or floats, of any length if None."""

    size: int | None = None
    kind: type = float

    def convert(self, value: Any, element: Any) -> np.ndarray:
        dtype = np.int64 if self.kind is int else np.float64
        try:
            array = np.array(value.split() if isinstance(value, str) else value, dtype=dtype)
        except (TypeError, ValueError):
            raise ValueError(f"Expect numbers: got {value!r}") from None
        if array.ndim > 1:
            raise ValueError(f"Expect a one-dimensional array: got shape {array.shape}")
        array = array.reshape(-1)
        if self.size is not None and array.size > self.size:
            raise ValueError(f"Expect no more than {self.size} entries: got {array.size}")
        return array

    def text(self, value: Any, precision: int = 17, zero_threshold: float = 0.0) -> str:
        if self.kind is int:
            return " ".join(map(str, value.tolist()))
        return " ".join(number_text(x, precision, zero_threshold) for x in value.tolist())


@dataclass(frozen=True)
class Memory(Text):
    """An amount of memory, such as "1M"."""

    def convert(self, value: Any, element: Any) -> str:
        text = str(value)
        self.bytes(text)
        return text

    @staticmethod
    def bytes(text: str) -> int:
        """Number of bytes; -1 for the engine's own choice."""
        powers = "BKMGTPE"
        power = powers.find(text[-1:].upper()) if text else -1
        try:
            number = int(text) if power < 0 else int(text[:-1])
        except ValueError:
            raise ValueError(f"Expect bytes such as '1M': got {text!r}") from None
        return number if power < 0 else number * 1024**power


@dataclass(frozen=True)
class BasePath(Text):
    """Folder of a kind of files; since files are read when assigned, it is never written."""

    files: str

    def text(self, value: Any, precision: int = 17, zero_threshold: float = 0.0) -> None:
        """See `Text`."""


@dataclass(frozen=True)
class File(Text):
    """A file as an `Asset`, in the folder set by the `BasePath` of the same `files`."""

    files: str = "asset"

    def convert(self, value: Any, element: Any) -> Asset:
        """See `Text`; a path is read."""
        if isinstance(value, Asset):
            return value
        if not isinstance(value, str | Path):
            raise ValueError(f"Expect either a string or `Asset` value: got {value!r}")
        path = Path(value)
        contents = element.root.read_file(str(value), self.files)
        if element.tag == "skin":
            return SkinAsset(contents, path.suffix, path.stem, element.root.named_body)
        return Asset(contents, path.suffix, path.stem)

    def text(self, value: Any, precision: int = 17, zero_threshold: float = 0.0) -> str:
        name: str = value.get_vfs_filename()
        return name


@dataclass(frozen=True)
class Identifier(Text):
    """The name of an element among those of its kind."""

    def convert(self, value: Any, element: Any) -> str:
        text: str = super().convert(value, element)
        if PREFIX_SEPARATOR in text:
            raise ValueError(f"{text!r} holds {PREFIX_SEPARATOR!r}, which is reserved for scoping")
        if text == "world" and element.spec.namespace == "body":
            raise ValueError("A body cannot be named 'world', which is the world's name")
        return text


@dataclass(frozen=True)
class Reference(Text):
    """Another element, itself or by name."""

    namespace: str  # its kind, or the attribute that holds it ("@objtype")

    def convert(self, value: Any, element: Any) -> Any:
        if isinstance(value, str):
            return value
        spec = getattr(value, "spec", None)
        wanted = element.referred(self)
        actual = "body" if spec and spec.namespace == FRAME else spec and spec.namespace
        if spec is None or (wanted and actual != wanted):
            raise ValueError(
                _INVALID_REFERENCE_TYPE.format(valid_type=wanted, actual_type=actual or repr(value))
            )
        return value
