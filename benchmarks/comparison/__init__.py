"""Timing of mjgym against EnvPool, dm_control and the engine itself; see `../peers.py`."""
