"""Environments under the interfaces of other libraries: thin wrappers without task logic."""

import mjgym  # noqa: F401  (registers the ids)
from mjgym_compat.importing import install
from mjgym_compat.of_dm_env import gymnasium

__all__ = ["gymnasium", "install"]
