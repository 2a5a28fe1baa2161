"""Results of the runs as small files in `assets/baselines`, with plots of the curves.

One file for each part of `goals.py`, with the columns of `mjgym compare --csv`.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mjgym.policies.run_errors import RunError
from mjgym.util.packaged import assets
from mjgym_train import comparison, metrics
from mjgym_train.comparison import Curve
from training import plan

FOLDER = assets() / "baselines"
STEPS_A_SECOND = "training/steps_per_second"  # of a turn, numbered by the seed
RATE = "rate"
RECIPE_PICTURE, METHODS_PICTURE = "training_recipe", "training_methods"
WALK_PICTURE = "training_walk"
PANELS = 2  # side by side

Results = dict[str, list[Curve]]
"""Curves by part."""


def file(part: str, folder: Path = FOLDER) -> Path:
    """Path of the results of a part."""
    return folder / f"training_{part}.csv"


def picture(name: str, folder: Path = FOLDER) -> Path:
    """Path of a plot."""
    return folder / f"{name}.webp"


def packaged(folder: Path = FOLDER) -> Results:
    """Results in the files."""
    paths = {part: file(part, folder) for part in plan.PARTS}
    return {part: comparison.read([path]) for part, path in paths.items() if path.exists()}


def of_runs(out: Path) -> Results:
    """Results in the folders of the runs so far.

    Args:
        out: of all runs, as in `goals.py --out`.
    """
    results: Results = {}
    for part in plan.PARTS:
        for folder in sorted((out / part).glob("*/metrics.csv")):
            try:
                results.setdefault(part, []).extend(comparison.read([folder.parent]))
            except RunError:
                continue  # without an evaluation yet
    return results


def variants(found: Results) -> list[Curve]:
    """The recipe and its variants, in the order of the plan."""
    curves = [curve for curve in found.get("methods", []) if curve.experiment in plan.METHODS]
    return sorted(curves, key=lambda curve: list(plan.METHODS).index(curve.experiment))


def collect(out: Path, folder: Path = FOLDER) -> list[Path]:
    """Merge finished runs into the files, and draw the curves.

    A run is finished when it has a final score; the agents of an ensemble come with it.

    Args:
        out: of all runs.
        folder: of the files.

    Returns:
        The written files.
    """
    written = []
    there = packaged(folder)
    for part, curves in of_runs(out).items():
        done = {(c.experiment, c.id, c.seed) for c in curves if c.final is not None}
        new = [c for c in curves if (plan.whole(c.experiment), c.id, c.seed) in done]
        known = {(c.experiment, c.id, c.seed) for c in new}
        others = [c for c in there.get(part, []) if (c.experiment, c.id, c.seed) not in known]
        if new:
            comparison.write([*others, *new], file(part, folder))
            written.append(file(part, folder))
    measured = file(RATE, out)
    if measured.exists():
        metrics.write(file(RATE, folder), metrics.read(measured))
        written.append(file(RATE, folder))
    return [*written, *draw(packaged(folder), folder)] if written else []


def rates(folder: Path = FOLDER) -> tuple[dict[str, list[float]], str]:
    """Steps per second while learning, by name and turn, and the machine."""
    values: dict[str, list[float]] = {}
    lines = metrics.read(file(RATE, folder)) if file(RATE, folder).exists() else []
    for line in sorted(lines, key=lambda line: line.seed):
        values.setdefault(line.exp_name, []).append(line.value)
    return values, lines[0].machine if lines else ""


def keep_rates(
    measured: Mapping[str, Sequence[float]], id: str, machine: str, folder: Path
) -> None:
    """Write rates, by name one for each turn.

    Args:
        measured: steps per second.
        id: of the task.
        machine: that measured them.
        folder: of the file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    metrics.write(
        file(RATE, folder),
        (
            metrics.Metric(name, id, turn, STEPS_A_SECOND, 0, value, machine=machine)
            for name, values in measured.items()
            for turn, value in enumerate(values)
        ),
    )


