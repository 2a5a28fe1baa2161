"""Requirements of compiling hooks: LLVM and the engine's library, usable."""

import functools
import importlib
import os
import warnings

from mjgym.util.packaged import install

SWITCH = "MJGYM_DISABLE_COMPILED"


@functools.cache
def refusal() -> str:
    """The reason why hooks cannot be compiled; empty if they can.

    A warning has been issued, unless LLVM is missing or switched off.
    """
    if os.environ.get(SWITCH) == "1":
        return f"{SWITCH}=1 switches compiled hooks off"
    try:
        importlib.import_module("llvmlite.binding")
        library = importlib.import_module("mjgym_fast.library")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "llvmlite":
            return f"llvmlite is not installed: {install('fast')}"
        raise
    except Exception as error:  # a library that cannot be loaded
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return warned(f"LLVM cannot be loaded: {text}")
    if library.engine() is None:
        return warned("the engine's library is not where its package has it")
    return ""


@functools.cache
def warned(reason: str) -> str:
    """Warn that hooks run on arrays, once per reason; returns the reason."""
    text = f"hooks run on arrays, which takes longer: {reason}"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
    return reason
