"""Docstrings begin with the thing itself, not with a question word."""

import ast
import re
from collections.abc import Iterator

import pytest

from helpers.places import ROOT, python_files

QUESTION_WORDS = {"What", "Where", "How", "Which", "Who"}
# Of a string: what has none needs no parsing.
BEGINNING = re.compile(rf"[\"'][\\\s]*({'|'.join(QUESTION_WORDS)})\b")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def questions(source: str) -> Iterator[tuple[int, str]]:
    """Line and first line of each docstring in a module that begins with a question word."""
    if not BEGINNING.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Documented):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if (word := re.match(r"\w+", first)) and word[0] in QUESTION_WORDS:
                yield getattr(node, "lineno", 1), first


@pytest.mark.parametrize("folder", ["src", "scripts", "benchmarks"])
def test_no_docstring_begins_with_a_question_word(folder: str) -> None:
    files = python_files(ROOT / folder)
    assert files
    found = [
        f"{path.relative_to(ROOT)}:{line}: {first}"
        for path in files
        for line, first in questions(path.read_text(encoding="utf-8"))
    ]
    assert not found, "say what the thing is or does:\n" + "\n".join(found)


def test_the_lint_finds_question_words_in_every_kind_of_docstring() -> None:
    source = '''
"""What a module holds."""
class Box:
    """Where things lie."""
    def area(self):
        """How much it covers."""
    async def fill(self):
        """Which one:
        """
    def owner(self):
        """Whose it is."""
    def whole(self):
        """Whatever is left."""
'''
    assert [line for line, _ in questions(source)] == [1, 3, 5, 7]
