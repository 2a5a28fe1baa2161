"""Comparison of runs: scores by experiment and task, curves over steps and wall-clock time."""

import functools
import math
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mjgym import registry
from mjgym.policies.run_errors import RunError
from mjgym_train import metrics, published, statistics
from mjgym_train.config import BUDGETS
from mjgym_train.run import Run

LAST = 3  # evaluations whose mean is a run's second score
NORMALIZED = 1_000.0  # the highest return of an episode of the suite
POINTS = 60  # of a curve
METRICS = "metrics.csv"  # in a run's folder
KEPT = 40  # evaluations of a run in a file of several runs


@dataclass(frozen=True)
class Curve:
    """The evaluations of one run."""

    experiment: str  # its name
    id: str  # of the task
    seed: int  # of the run
    steps: np.ndarray  # environment steps of each evaluation, ascending
    seconds: np.ndarray  # training time until each evaluation
    returns: np.ndarray  # mean return of each evaluation
    updates: np.ndarray  # updates of the networks until each evaluation
    # Mean return of the 100 episodes of `mjgym evaluate`, if it has scored the run.
    final: float | None = None
    machine: str = ""  # processor and cores; empty if unknown
    cpu_seconds: float | None = None  # CPU time of training, or None if unknown


def read(paths: Iterable[str | Path], metric: str = metrics.RETURN) -> list[Curve]:
    """Curves of run folders, and of files in one of the formats of `published`.

    Runs that share a name but differ in settings other than the seed are separate experiments,
    named by the settings in which they differ.
    """
    metric = published.our_name(metric)
    places = [Path(path) for path in paths]
    names = _names(places)
    curves: dict[tuple[str, str, int], Curve] = {}
    for path in places:
        rows = _rows(path)
        name, shown = names.get(path, ("", ""))
        rows = [replace(r, exp_name=f"{shown}{r.exp_name.removeprefix(name)}") for r in rows]
        found = [row for row in rows if row.metric == metric]
        if not found:
            there = ", ".join(sorted({row.metric for row in rows})) or "nothing"
            raise RunError(f"{path} has no {metric} yet; it has {there}")
        runs: dict[tuple[str, str, int], list[metrics.Metric]] = {}
        for row in found:
            runs.setdefault(_run_of(row), []).append(row)
        ends = {_run_of(row): row for row in rows if row.metric == metrics.FINAL}
        spent = {_run_of(row): row.value for row in rows if row.metric == metrics.CPU_SECONDS}
        if path.is_dir():
            ends = _end(path, rows[0])
        for run, own in runs.items():
            if run in curves:
                experiment, id, seed = run
                raise RunError(
                    f"{path} has {experiment}, seed {seed}, on {id} as another one has:"
                    " give each experiment a name of its own (name=...)"
                )
            own.sort(key=lambda row: row.env_step)
            end = ends.get(run)
            curves[run] = Curve(
                *run,
                steps=np.array([row.env_step for row in own]),
                seconds=np.array([row.wall_s for row in own]),
                returns=np.array([row.value for row in own]),
                updates=np.array([row.updates for row in own]),
                final=None if end is None else end.value,
                machine="" if end is None else end.machine,
                cpu_seconds=spent.get(run),
            )
    return list(curves.values())


def unfinished(paths: Iterable[str | Path], metric: str = metrics.RETURN) -> dict[Path, str]:
    """Folders that have nothing to compare yet, each with the reason."""
    metric = published.our_name(metric)
    reasons = {}
    for path in map(Path, paths):
        if not os.path.isdir(path):
            continue
        rows = _rows(path) if (path / METRICS).exists() else []
        if not rows:
            reasons[path] = f"{path} has no metrics yet"
        elif all(row.metric != metric for row in rows):
            reasons[path] = f"{path} has no {metric} yet"
    return reasons


def _rows(path: Path) -> list[metrics.Metric]:
    try:
        return published.read(path / METRICS if os.path.isdir(path) else path)
    except (OSError, ValueError) as error:
        raise RunError(f"{path}: no metrics can be read: {error}") from None


def _run_of(row: metrics.Metric) -> tuple[str, str, int]:
    return row.exp_name, known_name(row.env_name), row.seed


