"""Paths of the package's MJCF files."""

from pathlib import Path

from mjgym.util.packaged import assets
from mjgym.util.suggestions import did_you_mean


def asset_path(name: str) -> Path:
    """The path of one of the package's assets.

    Args:
        name: relative to the assets folder, e.g. "dmc/walker.xml".

    Raises:
        FileNotFoundError: no such asset; the message names the nearest ones.
    """
    path = assets() / name
    if path.is_file():
        return path
    known = sorted(p.relative_to(assets()).as_posix() for p in assets().rglob("*.xml"))
    hint = did_you_mean(name, known) or f" in {assets()}"
    raise FileNotFoundError(f"no asset {name!r}{hint}")
