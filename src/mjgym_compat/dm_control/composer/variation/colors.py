"""Variations of colours, as red, green, blue and opacity."""

import colorsys
from typing import Any

import numpy as np

from mjgym_compat.dm_control.composer.variation.base import Variation, evaluate


class RgbVariation(Variation):
    """A colour from red, green and blue, each a number or a variation."""

    def __init__(self, r: Any, g: Any, b: Any, alpha: Any = 1.0) -> None:
        self._parts = r, g, b, alpha

    def __call__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        return np.asarray(evaluate(self._parts, *args, **kwargs))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._parts!r}"


class HsvVariation(RgbVariation):
    """A colour from hue, saturation and value, each a number or a variation."""

    def __init__(self, h: Any, s: Any, v: Any, alpha: Any = 1.0) -> None:
        super().__init__(h, s, v, alpha)

    def __call__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        *hsv, alpha = super().__call__(*args, **kwargs)
        return np.array([*colorsys.hsv_to_rgb(*hsv), alpha])


class GrayVariation(HsvVariation):
    """A grey from its level, a number or a variation."""

    def __init__(self, gray_level: Any, alpha: Any = 1.0) -> None:
        super().__init__(0.0, 0.0, gray_level, alpha)
