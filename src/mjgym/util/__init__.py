"""Helpers without robotics in them: files, names, docstrings, generators."""
