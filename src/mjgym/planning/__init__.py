"""Planning: an environment as its own model."""

from mjgym.planning.derivatives import Linearization, linearize

__all__ = ["Linearization", "linearize"]
