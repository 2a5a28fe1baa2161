"""Decorators of methods that make observables and other parts, once."""

import functools
from typing import Any

from mjgym_compat.dm_control.composer.observation.observable.mjcf import MJCFFeature


class cached_property(functools.cached_property[Any]):
    """A property that is computed once."""


class observable(functools.cached_property[Any]):
    """A method of `Observables` that makes an observable, once."""


def feature(kind: str, part: str, **options: Any) -> observable:
    """An observable of numbers of an attribute of the entity.

    Args:
        kind: see `MJCFFeature`.
        part: the attribute's name: one element or several.
        **options: of `MJCFFeature`.
    """
    return observable(lambda own: MJCFFeature(kind, getattr(own._entity, part), **options))
