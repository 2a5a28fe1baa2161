"""Locomotion: walkers, arenas and tasks that combine freely."""
