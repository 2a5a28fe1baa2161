"""What the README and the guides show runs, what they link to is there, and `mjgym guide`."""

import importlib
import importlib.util
import os
import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from helpers import commands
from helpers.guide_code import (
    FOLDER,
    GUIDES,
    README,
    SHORTER,
    modules,
    need_extra,
    needs_gl,
    pages,
    program,
    run,
    write_modules,
)
from helpers.lanes import lane, mostly_nightly
from helpers.places import ROOT, SCRIPTS
from mjgym.cli.app import app
from mjgym.cli.guide import guides, programs
from mjgym.util import plugins

LINK = re.compile(
    r"(?<!\\)\]\(([^)\s]+)\)|^\[\w+\]: (\S+)$|(?:src|href)=\"([^\"]+)\"", re.MULTILINE
)


DATA_PAGES = sorted((FOLDER.parent / "data").glob("*.md"))  # of the site, which fills in tables


def marked():
    for i, page in enumerate(pages(apart=True)):
        marks = [pytest.mark.gl] if needs_gl(page) else []
        marks += [pytest.mark.warp] if page.stem == "gpu" else []
        yield pytest.param(page, id=page.stem, marks=[*marks, lane(i, 3)])


@pytest.mark.parametrize("page", list(marked()))
def test_its_code_runs(page, tmp_path):
    """In one session, top to bottom; that of the other pages runs in `test_package`."""
    need_extra(page)
    done = run(program(page), tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_is_shortened_is_shown():
    text = "".join(page.read_text() for page in (README, *GUIDES))
    assert all(long in text for long in SHORTER)


TASKS = [
    name
    for page in (README, *GUIDES)
    for name, code in modules(page).items()
    if "@register(" in code
]


@pytest.mark.parametrize("name", mostly_nightly(TASKS, 7))
def test_its_tasks_pass_the_check(name, tmp_path):
    """`mjgym check` on what is shown as a task of one's own."""
    write_modules(tmp_path, README, *GUIDES)
    done = commands.run("check", f"{name}.py", folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "warn" not in done.stdout, done.stdout


@pytest.mark.parametrize("page", [README, *GUIDES, *DATA_PAGES], ids=lambda page: page.stem)
def test_what_it_links_to_is_there(page):
    for link in ("".join(found) for found in LINK.findall(page.read_text())):
        if "://" in link:
            continue
        path, _, part = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        if part:
            headings = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
            assert part in {re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in headings}


@pytest.mark.parametrize("page", [README, *GUIDES, *DATA_PAGES], ids=lambda page: page.stem)
def test_what_it_names_is_there(page):
    """Modules, their names, and places in the repository."""
    text = page.read_text()
    for name in re.findall(r"\bmjgym(?!\.github\.io)(?:\.\w+)+", text):
        assert name in ENTRY_POINTS or _found(name), name
    for place in re.findall(r"`((?:src|assets|scripts|benchmarks|tests)/[\w./-]*)`", text):
        assert (ROOT / place).exists(), place


def test_the_map_of_the_source_is_right():
    """Folders and files of the tables that say where things are; a bare file name is in a folder
    that its row names before it."""
    rows = [r for r in (FOLDER / "architecture.md").read_text().splitlines() if r.startswith("| ")]
    checked = 0
    for row in rows:
        folders = []
        for name in re.findall(r"`([\w./-]+(?:\.py|/))`", row):
            if name.startswith(("src/", "assets/", "scripts/")):
                assert (ROOT / name).exists(), row
                folders = [*folders, ROOT / name] if name.endswith("/") else folders
                checked += 1
            elif folders:
                assert any((folder / name).exists() for folder in folders), (name, row)
                checked += 1
    assert checked > 60


ENTRY_POINTS = (plugins.COMMANDS, plugins.FORMATS, plugins.LAWS)


def _found(name):
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:length]))
        except ImportError as error:
            if error.name and not error.name.startswith("mjgym"):
                return True  # a package that it needs is not installed
            continue
        for part in parts[length:]:
            found = getattr(found, part, None)
        return found is not None
    return False


