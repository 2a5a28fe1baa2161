"""What training reaches in the time it has: the default recipe, its variants, SB3 beside it.

    python benchmarks/goals.py                                  # all runs: about a day
    python benchmarks/goals.py recipe --seeds 0                 # one seed of each task
    python benchmarks/goals.py methods --ids dmc/walker-walk-v0 --methods recipe,ensemble
    python benchmarks/goals.py peer                             # stable-baselines3's SAC
    python benchmarks/goals.py rate                             # steps a second while learning
    python benchmarks/goals.py table                            # what there is so far
    python benchmarks/goals.py --quick                          # a look at whether it runs

Parts: **recipe** is `mjgym train td3` as it is, on the tasks that have a goal; **methods** changes
one thing of it each (critics, discounts, noise of weights, an ensemble); **peer** is
stable-baselines3's SAC with its defaults in one environment; **rate** compares environment steps a
second with its TD3's at the same updates, networks and batches, by turns. Scores are means of 100
episodes with fixed seeds; none of them was used in training.

Runs come one after the other, each with all cores, into folders under `--out`: one that is done is
left as it is, one that was stopped goes on, so that the whole can be made in pieces. The folders
are what `mjgym compare` reads too.
"""

import argparse
import statistics
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from comparison import report
from comparison.command import RESULTS, described
from training import plan

from mjgym.vector import allowed_cores

RATE_ID = "dmc/walker-walk-v0"
PARTS = (*plan.PARTS, "rate", "table")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line; a mistake in it ends the program with status 2."""
    parser = described(__doc__ or "")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--ids", type=_list, default=[], help="comma-separated; default: all")
    parser.add_argument("--methods", type=_list, default=[], help="the same")
    parser.add_argument("--seeds", type=_list, default=[str(seed) for seed in plan.SEEDS])
    parser.add_argument("--minutes", type=float, help="of each run; default: what its goal says")
    parser.add_argument("--set", action="append", default=[], help="a setting of our runs")
    parser.add_argument("--out", type=Path, default=RESULTS / "training")
    parser.add_argument("--quick", action="store_true", help="seconds, with one task and seed")
    given = parser.parse_args(arguments)
    for names, known in (
        (given.parts, PARTS),
        (given.ids, tuple(plan.GOALS)),
        (given.methods, tuple(plan.METHODS)),
    ):
        for name in names:
            if name not in known:
                parser.error(f"no {name!r}; there are {', '.join(known)}")
    if not all(seed.isdecimal() for seed in given.seeds):
        parser.error(f"--seeds: must be numbers, got {','.join(given.seeds)}")
    if given.minutes is not None and not given.minutes > 0:
        parser.error(f"--minutes: must be more than 0, got {given.minutes}")
    given.seeds = [int(seed) for seed in given.seeds][: 1 if given.quick else None]
    given.parts = given.parts or list(PARTS)
    return given


def _list(text: str) -> list[str]:
    return text.split(",")


def rate_table(quick: bool) -> str:
    """Rates while learning, as a table."""
    from training import rates

    short = {"steps": 32, "repeats": 1, "max_episode_steps": 25} if quick else {}
    measured = rates.measure(RATE_ID, allowed_cores(), **short)
    times = rates.ratios(measured)
    rows = [
        [name, f"{statistics.median(found):,.0f}", f"{times[name]:.1f}" if name in times else ""]
        for name, found in measured.items()
    ]
    return report.table(["while learning", "steps/s", "times SB3"], rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and print the tables of what there is."""
    from training import tables

    given = parse(sys.argv[1:] if arguments is None else arguments)
    chosen = {"ids": given.ids, "methods": given.methods, "seeds": given.seeds}
    chosen |= {"minutes": given.minutes, "settings": given.set, "quick": given.quick}
    by_part = {part: plan.jobs([part], **chosen) for part in plan.PARTS}
    failed = 0
    for job in (job for part in given.parts for job in by_part.get(part, ())):
        try:
            plan.run(job, given.out)
        except subprocess.CalledProcessError as error:
            print(f"{job.folder(given.out)}: status {error.returncode}", file=sys.stderr)
            failed += 1
    machine = report.machine(allowed_cores())
    print(f"{machine['cpu']}, {machine['allowed_cores']} cores, commit {machine['commit']}\n")
    print(tables.scores(by_part["recipe"], given.out, goals=True))
    print("\n" + tables.scores(by_part["peer"], given.out, goals=False))
    sides = [tables.curves(by_part[part], given.out) for part in ("recipe", "peer")]
    print("\n" + tables.times(*sides))
    print("\n" + tables.scores(by_part["methods"], given.out, goals=False))
    if "rate" in given.parts:
        print("\n" + rate_table(given.quick))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
