"""Observations read as sensors are: at intervals, late, with noise, several readings at a time."""

from mjgym.observables import observe
from mjgym.observables.observable import Observable
from mjgym.observables.sensing import Sensing, merge

__all__ = ["Observable", "Sensing", "merge", "observe"]