def draw(found: Results, folder: Path = FOLDER) -> list[Path]:
    """Draw the recipe beside its peer, over minutes, and the variants, over steps and minutes."""
    drawn = []
    beside = [*found.get("recipe", []), *found.get("peer", [])]
    ids = [id for id in plan.GOALS if any(curve.id == id for curve in beside)]
    if ids:
        drawn.append(picture(RECIPE_PICTURE, folder))
        figure, axes = _panels(len(ids))
        for axis, id in zip(axes, ids, strict=False):
            comparison.panel(axis, beside, id, "seconds")
            goal = plan.GOALS[id][0]
            axis.axhline(goal, color="0.3", linestyle="--", linewidth=1, label=f"goal, {goal:.0f}")
            mark_scores(axis, [c for c in beside if (c.id, c.experiment) == (id, "recipe")])
            axis.legend(fontsize=7)
        _finish(figure, axes[: len(ids)], drawn[-1])
    walks = found.get("walk", [])
    ids = [id for id in plan.WALK_IDS if any(curve.id == id for curve in walks)]
    if ids:
        drawn.append(picture(WALK_PICTURE, folder))
        figure, axes = _panels(len(ids))
        for axis, id in zip(axes, ids, strict=False):
            comparison.panel(axis, walks, id, "steps")
            axis.legend(fontsize=7)
        _finish(figure, axes[: len(ids)], drawn[-1], top=None)
    tried = variants(found)
    ids = [id for id in plan.METHOD_IDS if any(curve.id == id for curve in tried)]
    if "methods" in found:
        drawn.append(picture(METHODS_PICTURE, folder))
        figure, axes = _panels(2 * len(ids))
        places = ((id, by) for id in ids for by in comparison.LABELS)
        for axis, (id, by) in zip(axes, places, strict=True):
            comparison.panel(axis, tried, id, by)
        lines = legend(axes)
        figure.legend(
            lines.values(), lines, loc="outside lower center", ncols=len(plan.METHODS), fontsize=7
        )
        _finish(figure, axes, drawn[-1])
    return drawn


def mark_scores(axis: Any, curves: Iterable[Curve]) -> None:
    """Mark the end of each run at the 100-episode score of the table."""
    scored = [(c.seconds[-1] / 60, c.final) for c in curves if c.final is not None]
    if scored:
        axis.plot(*zip(*scored, strict=True), "D", color="C0", markersize=4, label="scores")


def legend(axes: Iterable[Any]) -> dict[str, Any]:
    """Legend with experiments and their numbers of seeds, which may differ."""
    lines: dict[str, Any] = {}
    seeds: dict[str, set[str]] = {}
    for axis in axes:
        for line, label in zip(*axis.get_legend_handles_labels(), strict=True):
            name, _, count = label.rpartition(", ")
            lines.setdefault(name, line)
            seeds.setdefault(name, set()).add(count.split()[0])
    return {
        f"{name}, {' or '.join(sorted(seeds[name]))} seeds": line for name, line in lines.items()
    }


def _panels(count: int) -> tuple[Any, list[Any]]:
    """A figure with `count` axes, or one more."""
    from matplotlib.figure import Figure

    rows = -(-count // PANELS)
    figure: Any = Figure(figsize=(5 * PANELS, 2.8 * rows), layout="constrained")
    return figure, list(figure.subplots(rows, PANELS, squeeze=False).flat)


def _finish(
    figure: Any, axes: Iterable[Any], path: Path, top: float | None = comparison.NORMALIZED
) -> None:
    """Hide unused axes, scale returns alike up to `top`, and write the plot."""
    used = list(axes)
    for axis in figure.axes:
        if axis in used:
            axis.set_ylim(top=top)
        else:
            axis.set_axis_off()
    figure.savefig(path, dpi=100, pil_kwargs={"quality": 85, "method": 6})
