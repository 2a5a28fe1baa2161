"""Observables of elements of a model."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from mjgym_compat.dm_control.composer.observation.observable import base
from mjgym_compat.dm_control.mjcf import Element

_BOTH_SEGMENTATION_AND_DEPTH_ENABLED = "`depth` and `segmentation` cannot both be True"


class MJCFFeature(base.Observable):
    """Numbers of elements of a model."""

    def __init__(self, kind: str, mjcf_element: Any, index: Any = None, **options: Any) -> None:
        self._kind, self._index = kind, index
        self._elements = _elements(mjcf_element)
        super().__init__(**options)

    def raw(self, physics: Any) -> Any:
        values = np.array(getattr(physics.bind(self._elements), self._kind))
        return values if self._index is None else values[self._index]

    def __getitem__(self, index: Any) -> "MJCFFeature":
        """An observable of a slice of the feature, with the same options."""
        options = {name: getattr(self, name) for name in base.OPTIONS if name != "enabled"}
        if self._index is not None:
            raise NotImplementedError("an index of an index")
        return MJCFFeature(self._kind, self._elements, index, **options)


def _elements(given: Any) -> Element | tuple[Element, ...]:
    if isinstance(given, Element):
        return given
    listed = tuple(given) if isinstance(given, Iterable) else (given,)
    for element in listed:
        if not isinstance(element, Element):
            raise ValueError(f"expected an `mjcf.Element`, got {element!r}")
    return listed


class MJCFCamera(base.MujocoCamera):
    """Images of a camera of a model."""

    def __init__(self, mjcf_element: Element, **options: Any) -> None:
        if not isinstance(mjcf_element, Element):
            raise ValueError(f"expected an `mjcf.Element`, got {mjcf_element!r}")
        if mjcf_element.tag != "camera":
            raise ValueError(f"expected a <camera>, got {mjcf_element!r}")
        if options.get("depth") and options.get("segmentation"):
            raise ValueError(_BOTH_SEGMENTATION_AND_DEPTH_ENABLED)
        self._element = mjcf_element
        super().__init__("", **options)

    @property
    def name(self) -> str:
        return self._element.full_identifier