def _names(paths: Sequence[Path]) -> dict[Path, tuple[str, str]]:
    """Disambiguated names of run folders that share a name but differ in settings."""
    folders: dict[str, dict[Path, dict[str, Any]]] = {}
    for path in paths:
        if os.path.isfile(path / "config.yaml"):  # False for what can be no path
            try:
                settings = Run(path).settings()
            except RunError:
                continue  # its metrics can still be compared
            name = str(settings.get("name") or settings["algorithm"])
            folders.setdefault(name, {})[path] = settings
    found = {}
    for name, runs in folders.items():
        by_setting = {k: {str(s.get(k)) for s in runs.values()} for s in runs.values() for k in s}
        differ = [k for k in by_setting if len(by_setting[k]) > 1 and k not in OF_A_RUN]
        for path, settings in runs.items() if differ else ():
            words = (f"{k}={_word(settings.get(k))}" for k in differ)
            found[path] = name, f"{name} {' '.join(words)}"
    return found


def _word(value: Any) -> str:
    return str(value).replace(" ", "") if isinstance(value, list | dict) else str(value)


OF_A_RUN = (
    *("algorithm", "id", "module", "name", "seed", *BUDGETS, "threads", "torch_threads"),
    *("evaluations", "evaluation_episodes", "keep_policies", "log_every", "checkpoint_minutes"),
    "tensorboard",
)
"""Settings in which runs of one experiment may differ."""


@functools.cache
def known_name(name: str) -> str:
    """The id of this package for a task's name elsewhere; unknown names are returned unchanged.

    "dog-run", "dm_control/dog-run-v0", "Dmc-dog-run" and "dmc/dog-run" are all "dmc/dog-run-v0".
    """
    if name in registry.ids():
        return name
    suite = {_plain(id): id for id in registry.ids() if id.startswith("dmc/")}
    return suite.get(_plain(name), name)


def _plain(name: str) -> str:
    short = re.sub(r"^(dm_control|dmc)[/_:-]|-v\d+$", "", name, flags=re.IGNORECASE)
    short = re.sub(r"^cup-", "ball_in_cup-", short)
    return re.sub(r"[_/ ]", "-", short)


def _end(folder: Path, first: metrics.Metric) -> dict[tuple[str, str, int], metrics.Metric]:
    if not (score := Run(folder).score()):
        return {}
    end = replace(first, metric=metrics.FINAL, value=score["mean"], machine=machine_of(folder))
    return {_run_of(first): end}


def machine_of(folder: Path) -> str:
    """The processor of a run and the cores it could use; empty if unknown."""
    run = Run(folder)
    if not run.fingerprint_file.exists():
        return ""
    try:
        about = run.fingerprint()["machine"]
        cores = int(about["allowed_cores"])
        return f"{about['processor']}, {cores} core{'s' if cores > 1 else ''}"
    except (KeyError, TypeError, ValueError):
        raise RunError(f"{run.fingerprint_file} is damaged: it names no machine") from None


def write(curves: Iterable[Curve], path: Path, metric: str = metrics.RETURN) -> None:
    """Write curves and final scores of several runs to one small file, which `read` reads.

    At most `KEPT` evaluations of each run are kept, always including the last.
    """
    lines: list[metrics.Metric] = []
    for curve in sorted(curves, key=lambda c: (c.id, c.experiment, c.seed)):
        count = len(curve.steps)
        kept = np.unique(np.linspace(count - 1, 0, min(count, KEPT)).round().astype(int))
        lines += [_line(curve, int(k), metric, curve.returns[k]) for k in kept]
        if curve.final is not None:
            end = _line(curve, count - 1, metrics.FINAL, curve.final)
            lines.append(replace(end, machine=curve.machine))
        if curve.cpu_seconds is not None:
            lines.append(_line(curve, count - 1, metrics.CPU_SECONDS, curve.cpu_seconds))
    metrics.write(path, lines)


def _line(curve: Curve, k: int, metric: str, value: float) -> metrics.Metric:
    run, place = (curve.experiment, curve.id, curve.seed), int(curve.steps[k])
    spent = int(curve.updates[k]), float(curve.seconds[k])
    return metrics.Metric(*run, metric, place, float(value), *spent)


@dataclass(frozen=True)
class Score:
    """Score of one experiment on one task."""

    experiment: str  # its name
    id: str  # of the task
    runs: int  # seeds, one run each
    last: float  # mean of the last evaluations, over runs
    # 95 % interval of `last` by Student's t; None below three runs.
    interval: statistics.Interval | None
    last_three: float  # mean of the last three evaluations, over runs
    steps: float  # mean number of environment steps
    minutes: float  # mean training time
    final: float | None  # mean over the runs that `mjgym evaluate` has scored, or None


