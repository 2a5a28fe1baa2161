"""Decorators of methods that make observables and other parts, once."""

import functools
import operator
from typing import Any

from mjgym_compat.dm_control.composer.observation.observable.mjcf import MJCFFeature


class cached_property(functools.cached_property[Any]):
    """A property that is computed once."""


class observable(functools.cached_property[Any]):
    """A method of `Observables` that makes an observable, once."""


def feature(kind: str, part: str, **options: Any) -> observable:
    """An `MJCFFeature` of the elements in an attribute of the entity, such as "joints"."""
    elements = operator.attrgetter(part)
    return observable(lambda own: MJCFFeature(kind, elements(own._entity), **options))


def required() -> Any:
    """A property that subclasses define."""

    def undefined(self: Any) -> Any:
        raise NotImplementedError

    return property(undefined)
