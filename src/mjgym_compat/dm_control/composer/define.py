"""Decorators of methods that make observables and other parts, once."""

import functools
from typing import Any


class cached_property(functools.cached_property[Any]):
    """A property that is computed once."""


class observable(functools.cached_property[Any]):
    """A method of `Observables` that makes an observable, once."""
