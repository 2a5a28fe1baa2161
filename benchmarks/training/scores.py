"""Tables and plots of the scores of every task; missing runs are "not measured"."""

import csv
import functools
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from comparison import report

from mjgym import registry
from mjgym.util.packaged import assets
from mjgym_train import baselines, comparison, leaderboard, metrics, score_table, tables
from mjgym_train.comparison import Curve
from mjgym_train.score_table import Row
from mjgym_train.statistics import mean_interval, performance_profile
from training.tables import MISSING

CPU_MINUTES = (5, 10, 30)  # of the scores during training
RECIPE = "td3"  # the method of the table
HEADER = (
    *("id", "score", "95 %", "of the seeds", "runs"),
    *(f"after {minutes} CPU min" for minutes in CPU_MINUTES),
    *("CPU min", "success", "random", "zero"),
)
BASELINES = assets() / "baselines"
PUBLISHED = BASELINES / "published.csv"
REPORT = BASELINES / "suite_report_2018.csv"
DRQ_V2 = BASELINES / "drq_v2.csv"
SHARE = 0.1  # fraction of the scale above both baselines, below which a task counts as not learned
COLUMNS = 6  # of panels
PANEL = 2.1, 1.5  # inches
HEADROOM = 1.04  # of an axis, to show curves at the top


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


# Tables.


@dataclass(frozen=True)
class Line:
    """A task of the table, over the runs of one method."""

    id: str  # of the task
    runs: int  # number of runs
    # Mean of the last evaluations within each number of CPU minutes, over runs; a run that ended
    # sooner counts with its last one.
    on_the_way: Mapping[int, float | None]
    scores: Sequence[float]  # of the runs, 100 episodes each, by seed
    # Success rates in these episodes, by seed; empty for a task without success.
    successes: Sequence[float]
    cpu_minutes: float | None  # of training, the mean over runs


def line_of(rows: Sequence[Row], method: str, id: str) -> Line:
    """The line of a task; without runs if the table has none."""
    runs: dict[int, list[Row]] = {}
    for row in rows:
        if (row.exp_name, row.env_name) == (method, id):
            runs.setdefault(row.seed, []).append(row)
    ordered = [runs[seed] for seed in sorted(runs)]
    finals = [row for run in ordered for row in run if row.metric == metrics.FINAL]
    successes = [row for run in ordered for row in run if row.metric == metrics.FINAL_SUCCESS]
    on_the_way: dict[int, float | None] = {}
    for minutes in CPU_MINUTES:
        evaluations = [within(run, 60 * minutes) for run in ordered]
        values = [value for value in evaluations if value is not None]
        # A mean over only some of the runs would be misleading.
        on_the_way[minutes] = (
            float(np.mean(values)) if evaluations and len(values) == len(evaluations) else None
        )
    spent = [row.cpu_s / 60 for row in finals]
    return Line(
        id,
        len(ordered),
        on_the_way,
        [row.value for row in finals],
        [row.value for row in successes],
        float(np.mean(spent)) if spent else None,
    )


def within(run: Iterable[Row], cpu_s: float) -> float | None:
    """The last evaluation of a run within some CPU seconds; None before the first."""
    evaluations = [row for row in run if row.metric == metrics.RETURN and row.cpu_s <= cpu_s]
    return max(evaluations, key=lambda row: row.env_step).value if evaluations else None


def table(ids: Sequence[str], rows: Sequence[Row], method: str = RECIPE) -> str:
    """A row for each id, and the number with runs."""
    lines = {id: line_of(rows, method, id) for id in ids}
    cells = []
    for id, line in lines.items():
        nothing = baselines.recorded(id)
        lowest = [
            f"{nothing[name].mean:.0f}" if name in nothing else "" for name in ("random", "zero")
        ]
        cells.append([id, *_score(line), *lowest])
    measured = sum(bool(line.scores) for line in lines.values())
    runs = sum(line.runs for line in lines.values())
    machines = "; ".join(sorted({row.machine for row in rows if row.env_name in ids}))
    count = f"{measured} of {len(ids)} ids have runs, {runs} in all."
    return f"{report.table(HEADER, cells)}\n\n{count}{f' {machines}.' if machines else ''}"


def _score(line: Line) -> list[str]:
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


@dataclass(frozen=True)
class Published:
    """Published score of another project, a mean over runs.

    Args:
        id: of the task.
        method: its name.
        steps: of training, control steps.
        score: mean return of an episode.
        source: repository and files.
    """

    id: str
    method: str
    steps: int
    score: float
    source: str


def published(file: Path = PUBLISHED) -> list[Published]:
    """Published scores of other projects."""
    with file.open(newline="") as lines:
        return [
            Published(id, method, int(steps), float(score), source)
            for id, method, steps, score, source in list(csv.reader(lines))[1:]
        ]


