"""Cubic splines, with which the published suite resamples motion capture."""

import numpy as np


def cubic_spline(times: np.ndarray, rows: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Evaluate a cubic spline with not-a-knot ends through rows, column by column.

    Its first and second derivatives are continuous, and so is the third at the second and the
    second-to-last row (de Boor 1978, chapter IV), so that it reproduces every cubic polynomial.
    Three rows give their parabola, two their line.

    Args:
        times: (F,) in s, increasing; at least two.
        rows: (F, n).
        wanted: (T,) in s, within the times.

    Returns:
        (T, n).
    """
    step = np.diff(times)[:, None]
    chord = np.diff(rows, axis=0) / step
    slope = _slopes(step, chord)
    before = np.clip(np.searchsorted(times, wanted, side="right") - 1, 0, len(times) - 2)
    passed = (wanted - times[before])[:, None]
    # Hermite form: value and slope at the previous row, then two corrections.
    bend = (slope[:-1] + slope[1:] - 2 * chord) / step
    twist = (chord - slope[:-1]) / step - bend
    bend /= step
    values = bend[before]
    for coefficient in (twist, slope[:-1], rows[:-1]):
        values *= passed
        values += coefficient[before]
    return np.asarray(values)


def _slopes(step: np.ndarray, chord: np.ndarray) -> np.ndarray:
    """First derivatives of the spline at the rows, from steps (F - 1, 1) and chords (F - 1, n)."""
    if len(step) == 1:
        return np.concatenate([chord, chord])
    if len(step) == 2:  # a parabola
        second = (chord[1] - chord[0]) / (step[0] + step[1])
        first = chord[0] - second * step[0]
        return np.stack([first, first + 2 * second * step[0], first + 2 * second * step.sum()])
    size = len(step) + 1
    below, middle, above = (np.zeros((size, 1)) for _ in range(3))
    right = np.zeros((size, chord.shape[1]))
    # The second derivative is continuous at each inner row ...
    below[1:-1], above[1:-1] = step[1:], step[:-1]
    middle[1:-1] = 2 * (step[:-1] + step[1:])
    right[1:-1] = 3 * (step[1:] * chord[:-1] + step[:-1] * chord[1:])
    # ... and the third at the second and the second-to-last.
    first, last = step[0] + step[1], step[-1] + step[-2]
    middle[0], above[0] = step[1], first
    right[0] = ((step[0] + 2 * first) * step[1] * chord[0] + step[0] ** 2 * chord[1]) / first
    middle[-1], below[-1] = step[-2], last
    right[-1] = (step[-1] ** 2 * chord[-2] + (2 * last + step[-1]) * step[-2] * chord[-1]) / last
    # Elimination; these equations need no pivoting.
    for i in range(1, size):
        part = below[i] / middle[i - 1]
        middle[i] -= part * above[i - 1]
        right[i] -= part * right[i - 1]
    right[-1] /= middle[-1]
    for i in range(size - 2, -1, -1):
        right[i] = (right[i] - above[i] * right[i + 1]) / middle[i]
    return right