def scores(curves: Sequence[Curve]) -> list[Score]:
    """Scores by task and experiment."""
    pairs = sorted({(curve.id, curve.experiment) for curve in curves})
    return [_score([c for c in curves if (c.id, c.experiment) == pair]) for pair in pairs]


def _score(own: Sequence[Curve]) -> Score:
    last = np.array([curve.returns[-1] for curve in own])
    finals = [curve.final for curve in own if curve.final is not None]
    return Score(
        own[0].experiment,
        own[0].id,
        len(own),
        float(last.mean()),
        statistics.mean_interval(last),
        float(np.mean([curve.returns[-LAST:].mean() for curve in own])),
        float(np.mean([curve.steps[-1] for curve in own])),
        float(np.mean([curve.seconds[-1] for curve in own])) / 60,
        float(np.mean(finals)) if finals else None,
    )


@dataclass(frozen=True)
class Summary:
    """Score of one experiment over the scaled tasks that every experiment has."""

    experiment: str  # its name
    tasks: int  # number of those tasks
    runs: int  # number of runs on them
    interquartile_mean: float  # of the last evaluations, divided by 1000
    # Of that mean, by stratified bootstrap; None if a task has fewer than three runs.
    interval: statistics.Interval | None
    # Probability of improvement over the first experiment; None for that one.
    improvement: float | None


def summaries(curves: Sequence[Curve]) -> list[Summary]:
    """Experiments over their common `scaled` tasks, in the given order."""
    table = _table(curves)
    first, found = next(iter(table), ""), []
    for name, own in table.items():
        better = statistics.probability_of_improvement(own, table[first])
        mean = statistics.interquartile_mean
        spread = mean(own), statistics.interval(mean, own)
        better_than_first = None if name == first else better
        found.append(Summary(name, len(own), sum(map(len, own)), *spread, better_than_first))
    return found


def scaled(id: str) -> bool:
    """Tell whether returns lie within 0 and 1000, as those of the suite do but LQR's."""
    return id.startswith("dmc/") and not id.startswith("dmc/lqr-")


def _table(curves: Sequence[Curve]) -> dict[str, list[np.ndarray]]:
    ids: dict[str, dict[str, list[float]]] = {curve.experiment: {} for curve in curves}
    for curve in curves:
        if scaled(curve.id):
            runs = ids[curve.experiment].setdefault(curve.id, [])
            runs.append(curve.returns[-1] / NORMALIZED)
    common = sorted(set.intersection(*map(set, ids.values())))
    if not common:
        return {}
    return {name: [np.array(tasks[id]) for id in common] for name, tasks in ids.items()}


def plot(curves: Sequence[Curve], path: Path, band: str = "intervals") -> None:
    figure_of(curves, band).savefig(path, dpi=120)


def figure_of(curves: Sequence[Curve], band: str = "intervals") -> Any:
    """Draw the mean over all tasks, the performance profile, and the returns of each task.

    Means come first, over steps and over minutes, with the profile beside them; they are over those
    `scaled` tasks that every experiment has run. Up to `FEW` tasks follow over steps and minutes,
    more of them over steps in `COLUMNS` columns. Beyond the time that all runs of an experiment
    share, each run continues as a thin line.

    Args:
        band: "intervals", means with 95 % t intervals, from three seeds on; or "percentiles",
            medians with the 5th and 95th percentiles of the seeds, as in the report on the control
            suite of 2018.
    """
    from matplotlib.figure import Figure

    ids = sorted({curve.id for curve in curves})
    table = _table(curves)
    panels = [(id, by) for id in ids for by in LABELS if by == "steps" or len(ids) <= FEW]
    across = 2 if len(ids) <= FEW else COLUMNS
    head = [*LABELS, ""] if table else []
    rows = math.ceil(len(panels) / across) + bool(head)
    figure: Any = Figure(figsize=(12, (3.2 if across == 2 else 2.2) * rows), layout="constrained")
    grid = figure.add_gridspec(rows, COLUMNS)
    wide = COLUMNS // 3
    for k, by in enumerate(head):
        axis = figure.add_subplot(grid[0, wide * k : wide * (k + 1)])
        if by:
            _overview(axis, curves, table, by, band)
        else:
            _profile(axis, table)
    wide = COLUMNS // across
    for k, (id, by) in enumerate(panels):
        row, column = divmod(k, across)
        axis = figure.add_subplot(grid[row + bool(head), wide * column : wide * (column + 1)])
        panel(axis, curves, id, by, band)
        if across == COLUMNS:  # where labels would take the place of the curves
            axis.set_title(id, fontsize=7)
            axis.set_ylabel("")
            axis.set_xlabel("thousand steps" if k + across >= len(panels) else "")
        if not (k or head):
            axis.legend(fontsize=8)
    return figure


