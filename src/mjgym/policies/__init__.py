"""Policies: networks in NumPy, and trained policies that come with the package."""
