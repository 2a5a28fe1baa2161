"""Which array library an array belongs to; tasks run on any that follows the array standard."""

from typing import Any

import numpy as np

Array = Any
"""An array of any library that follows the array API standard, or a number."""


def namespace(*arrays: Array) -> Any:
    """The module whose functions work on the arrays: NumPy for NumPy's and for numbers."""
    others = [x for x in arrays if not isinstance(x, np.ndarray | float | int)]
    if not others or all(isinstance(x, np.generic) for x in others):
        return np
    import array_api_compat

    return array_api_compat.array_namespace(*others)
