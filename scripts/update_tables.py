"""Writes the tables of the guides that follow from the registry.

python scripts/update_tables.py          writes them
python scripts/update_tables.py --check  exits with 1 if they are stale
"""

import argparse
import sys
from itertools import chain, groupby
from pathlib import Path

import gymnasium
from make_gallery import dimensions

from mjgym import atomic, registry

GUIDE = Path(__file__).resolve().parents[1] / "assets" / "guides" / "tasks.md"
BEGIN = "<!-- suite:begin (written by scripts/update_tables.py) -->"
END = "<!-- suite:end -->"
NAMESPACES = {  # with an example of each
    "dmc": "walker-walk",
    "locomotion": "ant-run_walls",
    "manipulation": "stack_2_bricks_features",
    "robosuite": "Lift",
}


def domain_of(id: str) -> str:
    """The domain or walker of an id; the namespace, where tasks have no such."""
    name = id.removesuffix("-v0")
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
            name = id.removeprefix(domain)[1:].removesuffix("-v0")
            rows.setdefault(facts, []).append(name)
            env.close()
        for facts, names in rows.items():
            tasks = ", ".join(f"`{name}`" for name in names)
            lines.append(f"| `{domain}` | {tasks} | {' | '.join(facts)} |")
    counts = ", ".join(
        f"{len(ids)} in `{namespace}` (e.g. `{namespace}/{NAMESPACES[namespace]}-v0`)"
        for namespace, ids in known.items()
    )
    lines.append("")
    lines.append(
        f"Ids are `<domain>-<task>-v0`, and `<task>-v0` where there are no domains: {counts}."
    )
    return "\n".join(lines)


def updated(text: str) -> str:
    """The guide with fresh tables."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{suite_table()}\n{END}{tail}"


def main() -> int:
    """Write or check; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="only say whether it is stale")
    text = GUIDE.read_text()
    if parser.parse_args().check:
        stale = updated(text) != text
        print(
            f"{GUIDE.name} is stale: run scripts/update_tables.py"
            if stale
            else f"{GUIDE.name} is up to date"
        )
        return int(stale)
    atomic.write_text(GUIDE, updated(text))
    return 0


if __name__ == "__main__":
    sys.exit(main())
