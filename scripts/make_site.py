"""Builds the site: the guides, a page for each id and a reference, searchable and without a server.

pip install -e ".[docs]"
python scripts/make_site.py FOLDER

Sphinx reads Markdown (MyST) and docstrings. The pages are written into a scratch folder first: the
guides as they stand, those of ids from `describe()`, those of modules from their names.
"""

import argparse
import importlib
import itertools
import re
import shutil
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
from make_gallery import dimensions

import mjgym
from mjgym.cli.guide import guides

ROOT = Path(__file__).resolve().parents[1]
GUIDES, GALLERY, BASELINES = (ROOT / "assets" / name for name in ("guides", "gallery", "baselines"))
HOME = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Source"]
TASKS, API = "tasks", "reference"  # folders of the site

# What the reference shows; a module's own `__all__`, or else its public names, in that order.
MODULES = {
    "Environments": (
        *("mjgym", "mjgym.envs.env", "mjgym.envs.vector", "mjgym.envs.sub_environments"),
        *("mjgym.envs.options", "mjgym.registry"),
    ),
    "Tasks": (
        *("mjgym.task", "mjgym.loop.episode", "mjgym.sim.views", "mjgym.rewards"),
        *("mjgym.rotations", "mjgym.resets", "mjgym.inspect.labels", "mjgym.inspect.checks"),
    ),
    "Models": ("mjgym.mjcf", "mjgym.robots", "mjgym.controllers"),
    "Readings and variation": ("mjgym.observables", "mjgym.variation"),
    "Locomotion": (
        *("mjgym.tasks.locomotion.walkers", "mjgym.tasks.locomotion.arenas"),
        *("mjgym.tasks.locomotion.scene", "mjgym.mocap"),
    ),
    "Others": (
        *("mjgym.adapters.dm_env", "mjgym.adapters.shimmy", "mjgym.envs.wrappers"),
        *("mjgym.inspect.fingerprint", "mjgym.rendering"),
    ),
}

PACKAGES = [
    name
    for name in itertools.chain(*MODULES.values())
    if hasattr(importlib.import_module(name), "__path__")
]

CONFIGURATION = f"""
project, author, release = "mjgym", "The mjgym authors", {mjgym.__version__!r}
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_heading_anchors = 3
html_theme, html_title = "furo", "mjgym"
html_static_path, html_css_files = ["static"], ["site.css"]
html_theme_options = {{"source_repository": {HOME!r}, "source_branch": "main"}}
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_default_options = {{"members": True}}
napoleon_google_docstring, napoleon_numpy_docstring, napoleon_use_ivar = True, False, True
default_role = "code"
# Classes that several modules offer have a place in each; formulae in docstrings hold "*" and "|".
suppress_warnings = ["ref.python", "docutils"]


def setup(app):
    from make_site import is_bare_field, with_tables

    early = 100  # before napoleon
    app.connect("autodoc-process-docstring", lambda *args: with_tables(args[-1]), early)
    app.connect("autodoc-skip-member", lambda *args: is_bare_field(args[3]) or None)
"""
STYLE = """
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 0.8rem; }
.cards a { text-decoration: none; font-size: 0.75rem; line-height: 1.3; overflow-wrap: anywhere; }
.cards img { width: 100%; border-radius: 4px; display: block; margin-bottom: 0.2rem; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; margin-bottom: 1rem; }
.pictures img { height: 12rem; border-radius: 4px; }
.few { grid-template-columns: repeat(3, 1fr); }
.content { width: 52em; }
article h2 { font-size: 1.5em; }
article h3 { font-size: 1.15em; }
table.docutils { font-size: 0.85em; margin-left: 0; }
"""
FRONT = """
[Read on](guides/using.md), look at the [tasks](tasks/index.md) or at the
[source]({home}).

```{{toctree}}
:hidden:

guides/index
tasks/index
reference/index
```
"""


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table."""
    cells = [list(columns), ["---"] * len(list(columns)), *map(list, rows)]
    return "\n".join(f"| {' | '.join(_cell(c) for c in row)} |" for row in cells)


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def with_tables(lines: list[str]) -> None:
    """Turn the Markdown tables of a docstring into those of reStructuredText, in place."""
    text = list(lines)
    lines.clear()
    for is_row, group in itertools.groupby(text, lambda line: line.startswith("|")):
        if not is_row:
            lines.extend(group)
            continue
        head, _, *rows = [re.split(r"\s*(?<!\\)\|\s*", row)[1:-1] for row in group]
        lines.extend([".. list-table::", "   :header-rows: 1", ""])
        for row in (head, *rows):
            lines.extend(f"   {'  ' if i else '* '}- {cell}" for i, cell in enumerate(row))
        lines.append("")


def is_bare_field(member: Any) -> bool:
    """Whether it is a field of a named tuple, of which the class says all there is to say."""
    return str(getattr(member, "__doc__", "")).startswith("Alias for field number")


def toctree(pages: Iterable[str], caption: str = "") -> str:
    """Links to pages, which the site's navigation takes up."""
    head = f":caption: {caption}\n" if caption else ""
    return "```{toctree}\n:maxdepth: 1\n" + head + "\n" + "\n".join(pages) + "\n```\n"


