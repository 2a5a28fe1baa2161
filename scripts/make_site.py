"""Build the site: guides, a page for each id and a reference, searchable without a server.

pip install -e ".[docs]"
python scripts/make_site.py FOLDER [--repository https://github.com/...]

Sphinx reads Markdown (MyST) and docstrings. The pages are first written into a scratch folder: the
guides unchanged, those of ids from `describe()`, those of modules from their names.
"""

import argparse
import html
import importlib.util
import inspect
import itertools
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import gymnasium
from make_gallery import dimensions
from update_tables import DATA_TABLES, data_page, scores
from update_tables import NAMESPACES as EXAMPLES

import mjgym
from mjgym.cli.guide import guides
from mjgym.describe.description import field_comments
from mjgym_train import baselines, comparison, metrics, score_table

ROOT = Path(__file__).resolve().parents[1]
GUIDES, GALLERY, BASELINES = (ROOT / "assets" / name for name in ("guides", "gallery", "baselines"))
LOGO = ROOT / "assets" / "logo.svg"
TASKS, API = "tasks", "reference"  # folders of the site

# Contents of the reference: a module's `__all__`, or else its public names, in that order.
MODULES = {
    "Environments": (
        *("mjgym", "mjgym.envs.env", "mjgym.envs.vector", "mjgym.envs.sub_environments"),
        *("mjgym.envs.options", "mjgym.envs.rollouts", "mjgym.registry"),
    ),
    "Tasks": (
        *(
            "mjgym.task",
            "mjgym.entities",
            "mjgym.loop.episode",
            "mjgym.sim.views",
            "mjgym.rewards",
        ),
        *("mjgym.rotations", "mjgym.resets", "mjgym.describe.labels", "mjgym.checks"),
    ),
    "Planning": ("mjgym.planning",),
    "Models": ("mjgym.mjcf", "mjgym.robots", "mjgym.controllers"),
    "Readings and variation": ("mjgym.observables", "mjgym.variation"),
    "Locomotion": (
        *("mjgym.tasks.locomotion.walkers", "mjgym.tasks.locomotion.arenas"),
        *("mjgym.tasks.locomotion.walker_task", "mjgym.mocap"),
    ),
    "Adapters": (
        *("mjgym_compat.dm_env", "mjgym_compat.envpool", "mjgym_compat.lerobot"),
        *("mjgym_compat.robomimic", "mjgym_compat.robosuite", "mjgym_compat.sb3"),
        "mjgym_compat.shimmy",
    ),
    "Training": (
        *("mjgym.policies.network", "mjgym.policies.trained"),
        *("mjgym_train.baselines", "mjgym_train.metrics"),
    ),
    "Datasets and viewing": ("mjgym.datasets", "mjgym.viewing"),
    "Others": ("mjgym.envs.wrappers", "mjgym.describe.fingerprint", "mjgym.rendering"),
}

PACKAGES = [
    name
    for name in itertools.chain(*MODULES.values())
    if (spec := importlib.util.find_spec(name)) and spec.submodule_search_locations
]

