"""Errors of training runs."""

from mjgym.util.bounded import UserError


class ConfigError(UserError, ValueError):
    """A setting is unknown or has a wrong value; the message says where."""


class RunError(UserError, RuntimeError):
    """A run's folder cannot be used as asked; the message says what to do."""


class DivergedError(UserError, RuntimeError):
    """A loss is no longer finite, or all episodes diverge; the last checkpoint is kept."""
