"""The end of a message about an unknown word."""

import difflib
from collections.abc import Iterable


def close(word: object, known: Iterable[str]) -> list[str]:
    """The known words that look like an unknown one, the nearest first; at most three."""
    public = [w for w in known if w and not w.startswith("_")]
    return difflib.get_close_matches(str(word), public, n=3)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: the known ones nearest to it, or nothing."""
    near = close(word, known)
    return f"; did you mean {', '.join(near)}?" if near else ""


def or_else(word: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: the nearest known ones, or else all of them."""
    words = list(known)
    return f"; did you mean {', '.join(close(word, words) or words)}?"
