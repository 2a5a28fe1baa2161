"""The `info` of many episodes, in Gymnasium's vector form.

An entry holds one value per sub-environment, and `_<entry>` is the mask of those that have it.
Entries that no sub-environment has are left out, unless knowing that would mean to wait for a
device.
"""

from typing import Any

import numpy as np

from mjgym.arrays import Array, copied, known_empty, zero_unless
from mjgym.loop.episode import Episodes, Step

# Prefixes of keys.
TERMS, VARIATION = "terms/", "variation/"


class Infos:
    """The info of n episodes, in their view's array library.

    Attributes:
        precision: dtype of rewards and terms, the library's default: float64 in NumPy.
    """

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self._n = episodes.simulation.n
        self._xp = episodes.view.xp
        self._shapes = ((self._n,), tuple(episodes.rewards.shape))  # of flags, of rewards
        self.precision = self._xp.zeros(0).dtype
        self._everyone = self._xp.ones(self._n, dtype=self._xp.bool)
        memory, reported = episodes.view.memory, episodes.task.reported
        self._reported = [name for name in reported if name in memory]
        self._reported_terms = [name for name in reported if name not in memory]

    def per_sub_environment(self, values: Any, dtype: Any) -> Array:
        """A new array with one value per sub-environment."""
        if values is False:  # the most common flag
            return self._xp.zeros(self._n, dtype=dtype)
        if getattr(values, "ndim", 0) and values.shape not in self._shapes:
            raise ValueError(f"an array of shape {values.shape}, expected {self._shapes[-1]}")
        if isinstance(values, np.ndarray) and values.ndim:
            return values.astype(dtype)
        if getattr(values, "ndim", 0):
            return self._xp.astype(values, dtype, copy=True)
        array = self._xp.empty(self._n, dtype=dtype)
        array[...] = values
        return array

    def of_step(self, step: Step, stepped: Array | None) -> dict[str, Array]:
        """The info of a step made by a mask of sub-environments, or by all."""
        valued = stepped
        if step.diverged is not None:
            valued = ~step.diverged if stepped is None else stepped & ~step.diverged
        shown = self._everyone if valued is None else valued
        info: dict[str, Array] = {}

        def add(name: str, values: Any, dtype: Any) -> None:
            array = self.per_sub_environment(values, dtype)
            info[name] = array if valued is None else zero_unless(valued, array)
            info[f"_{name}"] = copied(shown)

        some = not known_empty(shown)
        if some:
            for name, values in step.terms.items():
                add(f"{TERMS}{name}", values, self.precision)
            for name in self._reported_terms:
                add(name, step.terms[name], self.precision)
        flag = self._xp.bool
        info["diverged"] = self.per_sub_environment(
            False if step.diverged is None else step.diverged, flag
        )
        asked = copied(self._everyone if stepped is None else stepped)
        info["_diverged"] = asked if step.diverged is None else asked | step.diverged
        if step.success is not None and some:
            add("success", step.success, flag)
            add("success_once", self._episodes.success_once, flag)
        return info

    def report(self, info: dict[str, Array], where: Array | None = None) -> None:
        """Add memory entries that the task reports, for a mask of sub-environments, or for all."""
        shown = self._everyone if where is None else where
        for name in self._reported:
            value = self._episodes.view.memory[name]
            info[name], info[f"_{name}"] = zero_unless(shown, value), copied(shown)

    def of_variation(self, begun: Array) -> dict[str, np.ndarray]:
        """Values of the user's variations in the episodes that begin, a mask (n,), in NumPy."""
        info: dict[str, Any] = {}
        values_of = self._episodes.variation()
        mask = self._episodes.view.to_numpy(begun) if values_of else None
        for key, value in values_of.items():
            assert mask is not None
            info[f"{VARIATION}{key}"] = zero_unless(mask, value)
            info[f"_{VARIATION}{key}"] = mask.copy()
        return info


def only(info: dict[str, Array], mask: Array) -> dict[str, Array]:
    """The part of a vector info for a mask of sub-environments."""
    part: dict[str, Array] = {}
    for name, values in info.items():
        if name.startswith("_"):
            continue
        present = info[f"_{name}"] & mask
        if known_empty(present):
            continue
        part[name], part[f"_{name}"] = zero_unless(present, values), present
    return part


def shown_entries(info: dict[str, Any]) -> dict[str, Any]:
    """An info without entries that are known to belong to no sub-environment."""
    return {
        name: shown_entries(values) if isinstance(values, dict) else values
        for name, values in info.items()
        if not known_empty(info[f"_{name.removeprefix('_')}"])
    }
