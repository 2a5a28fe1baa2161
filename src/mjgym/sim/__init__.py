"""Simulations, one or many, behind the same view and the same verbs."""

from mjgym.sim.alike import AlikeView
from mjgym.sim.batched import Batched
from mjgym.sim.simulation import Scratch, Simulation
from mjgym.sim.single import Single, SingleView
from mjgym.sim.views import View

__all__ = ["AlikeView", "Batched", "Scratch", "Simulation", "Single", "SingleView", "View"]
