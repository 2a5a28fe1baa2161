"""Whether laws can be compiled here: numba is on, engine and BLAS are found, its cache is sound."""

import functools
import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from mjgym.util.packaged import install

T = TypeVar("T")


@functools.cache
def refusal() -> str:
    """The reason why laws cannot be compiled here; empty where they can."""
    if os.environ.get("NUMBA_DISABLE_JIT") == "1":
        return "NUMBA_DISABLE_JIT=1 switches numba off"
    foreign = _loaded(_foreign)
    if isinstance(foreign, str):
        return foreign
    if foreign.engine() is None:
        return warned("the engine's library is not where its package has it")
    if foreign.blas() is None:
        return warned("NumPy does not multiply by the OpenBLAS of its own wheels")
    stepping = _loaded(_stepping)
    return stepping if isinstance(stepping, str) else ""


def loaded(load: Callable[[], T]) -> T | str:
    """Import a module whose functions numba compiles when it is imported.

    Args:
        load: imports and returns it; the same function each time.

    Returns:
        The module; a sentence where nothing can be compiled here, or this fails, as numba's files
        cannot be written or are damaged. It has then been warned of.
    """
    return refusal() or _loaded(load)


@functools.cache
def _loaded(load: Callable[[], Any]) -> Any:
    try:
        return load()
    except ModuleNotFoundError as error:
        if error.name in ("numba", "llvmlite"):
            return f"numba is not installed: {install('fast')}"
        raise
    except Exception as error:  # a cut file of numba's cache may raise anything when it is read
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return warned(f"numba cannot compile it or keep it in its cache: {text}")


def _foreign() -> Any:
    from mjgym.sim.compiled import foreign

    return foreign


def _stepping() -> Any:
    from mjgym.sim.compiled import stepping

    return stepping


@functools.cache
def warned(reason: str) -> str:
    """Warn that laws run on arrays, once for each reason, which is returned."""
    text = f"control laws run on arrays, which takes longer: {reason}"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
    return reason
