"""The pages of the site, as they are handed to Sphinx; CI builds the whole."""

import re
import sys

import pytest
from places import SCRIPTS

import mjgym
from mjgym.cli.guide import guides

sys.path.insert(0, str(SCRIPTS))
import make_site
from update_tables import NAMESPACES


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    make_site.write(folder)
    return folder


def ids():
    return [id for space in NAMESPACES for id in mjgym.registry.ids(namespace=space)]


@pytest.mark.slow
def test_every_id_has_a_page(pages):
    index = (pages / "tasks" / "index.md").read_text()
    for id in ids():
        text = (pages / "tasks" / f"{id}.md").read_text()
        title, sentence, *_ = text.split("\n\n")
        assert title == f"# {id}"
        assert sentence == mjgym.registry.registration(id).summary
        for what in ("Reward", "Observation", "Action", "Arguments", "Versions"):
            assert f"\n## {what}\n" in text
        for source in re.findall(r'src="([^"]+)"', text):
            place = (pages / "tasks" / "dmc" / source).resolve()
            assert (pages / "static" / str(place).partition("_static/")[2]).is_file()
        assert f"/tasks/{id}\n" in index


@pytest.mark.slow
def test_links_between_pages(pages):
    for page in pages.rglob("*.md"):
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text()):
            assert "://" in link or (page.parent / link).exists(), (page, link)


@pytest.mark.slow
def test_every_guide_is_there_and_in_the_navigation(pages):
    listed = (pages / "guides" / "index.md").read_text().split()
    assert set(guides()) <= set(listed)
    assert {page.stem for page in (pages / "guides").glob("*.md")} == {*guides(), "index"}


def test_ids_have_sentences_of_their_own():
    summaries = [mjgym.registry.registration(id).summary for id in ids()]
    assert len(set(summaries)) == len(summaries)
    assert all(len(s) < 100 and s.endswith(".") and "`" not in s for s in summaries)


def test_tables_of_docstrings():
    lines = ["Before.", "", "| a | b |", "|---|---|", r"| `x \| y` | 2 |", "", "After."]
    make_site.with_tables(lines)
    assert lines == [
        *("Before.", ""),
        *(".. list-table::", "   :header-rows: 1", ""),
        *("   * - a", "     - b"),
        *(r"   * - `x \| y`", "     - 2"),
        *("", "", "After."),
    ]
