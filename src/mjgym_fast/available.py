"""Whether laws can be compiled: numba, the engine's library and BLAS are usable."""

import functools
import importlib
import os
import warnings

from mjgym.util.packaged import install


@functools.cache
def refusal() -> str:
    """The reason why laws cannot be compiled; empty if they can.

    A warning has been issued, unless numba is missing or switched off.
    """
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return "NUMBA_DISABLE_JIT=1 switches numba off"
    try:
        foreign = importlib.import_module("mjgym_fast.foreign")
        if foreign.engine() is None:
            return warned("the engine's library is not where its package has it")
        if foreign.blas() is None:
            return warned("NumPy does not multiply by the OpenBLAS of its own wheels")
        importlib.import_module("mjgym_fast.stepping")  # is compiled, or read from numba's cache
    except ModuleNotFoundError as error:
        if error.name in ("numba", "llvmlite"):
            return f"numba is not installed: {install('fast')}"
        raise
    except Exception as error:  # a truncated cache file may raise anything
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return warned(f"numba cannot compile it or keep it in its cache: {text}")
    return ""


@functools.cache
def warned(reason: str) -> str:
    """Warn that laws run on arrays, once per reason; returns the reason."""
    text = f"control laws run on arrays, which takes longer: {reason}"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
    return reason
