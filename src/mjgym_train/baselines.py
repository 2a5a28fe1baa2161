"""Scores of untrained policies, random and zero actions, for every registered id.

The package ships them; `benchmarks/training/random_and_zero.py` measures them.
"""

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import mjgym
from mjgym.util import atomic
from mjgym.util.packaged import assets
from mjgym_train import tables
from mjgym_train.evaluation import Evaluation

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


def of_evaluation(id: str, policy: str, result: Evaluation) -> Baseline:
    """The baseline that an evaluation measured."""
    returns = result.returns
    numbers = (returns.mean(), returns.std(), returns.min(), returns.max())
    mean, std, lowest, highest = (float(f"{number:.5g}") for number in numbers)
    return Baseline(
        id, policy, len(returns), int(result.lengths.max()), mean, std, lowest, highest,
        mjgym.fingerprint()["versions"]["mujoco"],
    )  # fmt: skip


def read(path: Path = FILE) -> dict[tuple[str, str], Baseline]:
    """Baselines in a file, by id and policy; empty if there is no file."""
    if not path.exists():
        return {}
    return {(row.id, row.policy): row for row in tables.read(path, Baseline)}


def write(baselines: Iterable[Baseline], path: Path = FILE) -> None:
    """Write baselines to a file, sorted by id and policy."""
    ordered = sorted(baselines, key=lambda row: (row.id, row.policy))
    atomic.write_text(path, tables.text(ordered, Baseline))


_packaged = functools.cache(read)


def of(id: str) -> dict[str, Baseline]:
    """The bundled baselines of a task, by policy."""
    found = _packaged()
    return {policy: found[id, policy] for policy in POLICIES if (id, policy) in found}
