"""Files of this package and of others, and how to install extras."""

import functools
import importlib.util
import os
from pathlib import Path

from mjgym.util.suggestions import did_you_mean


@functools.cache
def assets() -> Path:
    return _folder("assets")


@functools.cache
def scripts() -> Path:
    return _folder("scripts")


def package_folder(name: str) -> Path:
    """The folder of another installed package, which is not imported."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"{name} is not installed", name=name)
    return Path(spec.origin).parent


def install(extra: str) -> str:
    return f'pip install -e ".[{extra}]"'


def _folder(name: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    installed = package / name  # in a wheel the files are inside the package
    return installed if installed.is_dir() else package.parents[1] / name


def asset_path(name: str) -> Path:
    """The path of one of the package's assets; a FileNotFoundError names the nearest ones."""
    path = Path(os.path.normpath(assets() / name))
    if path.is_file() and path.is_relative_to(assets()):  # a path from the root is any file
        return path
    known = sorted(p.relative_to(assets()).as_posix() for p in assets().rglob("*.xml"))
    hint = did_you_mean(name, known) or f" in {assets()}"
    raise FileNotFoundError(f"no asset {name!r}{hint}")
