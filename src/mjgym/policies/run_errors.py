"""Errors of training runs."""


class ConfigError(ValueError):
    """A setting is unknown or has a wrong value; the message says where."""


class RunError(RuntimeError):
    """A run's folder cannot be used as asked; the message says what to do."""


class DivergedError(RuntimeError):
    """A loss is no longer finite, or all episodes diverge; the last checkpoint is kept."""
