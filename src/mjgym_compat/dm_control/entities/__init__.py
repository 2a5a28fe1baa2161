"""Entities that are ready to use."""
