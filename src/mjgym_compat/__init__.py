"""Environments under the interfaces of other libraries: thin wrappers without task logic."""
