"""Object code of compiled hooks, kept in the user's folder of caches.

The name of a file is a digest of all that its code depends on, so nothing in it grows old. A folder
that cannot be read or written, or a damaged file, only costs the time to compile.
"""

import contextlib
import hashlib
import os
import sys
from collections.abc import Callable
from pathlib import Path

from mjgym.util.atomic import replacing

MOST = 1_500  # files; the ones that were read longest ago are deleted
_DIGEST = 32  # bytes


def folder() -> Path:
    """The folder that keeps compiled code.

    Raises:
        RuntimeError: there is no home directory.
    """
    named = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME")
    usual = "Library/Caches" if sys.platform == "darwin" else ".cache"
    return (Path(named) if named else Path.home() / usual) / "mjgym" / "hooks"


def object_of(text: str, settings: str, compile: Callable[[], bytes]) -> bytes:
    """The object code of a text, read from a file or compiled and kept.

    Args:
        settings: of the compiler.
    """
    name = hashlib.sha256(f"{settings}\n{text}".encode()).hexdigest()
    with contextlib.suppress(Exception):  # whatever the folder is
        file = folder() / name
        digest, code = (kept := file.read_bytes())[:_DIGEST], kept[_DIGEST:]
        if hashlib.sha256(code).digest() == digest:
            os.utime(file)
            return code
    code = compile()
    with contextlib.suppress(Exception):
        folder().mkdir(parents=True, exist_ok=True)
        with replacing(folder() / name) as part:
            part.write_bytes(hashlib.sha256(code).digest() + code)
        by_age = sorted(folder().iterdir(), key=lambda x: x.stat().st_mtime)
        for old in by_age[:-MOST]:
            old.unlink()
    return code
