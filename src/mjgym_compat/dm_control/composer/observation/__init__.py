"""Observations: what is observed, when, and how it arrives."""
