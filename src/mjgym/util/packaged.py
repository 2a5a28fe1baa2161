"""Paths of packaged files: models, guides, gallery, example programs."""

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


def _folder(name: str) -> Path:
    package = Path(__file__).resolve().parents[1]
    installed = package / name  # in a wheel the files travel inside the package
    return installed if installed.is_dir() else package.parents[1] / name
