"""Compilation of functions by numba, where it is installed."""

import importlib.util
from collections.abc import Callable
from typing import Any, TypeVar

from mjgym_compat.robosuite import macros

F = TypeVar("F", bound=Callable[..., Any])


def jit_decorator(func: F) -> F:
    """Compile a function, unless numba is missing or `macros.ENABLE_NUMBA` is False."""
    if not macros.ENABLE_NUMBA or importlib.util.find_spec("numba") is None:
        return func
    import numba

    compiled: F = numba.jit(nopython=True, cache=macros.CACHE_NUMBA)(func)
    return compiled
