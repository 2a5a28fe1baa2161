"""Walkers, arenas, props and tasks of locomotion, as entities and tasks of Composer."""
