"""The environments under their published names."""

from mjgym_compat.robosuite.environments.base import REGISTERED_ENVS, MujocoEnv, register_env
from mjgym_compat.robosuite.environments.task_env import RobosuiteEnv

ALL_ENVIRONMENTS = REGISTERED_ENVS.keys()

__all__ = ["ALL_ENVIRONMENTS", "REGISTERED_ENVS", "MujocoEnv", "RobosuiteEnv", "register_env"]