CONFIGURATION = f"""
project, author, release = "mjgym", "The mjgym authors", {mjgym.__version__!r}
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
myst_heading_anchors = 3
html_theme, html_title = "furo", "mjgym"
html_logo = html_favicon = "static/logo.svg"
html_static_path, html_css_files = ["static"], ["site.css"]
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
autodoc_mock_imports = ["lerobot", "robomimic", "stable_baselines3"]  # pages do without them
autodoc_default_options = {{"members": True}}
napoleon_google_docstring, napoleon_numpy_docstring, napoleon_use_ivar = True, False, True
default_role = "code"
# Classes that several modules offer have a place in each; formulae in docstrings hold "*" and "|".
suppress_warnings = ["ref.python", "docutils"]


def setup(app):
    from make_site import is_bare_field, with_fields, with_tables

    early = 100  # before napoleon
    app.connect("autodoc-process-docstring", lambda *args: with_fields(args[3], args[-1]), early)
    app.connect("autodoc-process-docstring", lambda *args: with_tables(args[-1]), early + 1)
    app.connect("autodoc-skip-member", lambda *args: is_bare_field(args[3]) or None)
"""
STYLE = """
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); gap: 0.8rem; }
.cards a { text-decoration: none; font-size: 0.75rem; line-height: 1.3; overflow-wrap: break-word; }
.cards span { display: block; color: var(--color-foreground-secondary); }
.cards img { width: 100%; border-radius: 4px; display: block; margin-bottom: 0.2rem; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; margin-bottom: 1rem; }
.pictures img { height: 12rem; border-radius: 4px; }
.few { grid-template-columns: repeat(3, 1fr); }
.content { width: 52em; }
/* On a phone too the longest part of an id between slashes and hyphens fits a line. */
article h1 { font-size: min(2.5em, 6vw); overflow-wrap: break-word; }
article h2 { font-size: 1.5em; }
article h3 { font-size: 1.15em; }
.curve text { font-size: 11px; fill: var(--color-foreground-secondary); }
.sidebar-logo { width: 4rem; }
table.docutils { font-size: 0.85em; margin-left: 0; }
"""
FRONT = """
Continue with the [guides](guides/index.md), or browse the [tasks](tasks/index.md).

```{toctree}
:hidden:

guides/index
tasks/index
reference/index
data/scores
data/results
```
"""


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """Markdown table without columns that are empty in every row."""
    head, body = list(columns), [list(row) for row in rows]
    kept = [i for i in range(len(head)) if any(row[i] not in ("", None) for row in body)]
    cells = [[row[i] for i in kept] for row in (head, ["---"] * len(head), *body)]
    return "\n".join(f"| {' | '.join(_cell(c) for c in row)} |" for row in cells)


def _cell(value: Any) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def with_tables(lines: list[str]) -> None:
    """Convert the Markdown tables of a docstring to reStructuredText, in place."""
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


def with_fields(member: Any, lines: list[str]) -> None:
    """Add the comments beside a class's fields to its docstring, unless that explains them."""
    if not inspect.isclass(member) or any(line.strip() == "Args:" for line in lines):
        return
    fields = {name: text for name, text in field_comments(member).items() if text}
    if fields:
        lines += ["", "Args:", *(f"    {name}: {text}." for name, text in fields.items()), ""]


def is_bare_field(member: Any) -> bool:
    """Tell whether it is a field of a named tuple, documented by its class."""
    return str(getattr(member, "__doc__", "")).startswith("Alias for field number")


def toctree(pages: Iterable[str], caption: str = "", *, hidden: bool = False) -> str:
    """Links to pages, for the site's navigation; hidden: only there."""
    head = f":caption: {caption}\n" if caption else ""
    head += ":hidden:\n" if hidden else ""
    return "```{toctree}\n:maxdepth: 1\n" + head + "\n" + "\n".join(pages) + "\n```\n"


def picture(id: str, what: str, up: str) -> str:
    """Relative path of an id's still or clip, from a page some folders down."""
    return f"{up}static/gallery/{id}.{what}.webp"


def cards(ids: Iterable[str], up: str = "", style: str = "cards") -> str:
    """Linked images of ids, with their summaries."""
    links = "\n".join(
        f'<a href="{up}{TASKS}/{id}.html"><img src="{up}_{picture(id, "still", "")}"'
        f' loading="lazy" alt=""><b>{breakable(id)}</b>'
        f"<span>{html.escape(mjgym.registry.registration(id).summary)}</span></a>"
        for id in ids
    )
    return f"```{{raw}} html\n<div class='{style}'>\n{links}\n</div>\n```\n"


def breakable(id: str) -> str:
    """An id that may break after the slash, where browsers would not."""
    return id.replace("/", "/<wbr>")


def task_page(id: str, rows: Iterable[score_table.Row]) -> str:
    """Page of an id: task, images, every number of its spaces; its runs among those of all."""
    env: Any = gymnasium.make(id)
    data = env.unwrapped.describe()
    limit, control = env.spec.max_episode_steps, data["control_timestep"]
    substeps = round(control / data["physics_timestep"])
    env.close()
    flat = env
    spaces = {"observation space": f"`{env.observation_space}`"}
    if isinstance(env.observation_space, gymnasium.spaces.Dict):
        flat = gymnasium.make(id, observation="flat")
        spaces["flat"] = f"`{flat.observation_space}`"
        flat.close()
    spaces["action space"] = f"`{env.action_space}`"
    seen = dimensions(flat)
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
        f"# {breakable(id)}",
        data["summary"],
        _pictures(id),
        f'```python\nimport gymnasium\nimport mjgym\n\nenv = gymnasium.make("{id}")\n```',
        table(("", ""), ((name, fact) for name, fact in {**spaces, **facts}.items() if fact)),
        *_prose(data["description"], data["summary"]),
        _titled("Reward", data["reward"]),
        "Terms: " + ", ".join(f"`{term}`" for term in data["terms"]),
        _titled("Start", data["start"]),
        _titled("End", data["end"]),
        scores_section(id, rows),
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


