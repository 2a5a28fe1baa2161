"""Metrics of a run as a table in long format, one number per line.

The first six columns are those of the public files of SimBa, SimbaV2 and FlashSAC.
"""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, dataclass, fields
from pathlib import Path

from mjgym.util import atomic, bounded

RETURN = "evaluation/return"  # mean over the episodes of an evaluation during training
SUCCESS = "evaluation/success"  # the part of these episodes that succeeded at any time
FINAL = "final/return"  # mean over the 100 episodes of `mjgym evaluate`
FINAL_SUCCESS = "final/success"  # the part of these episodes that succeeded at any time
CPU_SECONDS = "speed/cpu_seconds"  # of the process that trains, all of its threads together
TRAINING_RETURN = "training/return"  # mean over the episodes that have ended since the last line
DIVERGED = "training/diverged"  # the part of these episodes whose simulation diverged

MOST_BYTES = 2**26  # of a file


@dataclass(frozen=True)
class Metric:
    """One line of the table."""

    exp_name: str  # experiment; runs that differ only in their seed share it
    env_name: str  # id of the task
    seed: int  # of the run
    metric: str  # name of the quantity
    env_step: int  # steps so far, over all sub-environments
    value: float  # of the quantity
    updates: int = 0  # of the networks so far
    wall_s: float = 0.0  # training time so far, s
    machine: str = ""  # where it was measured; empty in run folders, which have a fingerprint


COLUMNS = tuple(field.name for field in fields(Metric))[:-1]  # of a run's file


def append(path: Path, metrics: Iterable[Metric]) -> None:
    """Append lines to a file; a new one starts with the columns."""
    new = not _begun(path)
    with path.open("a", newline="") as file:
        writer = csv.writer(file)
        if new:
            writer.writerow(COLUMNS)
        for metric in metrics:
            *columns, wall, _ = astuple(metric)
            writer.writerow([*columns, round(wall, 3)])


def write(path: Path, metrics: Iterable[Metric]) -> None:
    """Write lines of several runs to a file, with machines and five significant digits."""
    with atomic.replacing(path) as part, part.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, "machine"])
        for metric in metrics:
            exp_name, env_name, seed, name, env_step, value, updates, wall, on = astuple(metric)
            value = f"{value:.5g}"
            writer.writerow(
                [exp_name, env_name, seed, name, env_step, value, updates, round(wall, 1), on]
            )


def read(path: str | Path) -> list[Metric]:
    """The lines of a file; columns after the first six may be missing or different."""
    if Path(path).is_file() and not _begun(Path(path)):
        return []
    rows = csv.DictReader(io.StringIO(bounded.text(path, MOST_BYTES)))
    try:
        missing = [name for name in COLUMNS[:6] if name not in (rows.fieldnames or ())]
        if missing:
            raise ValueError(f"there is no column {missing[0]}")
        # A line that a killed run has begun lacks some.
        return [_metric(row) for row in rows if None not in row.values()]
    except (csv.Error, OverflowError, ValueError) as error:
        raise bounded.FileError(f"{path}:{max(rows.line_num, 1)}: {error}") from None


def _begun(path: Path) -> bool:
    """Tell whether a file has a whole line: a kill may leave an empty one."""
    if not path.exists():
        return False
    with path.open("rb") as file:
        return file.readline(10_000).endswith(b"\n")


def _metric(row: dict[str, str]) -> Metric:
    run = row["exp_name"], row["env_name"], int(float(row["seed"]))
    spent = int(float(row.get("updates") or 0)), float(row.get("wall_s") or 0)
    step, value = int(float(row["env_step"])), float(row["value"])
    return Metric(*run, row["metric"], step, value, *spent, row.get("machine") or "")


def keep_until(path: Path, env_step: int) -> None:
    """Drop the lines after a step, so that a resumed run can write them again."""
    if not path.exists():
        return
    kept = [metric for metric in read(path) if metric.env_step <= env_step]
    with atomic.replacing(path) as part:
        part.unlink()
        append(part, kept)
