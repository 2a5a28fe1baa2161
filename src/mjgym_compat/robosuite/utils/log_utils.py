"""The logger under robosuite's name."""

import logging

ROBOSUITE_DEFAULT_LOGGER = logging.getLogger("mjgym_compat.robosuite")
