"""Shared set-up of the tests."""

import mjgym  # noqa: F401  (registers the ids)
