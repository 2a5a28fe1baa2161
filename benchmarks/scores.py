"""Make the missing runs of the table of scores, one after the other.

    python benchmarks/scores.py                        # the suite, seed 0, then the others
    python benchmarks/scores.py suite --seeds 0        # one table alone
    python benchmarks/scores.py --ids dmc/walker-walk-v0 --seeds 1 2
    python benchmarks/scores.py --draw                 # the curves so far

The protocol is that of the guide to scores. Stopped runs are continued, finished ones are kept, and
failed ones are named and not retried; several of these programs may run in parallel, each with its
ids (`--part 1/2`). The package must be a clean checkout, as each run records its commit.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from comparison.command import described
from training import plan, scores

from mjgym_train import score_table
from mjgym_train.cli.seeds import MJGYM

CONFIG = plan.FILES / "scores.yaml"
SEEDS = {"suite": (0, 1, 2), "locomotion": (0,), "tabletop": (0,)}
"""Of the runs of each table."""


def jobs(
    tables: Sequence[str], ids: Sequence[str], seeds: Sequence[int]
) -> Iterator[tuple[str, int]]:
    """Ids and seeds, all ids with one seed before those with the next.

    Args:
        tables: their names.
        ids: restrict to these; empty for all.
        seeds: restrict to these; empty for all.
    """
    for seed in sorted({seed for name in tables for seed in seeds or SEEDS[name]}):
        for name in tables:
            if seed in (seeds or SEEDS[name]):
                yield from ((id, seed) for id in scores.suites()[name] if not ids or id in ids)


def run(id: str, seed: int, out: Path) -> None:
    """Train, score and add one run.

    Raises:
        subprocess.CalledProcessError: one of the three failed.
    """
    folder = out / f"{id.replace('/', '_')}_{seed}"
    config = os.path.relpath(CONFIG)  # the command is published, without this machine's folders
    words = ["--config", "large", "--config", config, "--seed", str(seed), "--out", str(folder)]
    resume = ["--resume"] if (folder / "config.yaml").exists() else []
    for command in (
        ["train", scores.RECIPE, id, "tensorboard=false", *words, *resume],
        ["evaluate", str(folder), "--threads", "1"],
        ["submit", str(folder)],
    ):
        subprocess.run([*MJGYM, *command], check=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Make missing runs, or draw the curves so far; returns the exit code."""
    parser = described(__doc__ or "")
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"of {', '.join(SEEDS)}")
    parser.add_argument("--ids", nargs="+", default=[], help="only these")
    parser.add_argument("--seeds", nargs="+", type=int, default=[], help="only these")
    parser.add_argument("--part", default="1/1", help="of the runs: 1/2 is every second one")
    parser.add_argument("--out", type=Path, default=Path("runs/scores"), help="of the runs")
    parser.add_argument("--draw", action="store_true", help="draw the curves, and train nothing")
    given = parser.parse_args(arguments)
    if given.draw:
        for path in scores.draw(score_table.read()):
            print(f"written: {path}")
        return 0
    for name in given.tables:
        if name not in SEEDS:
            parser.error(f"no {name!r}; there are {', '.join(SEEDS)}")
    known = {id for ids in scores.suites().values() for id in ids}
    for id in given.ids:
        if id not in known:
            parser.error(f"no table has {id!r}")
    number, _, parts = given.part.partition("/")
    if not (number.isdecimal() and parts.isdecimal() and 1 <= int(number) <= int(parts)):
        parser.error(f"--part: must be like 1/2, got {given.part}")
    wanted = list(jobs(given.tables or list(SEEDS), given.ids, given.seeds))
    failed = []
    for id, seed in wanted[int(number) - 1 :: int(parts)]:
        there = {(row.exp_name, row.env_name, row.seed) for row in score_table.read()}
        if (scores.RECIPE, id, seed) in there:
            continue
        try:
            run(id, seed, given.out)
        except subprocess.CalledProcessError as error:
            print(f"{id}, seed {seed}: status {error.returncode}", file=sys.stderr, flush=True)
            failed.append(id)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
