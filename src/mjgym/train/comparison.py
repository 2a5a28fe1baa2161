"""Runs beside each other: scores by experiment and task, curves over steps and over wall clock."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.train import metrics, statistics
from mjgym.train.errors import RunError

LAST = 3  # evaluations whose mean is a run's second score
NORMALIZED = 1_000.0  # the highest return of an episode of the suite
POINTS = 60  # of a curve


@dataclass(frozen=True)
class Curve:
    """The evaluations of one run.

    Args:
        experiment: its name.
        id: of the task.
        seed: of the run.
        steps: environment steps of each evaluation, ascending.
        seconds: of training, until each.
        returns: of each.
    """

    experiment: str
    id: str
    seed: int
    steps: np.ndarray
    seconds: np.ndarray
    returns: np.ndarray


def read(paths: Iterable[str | Path], metric: str = metrics.RETURN) -> list[Curve]:
    """Curves of run folders or of files of metrics, which may hold several runs.

    Args:
        paths: folders, or .csv files.
        metric: what is compared.

    Raises:
        RunError: one holds none of them.
    """
    curves: list[Curve] = []
    for path in map(Path, paths):
        file = path / "metrics.csv" if path.is_dir() else path
        try:
            rows = [row for row in metrics.read(file) if row.metric == metric]
        except (OSError, ValueError) as error:
            raise RunError(f"{path}: no metrics can be read: {error}") from None
        if not rows:
            raise RunError(f"{path} has no {metric} yet")
        runs: dict[tuple[str, str, int], list[metrics.Metric]] = {}
        for row in rows:
            runs.setdefault((row.exp_name, row.env_name, row.seed), []).append(row)
        for (experiment, id, seed), own in runs.items():
            own.sort(key=lambda row: row.env_step)
            columns = (
                [getattr(row, name) for row in own] for name in ("env_step", "wall_s", "value")
            )
            curves.append(Curve(experiment, id, seed, *map(np.array, columns)))
    return curves


@dataclass(frozen=True)
class Score:
    """What one experiment reached on one task.

    Args:
        experiment: its name.
        id: of the task.
        runs: seeds, of which there is one run each.
        last: mean over runs of the last evaluation, which selects nothing.
        interval: of that mean, by bootstrap over runs.
        last_three: mean over runs of the last three evaluations.
        steps: environment steps, the mean over runs.
        minutes: of training, the mean over runs.
    """

    experiment: str
    id: str
    runs: int
    last: float
    interval: tuple[float, float]
    last_three: float
    steps: float
    minutes: float


def scores(curves: Sequence[Curve]) -> list[Score]:
    """Scores by task and experiment."""
    found = []
    for id, experiment in sorted({(curve.id, curve.experiment) for curve in curves}):
        own = [c for c in curves if (c.id, c.experiment) == (id, experiment)]
        last = np.array([curve.returns[-1] for curve in own])
        found.append(
            Score(
                experiment,
                id,
                len(own),
                float(last.mean()),
                statistics.interval(statistics.mean, [last]),
                float(np.mean([curve.returns[-LAST:].mean() for curve in own])),
                float(np.mean([curve.steps[-1] for curve in own])),
                float(np.mean([curve.seconds[-1] for curve in own])) / 60,
            )
        )
    return found


@dataclass(frozen=True)
class Summary:
    """What one experiment reached on all tasks that every experiment has.

    Args:
        experiment: its name.
        tasks: how many these are.
        runs: of them together.
        interquartile_mean: of the last evaluations, divided by 1000.
        interval: of it, by stratified bootstrap.
        improvement: chance to score more than the first experiment does; None for that one.
    """

    experiment: str
    tasks: int
    runs: int
    interquartile_mean: float
    interval: tuple[float, float]
    improvement: float | None


def summaries(curves: Sequence[Curve]) -> list[Summary]:
    """Experiments over their common tasks, in the order in which they are given."""
    table = _table(curves)
    names = list(dict.fromkeys(curve.experiment for curve in curves))
    found = []
    for name in names if table else ():
        own = table[name]
        better = statistics.probability_of_improvement(own, table[names[0]])
        found.append(
            Summary(
                name,
                len(own),
                sum(map(len, own)),
                statistics.interquartile_mean(own),
                statistics.interval(statistics.interquartile_mean, own),
                None if name == names[0] else better,
            )
        )
    return found


def _table(curves: Sequence[Curve]) -> dict[str, list[np.ndarray]]:
    """Normalised last returns of each experiment, by the tasks that all of them have."""
    ids: dict[str, dict[str, list[float]]] = {}
    for curve in curves:
        runs = ids.setdefault(curve.experiment, {}).setdefault(curve.id, [])
        runs.append(curve.returns[-1] / NORMALIZED)
    common = sorted(set.intersection(*(set(tasks) for tasks in ids.values())))
    if not common:
        return {}
    return {name: [np.array(tasks[id]) for id in common] for name, tasks in ids.items()}


def plot(curves: Sequence[Curve], path: Path) -> None:
    """Draw, for each task, returns over steps and over minutes, and the performance profile.

    Lines are means over seeds, bands their 95 % bootstrap intervals.

    Args:
        curves: of runs.
        path: of the picture, whose ending names its kind.
    """
    from matplotlib.figure import Figure

    ids = sorted({curve.id for curve in curves})
    names = list(dict.fromkeys(curve.experiment for curve in curves))
    table = _table(curves)
    rows = len(ids) + bool(table)
    figure: Any = Figure(figsize=(10, 3 * rows), layout="constrained")
    axes = figure.subplots(rows, 2, squeeze=False)
    for row, id in enumerate(ids):
        for axis, (by, unit) in zip(axes[row], (("steps", 1.0), ("seconds", 60.0)), strict=True):
            for number, name in enumerate(names):
                own = [c for c in curves if (c.id, c.experiment) == (id, name)]
                if own:
                    x, y = _joined(own, by)
                    axis.plot(x / unit, y.mean(0), color=f"C{number}", label=f"{name} ({len(own)})")
                    low, high = _band(y)
                    axis.fill_between(x / unit, low, high, color=f"C{number}", alpha=0.2)
            axis.set_xlabel("environment steps" if by == "steps" else "minutes")
            axis.set_title(id, fontsize=9)
            axis.set_ylim(bottom=0)
        axes[row][0].set_ylabel("return")
        axes[row][0].legend(fontsize=8)
    if table:
        thresholds = np.linspace(0, 1, 101)
        for number, name in enumerate(names):
            profile = statistics.performance_profile(table[name], thresholds)
            axes[-1][0].plot(thresholds, profile, color=f"C{number}", label=name)
        axes[-1][0].set_xlabel("score")
        axes[-1][0].set_ylabel("share of runs above it")
        axes[-1][1].set_axis_off()
    figure.savefig(path, dpi=120)


def _joined(curves: Sequence[Curve], by: str) -> tuple[np.ndarray, np.ndarray]:
    """Common places along an axis, up to where all curves reach, and the returns there."""
    first = max(getattr(curve, by)[0] for curve in curves)
    last = min(getattr(curve, by)[-1] for curve in curves)
    x = np.linspace(first, max(first, last), POINTS)
    return x, np.array([np.interp(x, getattr(curve, by), curve.returns) for curve in curves])


def _band(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """95 % bootstrap intervals of the means over runs, at every place at once."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(y), size=(statistics.REPEATS // 4, len(y)))
    tail = (1 - statistics.CONFIDENCE) / 2
    low, high = np.quantile(y[drawn].mean(1), [tail, 1 - tail], axis=0)
    return low, high
