"""Requirements of compiling hooks: LLVM and the engine's library, usable."""

import contextlib
import ctypes
import functools
import importlib
import os
import warnings
from pathlib import Path

import mujoco

from mjgym.util.packaged import install

SWITCH = "MJGYM_DISABLE_COMPILED"
ENGINE = (
    *("mj_step1", "mj_step2", "mj_step", "mj_forwardSkip"),
    *("mj_setState", "mj_getState", "mj_resetData", "mj_rnePostConstraint"),
    "mju_setLogHandler",
)


@functools.cache
def refusal() -> str:
    """The reason why hooks cannot be compiled; empty if they can.

    A warning has been issued, unless LLVM is missing or switched off.
    """
    if os.environ.get(SWITCH) == "1":
        return f"{SWITCH}=1 switches compiled hooks off"
    try:
        importlib.import_module("llvmlite.binding")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "llvmlite":
            return f"llvmlite is not installed: {install('fast')}"
        raise
    except Exception as error:  # a library that cannot be loaded
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return warned(f"LLVM cannot be loaded: {text}")
    return "" if engine() else warned("the engine's library is not where its package has it")


@functools.cache
def engine() -> dict[str, int]:
    """Addresses of the engine's functions by name; none if its library is not found."""
    names = "mujoco.dll" if os.name == "nt" else "libmujoco.*"
    for path in sorted(Path(mujoco.__file__).parent.glob(names)):
        with contextlib.suppress(OSError, AttributeError):
            library = ctypes.CDLL(str(path))
            return {x: ctypes.cast(getattr(library, x), ctypes.c_void_p).value or 0 for x in ENGINE}
    return {}


@functools.cache
def warned(reason: str) -> str:
    """Warn that hooks run on arrays, once per reason; returns the reason."""
    text = f"hooks run on arrays, which takes longer: {reason}"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
    return reason
