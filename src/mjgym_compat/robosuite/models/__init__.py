"""Robots, grippers, objects and scenes under the names of `robosuite.models`."""
