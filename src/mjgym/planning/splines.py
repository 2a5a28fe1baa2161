"""Splines over a horizon, as matrices from values at knots to values at times."""

import numpy as np

KINDS = ("constant", "linear", "cubic")


def basis(times: np.ndarray, knots: int, end: float, kind: str = "linear") -> np.ndarray:
    """Weights (times, knots) of a spline through evenly spaced knots from 0 to `end`.

    Later times take the last knot's value. The cubic spline is Catmull and Rom's.
    """
    if kind not in KINDS:
        raise ValueError(f"spline: {kind!r} is none of {', '.join(KINDS)}")
    place = np.clip(times / max(end, 1e-9), 0, 1) * (knots - 1)
    left = np.minimum(place.astype(int), max(knots - 2, 0))
    s = place - left
    identity = np.eye(knots)
    if kind == "constant":
        held: np.ndarray = identity[np.minimum(place.astype(int), knots - 1)]
        return held
    at = [identity[np.clip(left + k, 0, knots - 1)] for k in (-1, 0, 1, 2)]
    if kind == "linear":
        weights = [np.zeros_like(s), 1 - s, s, np.zeros_like(s)]
    else:
        weights = [
            (-s + 2 * s**2 - s**3) / 2,
            (2 - 5 * s**2 + 3 * s**3) / 2,
            (s + 4 * s**2 - 3 * s**3) / 2,
            (s**3 - s**2) / 2,
        ]
    spline: np.ndarray = sum(w[:, None] * each for w, each in zip(weights, at, strict=True))
    return spline
