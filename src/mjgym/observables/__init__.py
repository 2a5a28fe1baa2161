"""Observations read as sensors are: at intervals, late, with noise, several readings at a time."""

from mjgym.observables import observe
from mjgym.observables.observable import Observable
from mjgym.observables.observe import Image
from mjgym.observables.sensing import Sensing, merge

__all__ = ["Image", "Observable", "Sensing", "merge", "observe"]
