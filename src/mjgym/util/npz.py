"""Arrays from NPZ files, with names and sizes checked before reading."""

import math
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mjgym.util.bounded import opened

_HEADERS = {  # by the version of an array's format
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_DAMAGE = (
    EOFError,
    IndexError,
    KeyError,
    NotImplementedError,  # an archive's compression
    RuntimeError,  # a password
    SyntaxError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


def read(path: str | Path, wanted: Callable[[str], bool], most: int) -> dict[str, np.ndarray]:
    """Read the wanted arrays of a file, by name; others are ignored.

    NumPy allocates the size in a header before it reads on, and an archive may inflate to a
    thousand times its size: both are checked first. Pickled objects are never loaded.
    """
    with opened(path) as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("not an NPZ file")
        try:
            with zipfile.ZipFile(file) as archive:
                entries = {
                    name: entry
                    for entry in archive.infolist()
                    if wanted(name := entry.filename.removesuffix(".npy"))
                }
                left = most
                for entry in entries.values():
                    size = _size(archive, entry)
                    if size > left:
                        raise ValueError(
                            f"{entry.filename} has {size:,} bytes; {left:,} are the most"
                        )
                    left -= size
                arrays = {}
                for name, entry in entries.items():
                    with archive.open(entry) as member:
                        arrays[name] = np.lib.format.read_array(member, allow_pickle=False)
        except _DAMAGE as error:
            reason = str(error).strip("'") or type(error).__name__
            raise ValueError(reason) from None
    return arrays


def names(path: str | Path) -> list[str]:
    """List the names of the arrays in a file."""
    try:
        with opened(path) as file, zipfile.ZipFile(file) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except _DAMAGE as error:
        raise ValueError(str(error)) from None


def _size(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> int:
    """Size of an array in bytes by its header; ValueError if the file has another size."""
    try:
        with archive.open(entry) as member:
            version = np.lib.format.read_magic(member)
            shape, _, dtype = _HEADERS[version](member)
            there = entry.file_size - member.tell()
    except _DAMAGE as error:
        raise ValueError(f"{entry.filename} is no array: {error}") from None
    size = math.prod(shape) * dtype.itemsize
    if dtype.hasobject:
        raise ValueError(f"{entry.filename} holds Python objects, which are not loaded")
    if size != there:
        raise ValueError(f"{entry.filename} promises {size:,} bytes and has {there:,}")
    return size
