"""Simulations, one or many, behind the same view and the same verbs."""

from mjgym.sim.batched import Batched
from mjgym.sim.group import GroupView
from mjgym.sim.simulation import Part, Rows, Scratch, Simulation
from mjgym.sim.single import Single, SingleView
from mjgym.sim.views import View

__all__ = [
    "Batched",
    "GroupView",
    "Part",
    "Rows",
    "Scratch",
    "Simulation",
    "Single",
    "SingleView",
    "View",
]
