"""Write the table of ids, and the tables of the guides that derive from it and from measurements.

python scripts/update_tables.py          writes them
python scripts/update_tables.py --check  exits with 1 if they are stale
"""

import argparse
import csv
import functools
import json
import re
import sys
from collections.abc import Callable, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import compare_engines
import guide_marks
import gymnasium
import make_offline_data
from make_gallery import ROBOTS, dimensions
from papers_dimensions import PRINTED, REASONS

from mjgym import registry
from mjgym.controllers import controllers
from mjgym.policies import trained
from mjgym.robots import arms, bases, hands
from mjgym.tasks.robosuite.lift import Lift
from mjgym.util import atomic
from mjgym_train import baselines, leaderboard

ROOT = Path(__file__).resolve().parents[1]
VERIFIED = ROOT / "assets" / "baselines" / "verified.json"
sys.path.insert(0, str(ROOT / "benchmarks"))

import cloning  # noqa: E402
import commands  # noqa: E402
import compiling  # noqa: E402
import legged  # noqa: E402
import planning  # noqa: E402
import recipe  # noqa: E402
import rollouts  # noqa: E402
from comparison import on_device, report  # noqa: E402
from training import results, scores, tables  # noqa: E402

GUIDES = ROOT / "assets" / "guides"
RECORDS = ROOT / "benchmarks" / "records"
MEASURED = RECORDS / "gpu.jsonl"
DATA = ROOT / "assets" / "data"
BEGIN = "<!-- {}:begin (written by scripts/update_tables.py) -->"
BEGIN_DATA = "<!-- {}:begin (filled in when the site is built) -->"
END = "<!-- {}:end -->"
GALLERY = "../gallery"  # relative to the guides
TABLETOP = "robosuite"  # the namespace
NAMESPACES = {  # with an example of each
    "dmc": "walker-walk-v0",
    "gymnasium": "HalfCheetah-v5",
    "l2m": "walk_around-v0",
    "legged": "go1-velocity-v0",
    "locomotion": "ant-run_walls-v0",
    "manipulation": "stack_2_bricks_features-v0",
    "robosuite": "Lift-v0",
    "soccer": "boxhead-2v2-v0",
}


def without_version(id: str) -> str:
    """An id without its version."""
    return re.sub(r"-v\d+$", "", id)


def domain_of(id: str) -> str:
    """Domain or walker of an id; the namespace, if tasks have neither."""
    name = without_version(id)
    return name.partition("-" if "-" in name else "/")[0]


def suite_table() -> str:
    """A row for each domain or walker: its tasks, dimensions and timing."""
    lines = [
        "| domain | tasks | observation | action | control, s | steps |",
        "|---|---|---|---|---|---|",
    ]
    known = {namespace: registry.ids(namespace=namespace) for namespace in NAMESPACES}
    for domain, ids in groupby(chain(*known.values()), domain_of):
        rows: dict[tuple[str, ...], list[str]] = {}
        for id in ids:
            env = gymnasium.make(id, observation="flat")
            facts = (
                dimensions(env),
                str(env.action_space.shape[0]),
                f"{env.unwrapped.control_timestep:g}",
                str(env.spec.max_episode_steps or "no limit"),
            )
            name = without_version(id.removeprefix(domain)[1:])
            rows.setdefault(facts, []).append(name)
            env.close()
        for facts, names in rows.items():
            tasks = ", ".join(f"`{name}`" for name in names)
            lines.append(f"| `{domain}` | {tasks} | {' | '.join(facts)} |")
    counts = ", ".join(
        f"{len(ids)} in `{namespace}` (e.g. `{namespace}/{NAMESPACES[namespace]}`)"
        for namespace, ids in known.items()
    )
    lines.append("")
    lines.append(
        f"Ids are `<domain>-<task>-v0`, and `<task>-v0` where there are no domains (`-v5` in"
        f" `gymnasium`): {counts}."
    )
    return "\n".join(lines)


def tabletop_tasks() -> str:
    """A row for each tabletop id: an image, its summary, dimensions."""
    lines = [
        "| | id | task | observation | action |",
        "|---|---|---|---|---|",
    ]
    for id in registry.ids(namespace=TABLETOP):
        env = gymnasium.make(id, observation="flat")
        summary = env.unwrapped.describe()["summary"]
        picture = f'<img src="{GALLERY}/{id}.still.webp" width="120" alt="{id}">'
        numbers = f"{dimensions(env)} | {env.action_space.shape[0]}"
        lines.append(f"| {picture} | `{id}` | {summary} | {numbers} |")
        env.close()
    return "\n".join(lines)


