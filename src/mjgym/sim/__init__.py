"""Simulations, single or batched, behind one interface."""

from mjgym.sim.batched import Batched
from mjgym.sim.group import GroupView
from mjgym.sim.simulation import Simulation
from mjgym.sim.single import Single, SingleView
from mjgym.sim.views import View

__all__ = ["Batched", "GroupView", "Simulation", "Single", "SingleView", "View"]
