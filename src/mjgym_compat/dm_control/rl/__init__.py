"""The interface between a task, its physics and an environment."""
