"""Observations: readings, their timing and their delivery."""