def test_the_style_shown_is_that_of_the_source():
    text = (FOLDER / "architecture.md").read_text()
    style = text.partition("## Style")[2].partition("\n## ")[0]
    places = re.findall(r"`(src/\S+\.py)`", style)
    passages = re.findall(r"```text\n(.*?)```", style, re.DOTALL)
    for place, shown in zip(places, passages, strict=True):
        if "Error: " not in shown:
            source = (ROOT / place).read_text()
            assert all(line in source for line in shown.splitlines()), place


def test_the_readme_is_short():
    assert len(README.read_text().splitlines()) <= 200


def test_every_guide_is_in_the_index():
    index = (FOLDER / "index.md").read_text()
    for page in GUIDES:
        assert page.stem == "index" or f"[{page.stem}]({page.name})" in index


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_it_begins_with_its_title_and_a_sentence(page):
    title, sentence, *_ = page.read_text().split("\n\n")
    assert re.fullmatch(r"# \w[\w ]*", title)
    assert len(sentence.replace("\n", " ")) < 120
    assert sentence.rstrip().endswith(".")


# Guides to a way of working end with what goes wrong there; the others are tables of facts.
FACTS = {
    "index",
    "tasks",
    "baselines",
    "benchmarks",
    "recipe_search",
    "results",
    "scores",
    "fidelity",
    "leaderboard",
}
TRAINING = {"training", "own_algorithm", "cluster", "reading_results", "learn_to_move", "papers"}
HOW_TO = [page for page in GUIDES if page.stem not in FACTS | TRAINING]


@pytest.mark.parametrize("page", HOW_TO, ids=lambda page: page.stem)
def test_a_guide_shows_an_example_and_ends_with_its_pitfalls(page):
    text = page.read_text()
    assert re.findall(r"^## (.*)$", text, re.MULTILINE)[-1] == "Pitfalls"
    assert "```" in text or page.stem == "architecture"


class TestCommand:
    def run(self, *words, columns=100):
        return CliRunner(env={"COLUMNS": str(columns)}).invoke(app, ["guide", *words])

    def test_lists_all_in_the_order_of_the_index(self):
        first, second = self.run().output.split("\n\n")
        listed = re.findall(r"^(\w+) ", first, re.MULTILINE)
        assert listed == list(guides())
        assert set(programs()) < set(re.findall(r"^(\w+) ", second, re.MULTILINE))
        assert listed[0] == "using"
        assert set(listed) == {page.stem for page in GUIDES} - {"index"}

    @pytest.mark.parametrize("name", mostly_nightly(guides(), quick=24))
    def test_shows_each(self, name):
        shown = self.run(name)
        assert shown.exit_code == 0
        first = guides()[name].text.partition("\n")[0].removeprefix("# ")
        assert shown.output.lstrip().startswith(first)
        assert "<!--" not in shown.output
        assert "```" not in shown.output

    def test_a_module_shown_is_whole(self):
        shown = self.run("writing_a_task", columns=120).output
        code = modules(FOLDER / "writing_a_task.md")["puck_hold"]
        for line in filter(None, code.splitlines()):
            assert line in shown

    @pytest.mark.parametrize("name", mostly_nightly(["press_button", "creatures.py", "sb3"], 3))
    def test_a_program_is_shown_and_can_be_saved(self, name):
        stem = name.removesuffix(".py")
        (file,) = (SCRIPTS).glob(f"*/{stem}.py")
        written = self.run(name, "--markdown").output
        assert written == file.read_text() + "\n"
        compile(written, stem, "exec")
        for line in filter(None, file.read_text().splitlines()[20:40]):
            assert line in self.run(name, columns=120).output

    def test_as_it_is_written(self):
        assert self.run("varying", "--markdown").output == guides()["varying"].text + "\n"

    @pytest.mark.parametrize("name", ["writing-a-task", "Writing_A_Task.md", "writing_a_task"])
    def test_spellings(self, name):
        assert self.run(name).exit_code == 0

    def test_a_typo_names_the_nearest(self):
        shown = self.run("compsing")
        assert shown.exit_code == 2
        assert "composing" in re.sub(r"\W+", " ", shown.output)

    @pytest.mark.weekly
    def test_needs_no_engine(self):
        program = (
            "import sys; sys.modules['mujoco'] = None; sys.argv = ['mjgym', 'guide', 'varying'];"
            "from mjgym_command import main; main()"
        )
        path = os.pathsep.join(p for p in sys.path if p)
        done = subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout.startswith("Domain randomization"), done.stderr