def picture(id: str, what: str, up: str) -> str:
    """The relative path of an id's still or clip, from a page some folders down."""
    return f"{up}static/gallery/{id}.{what}.webp"


def cards(ids: Iterable[str], up: str = "", style: str = "cards") -> str:
    """A picture of each id that leads to its page."""
    links = "\n".join(
        f'<a href="{up}{TASKS}/{id}.html"><img src="{up}_{picture(id, "still", "")}"'
        f' loading="lazy" alt="">{id}</a>'
        for id in ids
    )
    return f"```{{raw}} html\n<div class='{style}'>\n{links}\n</div>\n```\n"


def task_page(id: str) -> str:
    """All about an id: what it asks for, how it looks, every number of its spaces."""
    env: Any = gymnasium.make(id)
    data = env.unwrapped.describe()
    limit, control = env.spec.max_episode_steps, data["control_timestep"]
    substeps = round(control / data["physics_timestep"])
    env.close()
    seen = dimensions(gymnasium.make(id, observation="flat"))
    facts = {
        "tags": ", ".join(sorted(mjgym.registry.registration(id).tags)),
        "control": f"every {control:g} s: {substeps} x {data['physics_timestep']:g} s of physics",
        "episode": f"{limit} steps, {limit * control:g} s" if limit else "no limit",
        "success": "`info['success']`" if data["success"] else "not defined",
        "cameras": ", ".join(f"`{name}`" for name in data["cameras"]),
        "varies": ", ".join(f"`{name}`" for name in data["varies"]),
        "class": f"`{data['task'].replace(':', '.')}`",
    }
    parts = [
        f"# {id}",
        data["summary"],
        _pictures(id),
        f'```python\nenv = gymnasium.make("{id}")\n```',
        table(("", ""), ((name, fact) for name, fact in facts.items() if fact)),
        *_prose(data["description"], data["summary"]),
        _titled("Reward", data["reward"]),
        "Terms: " + ", ".join(f"`{term}`" for term in data["terms"]),
        _titled("Start", data["start"]),
        _titled("End", data["end"]),
        f"## Observation\n\nNumbers: {seen}.\n",
        *_observation(data["observation"]),
        "## Action\n",
        table(ACTION, map(_action, data["action"])),
        "## Arguments\n",
        table(ARGUMENT, map(_argument, data["arguments"])),
        "## Versions\n",
        table(("version", ""), ((f"v{n}", text) for n, text in data["versions"].items())),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


ACTION = ("index", "name", "range", "unit", "gear", "meaning")
ARGUMENT = ("name", "value", "type", "meaning")


def _titled(title: str, text: str) -> str:
    return f"## {title}\n\n{text[0].upper()}{text[1:]}" if text else ""


def _action(a: dict[str, Any]) -> tuple[Any, ...]:
    limits = f"{a['low']:g} to {a['high']:g}"
    return a["index"], f"`{a['name']}`", limits, a["unit"], f"{a['gear']:g}", a["meaning"]


def _argument(a: dict[str, Any]) -> tuple[Any, ...]:
    return f"`{a['name']}`", f"`{a['value']!r}`", f"`{a['type']}`", a["comment"]


def _pictures(id: str) -> str:
    if not (GALLERY / f"{id}.still.webp").exists():
        return ""
    shown = (f'<img src="../../_{picture(id, what, "")}" alt="">' for what in ("still", "clip"))
    return f"```{{raw}} html\n<div class=pictures>{''.join(shown)}</div>\n```"


def _prose(description: str, summary: str) -> Iterator[str]:
    """The docstring without the paragraphs that are shown elsewhere."""
    for paragraph in description.split("\n\n"):
        if not re.match(r"(Reward|Start|End|Observation|Args):", paragraph):
            text = paragraph.replace("\n", " ")
            if text != summary:
                yield text


def _observation(rows: list[dict[str, Any]]) -> Iterator[str]:
    for entry, group in itertools.groupby(rows, key=lambda row: row["entry"]):
        numbers = list(group)
        meaning = numbers[0]["meaning"]
        yield f"### {entry}\n\n{meaning}" if meaning else f"### {entry}"
        columns = ("index", "name", "unit", "axes", "source")
        fields = ("index", "name", "unit", "frame", "source")
        yield table(columns, ([n[field] for field in fields] for n in numbers))


def tasks(folder: Path) -> None:
    """A page for each id, and one with all of them."""
    sections = []
    for namespace, group in itertools.groupby(mjgym.registry.ids(), lambda id: id.split("/")[0]):
        ids = list(group)
        (folder / namespace).mkdir(parents=True)
        for id in ids:
            (folder / f"{id}.md").write_text(task_page(id))
        sections.append(f"## {namespace}\n\n{cards(ids, '../')}")
        listed = toctree([f"/{TASKS}/{id}" for id in ids]).replace("1\n", "1\n:hidden:\n", 1)
        sections.append(listed)
    text = "# Tasks\n\nIds: a page for each, written by the program itself.\n\n"
    (folder / "index.md").write_text(text + "\n".join(sections))


def reference(folder: Path) -> None:
    """A page for each module."""
    folder.mkdir(parents=True)
    text = "# Reference\n\nModules: what their docstrings say.\n\n"
    for caption, modules in MODULES.items():
        text += toctree(modules, caption)
        for name in modules:
            # What a package offers is shown there; the names of mjgym where they are defined.
            members = {**dict.fromkeys(PACKAGES, ":imported-members:"), "mjgym": ":no-members:"}
            options = members.get(name, "")
            (folder / f"{name}.md").write_text(
                f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   {options}\n```\n"
            )
    (folder / "index.md").write_text(text)


def copied_guides(folder: Path) -> None:
    """The guides, with links into the repository made absolute."""
    folder.mkdir(parents=True)
    for page in GUIDES.glob("*.md"):
        text = page.read_text().replace("](../gallery/README.md)", "](../tasks/index.md)")
        text = re.sub(r"\]\(\.\./(gallery|baselines)/", r"](../static/\1/", text)
        text = text.replace("](../../", f"]({HOME}/blob/main/")
        text = text.replace("```python gl", "```python")
        (folder / page.name).write_text(re.sub(r"<!-- module: .*?-->\n", "", text))
    (folder / "index.md").write_text(
        "# Guides\n\nGuides: using, writing, knowing.\n\n" + toctree(guides())
    )


def front() -> str:
    """The first page: what the README begins with, and pictures."""
    readme = (ROOT / "README.md").read_text()
    lead, _, rest = readme.partition('<p align="center">')
    shown = re.findall(r"assets/gallery/(\S+?)\.still\.webp", readme)
    code = rest[rest.index("```python") : rest.index("## Measured")]
    code = re.sub(r"\[([^\]]+)\]\[(\w+)\]", r"[\1](guides/\2.md)", code)
    return lead + cards(shown, style="cards few") + "\n" + code + FRONT.format(home=HOME)


def write(folder: Path) -> None:
    """Write all that Sphinx reads."""
    copied_guides(folder / "guides")
    tasks(folder / TASKS)
    reference(folder / API)
    for source in (GALLERY, BASELINES):
        shutil.copytree(source, folder / "static" / source.name)
    (folder / "static" / "site.css").write_text(STYLE)
    (folder / "conf.py").write_text(CONFIGURATION)
    (folder / "index.md").write_text(front())


def main() -> int:
    """Build; returns the exit code, which is not 0 if Sphinx warns of anything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder of the site, e.g. build/site")
    parser.add_argument("--pages", action="store_true", help="write what Sphinx reads, and no more")
    arguments = parser.parse_args()
    if arguments.pages:
        write(arguments.out)
        return 0
    from sphinx.cmd.build import main as build

    with tempfile.TemporaryDirectory() as scratch:
        write(Path(scratch))
        options = ["-b", "html", "-q", "-W", "--keep-going"]
        return build([*options, scratch, str(arguments.out)])


if __name__ == "__main__":
    sys.exit(main())
