"""Scripted policies of manipulation tasks, controlling joint velocities."""
