"""Recorded motions: messages, files, walkers' poses and props."""
