"""Suggestions in error messages about unknown names: "did you mean ...?"."""

import difflib
from collections.abc import Iterable

ALIKE = 0.6  # minimum difflib ratio of a suggestion
PART = 3  # minimum length of a word to suggest longer ones that contain it


def close(word: object, known: Iterable[str], most: int = 3, alike: float = ALIKE) -> list[str]:
    """The known words most similar to an unknown one, the nearest first; case is ignored.

    If there are none, those that contain it: "panda" suggests "PandaGripper".
    """
    text, most = str(word).lower(), max(most, 1)
    public: dict[str, list[str]] = {}  # by their lower-case form
    for name in known:
        if name and not name.startswith("_"):
            public.setdefault(name.lower(), []).append(name)
    near = difflib.get_close_matches(text, public, n=most, cutoff=alike)
    if not near and len(text) >= PART:
        near = [lower for lower in public if text in lower]
    return [name for lower in near for name in public[lower]][:most]


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known ones, or empty."""
    near = close(word, known)
    return f"; did you mean {', '.join(near)}?" if near else ""


def or_else(word: object, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: the nearest known ones, or else all of them."""
    words = [w for w in known if w]
    return did_you_mean(word, words) or f"; there are {', '.join(words) or 'none'}"
