"""Tests whether laws can be compiled: numba, the engine's library and BLAS are usable."""

import functools
import os
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

from mjgym.util.packaged import install

T = TypeVar("T")


@functools.cache
def refusal() -> str:
    """The reason why laws cannot be compiled; empty if they can."""
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
    """Import a module that numba compiles on import; `load` is always the same function.

    Returns:
        The module, or the reason why it cannot be compiled, e.g. because numba's cache is damaged
        or not writable. A warning has then been issued.
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
    except Exception as error:  # a truncated cache file may raise anything
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return warned(f"numba cannot compile it or keep it in its cache: {text}")


def _foreign() -> Any:
    from mjgym_fast import foreign

    return foreign


def _stepping() -> Any:
    from mjgym_fast import stepping

    return stepping


@functools.cache
def warned(reason: str) -> str:
    """Warn that laws run on arrays, once per reason; returns the reason."""
    text = f"control laws run on arrays, which takes longer: {reason}"
    warnings.warn(text, RuntimeWarning, stacklevel=2)
    return reason