BESIDE = ("D4PG", "DreamerV3", "TD-MPC2", "SimbaV2", "FoG", "DR.Q", "SAC", "D4PG from pixels")
"""Methods with a column of their own, at equal steps first."""


def beside_published(rows: Sequence[Row], method: str = RECIPE) -> str:
    """The suite's scores beside published ones."""
    others: dict[str, list[Published]] = {}
    for found in published():
        others.setdefault(found.id, []).append(found)
    of_method = {found.method: found for found in published()}
    cells = []
    for id in suites()["suite"]:
        scores = line_of(rows, method, id).scores
        own = f"{statistics.mean(scores):.0f}" if scores else MISSING
        theirs = {found.method: found for found in others.get(id, [])}
        named = [f"{theirs[name].score:.0f}" if name in theirs else "" for name in BESIDE]
        rest = ", ".join(
            f"{name} {found.score:.0f} ({millions(found.steps)})"
            for name, found in theirs.items()
            if name not in BESIDE
        )
        cells.append([id, own, *named, rest])
    columns = (f"{name}, {millions(of_method[name].steps)}" for name in BESIDE)
    return report.table(("id", "here, 0.5M", *columns, "others"), cells)


@dataclass(frozen=True)
class Reported:
    """Score of the suite's report of 2018.

    Args:
        id: of the task.
        budget: of training, "1e8 steps" or "24 hours".
        method: its name.
        score: mean return of an episode.
        standard_error: of the score.
    """

    id: str
    budget: str
    method: str
    score: float
    standard_error: float


def reported() -> list[Reported]:
    """The report's Tables 1 (1e8 steps) and 2 (24 hours)."""
    return tables.read(REPORT, Reported)


@dataclass(frozen=True)
class CurvePoint:
    """Score of DrQ-v2 (Yarats et al., 2022) on the way.

    Args:
        id: of the task.
        frames: control steps so far.
        score: mean return over the runs.
        standard_error: of the score.
        runs: number of runs.
        source: repository and file.
    """

    id: str
    frames: int
    score: float
    standard_error: float
    runs: int
    source: str


def drq_v2() -> dict[str, list[CurvePoint]]:
    """The first million frames of DrQ-v2 by id."""
    found: dict[str, list[CurvePoint]] = {}
    for point in tables.read(DRQ_V2, CurvePoint):
        found.setdefault(point.id, []).append(point)
    return found


def beside_report(rows: Sequence[Row], method: str = RECIPE) -> str:
    """Scores of the ids that the suite's report of 2018 has, beside its own."""
    found = reported()
    columns = list(dict.fromkeys((one.method, one.budget) for one in found))
    theirs = {(one.id, one.method, one.budget): one.score for one in found}
    cells = []
    for id in dict.fromkeys(one.id for one in found):
        scores = line_of(rows, method, id).scores
        own = f"{statistics.mean(scores):.0f}" if scores else MISSING
        others = [theirs.get((id, *column)) for column in columns]
        cells.append([id, own, *("" if score is None else f"{score:.0f}" for score in others)])
    header = ("id", "here, 0.5M", *(f"{name}, {budget}" for name, budget in columns))
    return report.table(header, cells)


def scores_of(rows: Sequence[Row]) -> dict[str, list[float]]:
    """Scores of the recipe's runs on each id of the suite."""
    return {id: line_of(rows, RECIPE, id).scores for id in suites()["suite"]}


def common(scores: Mapping[str, Sequence[float]]) -> str:
    """Means over the ids that a published method and these runs both have.

    Args:
        scores: of each id's runs.
    """
    groups: dict[str, dict[str, float]] = {}
    for one in published():
        groups.setdefault(f"{one.method}, {millions(one.steps)}", {})[one.id] = one.score
    for said in reported():
        groups.setdefault(f"{said.method}, 2018, {said.budget}", {})[said.id] = said.score
    cells = []
    for name, theirs in groups.items():
        own = {id: statistics.mean(scores[id]) for id in theirs if scores.get(id)}
        if own:
            ahead = sum(theirs[id] > score for id, score in own.items())
            means = (statistics.mean(own.values()), statistics.mean(theirs[id] for id in own))
            runs = sum(len(scores[id]) for id in own)
            cells.append([name, str(len(own)), *(f"{m:.0f}" for m in means), str(ahead), str(runs)])
    header = ("method", "ids in common", "mean here", "its mean", "it leads on", "runs here")
    return report.table(header, cells) if cells else f"{MISSING.capitalize()}."


def short(id: str) -> str:
    """A task's name without family and version."""
    return id.partition("/")[2].removesuffix("-v0")


def millions(steps: int) -> str:
    """Format a number of steps, e.g. "0.5M"."""
    return f"{steps / 1e6:g}M"


