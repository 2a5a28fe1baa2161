"""Policies: what acts, networks in NumPy, those that come with the package."""
