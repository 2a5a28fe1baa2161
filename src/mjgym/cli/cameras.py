"""The option --camera of commands that render."""


def camera_of(option: str | None) -> str | int | None:
    """The value of --camera as an environment's argument; None if not given."""
    if option is None:
        return None
    return int(option) if option.lstrip("-").isdigit() else option
