"""Exceptions under robosuite's names."""


class RobosuiteError(Exception):
    """An error of an environment under robosuite's interface."""


class SimulationError(RobosuiteError, ValueError):
    """A simulation that cannot be set up."""


class RandomizationError(RobosuiteError, RuntimeError):
    """No free place for an object."""
