"""Checks that a task's hooks run on the arrays of another library, with equal results."""

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from mjgym.loop.hooks import HOOKS, run_hooks
from mjgym.sim.derived_views import ConvertedView
from mjgym.sim.views import View
from mjgym.task import Task

CLOSE = 1e-12  # relative to the largest number of an array or to 1


def failures(
    task: Task, view: View, action: np.ndarray, xp: ModuleType, close: float = CLOSE
) -> Iterator[tuple[str, Exception | str]]:
    """Errors and differences of the hooks on the arrays of another library.

    Args:
        view: of its simulations, in NumPy, in some state of an episode.
        action: (*view.lead, number of actions).

    Yields:
        A hook's name, and its exception or the difference of its result from NumPy's.
    """
    converted = ConvertedView(view, xp)
    for name, wanted in run_hooks(task, view, action).items():
        try:
            result = HOOKS[name](task, converted, xp.asarray(action))
        except Exception as error:  # any error of the other library
            yield name, error
            continue
        if isinstance(wanted, Mapping):
            for entry, value in wanted.items():
                yield from _compared(f"{name}()[{entry!r}]", value, result.get(entry), close)
        elif wanted is not None:
            yield from _compared(f"{name}()", wanted, result, close)


def _compared(what: str, wanted: Any, result: Any, close: float) -> Iterator[tuple[str, str]]:
    if isinstance(result, np.ndarray | np.generic):
        yield what, "is an array of NumPy"
        return
    try:
        plain = result if isinstance(result, bool | int | float) else np.from_dlpack(result)
    except (AttributeError, TypeError):  # a result of an unexpected type
        yield what, f"is a {type(result).__name__}, no array"
        return
    if np.shape(plain) != np.shape(wanted):
        yield what, f"has shape {np.shape(plain)}, in NumPy {np.shape(wanted)}"
        return
    finite = np.abs(wanted)[np.isfinite(wanted)]
    scale = max(1.0, float(finite.max(initial=0.0)))
    if not np.allclose(plain, wanted, rtol=close, atol=close * scale, equal_nan=True):
        yield what, f"is {plain}, in NumPy {wanted}"
