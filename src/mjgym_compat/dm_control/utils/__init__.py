"""Helpers of dm_control's tasks."""
