"""Robots, grippers, objects and scenes of an environment under the names of `robosuite.models`."""
