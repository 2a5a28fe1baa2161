"""The logger under robosuite's name."""

import logging

ROBOSUITE_DEFAULT_LOGGER = logging.getLogger("robosuite_logs")
