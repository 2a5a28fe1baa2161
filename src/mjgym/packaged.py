"""Where the files that come with the package lie: models, guides."""

import functools
from pathlib import Path


@functools.cache
def assets() -> Path:
    """The folder of all of them."""
    package = Path(__file__).resolve().parent
    installed = package / "assets"  # in a wheel the files travel inside the package
    return installed if installed.is_dir() else package.parents[1] / "assets"
