"""Scores of untrained policies, random and zero actions, for every registered id.

The package ships them; `benchmarks/training/random_and_zero.py` measures them.
"""

import functools
from dataclasses import dataclass
from pathlib import Path

from mjgym.util.packaged import assets
from mjgym_train import tables

FILE = assets() / "baselines" / "random_and_zero.csv"
RANDOM, ZERO = "random", "zero"
POLICIES = (RANDOM, ZERO)


@dataclass(frozen=True)
class Baseline:
    """Returns of an untrained policy on a task as registered."""

    id: str  # of the task
    policy: str  # "random" (uniform within the action bounds) or "zero"
    episodes: int  # number of episodes, on the first seeds of `mjgym_train.evaluation.SEEDS`
    steps: int  # length of the longest episode
    mean: float  # mean return
    std: float  # standard deviation of the returns
    lowest: float  # lowest return
    highest: float  # highest return
    mujoco: str  # MuJoCo version


def read(path: Path = FILE) -> dict[tuple[str, str], Baseline]:
    """Baselines in a file, by id and policy; empty if there is no file."""
    return {(row.id, row.policy): row for row in tables.kept(path, Baseline)}


_packaged = functools.cache(read)


def recorded(id: str) -> dict[str, Baseline]:
    found = _packaged()
    return {policy: found[id, policy] for policy in POLICIES if (id, policy) in found}


def normalized(id: str, score: float) -> float | None:
    """A return of a task as registered, normalised as D4RL does (Fu et al., 2020).

    100 (score - random) / (expert - random): 0 for random actions, 100 for the bundled policy. None
    where the package has no baseline or no policy.
    """
    from mjgym.policies import trained

    found = recorded(id)
    if not found or id not in trained.ids():
        return None
    low, high = found[RANDOM].mean, trained.about_of(trained.file(id)).mean
    return 100 * (score - low) / (high - low)
