"""Training results at fixed budgets: the default recipe, its variants, and SB3.

    python benchmarks/goals.py                                  # all runs: about a day
    python benchmarks/goals.py recipe --seeds 0                 # one seed of each task
    python benchmarks/goals.py methods --ids dmc/walker-walk-v0 --methods recipe,ensemble
    python benchmarks/goals.py peer                             # stable-baselines3's SAC
    python benchmarks/goals.py ray                              # with samplers, and without
    python benchmarks/goals.py walk                             # a walker of 22 muscles
    python benchmarks/goals.py candidates --seeds 0             # recipes beside each other
    python benchmarks/goals.py rate                             # steps a second while learning
    python benchmarks/goals.py table                            # results so far
    python benchmarks/goals.py collect                          # keep that in assets/baselines
    python benchmarks/goals.py --quick                          # a look at whether it runs

Parts: **recipe** is `mjgym train td3` as it is, on the tasks that have a goal; **methods** changes
one thing of it each (critics, discounts, noise of weights, an ensemble), at equal environment
steps; **peer** is stable-baselines3's SAC with its defaults in one environment; **ray** compares
`--ray` with one process, also at equal environment steps; **walk** has three settings learn to walk
with muscles, within equal CPU time; **candidates** has settings that may become the default
one on eight tasks, each within five CPU minutes; **rate** compares environment steps
a second with SB3's TD3 at the same updates, networks and batches, by turns. Scores are means of 100
episodes with fixed seeds; without any used in training.

Runs are sequential, each on all cores, in folders under `--out`: finished ones are skipped and
stopped ones continued, so that the whole can be done in pieces. The folders
are what `mjgym compare` reads too. **collect** puts the finished ones into small files in
`assets/baselines`, beside plots of their curves, from which `python scripts/update_tables.py`
writes the tables of the guide to results.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from comparison import report
from comparison.command import RESULTS, described
from training import plan

from mjgym.envs.vector import allowed_cores

RATE_ID = "dmc/walker-walk-v0"
MEASURED = (*plan.PARTS, "rate")
PARTS = (*MEASURED, "table", "collect")


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line; an error exits with status 2."""
    parser = described(__doc__ or "")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--ids", type=_list, default=[], help="comma-separated; default: all")
    parser.add_argument("--methods", type=_list, default=[], help="the same")
    parser.add_argument("--seeds", type=_list, default=[str(seed) for seed in plan.SEEDS])
    parser.add_argument("--minutes", type=float, help="of runs for goals and of the peer's")
    parser.add_argument("--set", action="append", default=[], help="a setting of our runs")
    parser.add_argument("--out", type=Path, default=RESULTS / "training")
    parser.add_argument("--quick", action="store_true", help="seconds, with one task and seed")
    given = parser.parse_args(arguments)
    for names, known in (
        (given.parts, PARTS),
        (given.ids, (*plan.CANDIDATE_IDS, *plan.WALK_IDS)),
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
    given.parts = given.parts or list(MEASURED)
    return given


def _list(text: str) -> list[str]:
    return text.split(",")


def measure_rates(quick: bool, machine: str, out: Path) -> None:
    """Measure rates while learning, and write them beside the folders of the runs."""
    from training import rates, results

    short = {"steps": 32, "repeats": 1, "max_episode_steps": 25} if quick else {}
    measured = rates.measure(RATE_ID, allowed_cores(), **short)
    results.keep_rates(measured, RATE_ID, machine, out)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run, and print the tables so far."""
    from training import results, tables

    given = parse(sys.argv[1:] if arguments is None else arguments)
    chosen = {"ids": given.ids, "methods": given.methods, "seeds": given.seeds}
    chosen |= {"minutes": given.minutes, "settings": given.set, "quick": given.quick}
    failed = 0
    for job in plan.jobs([part for part in given.parts if part in plan.PARTS], **chosen):
        try:
            plan.run(job, given.out)
        except subprocess.CalledProcessError as error:
            print(f"{job.folder(given.out)}: status {error.returncode}", file=sys.stderr)
            failed += 1
    about = report.machine(allowed_cores())
    machine = f"{about['cpu']}, {about['allowed_cores']} cores"
    if "rate" in given.parts:
        measure_rates(given.quick, machine, given.out)
    print(f"{machine}, commit {about['commit']}")
    print("\n" + "\n\n".join(tables.every(results.of_runs(given.out), given.out).values()))
    if "collect" in given.parts:
        for path in results.collect(given.out):
            print(f"written: {path}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
