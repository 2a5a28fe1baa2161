"""Packaged files (models, guides, gallery, example programs), and how to install extras."""

import functools
from pathlib import Path


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
