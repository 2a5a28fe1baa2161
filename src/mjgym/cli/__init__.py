"""The command line, `mjgym`: one file for each command; `mjgym_command` starts it."""

from mjgym.cli.app import main

__all__ = ["main"]
