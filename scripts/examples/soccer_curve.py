"""Learning curves of self-play: the scores of `soccer_ppo.py` as a table and a plot.

python soccer_curve.py curve.csv curve.png
"""

import csv
import sys
from collections.abc import Sequence

import numpy as np

from mjgym.util import atomic

HEADER = ("steps", "seconds", "random_won", "random_lost", "scripted_won", "scripted_lost")
OPPONENTS = ("random play", "the scripted player")

Row = Sequence[float]
"""One score: what `HEADER` says."""


def line(row: Row) -> str:
    """Format a score."""
    steps, seconds, *shares = row
    return (
        f"steps {steps:>10,}  seconds {seconds:>6}  won and lost against random play"
        f" {shares[0]:.2f} {shares[1]:.2f}, the scripted player {shares[2]:.2f} {shares[3]:.2f}"
    )


def write(rows: Sequence[Row], table: str | None, picture: str | None) -> None:
    """Write scores as a CSV file, and plot them if an image path is passed."""
    if table:
        with atomic.replacing(table) as part, open(part, "w", newline="") as file:
            csv.writer(file).writerows([HEADER, *rows])
    if picture:
        _draw(np.transpose(rows), picture)


def _draw(columns: np.ndarray, picture: str) -> None:
    from matplotlib import pyplot as plt

    plt.figure(figsize=(6, 3.6), dpi=110)
    steps, _, *shares = columns
    for opponent, won, lost in zip(OPPONENTS, shares[::2], shares[1::2], strict=True):
        (drawn,) = plt.plot(steps / 1e6, won, marker=".", label=f"won against {opponent}")
        plt.plot(steps / 1e6, lost, "--", color=drawn.get_color(), label=f"lost against {opponent}")
    plt.xlabel("million steps of all players")
    plt.ylabel("share of matches")
    plt.ylim(0, 1.25)  # with room for the legend
    plt.yticks(np.linspace(0, 1, 6))
    plt.legend(fontsize=8, ncols=2, loc="upper center")
    plt.tight_layout()
    with atomic.replacing(picture) as part:
        plt.savefig(part)


if __name__ == "__main__":
    with open(sys.argv[1], newline="") as read:
        write([[float(x) for x in row] for row in list(csv.reader(read))[1:]], None, sys.argv[2])
