"""The words "Did you mean ...?" at the end of messages about unknown names."""

import difflib
from collections.abc import Iterable

ALIKE = 0.6  # difflib's ratio, from which on a word may be what was meant by another


def close(word: object, known: Iterable[str], most: int = 3, alike: float = ALIKE) -> list[str]:
    """The known words that look like an unknown one, the nearest first.

    Args:
        word: as it was given; what is no text is compared as text.
        known: those that there are; those that begin with an underscore are not named.
        most: how many are named.
        alike: how much they must look like it, from 0 to 1.
    """
    public = [w for w in known if w and not w.startswith("_")]
    return difflib.get_close_matches(str(word), public, n=max(most, 1), cutoff=alike)


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: the known ones nearest to it, or nothing."""
    near = close(word, known)
    return f"; did you mean {', '.join(near)}?" if near else ""


def or_else(word: object, known: Iterable[str]) -> str:
    """The end of a sentence about an unknown word: the nearest known ones, or else all of them."""
    words = [w for w in known if w]
    return did_you_mean(word, words) or f"; there are {', '.join(words) or 'none'}"
