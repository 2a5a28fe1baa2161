"""Variations: values redrawn in each episode, in arithmetic and as attributes of models."""

from typing import Any

import numpy as np

from mjgym_compat.dm_control.composer.variation.base import Variation, evaluate
from mjgym_compat.dm_control.mjcf import Element

__all__ = ["MJCFVariator", "PhysicsVariator", "Variation", "evaluate"]


class _Variator:
    def __init__(self) -> None:
        self._bound: dict[Any, dict[str, Any]] = {}
        self._initial: dict[Any, dict[str, Any]] = {}

    def bind_attributes(self, element: Any, **attributes: Any) -> None:
        """Vary attributes of an element, or of several.

        Args:
            element: the element, or a collection of them.
            **attributes: variations by name; None stops varying one.
        """
        key = element if isinstance(element, Element) else tuple(element)
        bound = self._bound.setdefault(key, {})
        for name, variation in attributes.items():
            if variation is None:
                bound.pop(name, None)
            else:
                bound[name] = variation

    def clear(self) -> None:
        self._bound.clear()
        self._initial.clear()

    def _vary(self, source: Any, initial: dict[str, Any], key: Any, random_state: Any) -> None:
        for name, variation in self._bound[key].items():
            current = getattr(source, name)
            first = initial.setdefault(name, None if current is None else np.copy(current))
            setattr(source, name, evaluate(variation, first, current, random_state))


class MJCFVariator(_Variator):
    """Varies attributes of elements of a model, before it is compiled."""

    def apply_variations(self, random_state: np.random.RandomState) -> None:
        for key in self._bound:
            for element in (key,) if isinstance(key, Element) else key:
                self._vary(element, self._initial.setdefault(element, {}), key, random_state)

    def reset_initial_values(self) -> None:
        self._initial.clear()


class PhysicsVariator(_Variator):
    """Varies numbers of elements in a compiled model."""

    def apply_variations(self, physics: Any, random_state: np.random.RandomState) -> None:
        for key in self._bound:
            self._vary(physics.bind(key), self._initial.setdefault(key, {}), key, random_state)

    def reset_initial_values(self, physics: Any) -> None:
        for key, values in self._initial.items():
            for name, value in values.items():
                setattr(physics.bind(key), name, value)
        self._initial.clear()
