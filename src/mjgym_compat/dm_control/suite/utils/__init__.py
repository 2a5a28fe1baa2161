"""Helpers of the suite's tasks."""
