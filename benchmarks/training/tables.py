"""Markdown tables of the runs' results; missing runs are "not measured"."""

import statistics
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from comparison import report

from mjgym_train.comparison import Curve
from mjgym_train.statistics import probability_of_improvement
from training import plan, results
from training.rates import ratios

SHARE = 0.9  # fraction of a goal for time comparisons
MISSING = "not measured"


def _own(curves: Sequence[Curve], id: str, experiment: str) -> list[Curve]:
    return [curve for curve in curves if (curve.id, curve.experiment) == (id, experiment)]


def _finals(curves: Sequence[Curve]) -> list[float]:
    return [curve.final for curve in curves if curve.final is not None]


def _reached(curves: Sequence[Curve]) -> list[str]:
    """Cells of one experiment: score, range over seeds, seeds, thousand steps, minutes."""
    final = _finals(curves)
    if not final:
        return [MISSING, "", str(len(curves) or ""), "", ""]
    return [
        f"{statistics.mean(final):.0f}",
        ", ".join(f"{value:.0f}" for value in final),
        str(len(final)),
        f"{statistics.mean(curve.steps[-1] for curve in curves) / 1000:,.0f}",
        f"{statistics.mean(curve.seconds[-1] for curve in curves) / 60:.1f}",
    ]


REACHED = ("score", "of the seeds", "seeds", "thousand steps", "minutes")


def goals(curves: Sequence[Curve]) -> str:
    """By task with a goal: the recipe's results, then the machines."""
    rows, machines = [], set()
    for id, (goal, minutes) in plan.GOALS.items():
        selected = _own(curves, id, "recipe")
        final = _finals(selected)
        met = "" if not final else "yes" if statistics.mean(final) >= goal else "no"
        machines |= {curve.machine for curve in selected if curve.machine}
        rows.append([id, f"{goal:.0f}", f"{minutes:.0f}", met, *_reached(selected)])
    text = report.table(["id", "goal", "within min", "met", *REACHED], rows)
    return _on(text, sorted(machines))


def _on(text: str, machines: Sequence[str]) -> str:
    """Append the machines to a table."""
    return f"{text}\n\n{'; '.join(machines)}." if machines else text


def reached(curve: Curve, value: float) -> float | None:
    """Seconds until an evaluation first reaches a value; None if none does."""
    above = (curve.returns >= value).nonzero()[0]
    return float(curve.seconds[above[0]]) if len(above) else None


def times(ours: Sequence[Curve], peers: Sequence[Curve]) -> str:
    """By task: median minutes to 90 % of the goal, and their ratio; runs that never reach it count
    with all of their time, after a ">".
    """
    rows = []
    for id, (goal, _) in plan.GOALS.items():
        medians = []
        for side, experiment in ((ours, "recipe"), (peers, plan.PEER)):
            own = _own(side, id, experiment)
            found = [reached(curve, SHARE * goal) for curve in own]
            spent = [
                (float(curve.seconds[-1]) if time is None else time) / 60
                for curve, time in zip(own, found, strict=True)
            ]
            never = sum(time is None for time in found) * 2 > len(found)
            medians.append((statistics.median(spent), never) if spent else None)
        mine, other = medians
        cells = [MISSING if m is None else f"{'> ' if m[1] else ''}{m[0]:.1f}" for m in medians]
        ratio = ""
        if mine is not None and other is not None and not mine[1]:
            ratio = f"{'> ' if other[1] else ''}{other[0] / mine[0]:.1f}"
        rows.append([id, f"{SHARE * goal:.0f}", *cells, ratio])
    return report.table(["id", "return", "recipe, min", "SB3's SAC, min", "times as long"], rows)


def rates(measured: dict[str, list[float]], machine: str) -> str:
    """Environment steps per second while learning, and the ratio to SB3's."""
    times = {name: f"{value:.1f}" for name, value in ratios(measured).items()} if measured else {}
    rows = [
        [name, f"{statistics.median(found):,.0f}", times.get(name, "")]
        for name, found in measured.items()
    ]
    header = ["while learning", "steps/s", "times SB3's TD3"]
    return _on(report.table(header, rows or [["recipe", MISSING, ""]]), [machine] if rows else [])


