"""Statistics of scores over seeds and tasks, those that Agarwal et al. (2021) recommend.

Interquartile means with stratified bootstrap intervals, performance profiles and probabilities of
improvement. Scores are a list with one array for each task, which holds the scores of its runs.
"""

from collections.abc import Callable, Sequence

import numpy as np

REPEATS = 2_000  # of a bootstrap
CONFIDENCE = 0.95  # of an interval

Scores = Sequence[np.ndarray]


def interquartile_mean(scores: Scores) -> float:
    """The mean of the middle half of all runs of all tasks; a quarter is cut at either end."""
    pooled = np.sort(np.concatenate(list(scores)))
    cut = len(pooled) // 4
    return float(pooled[cut : len(pooled) - cut].mean())


def mean(scores: Scores) -> float:
    """The mean over tasks of the mean over runs."""
    return float(np.mean([np.mean(task) for task in scores]))


def interval(
    statistic: Callable[[Scores], float],
    scores: Scores,
    *,
    repeats: int = REPEATS,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile interval of a stratified bootstrap: runs are drawn again within each task.

    Args:
        statistic: of scores.
        scores: one array for each task.
        repeats: of the drawing.
        confidence: share of them within the interval.
        seed: of the drawing.
    """
    rng = np.random.default_rng(seed)
    found = [
        statistic([task[rng.integers(len(task), size=len(task))] for task in scores])
        for _ in range(repeats)
    ]
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def performance_profile(scores: Scores, thresholds: np.ndarray) -> np.ndarray:
    """The share of runs above each threshold, the mean over tasks."""
    shares = [(task[:, None] > thresholds).mean(0) for task in scores]
    return np.asarray(np.mean(shares, axis=0))


def probability_of_improvement(scores: Scores, others: Scores) -> float:
    """The chance that a run scores more than a run of others, the mean over tasks.

    An equal score counts half, as in the Mann-Whitney statistic.

    Args:
        scores: one array for each task.
        others: the same tasks in the same order.
    """
    chances = []
    for task, other in zip(scores, others, strict=True):
        difference = task[:, None] - other
        chances.append(((difference > 0) + 0.5 * (difference == 0)).mean())
    return float(np.mean(chances))
