"""The environments under their published names."""

from mjgym_compat.robosuite.environments.base import REGISTERED_ENVS, RobosuiteEnv

ALL_ENVIRONMENTS = tuple(REGISTERED_ENVS)

__all__ = ["ALL_ENVIRONMENTS", "REGISTERED_ENVS", "RobosuiteEnv"]
