"""`install`: published packages of others, made to run on this MuJoCo."""

import importlib
import importlib.util
import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from mjgym.util import packaged
from mjgym.util.values import one_of


@dataclass(frozen=True)
class Published:
    """A published package that patches make run on this MuJoCo.

    Args:
        extra: the extra of this package that installs it.
        version: the one that the patches were tried with.
        patches: "module:function" that applies them, called with the options of `install`. A
            patch does nothing where the package is right already.
        hint: the end of the message where it is not installed.
    """

    extra: str
    version: str
    patches: str
    hint: str = ""


PUBLISHED = {
    "dm_control": Published(
        "dm-control",
        "1.0.50",
        "mjgym_compat.install_dm_control:apply",
        "; where that finds no labmaze, as on Python 3.13, `mjgym guide dm_control` says how",
    ),
    "robosuite": Published(
        "robosuite",
        "1.5.2",
        "mjgym_compat.install_robosuite:apply",
        ", then pip install --no-deps robosuite==1.5.2 (its mink wants NumPy 1)",
    ),
}


def install(package: str, **options: Any) -> None:
    """Make a published package run on this MuJoCo; call it before importing the package.

    Args:
        package: "dm_control" or "robosuite".
        options: of "dm_control": `mjcf`, whether `dm_control.mjcf` is the faster one of here,
            `mjgym_compat.dm_control.mjcf` (True).

    Raises:
        ValueError: there are no patches for such a package.
        ModuleNotFoundError: it is not installed; the message says how to install it.
        ImportError: its version is not one that the patches were tried with.
        TypeError: it has no such option.
    """
    one_of("install", package, PUBLISHED)
    known = PUBLISHED[package]
    if importlib.util.find_spec(package) is None:
        raise ModuleNotFoundError(
            f"{package} is not installed: {packaged.install(known.extra)}{known.hint}",
            name=package,
        )
    found = version(package)
    if not re.fullmatch(rf"{re.escape(known.version)}(\.?post\d+)?", found):
        raise ImportError(
            f"install: {package} {found} is unknown here: patches are for {known.version};"
            f" pip install '{package}=={known.version}', or try {found} without install"
        )
    module, _, function = known.patches.partition(":")
    getattr(importlib.import_module(module), function)(**options)
