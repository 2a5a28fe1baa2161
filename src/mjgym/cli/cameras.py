"""The option --camera of commands that draw."""


def camera_of(option: str | None) -> str | int | None:
    """A camera as environments take it; None where none was asked for."""
    if option is None:
        return None
    return int(option) if option.lstrip("-").isdigit() else option
