"""Scripted policies of manipulation tasks, which move the arm by the velocities of its joints."""
