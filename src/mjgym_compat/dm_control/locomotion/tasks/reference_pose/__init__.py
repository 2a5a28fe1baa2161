"""Following of recorded motion: its rewards."""