def sources() -> str:
    """Sources of the published scores."""
    by_source: dict[str, set[str]] = {}
    for found in published():
        by_source.setdefault(found.source, set()).add(found.method)
    return "\n".join(
        f"- {', '.join(sorted(methods))}: `{source}`" for source, methods in by_source.items()
    )


def not_learned(rows: Sequence[Row], method: str = RECIPE) -> str:
    """Ids of the suite with scores near the baselines, and published scores."""
    best = {found.id: found for found in sorted(published(), key=lambda found: found.score)}
    lines = []
    for id in suites()["suite"]:
        scores = line_of(rows, method, id).scores
        nothing = max((baseline.mean for baseline in baselines.recorded(id).values()), default=0.0)
        if scores and comparison.scaled(id):
            mean = statistics.mean(scores)
            if mean < nothing + SHARE * (comparison.NORMALIZED - nothing):
                other = best.get(id)
                most = (
                    f"{other.score:.0f}, {other.method} after {millions(other.steps)}"
                    if other
                    else ""
                )
                lines.append([id, f"{mean:.0f}", f"{nothing:.0f}", most])
    if not lines:
        return "No run has ended that far below." if rows else f"{MISSING.capitalize()}."
    return report.table(("id", "score", "without learning", "most of those published"), lines)


@dataclass(frozen=True)
class Unlearned:
    """A line of the leaderboard without weights: actions that nothing has learned."""

    method: str
    score: float  # mean return
    standard_error: float | None  # None for one episode
    engine: str
    seeds: str


def ranking(rows: Sequence[leaderboard.Row], planned: Mapping[str, Sequence[Unlearned]]) -> str:
    """Methods by their mean score, from states, over the ids that they share.

    A method takes part with scores of at least half of the ids; several runs on an id count as
    their mean.

    Args:
        rows: runs.
        planned: planners by id.
    """
    rows = [row for row in rows if not row.images]
    ids = list(dict.fromkeys(row.id for row in rows))
    scores: dict[str, dict[str, list[float]]] = {}
    minutes: dict[str, list[float]] = {}
    for row in rows:
        scores.setdefault(row.method, {}).setdefault(row.id, []).append(row.score)
        minutes.setdefault(row.method, []).extend([float(row.cpu_minutes)] * bool(row.cpu_minutes))
    for id in ids:
        for one in planned.get(id, ()):
            scores.setdefault(one.method, {}).setdefault(id, []).append(one.score)
    ranked = {method: own for method, own in scores.items() if 2 * len(own) >= len(ids)}
    shared = [id for id in ids if all(id in own for own in ranked.values())]
    if not shared:
        return "No ids are shared yet."
    lines = []
    for method, own in ranked.items():
        means = [statistics.mean(own[id]) for id in shared]
        spent = minutes.get(method)
        cost = f"{statistics.mean(spent):.1f}" if spent else "plans"
        lines.append((statistics.mean(means), [method, statistics.median(means), cost]))
    cells = [
        [method, f"{mean:.0f}", f"{median:.0f}", cost]
        for mean, (method, median, cost) in sorted(lines, key=lambda line: -line[0])
    ]
    table = report.table(("method", "mean", "median", "CPU min of training"), cells)
    return f"{table}\n\nOver {len(shared)} ids: {', '.join(shared)}."


def leaderboard_table(
    rows: Sequence[leaderboard.Row], planned: Mapping[str, Sequence[Unlearned]]
) -> str:
    """The leaderboard with planners, best first for each id, beside random and zero actions.

    Policies that observe images are lines apart.

    Args:
        rows: runs.
        planned: planners by id.
    """
    cells = []
    for id, images in dict.fromkeys((row.id, row.images) for row in rows):
        submitted = [row for row in rows if (row.id, row.images) == (id, images)]
        entries = [(row.score, _submitted(row)) for row in submitted]
        for one in () if images else planned.get(id, ()):
            error = "" if one.standard_error is None else f"{one.standard_error:.1f}"
            own = [one.method, f"{one.score:.0f}", error, *[""] * 5, one.engine, "", one.seeds, ""]
            entries.append((one.score, own))
        unlearned = [f"{own.mean:.0f}" for _, own in sorted(baselines.recorded(id).items())]
        for _, (method, score, *rest) in sorted(entries, key=lambda pair: -pair[0]):
            cells.append([id, "images" if images else "state", method, score, *unlearned, *rest])
    header = ("id", "from", "method", "score", "random", "zero", "standard error", "success")
    more = ("CPU min", "steps", "learner", "machine", "scored on", "date", "seeds", "policy")
    return report.table((*header, *more), cells) if cells else "No run has been handed in."


