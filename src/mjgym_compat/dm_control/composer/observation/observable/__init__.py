"""Observables: readings with interval, delay and aggregation."""

from mjgym_compat.dm_control.composer.observation.observable.base import (
    Generic,
    MujocoCamera,
    MujocoFeature,
    Observable,
)
from mjgym_compat.dm_control.composer.observation.observable.mjcf import MJCFCamera, MJCFFeature

__all__ = ["Generic", "MJCFCamera", "MJCFFeature", "MujocoCamera", "MujocoFeature", "Observable"]