CURVE = 480, 160  # pixels
MARGIN = 48, 22  # pixels, for the numbers at the left and those below
TICKS = 5  # on each axis


def scores_section(id: str, rows: Iterable[score_table.Row]) -> str:
    """Scores of the baselines, and those and the curves of the table's runs."""
    own = [row for row in rows if row.env_name == id]
    parts = [f"{name} actions {found.mean:.0f}" for name, found in baselines.recorded(id).items()]
    for method in sorted({row.exp_name for row in own}):
        line = scores.line_of(own, method, id)
        each = ", ".join(f"{score:.0f}" for score in line.scores)
        parts.append(f"`{method}` {each} ([protocol](../../guides/scores.md))")
    if not parts:
        return ""
    text = f"## Scores\n\nMean returns of 100 episodes: {'; '.join(parts)}.\n\n"
    return text + (curve_svg(id, own) if own else "")


def curve_svg(id: str, rows: Iterable[score_table.Row]) -> str:
    """Returns over control steps, a line for each run."""
    runs: dict[tuple[str, int], list[tuple[float, float]]] = {}
    for row in rows:
        if row.metric == metrics.RETURN:
            runs.setdefault((row.exp_name, row.seed), []).append((row.env_step, row.value))
    points = list(itertools.chain(*runs.values()))
    last = max(step for step, _ in points)
    top = comparison.NORMALIZED if comparison.scaled(id) else max(value for _, value in points)
    low = min(0.0, *(value for _, value in points))
    width, height = CURVE
    lines = []
    for run in runs.values():
        places = (
            f"{width * step / last:.1f},{height * (top - value) / ((top - low) or 1):.1f}"
            for step, value in sorted(run)
        )
        lines.append(f"<polyline points='{' '.join(places)}' fill='none' stroke='#1f77b4'/>")
    frame = f"<rect width='{width}' height='{height}' fill='none' stroke='#999'/>"
    left, below = MARGIN
    box = f"{-left} -8 {width + left + 24} {height + below + 8}"
    axes = _axes(low, top, last)
    size = f"viewBox='{box}' width='{width + left + 24}'"
    drawn = f"<svg class=curve {size}>{frame}{axes}{''.join(lines)}</svg>"
    words = "Mean return over thousands of control steps; a line for each run."
    return f"```{{raw}} html\n<figure>{drawn}<figcaption>{words}</figcaption></figure>\n```\n"


def _axes(low: float, top: float, last: float) -> str:
    """Grid lines with labels: returns at the left, thousands of control steps below."""
    width, height = CURVE
    parts = []
    for i in range(TICKS):
        part = i / (TICKS - 1)
        x, y = width * part, height * (1 - part)
        parts.append(f"<path d='M0 {y:.1f}H{width}M{x:.1f} 0V{height}' stroke='#9994'/>")
        value, steps = low + part * (top - low), part * last / 1000
        parts.append(f"<text x='-6' y='{y + 4:.1f}' text-anchor='end'>{value:,.4g}</text>")
        parts.append(
            f"<text x='{x:.1f}' y='{height + 16}' text-anchor='middle'>{steps:,.0f}</text>"
        )
    return "".join(parts)


ACTION = ("index", "name", "range", "unit", "gear", "meaning")
ARGUMENT = ("name", "value", "type", "meaning")


def _titled(title: str, text: str) -> str:
    if not text:
        return ""
    formula = re.match(r"\w+ = ", text)  # begins with a name, which keeps its case
    return f"## {title}\n\n{text if formula else text[0].upper() + text[1:]}"


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
    """Docstring without the paragraphs that are shown elsewhere."""
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


