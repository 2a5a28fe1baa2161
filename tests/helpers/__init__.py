"""Helpers shared by the tests: records, toys, commands and programs."""
