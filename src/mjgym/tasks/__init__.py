"""The tasks, a folder for each namespace of ids."""
