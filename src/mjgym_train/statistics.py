"""Statistics of scores over seeds and tasks, as recommended by Agarwal et al. (2021).

Over several tasks: interquartile means with stratified bootstrap intervals, performance profiles
and probabilities of improvement. For one task: means with t intervals. Scores are a list with one
array per task, containing the scores of its runs.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

REPEATS = 2_000  # of a bootstrap
CONFIDENCE = 0.95  # of an interval

LEAST_RUNS = 3  # of a task, for an interval

Scores = Sequence[np.ndarray]
Interval = tuple[float, float]


def interquartile_mean(scores: Scores) -> float:
    """The mean of the middle half of all runs of all tasks."""
    pooled = np.sort(np.concatenate(list(scores)))
    cut = len(pooled) // 4
    return float(pooled[cut : len(pooled) - cut].mean())


def mean(scores: Scores) -> float:
    return float(np.mean([np.mean(task) for task in scores]))


def mean_interval(sample: np.ndarray) -> Interval | None:
    """Student's t interval of the mean of one task's runs; None below `LEAST_RUNS`.

    For normal scores it has its nominal coverage however few the runs are, unlike a bootstrap.
    """
    low, high = mean_intervals(np.asarray(sample)[:, None])
    return None if np.isnan(low[0]) else (float(low[0]), float(high[0]))


def mean_intervals(samples: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`mean_interval` of each column of (runs, n); NaN below `LEAST_RUNS`."""
    runs = len(samples)
    if runs < LEAST_RUNS:
        nothing = np.full(samples.shape[1], np.nan)
        return nothing, nothing
    half = t_quantile(CONFIDENCE, runs - 1) * samples.std(0, ddof=1) / math.sqrt(runs)
    return samples.mean(0) - half, samples.mean(0) + half


def t_quantile(confidence: float, freedom: int) -> float:
    """The t with P(|T| < t) = confidence, for integer degrees of freedom.

    By bisection of the finite sums of Abramowitz and Stegun (1964), 26.7.3 and 26.7.4.
    """
    low, high = 0.0, math.pi / 2
    for _ in range(60):
        theta = (low + high) / 2
        low, high = (theta, high) if _within(theta, freedom) < confidence else (low, theta)
    return math.tan((low + high) / 2) * math.sqrt(freedom)


def _within(theta: float, freedom: int) -> float:
    """P(|T| < tan(theta) sqrt(freedom))."""
    sine, cosine = math.sin(theta), math.cos(theta)
    odd = freedom % 2
    term, total = (cosine, 0.0) if odd else (1.0, 0.0)
    for k in range(odd, freedom - 1, 2):
        total += term
        term *= cosine * cosine * (k + 1) / (k + 2)
    return 2 / math.pi * (theta + sine * total) if odd else sine * total


def interval(
    statistic: Callable[[Scores], float], scores: Scores, *, repeats: int = REPEATS
) -> Interval | None:
    """Percentile interval of a stratified bootstrap; None if a task has fewer than `LEAST_RUNS`.

    Runs are resampled within each task, as in rliable, but one fewer than there are, so that the
    spread is unbiased for few runs (McCarthy and Snowden, 1985). Simulated with 8 tasks, 95 %
    intervals of the interquartile mean have a coverage of 91 % for 3 runs each and 94 % for 10;
    with full resampling, of 86 % and 93 %.
    """
    if min(map(len, scores)) < LEAST_RUNS:
        return None
    rng = np.random.default_rng(0)
    resampled = [
        statistic([task[rng.integers(len(task), size=len(task) - 1)] for task in scores])
        for _ in range(repeats)
    ]
    low, high = np.quantile(resampled, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return float(low), float(high)


def performance_profile(scores: Scores, thresholds: np.ndarray) -> np.ndarray:
    shares = [(task[:, None] > thresholds).mean(0) for task in scores]
    return np.asarray(np.mean(shares, axis=0))


def probability_of_improvement(scores: Scores, others: Scores) -> float:
    """The probability that a run scores more than one of `others`, averaged over tasks.

    Ties count half, as in the Mann-Whitney statistic.
    """
    chances = []
    for task, other in zip(scores, others, strict=True):
        difference = task[:, None] - other
        chances.append(((difference > 0) + 0.5 * (difference == 0)).mean())
    return float(np.mean(chances))
