"""Packaged files (models, guides, gallery, example programs), and how to install extras."""

import functools
from pathlib import Path

from mjgym.util.suggestions import did_you_mean


@functools.cache
def assets() -> Path:
    """The folder of models, guides and the gallery."""
    return _folder("assets")


@functools.cache
def scripts() -> Path:
    """The folder of tutorials and examples."""
    return _folder("scripts")


def install(extra: str) -> str:
    """The command that installs an extra, in a clone."""
    return f'pip install -e ".[{extra}]"'


def _folder(name: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    installed = package / name  # in a wheel the files are inside the package
    return installed if installed.is_dir() else package.parents[1] / name


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
