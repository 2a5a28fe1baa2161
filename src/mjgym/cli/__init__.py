"""The command line, `mjgym`: a file for each command, started by `mjgym_command`."""

from mjgym.cli.app import main

__all__ = ["main"]
