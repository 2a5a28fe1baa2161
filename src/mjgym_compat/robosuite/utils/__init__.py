"""Exceptions under robosuite's names, and its utilities."""


class RobosuiteError(Exception):
    """Base class of errors under robosuite's interface."""


robosuiteError = RobosuiteError


class XMLError(RobosuiteError, ValueError):
    """A model that cannot be composed."""


class SimulationError(RobosuiteError, ValueError):
    """A simulation that cannot be set up."""


class RandomizationError(RobosuiteError, RuntimeError):
    """No free place was found for an object."""