def _ids() -> list[str]:
    """Ids of the package, without those of users."""
    modules = {
        id: mjgym.registry.registration(id).task_class.__module__ for id in mjgym.registry.ids()
    }
    return [id for id, module in modules.items() if module.startswith("mjgym.tasks.")]


def tasks(folder: Path) -> None:
    """Write a page for each id, one for each namespace, and one with all namespaces."""
    spaces, rows = [], score_table.read()
    for namespace, group in itertools.groupby(_ids(), lambda id: id.split("/")[0]):
        ids = list(group)
        (folder / namespace).mkdir(parents=True)
        for id in ids:
            (folder / f"{id}.md").write_text(task_page(id, rows))
        title = TITLES.get(namespace, namespace)
        parts = [f"# {title}\n\n{len(ids)} ids in the namespace `{namespace}`.\n"]
        for domain, members in itertools.groupby(sorted(ids, key=_domain), _domain):
            parts.append(f"## {domain}\n\n{cards(list(members), '../')}")
        parts.append(toctree([f"/{TASKS}/{id}" for id in ids], hidden=True))
        (folder / f"{namespace}.md").write_text("\n".join(parts))
        spaces.append((namespace, _family(namespace, title, ids)))
    listed = toctree([f"/{TASKS}/{namespace}" for namespace, _ in spaces], hidden=True)
    links = "\n".join(link for _, link in spaces)
    shown = f"```{{raw}} html\n<div class='cards few'>\n{links}\n</div>\n```"
    (folder / "index.md").write_text(f"# Tasks\n\nAll ids by family.\n\n{shown}\n\n{listed}")


def _family(namespace: str, title: str, ids: list[str]) -> str:
    """Linked image of a family, with its size."""
    image = f"../_{picture(f'{namespace}/{EXAMPLES[namespace]}', 'still', '')}"
    return (
        f'<a href="{namespace}.html"><img src="{image}" loading="lazy" alt=""><b>{title}</b>'
        f"<span>{len(ids)} ids</span></a>"
    )


TITLES = {
    "dmc": "DeepMind Control Suite",
    "gymnasium": "Gymnasium's own",
    "l2m": "Learn to Move",
    "legged": "Legged robots",
    "locomotion": "Locomotion",
    "manipulation": "Manipulation",
    "robosuite": "Tabletop (robosuite)",
    "soccer": "Soccer",
}


def _domain(id: str) -> str:
    """Heading of an id: its domain, or its kind if the name has no domain."""
    name = id.partition("/")[2].rpartition("-v")[0]
    if "-" in name:
        return name.partition("-")[0]
    if id.startswith("gymnasium/"):
        return "MuJoCo"
    if name[0].isupper():
        return "Two arms" if name.startswith("TwoArm") else "One arm"
    return name.partition("_")[0]


def reference(folder: Path) -> None:
    """Write a page for each module."""
    folder.mkdir(parents=True)
    text = "# Reference\n\nThe public modules.\n\n"
    for caption, modules in MODULES.items():
        text += toctree(modules, caption)
        for name in modules:
            # Packages document their exports; names of mjgym are documented where they are defined.
            members = {**dict.fromkeys(PACKAGES, ":imported-members:"), "mjgym": ":no-members:"}
            options = members.get(name, "")
            (folder / f"{name}.md").write_text(
                f"# {name}\n\n```{{eval-rst}}\n.. automodule:: {name}\n   {options}\n```\n"
            )
    (folder / "index.md").write_text(text)


def copied_guides(folder: Path, repository: str) -> None:
    """Copy the guides."""
    folder.mkdir(parents=True)
    for page in GUIDES.glob("*.md"):
        (folder / page.name).write_text(_adapted(page.read_text(), repository))
    (folder / "index.md").write_text(_guides_index())


def data_pages(folder: Path, repository: str) -> None:
    """Write the pages of measurements."""
    folder.mkdir(parents=True)
    for name in DATA_TABLES:
        (folder / f"{name}.md").write_text(_adapted(data_page(name), repository))