def methods(curves: Sequence[Curve]) -> str:
    """By task and variant: results, and difference to the recipe.

    "chance" is the probability that a run of the variant beats one of the recipe.
    """
    rows = []
    for id in plan.METHOD_IDS:
        plain = _finals(_own(curves, id, "recipe"))
        for name, settings in plan.METHODS.items():
            selected = _own(curves, id, name)
            final = _finals(selected)
            against = ["", ""]
            if final and plain and name != "recipe":
                better = probability_of_improvement([np.array(final)], [np.array(plain)])
                difference = statistics.mean(final) - statistics.mean(plain)
                against = [f"{difference:+.0f}", f"{better:.0%}"]
            changed = f"`{settings[0]}`" if settings else ""
            rows.append([id, name, changed, *_reached(selected), *against])
    header = ["id", "variant", "setting", *REACHED, "difference", "chance"]
    return report.table(header, rows)


def ray(curves: Sequence[Curve]) -> str:
    """Scores with Ray and in one process, at equal environment steps."""
    rows = []
    alone = next(iter(plan.RAY))
    whole = _finals(_own(curves, plan.RAY_ID, alone))
    for name in plan.RAY:
        selected = _own(curves, plan.RAY_ID, name)
        final, share = _finals(selected), ""
        if final and whole and name != alone:
            share = f"{statistics.mean(final) / statistics.mean(whole):.2f}"
        rows.append([name, *_reached(selected), share])
    return report.table(["runs", *REACHED, "of one process"], rows)


def walk(curves: Sequence[Curve]) -> str:
    """By task and settings: scores after equal CPU time, and its use."""
    rows = []
    for id in plan.WALK_IDS:
        for name in plan.WALK:
            own = _own(curves, id, name)
            score, of_seeds, seeds, steps, _ = _reached(own)
            updates = spent = ""
            if final := _finals(own):
                updates = f"{statistics.mean(curve.updates[-1] for curve in own) / 1000:.1f}"
                times = [curve.cpu_seconds / 60 for curve in own if curve.cpu_seconds is not None]
                spent = f"{statistics.mean(times):.1f}" if len(times) == len(final) else ""
            rows.append([id, name, score, of_seeds, seeds, steps, updates, spent])
    header = ["id", "settings", *REACHED[:4], "thousand updates", "CPU min"]
    return report.table(header, rows)


def candidates(curves: Sequence[Curve]) -> str:
    """By settings: mean score over the first ids and over all, and the score of each.

    Means need all their ids. "After half" is the mean over all of the evaluations within half the
    time.
    """
    first = len(plan.CANDIDATE_FIRST_IDS)
    rows = []
    for name, settings in plan.CANDIDATES.items():
        scores: list[float | None] = []
        halves: list[float | None] = []
        for id in plan.CANDIDATE_IDS:
            selected = [curve for curve in _own(curves, id, name) if curve.final is not None]
            final = _finals(selected)
            scores.append(statistics.mean(final) if final else None)
            halves.append(statistics.mean(map(_after_half, selected)) if final else None)
        seeds = {curve.seed for curve in curves if curve.experiment == name}
        shown = " ".join(f"`{setting}`" for setting in settings)
        cells = ["" if score is None else f"{score:.0f}" for score in scores]
        means = [_mean(scores[:first]), _mean(scores), _mean(halves)]
        rows.append([name, shown, str(len(seeds) or ""), *means, *cells])
    tasks = [id.partition("/")[2].removesuffix("-v0") for id in plan.CANDIDATE_IDS]
    means = [f"mean of the first {first}", f"mean of all {len(tasks)}", "after half"]
    return report.table(["settings", "beside the defaults", "seeds", *means, *tasks], rows)


def _after_half(curve: Curve) -> float:
    """Return of the last evaluation within half the time of a run, or else of its first."""
    within = int((curve.seconds <= curve.seconds[-1] / 2).sum())
    return float(curve.returns[max(within - 1, 0)])


def _mean(scores: Sequence[float | None]) -> str:
    """Mean of scores, or a note if one is missing."""
    measured = [score for score in scores if score is not None]
    return f"{statistics.mean(measured):.0f}" if len(measured) == len(scores) else MISSING


def every(found: results.Results, folder: Path = results.FOLDER) -> dict[str, str]:
    """All tables, by name.

    Args:
        found: curves by part.
        folder: of the file of rates.
    """
    recipe = found.get("recipe", [])
    return {
        "goals": goals(recipe),
        "times": times(recipe, found.get("peer", [])),
        "rates": rates(*results.rates(folder)),
        "methods": methods(results.variants(found)),
        "ray": ray(found.get("ray", [])),
        "walk": walk(found.get("walk", [])),
        "candidates": candidates(found.get("candidates", [])),
    }
