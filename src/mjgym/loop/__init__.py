"""The episode: the order of a task's hooks, its state and its compiled model."""