def _adapted(text: str, repository: str) -> str:
    """A page for the site; links into the repository lead there, or are plain text without one."""
    text = text.replace("](../gallery/README.md)", "](../tasks/index.md)")
    text = re.sub(r"\]\(\.\./(gallery|baselines)/", r"](../static/\1/", text)
    text = re.sub(r'src="\.\./(gallery|baselines)/', r'src="../_static/\1/', text)
    inside = rf"[\1]({repository}/blob/main/\2)" if repository else r"\1"
    text = re.sub(r"\[([^\]]+)\]\(\.\./\.\./([^)]*)\)", inside, text)
    text = text.replace("```python gl", "```python")
    return re.sub(r"<!-- module: .*?-->\n", "", text)


def _guides_index() -> str:
    """Index of the guides: headings, and for each guide its title and first sentence."""
    known, lines = guides(), ["# Guides", ""]
    for line in (GUIDES / "index.md").read_text().splitlines():
        if line.startswith("## "):
            lines += ["", line, ""]
        elif (found := re.match(r"- \[(\w+)\]", line)) and (guide := known.get(found[1])):
            title = guide.text.partition("\n")[0].removeprefix("# ")
            lines.append(f"- [{title}]({guide.name}.md): {guide.summary}")
    return "\n".join(lines) + "\n\n" + toctree(known, hidden=True)


def front() -> str:
    """Front page: the README's introduction with images, installation and quick start."""
    readme = (ROOT / "README.md").read_text()
    lead, _, rest = readme.partition('<p align="center">')
    shown = re.findall(r"assets/gallery/(\S+?)\.still\.webp", readme)
    code = rest[rest.index("## Installation") : rest.index("## Speed")]
    code = code.replace("](assets/guides/", "](guides/")
    return lead + cards(shown, style="cards few") + "\n" + code + FRONT


def write(folder: Path, repository: str = "") -> None:
    """Write all that Sphinx reads.

    Args:
        folder: to write into.
        repository: web address of the sources, for links to files and the pages' edit icons.
    """
    copied_guides(folder / "guides", repository)
    data_pages(folder / "data", repository)
    tasks(folder / TASKS)
    reference(folder / API)
    for source in (GALLERY, BASELINES):
        shutil.copytree(source, folder / "static" / source.name)
    shutil.copy(LOGO, folder / "static" / LOGO.name)
    (folder / "static" / "site.css").write_text(STYLE)
    icons = {"source_repository": repository, "source_branch": "main"} if repository else {}
    (folder / "conf.py").write_text(f"{CONFIGURATION}html_theme_options = {icons!r}\n")
    (folder / "index.md").write_text(front())


def broken(folder: Path) -> list[str]:
    """Links and images of HTML pages without a target file, as "page: target".

    Sphinx's list of highlighted sources is skipped: it links to a page "builtins".
    """
    missing = []
    for page in sorted(folder.rglob("*.html")):
        if page == folder / "_modules" / "index.html":
            continue
        for target in re.findall(r'(?:src|href)="([^"]*)"', page.read_text()):
            path = unquote(urlsplit(target).path)
            if not path or urlsplit(target).scheme or target.startswith("//"):
                continue
            if not (page.parent / path).exists():
                missing.append(f"{page.relative_to(folder)}: {target}")
    return missing


def main() -> int:
    """Build; returns the exit code, 1 if Sphinx warns or a link or image is broken."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="folder of the site, e.g. build/site")
    parser.add_argument("--pages", action="store_true", help="write what Sphinx reads, and no more")
    parser.add_argument("--repository", default="", help="web address of the sources")
    arguments = parser.parse_args()
    if arguments.pages:
        write(arguments.out, arguments.repository)
        return 0
    from sphinx.cmd.build import main as build

    with tempfile.TemporaryDirectory() as scratch:
        write(Path(scratch), arguments.repository)
        pages = sum(1 for _ in Path(scratch).rglob("*.md"))
        print(f"{pages} pages written; Sphinx makes HTML of them, which takes minutes", flush=True)
        options = ["-b", "html", "-q", "-W", "--keep-going"]
        status = build([*options, scratch, str(arguments.out)])
    faults = broken(arguments.out)
    print("\n".join(faults), end="\n" if faults else "", file=sys.stderr)
    print(f"{arguments.out / 'index.html'}: {'faulty' if status or faults else 'whole'}")
    return 1 if status or faults else 0


if __name__ == "__main__":
    sys.exit(main())
