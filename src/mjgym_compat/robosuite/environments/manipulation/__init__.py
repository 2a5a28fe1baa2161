"""Environments of one's own with robots that manipulate objects."""