def tabletop_robots() -> str:
    """A row for each robot of the tabletop: a portrait, its joints, gripper and mount."""
    columns = ("", "`robot=`", "arms x joints", "other joints", "default gripper", "default mount")
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for name in ROBOTS:
        arm = arms.find(name)
        picture = f'<img src="{GALLERY}/{TABLETOP}/robots/{name}.webp" width="120" alt="{name}">'
        limbs = arm.limbs.values()
        count = f"{len(limbs)} x {len(next(iter(limbs)).joints)}"
        groups = (*arm.groups, *bases.find(arm.base).groups)
        others = ", ".join(f"{group.name} {len(group.joints)}" for group in groups)
        held = ", ".join(dict.fromkeys(f"`{limb.hand or arm.hand}`" for limb in limbs))
        lines.append(f"| {picture} | `{name}` | {count} | {others} | {held} | `{arm.base}` |")
    return "\n".join(lines)


def tabletop_grippers() -> str:
    """A row for each gripper of the tabletop: its action dimensions and its speed."""
    change = "change of the command per control step; 1 closes"
    lines = [f"| `gripper=` | action dimensions | {change} |", "|---|---|---|"]
    for name in hands.names():
        law = hands.find(name).law
        if law is None:
            continue
        moves = "a" if law.proportional else "sign(a)"
        stroke = f"{moves} x {law.speed:g} half strokes"
        if not law.incremental:
            stroke = "the command itself: -1 is a stretched finger, 1 a bent one"
        lines.append(f"| `{name}` | {law.dimensions} | {stroke if law.dimensions else ''} |")
    return "\n".join(lines)


def tabletop_controllers() -> str:
    """A row for each controller: the action dimensions for an arm of seven joints."""
    lines = [
        "| `controller=` | action dimensions | the first and the last, for an arm of 7 joints |",
        "|---|---|---|",
    ]
    joints = tuple(f"joint{i}" for i in range(1, 8))
    for name in controllers.names():
        actions = controllers.find(name).actions(joints)
        shown = "; ".join(
            f"`{a.name}` {a.low:g} to {a.high:g}, times {a.unit}: {a.meaning}"
            for a in (actions[0], actions[-1])
        )
        lines.append(f"| `{name}` | {len(actions)} | {shown} |")
    return "\n".join(lines)


