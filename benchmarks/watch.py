"""Report slowdowns since the last commit with a recorded speed, on this machine.

    python benchmarks/watch.py                     # everything in the tables, 2 hours
    python benchmarks/watch.py robosuite/ dmc/dog  # ids with these prefixes
    python benchmarks/watch.py --quick             # a handful of ids, a minute, as CI does
    python benchmarks/watch.py --record            # then record this commit's numbers

Steps of one environment and of a batch, and resets of either, are timed alternately in this
checkout and in that of the recorded commit, see `commits.py`: numbers of another machine or another
day are not comparable. The result is the median of the turns' ratios. It is slower if the median's
95 % interval lies above 1.03, twice in a row. The status is always 0.

`--record` appends this commit's numbers to `benchmarks/records/speed.jsonl`, one line of JSON with
commit, machine and versions. Without a record the previous commit is the reference; `--against`
names another.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import commits
from comparison import report
from comparison.command import described
from comparison.names import QUICK, envs_for
from comparison.subjects import Settings
from comparison.worker import WorkerError

RECORDS = Path(__file__).resolve().parent / "records" / "speed.jsonl"
BATCH = 256
QUICK_BATCH = 32
QUICK_BUDGET = 60.0  # s
QUICK_IDS = (*QUICK[:2], "robosuite/Lift-v0")
NOTICED = 1.03  # ratio above which a change matters
HEADER = ("what", "environments", "recorded, us", "now, us", "ratio", "95 % interval")


@dataclass(frozen=True)
class Row:
    """A timed item.

    Args:
        id: of the task.
        num_envs: environments; 1 is `gymnasium.make`.
        kind: "steps" or "resets".
    """

    id: str
    num_envs: int
    kind: str


@dataclass(frozen=True)
class Change:
    """Times of a row, then and now.

    Args:
        row: the timed item.
        other: seconds at the recorded commit, the median of the turns.
        this: seconds now.
        ratio: the median of the turns' ratios.
        low: the lower end of its interval.
        high: the upper end.
    """

    row: Row
    other: float
    this: float
    ratio: float
    low: float
    high: float

    @property
    def slower(self) -> bool:
        """True if the change is significant and matters."""
        return self.low > NOTICED

    def cells(self) -> tuple[str, ...]:
        """A line of the table."""
        what = self.row.id if self.row.kind == "steps" else f"{self.row.id}, reset"
        times = (f"{1e6 * seconds:,.1f}" for seconds in (self.other, self.this))
        interval = f"{self.low:.3f} to {self.high:.3f}"
        return what, str(self.row.num_envs), *times, f"{self.ratio:.3f}", interval


def interval(ratios: Sequence[float]) -> tuple[float, float]:
    """Interval that contains the median with a probability of at least 95 %, by order statistics.

    With fewer than six ratios it is that of all of them, with less coverage.
    """
    ordered, n = sorted(ratios), len(ratios)
    below, tail, weight = 0, 0.0, 0.5**n
    # Leave out as many from each end as a fair coin falls below in less than 2.5 % of tries.
    while tail + weight <= 0.025:
        tail += weight
        weight *= (n - below) / (below + 1)
        below += 1
    k = max(below - 1, 0)
    return ordered[k], ordered[n - 1 - k]


def measured(row: Row, roots: Sequence[Path], options: argparse.Namespace) -> Change:
    """Time a row in both checkouts, by turns."""
    settings = Settings(row.id, row.num_envs, commits.THREADS, cpu=options.cpu)
    other, this = commits.by_turns(settings, roots, options.seconds, options.repeats, row.kind)
    ratios = [now / then for then, now in zip(other, this, strict=True)]
    medians = statistics.median(other), statistics.median(this), statistics.median(ratios)
    return Change(row, *medians, *interval(ratios))


def rows(options: argparse.Namespace) -> Iterator[Row]:
    """Rows to time."""
    from mjgym import registry

    if options.quick:
        ids: Sequence[str] = QUICK_IDS
    else:
        starts = tuple(options.ids) or ("",)
        ids = [id for id in registry.ids() if id.startswith(starts)]
        if not ids:
            raise SystemExit(f"no id begins with {', '.join(options.ids)}")
    batch = QUICK_BATCH if options.quick else BATCH
    kinds = ("steps",) if options.quick else ("steps", "resets")
    for id in ids:
        for kind in kinds:
            yield Row(id, 1, kind)
            yield Row(id, envs_for(id, batch), kind)


def last_recorded(records: Path = RECORDS) -> str:
    """Commit of the last record in this checkout's history; else the previous one."""
    lines = records.read_text().splitlines() if records.exists() else []
    for line in reversed(lines):
        commit = str(json.loads(line)["machine"]["commit"])
        known = ["git", "merge-base", "--is-ancestor", commit, "HEAD"]
        if not subprocess.run(known, cwd=commits.ROOT, capture_output=True, check=False).returncode:
            return commit
    return "HEAD~1"


