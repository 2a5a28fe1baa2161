"""The command line, `mjgym`: one file for each command."""

from mjgym.cli.app import main

__all__ = ["main"]
