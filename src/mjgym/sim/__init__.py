"""Simulations, single or batched, behind one interface."""

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
