"""Gymnasium environments over the episode loop: one, a batch, on a device, with players."""