LABELS = {"steps": "environment steps, thousands", "seconds": "minutes of training"}
COLUMNS, FEW = 6, 3  # of panels; tasks that have a panel over minutes as well
_UNITS = {"steps": 1e3, "seconds": 60.0}


def _overview(
    axis: Any, curves: Sequence[Curve], table: dict[str, list[np.ndarray]], by: str, band: str
) -> None:
    """Draw each experiment's mean over tasks; the k-th runs of all tasks form one line.

    A run that has ended counts with its last evaluation: budgets of tasks may differ.
    """
    common = set.intersection(
        *({c.id for c in curves if c.experiment == name and scaled(c.id)} for name in table)
    )
    for number, name in enumerate(table):
        own = [c for c in curves if c.experiment == name and c.id in common]
        places = [getattr(curve, by) for curve in own]
        x = np.linspace(max(x[0] for x in places), max(x[-1] for x in places), POINTS)
        tasks = [[_at(c, by, x) for c in own if c.id == id] for id in sorted(common)]
        y = np.array([np.mean(runs, axis=0) for runs in zip(*tasks, strict=False)])
        _line_of(axis, x / _UNITS[by], y, number, name, band)
    axis.set_title(f"mean of {len(common)} task{'s' * (len(common) > 1)}", fontsize=9)
    _label(axis, by)


def _profile(axis: Any, table: dict[str, list[np.ndarray]]) -> None:
    thresholds = np.linspace(0, 1, 101)
    for number, (name, runs) in enumerate(table.items()):
        profile = statistics.performance_profile(runs, thresholds)
        axis.plot(thresholds, profile, color=f"C{number}", label=name)
    axis.set_xlabel(f"return / {NORMALIZED:,.0f}")
    axis.set_ylabel("share of runs above it")
    axis.set_title("all tasks", fontsize=9)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)


def panel(axis: Any, curves: Sequence[Curve], id: str, by: str, band: str = "intervals") -> None:
    """Draw the curves of one task, with bands over seeds."""
    for number, name in enumerate(dict.fromkeys(curve.experiment for curve in curves)):
        own = [c for c in curves if (c.id, c.experiment) == (id, name)]
        if own:
            x = _shared(own, by)
            y = np.array([_at(curve, by, x) for curve in own])
            label = f"{name}, {len(own)} seed{'s' if len(own) > 1 else ''}"
            _line_of(axis, x / _UNITS[by], y, number, label, band)
            for curve in own:
                for places, returns in _outside(curve, by, x[0], x[-1]):
                    axis.plot(places / _UNITS[by], returns, color=f"C{number}", linewidth=0.7)
    axis.set_title(id, fontsize=9)
    _label(axis, by)


def _label(axis: Any, by: str) -> None:
    axis.set_xlabel(LABELS[by])
    axis.set_ylabel("return")
    axis.set_xlim(left=0)
    axis.set_ylim(bottom=0)
    axis.grid(alpha=0.3)


def _line_of(axis: Any, x: np.ndarray, y: np.ndarray, number: int, label: str, band: str) -> None:
    """Draw one line with its band, from the values of some runs, (runs, n)."""
    if band == "percentiles":
        low, line, high = np.quantile(y, (0.05, 0.5, 0.95), axis=0)
    else:
        line, (low, high) = y.mean(0), statistics.mean_intervals(y)
    axis.plot(x, line, color=f"C{number}", label=label)
    axis.fill_between(x, low, high, color=f"C{number}", alpha=0.2, linewidth=0)


def _outside(
    curve: Curve, by: str, first: float, last: float
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    places = getattr(curve, by)
    for edge, outside in ((first, places < first), (last, places > last)):
        if outside.any():
            joined = np.append(places[outside], edge)
            order = np.argsort(joined)
            yield joined[order], np.interp(joined[order], places, curve.returns)


def _shared(curves: Sequence[Curve], by: str) -> np.ndarray:
    """Places within the time that all of the curves have."""
    first = max(getattr(curve, by)[0] for curve in curves)
    last = min(getattr(curve, by)[-1] for curve in curves)
    return np.linspace(first, max(first, last), POINTS)


def _at(curve: Curve, by: str, places: np.ndarray) -> np.ndarray:
    returns: np.ndarray = np.interp(places, getattr(curve, by), curve.returns)
    return returns
