"""Wrappers under the names of `robosuite.wrappers`."""

from mjgym_compat.robosuite.wrappers.data_collection_wrapper import DataCollectionWrapper
from mjgym_compat.robosuite.wrappers.demo_sampler_wrapper import DemoSamplerWrapper
from mjgym_compat.robosuite.wrappers.domain_randomization_wrapper import DomainRandomizationWrapper
from mjgym_compat.robosuite.wrappers.gym_wrapper import GymWrapper
from mjgym_compat.robosuite.wrappers.visualization_wrapper import VisualizationWrapper
from mjgym_compat.robosuite.wrappers.wrapper import Wrapper

__all__ = [
    "DataCollectionWrapper",
    "DemoSamplerWrapper",
    "DomainRandomizationWrapper",
    "GymWrapper",
    "VisualizationWrapper",
    "Wrapper",
]
