"""Places of guides between two marks, which scripts write."""


def parts(text: str, begin: str, end: str) -> tuple[str, str, str]:
    """Split a text into all up to a mark, all between it and the next end, and the rest.

    Raises:
        SystemExit: a mark is missing; nothing may be written then.
    """
    head, begun, rest = text.partition(begin)
    inside, ended, tail = rest.partition(end)
    if not (begun and ended):
        raise SystemExit(f"no marker {end if begun else begin}")
    return head + begun, inside, ended + tail
