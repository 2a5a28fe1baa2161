"""The pages of the site, as they are handed to Sphinx; CI builds the whole."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

import mjgym
from helpers.lanes import lane
from helpers.places import SCRIPTS
from mjgym.cli.guide import guides
from mjgym_train import score_table

sys.path.insert(0, str(SCRIPTS))
import make_site
from update_tables import DATA_TABLES, NAMESPACES


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    make_site.write(folder)
    return folder


def ids():
    return [id for space in NAMESPACES for id in mjgym.registry.ids(namespace=space)]


@pytest.mark.slow
def test_every_id_has_a_page(pages):
    for id in ids():
        index = (pages / "tasks" / f"{id.partition('/')[0]}.md").read_text()
        text = (pages / "tasks" / f"{id}.md").read_text()
        title, sentence, *_ = text.split("\n\n")
        assert title == f"# {make_site.breakable(id)}"
        assert sentence == mjgym.registry.registration(id).summary
        for what in ("Reward", "Observation", "Action", "Arguments", "Versions"):
            assert f"\n## {what}\n" in text
        for source in re.findall(r'src="([^"]+)"', text):
            place = (pages / "tasks" / "dmc" / source).resolve()
            assert (pages / "static" / str(place).partition("_static/")[2]).is_file()
        assert f"/tasks/{id}\n" in index
        assert f"<b>{make_site.breakable(id)}</b>" in index
        assert "import mjgym\n" in text
        assert "| action space | `Box(" in text
        assert "| observation space | `" in text


@pytest.mark.slow
def test_pages_of_measurements_have_all_their_tables(pages):
    for name, tables in DATA_TABLES.items():
        text = (pages / "data" / f"{name}.md").read_text()
        assert len(re.findall(r"^(\| ?-{3}|\|-{3}|- )", text, re.MULTILINE)) >= len(tables)
        assert not re.search(r":begin[^>]*>\s*<!--", text)
        assert f"data/{name}\n" in (pages / "index.md").read_text()


@lane(0, 3)
def test_links_and_pictures_lead_somewhere(pages):
    for page in pages.rglob("*.md"):
        text = page.read_text()
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", text):
            assert "://" in link or (page.parent / link).exists(), (page, link)
        for target in re.findall(r'(?:src|href)="([^"#:]+)"', text):  # as they are in HTML
            file = target.replace("_static/", "static/").replace(".html", ".md")
            assert (page.parent / file).exists(), (page, target)


def test_broken_links_and_pictures_are_found(tmp_path):
    (tmp_path / "there.html").write_text('<a href="page.html#top"></a><img src="gone%20by.webp">')
    (tmp_path / "page.html").write_text('<a href="https://example.org/x">x</a><a href="#a">a</a>')
    assert make_site.broken(tmp_path) == ["there.html: gone%20by.webp"]


@pytest.mark.slow
def test_the_first_page_says_how_to_install(pages):
    text = (pages / "index.md").read_text()
    assert "pip install" in text
    assert (pages / "static" / "logo.svg").is_file()


@pytest.mark.slow
def test_every_guide_is_there_and_in_the_navigation(pages):
    index = (pages / "guides" / "index.md").read_text()
    assert set(guides()) <= set(index.split())
    assert all(f"]({name}.md): " in index for name in guides())
    assert {page.stem for page in (pages / "guides").glob("*.md")} == {*guides(), "index"}


def test_curves_have_axes():
    rows = [row for row in score_table.read() if row.env_name == "dmc/walker-walk-v0"]
    drawn = make_site.curve_svg("dmc/walker-walk-v0", rows)
    numbers = re.findall(r"<text [^>]*>([^<]+)</text>", drawn)
    assert len(numbers) == 2 * make_site.TICKS
    assert numbers[:2] == ["0", "0"]
    assert "1,000" in numbers  # the greatest return


def test_the_reference_has_what_users_import():
    shown = {name for modules in make_site.MODULES.values() for name in modules}
    assert {"mjgym_compat.sb3", "mjgym.datasets", "mjgym.viewing"} < shown
    assert any(name.startswith("mjgym_train.") for name in shown)


@pytest.mark.parametrize("package", make_site.PACKAGES)
def test_packages_of_the_reference_name_what_they_offer(package):
    """Else their pages show what they import as well, and Sphinx finds it twice."""
    assert "\n__all__ = " in Path(importlib.util.find_spec(package).origin).read_text()


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
