"""The command line, `mjgym`: a file for each command, started by `mjgym_command`.

What a user has mistyped is a `typer.BadParameter`, which names the nearest valid thing; what fails
later is printed by `output.failing`, and the command exits with 1.
"""
