"""Manipulation: an arm, a hand and toy bricks on a work top."""
