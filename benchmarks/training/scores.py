"""Tables of the scores of every task; what no run has been made for says "not measured"."""

import functools
import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from comparison import report

from mjgym import registry
from mjgym.train.results import baselines, score_table
from mjgym.train.results.score_table import CPU_MINUTES, Row
from mjgym.train.results.statistics import mean_interval
from training.tables import MISSING

RECIPE = "td3"  # the method of the table
HEADER = (
    *("id", "score", "95 %", "of the seeds", "runs"),
    *(f"after {minutes} CPU min" for minutes in CPU_MINUTES),
    *("CPU min", "success", "random", "zero"),
)


def suites() -> dict[str, list[str]]:
    """Ids of the tables, by name: of the suite, of locomotion, and of the dense tabletop."""
    tabletop = registry.ids(namespace="robosuite")
    return {
        "suite": registry.ids(namespace="dmc"),
        "locomotion": registry.ids(namespace="locomotion"),
        "tabletop": [id for id in tabletop if _is_dense(id)],
    }


def _is_dense(id: str) -> bool:
    registration = registry.registration(id)
    default = getattr(registration.task_class, "reward_type", None)
    return bool(registration.fields.get("reward_type", default) == "dense")


def table(ids: Sequence[str], rows: Sequence[Row], method: str = RECIPE) -> str:
    """A row for each id, and below them how many have runs."""
    cells, measured = [], 0
    for id in ids:
        line = score_table.line(rows, method, id)
        measured += bool(line.scores)
        nothing = baselines.of(id)
        lowest = [
            f"{nothing[name].mean:.0f}" if name in nothing else "" for name in ("random", "zero")
        ]
        cells.append([id, *_score(line), *lowest])
    machines = "; ".join(sorted({row.machine for row in rows if row.env_name in ids}))
    count = f"{measured} of {len(ids)} ids have runs."
    return f"{report.table(HEADER, cells)}\n\n{count}{f' {machines}.' if machines else ''}"


def _score(line: score_table.Line) -> list[str]:
    """Cells from the score to the success."""
    if not line.scores:
        return [MISSING, *[""] * (len(HEADER) - 4)]
    interval = mean_interval(np.array(line.scores))
    on_the_way = (line.on_the_way[minutes] for minutes in CPU_MINUTES)
    return [
        f"{statistics.mean(line.scores):.0f}",
        "" if interval is None else f"{interval[0]:.0f} to {interval[1]:.0f}",
        ", ".join(f"{value:.0f}" for value in line.scores),
        str(line.runs),
        *("" if value is None else f"{value:.0f}" for value in on_the_way),
        f"{line.cpu_minutes:.0f}",
        f"{statistics.mean(line.successes):.0%}" if line.successes else "",
    ]


def every(folder: Path = score_table.FOLDER) -> dict[str, Callable[[], str]]:
    """All tables, by name."""
    rows = score_table.read(folder)
    return {name: functools.partial(table, ids, rows) for name, ids in suites().items()}