def _submitted(row: leaderboard.Row) -> list[str]:
    return [
        *(row.method, f"{row.score:.0f}", f"{row.standard_error:.1f}", row.success),
        *(row.cpu_minutes, row.steps, row.learner, row.machine, row.engine, row.date),
        f"{row.first_seed} to {row.first_seed + leaderboard.EPISODES - 1}",
        f"`{row.policy_sha256[:16]}`",
    ]


# Plots.


def curves(rows: Sequence[Row], method: str = RECIPE) -> list[Curve]:
    """Evaluations of a method's runs, in CPU seconds."""
    runs: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        if row.exp_name == method and row.metric == metrics.RETURN:
            runs.setdefault((row.env_name, row.seed), []).append(row)
    finals = {
        (row.env_name, row.seed): row.value
        for row in rows
        if row.exp_name == method and row.metric == metrics.FINAL
    }
    return [
        Curve(
            method,
            id,
            seed,
            steps=np.array([row.env_step for row in own]),
            seconds=np.array([row.cpu_s for row in own]),
            returns=np.array([row.value for row in own]),
            updates=np.array([row.updates for row in own]),
            final=finals.get((id, seed)),
        )
        for (id, seed), own in sorted(runs.items())
    ]


def picture(name: str, by: str, folder: Path = BASELINES) -> Path:
    """Path of the curves of a table, or of its profile."""
    return folder / f"scores_{name}_{by}.webp"


def draw(rows: Sequence[Row], folder: Path = BASELINES) -> list[Path]:
    """Draw the curves of each table over steps and CPU time, and the suite's profile.

    Returns:
        The written files, without tables that have no runs.
    """
    from matplotlib.figure import Figure

    every, drawn = curves(rows), []
    for name, ids in suites().items():
        known = [id for id in ids if any(curve.id == id for curve in every)]
        for by in comparison.LABELS if known else ():
            count = -(-len(known) // COLUMNS)
            size = PANEL[0] * COLUMNS, PANEL[1] * count + 0.3
            figure: Any = Figure(figsize=size, layout="constrained")
            axes = figure.subplots(count, COLUMNS, squeeze=False)
            for axis in axes.flat[len(known) :]:
                axis.set_axis_off()
            for axis, id in zip(axes.flat, known, strict=False):
                comparison.panel(axis, every, id, by)
                axis.set_title(short(id), fontsize=7)
                axis.set(xlabel="", ylabel="")
                axis.tick_params(labelsize=6)
                if comparison.scaled(id):
                    axis.set_ylim(0, HEADROOM * comparison.NORMALIZED)
            label = {"steps": "control steps, thousands", "seconds": "CPU minutes"}
            figure.supxlabel(label[by], fontsize=8)
            drawn.append(saved(figure, picture(name, by, folder)))
    normalised = [
        np.array([c.final for c in every if c.id == id and c.final is not None])
        / comparison.NORMALIZED
        for id in suites()["suite"]
        if comparison.scaled(id)
    ]
    measured = [scores for scores in normalised if len(scores)]
    if measured:
        figure = Figure(figsize=(5, 3), layout="constrained")
        axis = figure.subplots()
        thresholds = np.linspace(0, 1, 101)
        axis.plot(thresholds, performance_profile(measured, thresholds))
        axis.set(xlabel="score / 1,000", ylabel="share of runs above it")
        axis.set(xlim=(0, 1), ylim=(0, HEADROOM))
        axis.set_title(f"{len(measured)} ids of the suite", fontsize=9)
        axis.grid(alpha=0.3)
        drawn.append(saved(figure, picture("suite", "profile", folder)))
    return drawn


def saved(figure: Any, path: Path) -> Path:
    """Write a figure; returns its path."""
    figure.savefig(path, dpi=100, pil_kwargs={"quality": 85, "method": 6})
    return path


def _with_pictures(name: str, text: Callable[[], str]) -> str:
    words = {
        "seconds": "Returns over CPU minutes",
        "steps": "Returns over control steps",
        "profile": "Share of runs above each score",
    }
    found = ((by, picture(name, by)) for by in words)
    shown = [f"![{words[by]}](../baselines/{path.name})" for by, path in found if path.exists()]
    return "\n\n".join([text(), *shown])


def every(folder: Path = score_table.FOLDER) -> Mapping[str, Callable[[], str]]:
    """All tables, by name."""
    rows = score_table.read(folder)
    made = {
        name: functools.partial(_with_pictures, name, functools.partial(table, ids, rows))
        for name, ids in suites().items()
    }
    return {
        **made,
        "not-learned": functools.partial(not_learned, rows),
        "published": functools.partial(beside_published, rows),
        "common": lambda: common(scores_of(rows)),
        "report": functools.partial(beside_report, rows),
        "sources": sources,
    }
