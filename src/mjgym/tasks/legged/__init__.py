"""Legged robots that follow velocity commands, as in mjlab and in MuJoCo Playground."""
