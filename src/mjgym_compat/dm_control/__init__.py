"""dm_control's interfaces for code that builds its own models."""
