"""Following of recorded motion: clips, tasks and rewards."""
