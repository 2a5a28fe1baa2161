"""Muscle and contact laws: parameters in frozen dataclasses, pure functions on arrays.

They follow OpenSim's formulae. Arrays have any leading shape and belong to any array library;
parameters broadcast against them.
"""

from mjgym.muscles.passive_forces import CoordinateLimits, SpheresOnPlane
from mjgym.muscles.paths import Path, PathGeometry, PathPoint, Paths
from mjgym.muscles.splines import Spline, Splines, cubic_spline
from mjgym.muscles.thelen import Activation, Tendon, Thelen

__all__ = [
    "Activation",
    "CoordinateLimits",
    "Path",
    "PathGeometry",
    "PathPoint",
    "Paths",
    "SpheresOnPlane",
    "Spline",
    "Splines",
    "Tendon",
    "Thelen",
    "cubic_spline",
]
