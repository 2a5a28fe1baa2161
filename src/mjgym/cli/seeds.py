"""Seeds as arguments of commands."""

import typer

MOST = 10_000  # seeds of one command


def seeds_of(text: str, hint: str) -> tuple[int, ...]:
    """The seeds of a text such as "0-4" or "1,5,8-9", each once, in its order.

    Raises:
        typer.BadParameter: it is no such text, or names too many.
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise typer.BadParameter(
                f'{text!r} is not of the form "0-4" or "1,5,7"', param_hint=hint
            )
        end = int(last) if dash else int(first)
        if not 0 <= end - int(first) < MOST or end >= 2**31:
            raise typer.BadParameter(f"{part.strip()!r} is no range of seeds", param_hint=hint)
        found |= dict.fromkeys(range(int(first), end + 1))
    return tuple(found)
