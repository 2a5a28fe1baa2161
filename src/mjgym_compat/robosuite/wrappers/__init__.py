"""Wrappers under the names of `robosuite.wrappers`, whose others take environments of `make`."""

from mjgym_compat.robosuite.wrappers.demo_sampler_wrapper import DemoSamplerWrapper
from mjgym_compat.robosuite.wrappers.gym_wrapper import GymWrapper
from mjgym_compat.robosuite.wrappers.wrapper import Wrapper

__all__ = ["DemoSamplerWrapper", "GymWrapper", "Wrapper"]
