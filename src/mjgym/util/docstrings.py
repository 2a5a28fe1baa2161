"""Parsing of task docstrings: the first paragraph, titled paragraphs, observation entries."""

import inspect
import re
from collections.abc import Iterable

NAMED = re.compile(r"`([^`]+)`")  # entries and fields in backquotes


def docstring(cls: type) -> str:
    """The docstring of a class itself, without the signature that dataclass puts in its place."""
    text = vars(cls).get("__doc__") or ""
    return "" if text.startswith(f"{cls.__name__}(") else inspect.cleandoc(text)


def first_paragraph(cls: type) -> str:
    return docstring(cls).partition("\n\n")[0].replace("\n", " ")


def paragraphs(cls: type, title: str) -> list[str]:
    """Paragraphs that begin with "<title>:" in the docstrings of a class, then of its bases."""
    return [
        paragraph.removeprefix(f"{title}:").strip().replace("\n", " ")
        for base in cls.__mro__
        for paragraph in docstring(base).split("\n\n")
        if paragraph.startswith(f"{title}:")
    ]


def meanings(cls: type, entries: Iterable[str]) -> dict[str, str]:
    """The description of each entry in the paragraphs "Observation: ..."; "" if missing.

    "`height` of the torso (m); `touch`, force on the toe" describes `height` as "height of the
    torso (m)" and `touch` as "force on the toe". In "`hand` and `box`, places (m)" both share the
    last description. A class's paragraph comes before its bases'.
    """
    known = dict.fromkeys(entries, "")
    for text in paragraphs(cls, "Observation"):
        parts = [m for m in NAMED.finditer(text) if m[1] in known]
        ends = [*(m.start() for m in parts[1:]), len(text)][: len(parts)]
        shared = ""
        for part, end in reversed(list(zip(parts, ends, strict=True))):
            said = text[part.end() : end]
            if not _JOINED.fullmatch(said) or not shared:
                said = re.split(r"[;.](?:\s|$)(?![^(]*\))", said, maxsplit=1)[0]
                shared = _phrase(part[1], said)
            known[part[1]] = known[part[1]] or shared
    return known


def announced(cls: type) -> list[str]:
    """Names that begin a phrase of the paragraphs "Observation: ...": the entries they promise."""
    phrases = [g for text in paragraphs(cls, "Observation") for g in _LEADING.findall(text)]
    return list(dict.fromkeys(name for phrase in phrases for name in NAMED.findall(phrase)))


_LEADING = re.compile(r"(?:^|; )((?:`[\w/]+`(?:, and | and |, )?)+)")
_JOINED = re.compile(r"[\s,]*(and|or)?[\s,]*(last|then)?[\s,]*")


def _phrase(entry: str, said: str) -> str:
    said = re.sub(r"([\s,:]+(and|then|also|or))*[\s,:]*$", "", said)
    if said.startswith((",", ":")):
        return said.lstrip(",: ").replace("`", "")
    words = entry.rpartition("/")[2].replace("_", " ")
    return f"{words}{said}".replace("`", "").strip()