def tabletop_combinations() -> str:
    """A row for each gripper and a column for each robot: the controllers that work with both."""
    robots = arms.names()
    lines = [
        f"| | {' | '.join(f'`{robot}`' for robot in robots)} |",
        "|---|" + ":-:|" * len(robots),
    ]
    for gripper in hands.names():
        cells = [_controllers_of(robot, gripper) for robot in robots]
        lines.append(f"| `{gripper}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def _controllers_of(robot: str, gripper: str) -> str:
    """The controllers that a robot with a gripper takes: "all", their names, or "-"."""
    fit = []
    for name in controllers.names():
        try:
            Lift(robot=robot, gripper=gripper, controller=name)
        except ValueError:
            continue
        fit.append(name)
    return "all" if len(fit) == len(controllers.names()) else ", ".join(fit) or "-"


def baselines_table() -> str:
    """A row for each id: the returns of random and zero actions."""
    lines = ["| id | random | zero | episodes | steps | MuJoCo |", "|---" * 6 + "|"]
    for id in registry.ids():
        found = baselines.recorded(id)
        cells = [f"{b.mean:.4g} ± {b.std:.3g}" for b in found.values()]
        first = found[baselines.RANDOM]
        cells += [str(first.episodes), str(first.steps), first.mujoco]
        lines.append(f"| `{id}` | {' | '.join(cells)} |")
    return "\n".join(lines)


def policies_table() -> str:
    """A row for each bundled policy."""
    rows = []
    for id, pixels in trained.every():
        about = trained.about_of(trained.file(id, pixels=pixels))
        score = f"{about.mean:.0f} ± {about.std:.0f}"
        if about.successes:
            score += f", {sum(about.successes)} of {len(about.successes)} succeed"
        spent = f"{about.env_step / 1000:,.0f} | {about.minutes:.1f}"
        algorithm, seed = about.settings["algorithm"], about.settings["seed"]
        name = f"`{id}`, from images" if pixels else f"`{id}`"
        rows.append(f"| {name} | {score} | {algorithm} | {seed} | {spent} |")
    head = ["| id | score | algorithm | seed | thousand steps | minutes |", "|---" * 6 + "|"]
    return "\n".join([*head, *rows])


def training_tables() -> dict[str, Callable[[], str]]:
    """Tables of training results, each with its plots below."""
    found = tables.every(results.packaged())
    shown = {
        "times": (results.RECIPE_PICTURE, "Returns over minutes, the recipe and SB3's SAC"),
        "methods": (results.METHODS_PICTURE, "Returns of the variants over steps and minutes"),
        "walk": (results.WALK_PICTURE, "Returns of the walker over steps"),
    }
    for name, (picture, words) in shown.items():
        path = results.picture(picture)
        if path.exists():
            found[name] += f"\n\n![{words}](../baselines/{path.name})"
    return {name: functools.partial(str, text) for name, text in found.items()}


RESULTS = ("rates", "methods", "ray", "walk", "recipe-common")
HISTORY = (
    *("goals", "times", "candidates", "recipe-search", "recipe-goals", "recipe-misses"),
    "recipe-tables",
)


def picked(names: Sequence[str]) -> dict[str, Callable[[], str]]:
    """Some of the tables of training results, by name."""
    found = training_tables() | recipe.every()
    return {name: found[name] for name in names}


def cloning_tables() -> dict[str, Callable[[], str]]:
    """Tables of learning from demonstrations."""
    rows = cloning.read()
    return {name: functools.partial(make, rows) for name, make in cloning.TABLES.items()}


def dimensions_table() -> str:
    """The dimensions that the papers print beside those of each task."""
    lines = ["| task | paper | here | reason |", "|---|---|---|---|"]
    rows: dict[tuple[str, ...], list[str]] = {}
    for id in registry.ids(namespace="dmc"):
        name = id.removeprefix("dmc/").removesuffix("-v0")
        domain = name.partition("-")[0]
        env = gymnasium.make(id)
        model = env.unwrapped.model
        ours = 2 * model.nv + model.na, env.action_space.shape[0], env.observation_space.shape[0]
        env.close()
        printed = PRINTED.get(name) or PRINTED[domain]
        reason = ""
        if ours != printed:
            reason = REASONS.get(name) or REASONS[domain]
        shown = tuple(", ".join(map(str, sizes)) for sizes in (printed, ours))
        rows.setdefault((domain, *shown, reason), []).append(name.partition("-")[2])
    for (domain, printed_sizes, own_sizes, reason), tasks in rows.items():
        words = f"`{domain}`: {', '.join(tasks)}"
        lines.append(f"| {words} | {printed_sizes} | {own_sizes} | {reason} |")
    return "\n".join(lines)


def engines_table() -> str:
    """Ids with different dynamics in two engine versions, and the number without."""
    with compare_engines.FILE.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    here, there = (dict(x.split() for x in rows[0][side].split(", ")) for side in ("here", "there"))
    differing = [row for row in rows if row["first"]]
    ids = {row["id"] for row in rows}
    lines = [
        f"MuJoCo {here['mujoco']} beside {there['mujoco']}:"
        f" {len(ids - {row['id'] for row in differing})} of {len(ids)} ids are equal to the last"
        f" bit over {rows[0]['steps']} steps of either kind of actions. The others:",
        "",
        "| id | actions | differs first at step | largest difference | at step |",
        "|---|---|---|---|---|",
    ]
    for row in differing:
        cells = (f"`{row['id']}`", *(row[x] for x in ("actions", "first", "largest", "at")))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verified_table() -> str:
    """Differences from the published environments, of `mjgym verify --json`, with the versions."""
    found = json.loads(VERIFIED.read_text(encoding="utf-8"))
    versions = dict.fromkeys(
        [f"MuJoCo {x['engine']}" for x in found] + [x["against"] for x in found]
    )
    seeds = dict.fromkeys(f"{x['seeds'][0]} to {x['seeds'][-1]}" for x in found)
    equal = [f"`{x['id']}`" for x in found if not any(x["differences"].values())]
    kinds = list(found[0]["differences"])
    lines = [
        f"{', '.join(versions)}; seeds {', '.join(seeds)}."
        f" Equal to the last bit: {', '.join(equal)}. The others:",
        "",
        f"| id | {' | '.join(kinds)} | bound | steps |",
        f"|{'---|' * (len(kinds) + 3)}",
    ]
    for each in (x for x in found if any(x["differences"].values())):
        numbers = (f"{x:.0e}" if x else "0" for x in each["differences"].values())
        cells = (f"`{each['id']}`", *numbers, f"{each['bound']:.0e}", str(each["steps"]))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def device_table() -> str:
    """Measurements on a GPU, or the commands that make them."""
    if MEASURED.exists():
        return on_device.table(MEASURED)
    file = MEASURED.relative_to(ROOT)
    return (
        "None on a GPU yet. On a machine with one, two commands make them and write them here:\n\n"
        f"```sh\npython benchmarks/gpu.py --all --out {file}    # 8 minutes\n"
        "python scripts/update_tables.py\n```"
    )


PEERS = {
    "batch": "batch",
    "batch / EnvPool": "/ EnvPool",
    "batch / Sync": "/ Sync",
    "batch / Async": "/ Async",
    "batch / limit": "/ C loop",
    "single": "single",
    "single / dm_control": "/ dm_control",
    "bare / dm_control": "bare / dm_control",
    "single / bare": "/ bare",
}
"""Headers of steps per second and ratios, by their name in records of `benchmarks/peers.py`."""

SUITE = ("batch", "single")
"""Records of the suite."""


def _measured(name: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((RECORDS / f"peers_{name}.json").read_text())
    return content


def peers_table(name: str) -> str:
    """A row for each id of a record of `benchmarks/peers.py`, their means, and the machine."""
    content = _measured(name)
    results, means = content["results"], content["summary"]
    filled = report.columns(results).values()
    shown = [x for x in PEERS if x in filled]
    rows = [report.row(result, shown) for result in results]
    cells = (f"{means[x]['geometric_mean']:.2f}" if x in means else "" for x in shown)
    rows.append(("geometric mean", "", *cells))
    table = report.table(("id", "N", *(PEERS[x] for x in shown)), rows)
    return f"{table}\n\n{report.provenance(content['machine'])}"


def means_table() -> str:
    """Means of the suite's ratios, and the lowest one."""
    rows = [
        (
            ratio.replace("limit", "C loop"),
            f"{found['geometric_mean']:.2f}",
            f"{found['mean']:.2f}",
            f"{found['minimum']:.2f} ({found['minimum_id']})",
        )
        for name in SUITE
        for ratio, found in _measured(f"suite_{name}")["summary"].items()
    ]
    return report.table(("ratio", "geometric mean", "mean", "lowest"), rows)


# Tables of each guide, by the name of their marks.
TABLES = {
    "baselines": {"baselines": baselines_table},
    "benchmarks": {"means": means_table}
    | {f"suite_{x}": functools.partial(peers_table, f"suite_{x}") for x in SUITE},
    "fidelity": {
        "dimensions": dimensions_table,
        "engines": engines_table,
        "verified": verified_table,
    },
    "gymnasium": picked(["learning"])
    | {f"speed{x}": functools.partial(peers_table, f"gymnasium{x}") for x in ("", "_16_cores")},
    "gpu": {"measurements": device_table},
    "scores": {"suite": scores.every()["suite"]},
    "planning": {
        "rollouts": rollouts.packaged,
        "planners": lambda: planning.text(planning.read()),
    },
    "legged": {"commands": commands.table, "speed": legged.packaged},
    "leaderboard": {
        name: functools.partial(
            lambda table: table(leaderboard.read(), planning.entries(planning.read())), table
        )
        for name, table in (
            ("ranking", scores.ranking),
            ("leaderboard", scores.leaderboard_table),
        )
    },
    "results": picked(["recipe", "recipe-peers"]),
    "recipe_search": picked(HISTORY),
    "tasks": {"suite": suite_table},
    "training": picked(["pixels"]),
    "tabletop": {
        "tasks": tabletop_tasks,
        "robots": tabletop_robots,
        "grippers": tabletop_grippers,
        "controllers": tabletop_controllers,
        "combinations": tabletop_combinations,
    },
}


# Tables of pages that the site alone shows in full.
DATA_TABLES = {
    "scores": {name: table for name, table in scores.every().items() if name != "suite"},
    "results": picked(RESULTS)
    | cloning_tables()
    | {
        "offline": lambda: make_offline_data.table(make_offline_data.packaged()),
        "compiled": compiling.packaged,
        "policies": policies_table,
    },
}


def updated(text: str, tables: dict[str, Callable[[], str]], begin: str = BEGIN) -> str:
    """A page with fresh tables between its marks."""
    for place, table in tables.items():
        head, _, tail = guide_marks.parts(text, begin.format(place), END.format(place))
        text = f"{head}\n{table()}\n{tail}"
    return text


def data_page(name: str) -> str:
    """A page of `assets/data` with its tables filled in."""
    return updated((DATA / f"{name}.md").read_text(), DATA_TABLES[name], BEGIN_DATA)


def main() -> int:
    """Write or check; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether they are stale")
    check = parser.parse_args().check
    stale = []
    if registry.TABLE.read_text() != registry.packaged_table():
        stale.append(registry.TABLE.name)
        if not check:
            atomic.write_text(registry.TABLE, registry.packaged_table())
    for name, tables_of_guide in TABLES.items():
        guide = GUIDES / f"{name}.md"
        text = guide.read_text()
        fresh = updated(text, tables_of_guide)
        if fresh != text:
            stale.append(guide.name)
            if not check:
                atomic.write_text(guide, fresh)
    if check:
        names = ", ".join(stale)
        print(f"stale, run scripts/update_tables.py: {names}" if stale else "all are up to date")
    return int(check and bool(stale))


if __name__ == "__main__":
    sys.exit(main())
