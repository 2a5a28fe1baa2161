"""Wrappers under the names of `robosuite.wrappers`."""

from mjgym.adapters.robosuite.wrappers.data_collection_wrapper import DataCollectionWrapper
from mjgym.adapters.robosuite.wrappers.domain_randomization_wrapper import (
    DomainRandomizationWrapper,
)
from mjgym.adapters.robosuite.wrappers.gym_wrapper import GymWrapper
from mjgym.adapters.robosuite.wrappers.visualization_wrapper import VisualizationWrapper
from mjgym.adapters.robosuite.wrappers.wrapper import Wrapper

__all__ = [
    "DataCollectionWrapper",
    "DomainRandomizationWrapper",
    "GymWrapper",
    "VisualizationWrapper",
    "Wrapper",
]
