"""The command line, `mjgym`: a file for each command, started by `mjgym_command`."""
