"""Files by their names."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def GetResource(name: str, mode: str = "rb") -> Any:
    """The contents of a file."""
    return Path(name).read_bytes() if "b" in mode else Path(name).read_text()


def GetResourceFilename(name: str, mode: str = "rb") -> str:
    """The path of a file: its name."""
    return name


def WalkResources(path: str) -> Iterator[tuple[str, list[str], list[str]]]:
    """Walk a folder like `os.walk`."""
    return os.walk(path)
