"""Patches under which the published dm_control runs on this MuJoCo."""

import importlib
import importlib.util
import os
import pkgutil
import sys
from ctypes.util import find_library
from types import ModuleType
from typing import Any

import mujoco

MJCF = "dm_control.mjcf"
_HEADLESS = {"egl": "EGL", "osmesa": "OSMesa"}  # libraries by MUJOCO_GL
# Modules of `dm_control.mjcf` that have another name here.
_RENAMED = {"base": "element", "export_with_assets_as_zip": "export_with_assets"}


def apply(mjcf: bool = True) -> None:
    """Apply all patches.

    Args:
        mjcf: whether `dm_control.mjcf` is `mjgym_compat.dm_control.mjcf`.

    Raises:
        ImportError: `dm_control.mjcf` was imported already, so that classes of both would meet.
    """
    answer_labmaze()
    import_where_it_can_draw()
    drop_removed_fields()
    if mjcf:
        answer_mjcf()


def answer_labmaze() -> None:
    """Replace labmaze, which has no wheel for Python 3.13, where it is not installed."""
    if importlib.util.find_spec("labmaze") is None:
        sys.modules["labmaze"] = importlib.import_module("mjgym_compat.dm_control.labmaze")


def import_where_it_can_draw() -> None:
    """Import dm_control's OpenGL backend; without a display, one that needs none.

    By itself it chooses GLFW there, which fails at the first picture. The variables are restored:
    they would choose the OpenGL of this program's own pictures.
    """
    before = {name: os.environ.get(name) for name in ("MUJOCO_GL", "PYOPENGL_PLATFORM")}
    if sys.platform == "linux" and not (os.environ.get("DISPLAY") or before["MUJOCO_GL"]):
        found = (word for word, library in _HEADLESS.items() if find_library(library))
        os.environ["MUJOCO_GL"] = next(found, "disable")
    try:
        importlib.import_module("dm_control.mujoco")
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            os.environ.update({} if value is None else {name: value})


def drop_removed_fields() -> None:
    """Drop fields of MjModel and MjData that MuJoCo 4.0 removed from a table of arrays.

    `Physics.named` reads every field of that table, which was generated from MuJoCo 3's headers.
    """
    sizes = importlib.import_module("dm_control.mujoco.wrapper.mjbindings.sizes")
    engine = {"mjmodel": mujoco.MjModel, "mjdata": mujoco.MjData}
    for struct, fields in sizes.array_sizes.items():
        for name in [n for n in fields if not hasattr(engine[struct], n)]:
            del fields[name]


def answer_mjcf() -> None:
    """Replace `dm_control.mjcf` and its modules by those of this package.

    Its `Physics` is dm_control's own, with the binding of here.
    """
    ours = importlib.import_module("mjgym_compat.dm_control.mjcf")
    if MJCF in sys.modules:
        if sys.modules[MJCF].__dict__.get("RootElement") is ours.RootElement:
            return
        raise ImportError(f"{MJCF} was imported already; call install('dm_control') before")
    theirs = importlib.import_module("dm_control.mujoco").Physics
    modules = {found.name for found in pkgutil.iter_modules(ours.__path__)}
    for name in (*sorted(modules), *_RENAMED):
        inner = importlib.import_module(f"{ours.__name__}.{_RENAMED.get(name, name)}")
        sys.modules[f"{MJCF}.{name}"] = inner
    physics = sys.modules[f"{MJCF}.physics"]
    bound = type("Physics", (physics.__dict__["Binds"], theirs), {"__module__": f"{MJCF}.physics"})
    sys.modules[f"{MJCF}.physics"] = _variant(f"{MJCF}.physics", physics, Physics=bound)
    renamed = {name: sys.modules[f"{MJCF}.{name}"] for name in _RENAMED if not hasattr(ours, name)}
    package = _variant(MJCF, ours, Physics=bound, physics=sys.modules[f"{MJCF}.physics"], **renamed)
    sys.modules[MJCF] = package
    importlib.import_module("dm_control").mjcf = package  # type: ignore[attr-defined]


def _variant(name: str, module: ModuleType, **members: Any) -> ModuleType:
    """A copy of a module with some members replaced."""
    variant = ModuleType(name, module.__doc__)
    variant.__dict__.update({n: v for n, v in vars(module).items() if not n.startswith("__")})
    variant.__dict__.update(members, __path__=getattr(module, "__path__", []))
    if hasattr(module, "__all__"):
        variant.__dict__["__all__"] = module.__all__
    return variant
