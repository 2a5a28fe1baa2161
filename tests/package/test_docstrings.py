"""Docstrings begin with the thing itself, and stand where name and body do not say all."""

import ast
import gc
import re
from collections.abc import Iterator

import pytest

from helpers.places import ROOT, python_files

OPENINGS = "What|Where|How|Which|Who|Whether|Of|Names of"
# Of a string: what has none needs no parsing.
BEGINNING = re.compile(rf"[\"'][\\\s]*({OPENINGS})\b")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def questions(source: str) -> Iterator[tuple[int, str]]:
    """Find the docstrings that begin with a question or with no subject: line and first line."""
    if not BEGINNING.search(source):
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Documented):
            first = (ast.get_docstring(node) or "").partition("\n")[0]
            if re.match(rf"({OPENINGS})\b", first):
                yield getattr(node, "lineno", 1), first


PACKAGES = ("mjgym", "mjgym_train", "mjgym_fast")  # the names of others hold in mjgym_compat


@pytest.mark.parametrize(
    "folder", [*(f"src/{package}" for package in PACKAGES), "scripts", "benchmarks"]
)
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
    def full(self):
        """Whether it is."""
    def tags(self):
        """Names of its contents."""
'''
    assert [line for line, _ in questions(source)] == [1, 3, 5, 7, 14, 16]


SHORT = 2  # lines of a body that says what its function does


@pytest.fixture(scope="module")
def trees() -> Iterator[dict[str, ast.Module]]:
    """The syntax trees of all modules by their paths: parsed once, and gone with this module.

    They are a million objects, which the garbage collector would look through again and again.
    """
    gc.disable()
    yield {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in python_files(ROOT / "src")
    }
    gc.enable()


def base_name(base: ast.expr) -> str:
    """The name of a base class without its module and its parameters."""
    base = base.value if isinstance(base, ast.Subscript) else base
    return base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "")


def undocumented(trees: dict[str, ast.Module]) -> Iterator[str]:
    """Public functions of several lines without a docstring of their own or of a base class."""
    classes: dict[str, list[ast.ClassDef]] = {}
    for tree in trees.values():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef):
                classes.setdefault(node.name, []).append(node)

    protocols = {
        method.name
        for nodes in classes.values()
        for node in nodes
        if any("Protocol" in base_name(base) for base in node.bases)
        for method in node.body
        if isinstance(method, ast.FunctionDef) and ast.get_docstring(method)
    }

    def inherits(cls: ast.ClassDef, method: str) -> bool:
        """Whether a protocol, or a base class of any package, says what a method does."""
        if method in protocols:
            return True
        left, seen = list(cls.bases), set()
        while left:
            name = base_name(left.pop())
            if name not in classes and name != "Protocol":
                return True
            for node in classes.get(name, ()) if name not in seen else ():
                if any(
                    getattr(m, "name", "") == method and ast.get_docstring(m) for m in node.body
                ):  # type: ignore[arg-type]
                    return True
                left += node.bases
            seen.add(name)
        return False

    for name, tree in trees.items():
        owners = [tree, *(c for c in tree.body if isinstance(c, ast.ClassDef))]
        for owner in owners:
            if getattr(owner, "name", "").startswith("_"):
                continue
            for function in owner.body:
                if not isinstance(function, ast.FunctionDef) or function.name.startswith("_"):
                    continue
                lines = function.body[-1].end_lineno - function.body[0].lineno + 1
                if lines <= SHORT or ast.get_docstring(function) is not None:
                    continue
                if isinstance(owner, ast.Module) or not inherits(owner, function.name):
                    yield f"{name}:{function.lineno}: {function.name}"


def test_public_functions_of_several_lines_have_docstrings(trees: dict[str, ast.Module]) -> None:
    missing = [line for line in undocumented(trees) if not line.startswith("src/mjgym_compat/")]
    assert not missing, "say what these do:\n" + "\n".join(missing)


def test_which_functions_need_docstrings() -> None:
    source = '''
class Base:
    def area(self):
        """The area, m^2."""
class Box(Base):
    def area(self):
        a = 1
        b = 2
        return a * b
    def side(self):
        return 1
    def volume(self):
        a = 1
        b = 2
        return a * b
class _Hidden:
    def volume(self):
        a = 1
        b = 2
        return a * b
def free():
    a = 1
    b = 2
    return a * b
'''
    assert list(undocumented({"m": ast.parse(source)})) == ["m:21: free", "m:12: volume"]


# Words that say nothing of their own as the name of a function, a class or a module's constant.
VAGUE = {
    *("of", "found", "own", "given", "each", "known", "parts", "whole", "drawn", "asked", "left"),
    *("words", "things", "stuff"),
}


def vague_names(tree: ast.Module) -> Iterator[str]:
    """Find names of a module's own functions, methods, classes and constants that are vague."""
    owners: list[ast.Module | ast.ClassDef] = [tree]
    owners += [node for node in tree.body if isinstance(node, ast.ClassDef)]
    for owner in owners:
        for node in owner.body:
            names = [getattr(node, "name", "")]
            if owner is tree and isinstance(node, ast.Assign):
                names += [target.id for target in node.targets if isinstance(target, ast.Name)]
            yield from (
                f"{node.lineno}: {name}" for name in names if name.strip("_").lower() in VAGUE
            )


def test_names_say_what_they_stand_for(trees: dict[str, ast.Module]) -> None:
    folders = tuple(f"src/{package}/" for package in PACKAGES)
    vague = [
        f"{path}:{name}"
        for path, tree in trees.items()
        if path.startswith(folders)
        for name in vague_names(tree)
    ]
    assert not vague, "these need a name of their own:\n" + "\n".join(vague)


def test_which_names_are_vague() -> None:
    source = (
        "class Known:\n  def of(self): ...\n  def own_name(self): ...\n_WHOLE = 1\nwhole_size = 2"
    )
    assert list(vague_names(ast.parse(source))) == ["1: Known", "4: _WHOLE", "2: of"]
