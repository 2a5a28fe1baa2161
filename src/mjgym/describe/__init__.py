"""Descriptions of tasks: names, units, versions."""
