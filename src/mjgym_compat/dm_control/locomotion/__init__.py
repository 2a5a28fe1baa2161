"""dm_control's matches of soccer, in `soccer`."""
