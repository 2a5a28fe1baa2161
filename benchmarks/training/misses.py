"""Ids on which the recipe is far behind published scores, with curves and reasons."""

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from comparison import report

from mjgym.util.packaged import assets
from training import scores

SHARE = 0.9  # of the best published score, below which an id is behind
STEPS = 500_000  # of the published scores
PICTURE = assets() / "baselines" / "recipe_misses.webp"
COLUMNS = 4  # of panels

_DOG = "A core makes 1,000 steps of a dog a second: physics takes nine tenths of the time."
_HUMANOID = "Slow: 30 CPU minutes bring humanoid-run from 107 to 177."
REASONS = {
    "acrobot-swingup": "It swings up late: within an episode of the bundled policy the mean reward"
    " rises from 0 to 0.4.",
    "dog-run": _DOG,
    "dog-stand": "It stands for a while: 316 to 497 in the last evaluations; the larger networks"
    " have 914 after 500 thousand steps.",
    "dog-trot": _DOG,
    "dog-walk": _DOG,
    "hopper-hop": "Its gait earns 0.6 in a third of the steps, and nothing in the others.",
    "humanoid-run": _HUMANOID,
    "humanoid-stand": "The curve still rises: 841 after 40 CPU minutes of decisions for two steps.",
    "humanoid-walk": _HUMANOID,
}


def best_published() -> dict[str, scores.Published]:
    """The best published score after as many steps, by id."""
    found = [one for one in scores.published() if one.steps == STEPS]
    return {one.id: one for one in sorted(found, key=lambda one: one.score)}


def behind(found: Mapping[str, Sequence[float]]) -> list[str]:
    """Ids whose mean score is below `SHARE` of the best published one, farthest first."""
    best = best_published()
    shares = {id: statistics.mean(found[id]) / best[id].score for id in best if found.get(id)}
    return sorted((id for id in shares if shares[id] < SHARE), key=lambda id: shares[id])


def table(found: Mapping[str, Sequence[float]]) -> str:
    """A row for each id that is behind."""
    best, lines = best_published(), []
    for id in behind(found):
        one, name = best[id], scores.short(id)
        mean = f"{statistics.mean(found[id]):.0f}"
        lines.append([id, mean, f"{one.score:.0f}, {one.method}", REASONS.get(name, "")])
    columns = ("id", "ten CPU minutes", f"best at {scores.millions(STEPS)} steps", "reason")
    shown = f"![Returns over CPU minutes](../baselines/{PICTURE.name})"
    return f"{report.table(columns, lines)}\n\n{shown}"


def draw(curves: Mapping[str, Sequence[str]], found: Mapping[str, Sequence[float]]) -> Path:
    """Draw the returns over CPU minutes of the ids that are behind, with the best published score.

    Args:
        curves: of the runs of each id, "CPU s:return" of every evaluation.
        found: scores of the runs of each id.
    """
    from matplotlib.figure import Figure

    ids, best = behind(found), best_published()
    rows = -(-len(ids) // COLUMNS)
    figure: Any = Figure(figsize=(2.1 * COLUMNS, 1.6 * rows + 0.3), layout="constrained")
    axes = list(figure.subplots(rows, COLUMNS, squeeze=False).flat)
    for axis in axes[len(ids) :]:
        axis.set_axis_off()
    for axis, id in zip(axes, ids, strict=False):
        for curve in curves[id]:
            points = [tuple(map(float, point.split(":"))) for point in curve.split()]
            axis.plot([s / 60 for s, _ in points], [value for _, value in points])
        axis.axhline(best[id].score, color="gray", linestyle="--")
        axis.set_title(scores.short(id), fontsize=8)
        axis.set_ylim(0, 1000)
        axis.tick_params(labelsize=7)
    figure.supxlabel("CPU minutes; dashed: the best published at 0.5M steps", fontsize=8)
    return scores.saved(figure, PICTURE)
