"""Tables in Markdown of what the runs reached; runs that are not there yet leave cells empty."""

import statistics
from collections.abc import Sequence
from pathlib import Path

from comparison import report

from mjgym.train import comparison
from mjgym.train.errors import RunError
from training import plan

SHARE = 0.9  # of a goal, the time to which is compared


def curves(jobs: Sequence[plan.Job], out: Path) -> list[comparison.Curve]:
    """The evaluations of those runs that have some; of an ensemble, those of all together."""
    found: list[comparison.Curve] = []
    for job in jobs:
        try:
            read = comparison.read([job.folder(out)])
        except RunError:
            continue
        found += [curve for curve in read if curve.experiment == job.name]
    return found


def scores(jobs: Sequence[plan.Job], out: Path, *, goals: bool) -> str:
    """By task and experiment: the mean of 100 episodes at the end, what was spent, the curve's end.

    Args:
        jobs: runs.
        out: folder of the runs.
        goals: whether to say which goal is met.
    """
    rows = []
    for score in comparison.scores(curves(jobs, out)):
        own = [job for job in jobs if (job.id, job.name) == (score.id, score.experiment)]
        final = [value for job in own if (value := plan.score(job, out)) is not None]
        mean = statistics.mean(final) if final else None
        row = [
            score.id,
            score.experiment,
            str(score.runs),
            "" if mean is None else f"{mean:.0f}",
            f"{min(final):.0f} to {max(final):.0f}" if final else "",
            f"{score.last_three:.0f}",
            f"{score.steps / 1000:,.0f}",
            f"{score.minutes:.0f}",
        ]
        if goals:
            goal = plan.GOALS[score.id][0]
            row += [f"{goal:.0f}", "" if mean is None else ("yes" if mean >= goal else "no")]
        rows.append(row)
    header = ["id", "run", "seeds", "score", "of seeds", "last three", "thousand steps", "minutes"]
    return report.table([*header, *(("goal", "met") if goals else ())], rows)


def reached(curve: comparison.Curve, value: float) -> float | None:
    """Seconds until an evaluation first has a value; None if none has."""
    above = (curve.returns >= value).nonzero()[0]
    return float(curve.seconds[above[0]]) if len(above) else None


def times(ours: Sequence[comparison.Curve], peers: Sequence[comparison.Curve]) -> str:
    """By task: median minutes to 90 % of the goal, and their ratio; runs that never got there count
    with all of their time, after a ">"."""
    rows = []
    for id, (goal, _) in plan.GOALS.items():
        medians = []
        for side in (ours, peers):
            own = [curve for curve in side if curve.id == id]
            found = [reached(curve, SHARE * goal) for curve in own]
            spent = [
                (float(curve.seconds[-1]) if time is None else time) / 60
                for curve, time in zip(own, found, strict=True)
            ]
            never = sum(time is None for time in found) * 2 > len(found)
            medians.append((statistics.median(spent), never) if spent else None)
        mine, other = medians
        if mine is None and other is None:
            continue
        cells = ["" if one is None else f"{'> ' if one[1] else ''}{one[0]:.1f}" for one in medians]
        ratio = ""
        if mine is not None and other is not None and not mine[1]:
            ratio = f"{'> ' if other[1] else ''}{other[0] / mine[0]:.1f}"
        rows.append([id, f"{SHARE * goal:.0f}", *cells, ratio])
    return report.table(["id", "score", "mjgym min", "SB3 SAC min", "times as long"], rows)
