"""The `info` of many episodes, in the form in which Gymnasium joins those of sub-environments.

An entry holds one value for each sub-environment, and `_<entry>` is the mask of those that have it.
"""

from typing import Any

import numpy as np

from mjgym.episode import Episodes, Step

# How keys begin; all values are plain numbers or arrays of them.
TERMS, VARIATION = "terms/", "variation/"


def each(values: Any, dtype: Any, n: int) -> np.ndarray:
    """A new array of one value for each of n sub-environments."""
    if isinstance(values, np.ndarray) and values.ndim:
        return values.astype(dtype)
    array = np.empty(n, dtype)
    array[...] = values
    return array


def of_step(episodes: Episodes, step: Step, stepped: np.ndarray) -> dict[str, Any]:
    """What a step says.

    Args:
        episodes: that made it.
        step: what it gave.
        stepped: who made it; it has a reward where the simulation is finite.
    """
    n = len(stepped)
    valued = stepped if step.diverged is None else stepped & ~step.diverged
    count = np.count_nonzero(valued)
    some, everyone = count > 0, count == n

    def masked(values: Any, dtype: Any) -> np.ndarray:
        array = each(values, dtype, n)
        if not everyone:
            array[~valued] = 0
        return array

    info: dict[str, Any] = {}
    if some:
        for name, values in step.terms.items():
            key = f"{TERMS}{name}"
            info[key], info[f"_{key}"] = masked(values, np.float64), valued.copy()
    info["diverged"] = each(False if step.diverged is None else step.diverged, bool, n)
    info["_diverged"] = stepped.copy()
    if step.success is not None and some:
        info["success"], info["_success"] = masked(step.success, bool), valued.copy()
        so_far = episodes.success_once & valued
        info["success_once"], info["_success_once"] = so_far, valued.copy()
    return info


def of_variation(episodes: Episodes, begun: np.ndarray) -> dict[str, Any]:
    """What variations have given the episodes that begin."""
    info: dict[str, Any] = {}
    for key, value in episodes.variation().items():
        shown = np.zeros_like(value)
        shown[begun] = value[begun]
        info[f"{VARIATION}{key}"], info[f"_{VARIATION}{key}"] = shown, begun.copy()
    return info


def only(info: dict[str, Any], mask: np.ndarray) -> dict[str, Any]:
    """The part of a vector info that belongs to the sub-environments of a mask."""
    part: dict[str, Any] = {}
    for name, values in info.items():
        if name.startswith("_"):
            continue
        present = info[f"_{name}"] & mask
        if not present.any():
            continue
        shown = np.zeros_like(values)
        shown[present] = values[present]
        part[name], part[f"_{name}"] = shown, present
    return part
