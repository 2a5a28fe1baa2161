"""Numbers with their nouns."""


def counted(n: int, noun: str) -> str:
    """A number and its noun: "1 step", "2 steps"."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
