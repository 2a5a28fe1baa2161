"""Algorithms, networks, replay and the training loops; they need PyTorch."""
