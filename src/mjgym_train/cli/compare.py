"""`mjgym compare`: compare runs."""

import dataclasses
import importlib
import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from mjgym.cli import shared_options
from mjgym.cli.output import console, print_json, refusing, require_folder, say, table
from mjgym.util.packaged import install

if TYPE_CHECKING:
    from mjgym_train.comparison import Score, Summary
    from mjgym_train.statistics import Interval


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="RUN", help="Run folders, or metrics files.")
    ],
    metric: Annotated[str, typer.Option(help="The compared quantity.")] = "evaluation/return",
    plot: Annotated[
        Path | None, typer.Option(help="Plot the curves to this file.", dir_okay=False)
    ] = None,
    band: Annotated[
        Literal["intervals", "percentiles"],
        typer.Option(help='Of the plot: "intervals", or "percentiles": medians, 5th to 95th.'),
    ] = "intervals",
    csv: Annotated[
        Path | None,
        typer.Option(help="Write curves and final scores to this file.", dir_okay=False),
    ] = None,
    json: shared_options.Json = False,
) -> None:
    """Compare runs: scores per task with intervals over seeds, and interquartile means over tasks.

    Runs that have the same name (the setting "name", by default the algorithm's) are one experiment
    of several seeds. Intervals are 95 %: Student's t for one task, stratified bootstrap over
    tasks, none below three runs. Only tasks whose returns lie within 0 and 1000 are
    averaged. The score of a run is that of its last evaluation, never of its best. Shown beside it
    are the mean of the runs that `mjgym evaluate` has scored, and the return of random actions on
    the registered task. Folders without an evaluation yet are left out.
    """
    from mjgym.policies.run_errors import RunError
    from mjgym_train import baselines, comparison

    require_folder(plot, csv)
    if plot is not None:
        _check_plot(plot)
    with refusing(RunError, hint="'RUN'"):
        unfinished = comparison.unfinished(runs, metric)
        if len(unfinished) < len(runs):  # otherwise reading says what is missing
            runs = [path for path in runs if path not in unfinished]
            for reason in unfinished.values():
                say(f"left out: {reason}", stderr=True)
        curves = comparison.read(runs, metric)
    scores, summaries = comparison.scores(curves), comparison.summaries(curves)
    known = {score.id: baselines.recorded(score.id) for score in scores}
    random = {id: found[baselines.RANDOM].mean for id, found in known.items() if found}
    if json:
        print_json(
            {
                "scores": [
                    {**dataclasses.asdict(score), "random": random.get(score.id)}
                    for score in scores
                ],
                "summaries": [dataclasses.asdict(summary) for summary in summaries],
            }
        )
    else:
        _show(scores, summaries, random)
    if plot is not None:
        comparison.plot(curves, plot, band)
    if csv is not None:
        comparison.write(curves, csv, metric)
    for written in (plot, csv):
        if written is not None:
            say(f"written: {written}", stderr=True)


def _interval(found: "Interval | None", form: str) -> str:
    return "below 3 runs" if found is None else f"{found[0]:{form}} to {found[1]:{form}}"


def _show(scores: "list[Score]", summaries: "list[Summary]", random: "dict[str, float]") -> None:
    from mjgym_train.comparison import scaled

    out = console()
    numbers = ("runs", "return", "95 %", "last three", "scored", "random", "steps", "minutes")
    by_task = table("id", "experiment", *numbers, right=numbers, fold=("id",))
    for score in scores:
        by_task.add_row(
            score.id,
            score.experiment,
            str(score.runs),
            f"{score.last:.1f}",
            _interval(score.interval, ".1f"),
            f"{score.last_three:.1f}",
            "" if score.final is None else f"{score.final:.1f}",
            f"{random[score.id]:.1f}" if score.id in random else "",
            f"{score.steps:,.0f}",
            f"{score.minutes:.1f}",
        )
    out.print(by_task)
    columns = ("tasks", "runs", "interquartile mean", "95 %", "better than the first")
    over_tasks = table("experiment", *columns, right=columns, fold=("experiment",))
    for summary in summaries:
        over_tasks.add_row(
            summary.experiment,
            str(summary.tasks),
            str(summary.runs),
            f"{summary.interquartile_mean:.3f}",
            _interval(summary.interval, ".3f"),
            "" if summary.improvement is None else f"{summary.improvement:.0%}",
        )
    if summaries:
        out.print()
        out.print(over_tasks)
    left_out = sorted({score.id for score in scores if not scaled(score.id)})
    if left_out:
        text = f"not averaged, as their returns are not scaled to 1000: {', '.join(left_out)}"
        out.print(text, soft_wrap=True)


def _check_plot(plot: Path) -> None:
    """Find out before the comparison whether a plot can be made."""
    if importlib.util.find_spec("matplotlib") is None:
        raise typer.BadParameter(f"it needs matplotlib: {install('bench')}", param_hint="'--plot'")
    bases: Any = importlib.import_module("matplotlib.backend_bases")
    known = bases.FigureCanvasBase.get_supported_filetypes()
    if plot.suffix.lstrip(".").lower() not in known:
        raise typer.BadParameter(
            f"{plot.name}: end its name in one of {', '.join(sorted(known))}.",
            param_hint="'--plot'",
        )
