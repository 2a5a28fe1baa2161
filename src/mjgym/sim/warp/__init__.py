"""Batches of simulations on MuJoCo Warp, with torch tensors on a GPU or the CPU.

Needs the extra `gpu`; nothing else in the package imports this.
"""

from mjgym.sim.warp.buffers import Buffers, measured
from mjgym.sim.warp.device import Device
from mjgym.sim.warp.graphs import GraphedHooks, mapped
from mjgym.sim.warp.starts import Starts
from mjgym.sim.warp.world_model import EngineWarning
from mjgym.sim.warp.world_pictures import Pictures
from mjgym.sim.warp.worlds import Worlds

__all__ = [
    "Buffers",
    "Device",
    "EngineWarning",
    "GraphedHooks",
    "Pictures",
    "Starts",
    "Worlds",
    "mapped",
    "measured",
]
