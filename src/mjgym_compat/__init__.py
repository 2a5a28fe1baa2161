"""Environments under the interfaces of other libraries: thin wrappers without task logic."""

import mjgym  # noqa: F401  (registers the ids)
from mjgym_compat.importing import install

__all__ = ["install"]
