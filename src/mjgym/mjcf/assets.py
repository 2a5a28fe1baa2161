"""Where the package's MJCF files lie."""

import functools
from pathlib import Path

from mjgym.suggestions import did_you_mean


@functools.cache
def _root() -> Path:
    package = Path(__file__).resolve().parents[1]
    installed = package / "assets"  # in a wheel the files travel inside the package
    return installed if installed.is_dir() else package.parents[1] / "assets"


def asset_path(name: str) -> Path:
    """The path of one of the package's assets.

    Args:
        name: relative to the assets folder, e.g. "dmc/walker.xml".

    Raises:
        FileNotFoundError: there is no such asset; the message names the nearest ones.
    """
    path = _root() / name
    if path.is_file():
        return path
    known = sorted(p.relative_to(_root()).as_posix() for p in _root().rglob("*.xml"))
    hint = did_you_mean(name, known) or f" in {_root()}"
    raise FileNotFoundError(f"no asset {name!r}{hint}")