def record(changes: Sequence[Change], records: Path = RECORDS, *, cpu: bool = False) -> None:
    """Append this commit's numbers to the records."""
    # Not above: a worker imports this file before the package of its checkout.
    from mjgym.util import atomic

    line = {
        "machine": report.machine(commits.THREADS),
        "cpu_seconds": cpu,
        "rows": [
            {"id": c.row.id, "num_envs": c.row.num_envs, "kind": c.row.kind, "seconds": c.this}
            for c in changes
        ],
    }
    records.parent.mkdir(exist_ok=True)
    before = records.read_text() if records.exists() else ""
    atomic.write_text(records, f"{before}{json.dumps(line)}\n")


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Parse the command line; an error exits with status 2."""
    parser = described(__doc__ or "")
    parser.add_argument("ids", nargs="*", help="how ids begin that are timed; default: all")
    parser.add_argument("--quick", action="store_true", help="a handful of ids, in 2 minutes")
    parser.add_argument("--against", help="a commit; default: the last that has a record")
    parser.add_argument("--record", action="store_true", help="write this commit's numbers down")
    parser.add_argument("--seconds", type=float, default=0.2, help="of each turn")
    parser.add_argument("--repeats", type=int, default=11, help="turns of either side")
    parser.add_argument(
        "--cpu", action="store_true", help="time by the processor's seconds (Linux)"
    )
    options = parser.parse_args(arguments)
    if options.quick and options.ids:
        parser.error("--quick has ids of its own")
    if options.repeats < 1 or options.seconds <= 0:
        parser.error("--repeats, --seconds: expected more than 0")
    return options


def watch(options: argparse.Namespace, roots: Sequence[Path]) -> tuple[list[Change], list[str]]:
    """Time all rows within the budget; apparent slowdowns are measured again.

    Returns:
        The changes, and the omitted rows with reasons.
    """
    until = time.perf_counter() + (QUICK_BUDGET if options.quick else float("inf"))
    changes, left_out = [], []
    for row in rows(options):
        name = f"{row.id}, {row.num_envs}, {row.kind}"
        if time.perf_counter() > until:
            left_out.append(f"{name}: no time")
            continue
        try:
            change = measured(row, roots, options)
            if change.slower:
                change = measured(row, roots, options)
        except WorkerError as error:
            left_out.append(f"{name}: {error}")
            continue
        changes.append(change)
        print(" ".join(change.cells()), file=sys.stderr, flush=True)
    return changes, left_out


def text(changes: Sequence[Change], left_out: Sequence[str], against: str) -> str:
    """Slower rows, the mean of all ratios, and the missing rows."""
    slower = sorted((c for c in changes if c.slower), key=lambda c: -c.ratio)
    parts = [f"Compared with {against}: {len(slower)} of {len(changes)} are slower."]
    if slower:
        parts.append(report.table(HEADER, [c.cells() for c in slower]))
    if changes:
        mean = statistics.geometric_mean(c.ratio for c in changes)
        parts.append(f"Geometric mean of all {len(changes)} ratios: {mean:.3f} (below 1: faster).")
    if left_out:
        parts.append("\n".join(["Left out:", *left_out]))
    return "\n\n".join(parts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare and print; returns the exit status."""
    options = parse(arguments)
    against = options.against or last_recorded()
    with commits.checked_out(against) as other:
        changes, left_out = watch(options, (other, commits.ROOT))
    print(text(changes, left_out, against))
    if options.record and changes:
        record(changes, cpu=options.cpu)
        print(f"\nWritten: {RECORDS}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
