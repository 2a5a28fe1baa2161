"""The table of scores: rows, files, and scores during training.

A folder contains `results.csv` with a row per evaluation, a YAML file of settings per method, and
for each run `METHOD/ID_SEED.yaml` with its origin and score; seed 0 also has its policy (.npz).
"""

import hashlib
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mjgym.policies.network import AnyPolicy
from mjgym.policies.run_errors import RunError
from mjgym.util import atomic
from mjgym.util.packaged import assets
from mjgym_train import metrics, tables

FOLDER = assets() / "baselines" / "scores"
CPU_MINUTES = (5, 10, 30)  # of the scores during training
POLICY_SEED = 0  # only its policies are kept, to limit the size


@dataclass(frozen=True)
class Row:
    """One evaluation; the first columns are those of a run's metrics."""

    exp_name: str  # the method
    env_name: str  # id of the task
    seed: int  # of the run
    metric: str  # `evaluation/return`, `evaluation/success`, `final/return` or `final/success`
    env_step: int  # control steps so far, over all sub-environments
    value: float  # mean over the episodes
    updates: int  # of the networks so far
    wall_s: float  # training time so far, s
    machine: str  # processor and cores
    cpu_s: float  # CPU time of training so far, s
    decisions: int  # of the policy so far, over all sub-environments
    repeat: int  # control steps per decision
    config: str  # hash of the method's settings
    seeds: str  # of the episodes, first and last


@dataclass(frozen=True)
class Entry:
    """A run that complies with the protocol."""

    method: str  # its name
    settings: Mapping[str, Any]  # of the method
    rows: Sequence[Row]  # of all evaluations, the score last
    about: Mapping[str, Any]  # origin and score of the run, as plain data
    policy: AnyPolicy  # the last policy


def results_file(folder: Path = FOLDER) -> Path:
    """Path of a table's rows."""
    return folder / "results.csv"


def method_file(method: str, folder: Path = FOLDER) -> Path:
    """Path of a method's settings."""
    return folder / f"{method}.yaml"


def run_file(method: str, id: str, seed: int, folder: Path = FOLDER) -> Path:
    """Path of a run's origin and score; its policy has the same name, ending in .npz."""
    return folder / method / f"{id}_{seed}.yaml"


def read(folder: Path = FOLDER) -> list[Row]:
    """The rows of a table; empty if there is no table.

    Raises:
        RunError: the file is damaged.
    """
    path = results_file(folder)
    if not path.exists():
        return []
    try:
        return tables.read(path, Row)
    except (OSError, ValueError) as error:
        raise RunError(f"{path} is damaged: {error}") from None


def settings_of_method(method: str, folder: Path = FOLDER) -> dict[str, Any] | None:
    """Settings of a method in the table; None for an unknown one.

    Raises:
        RunError: its file is damaged.
    """
    path = method_file(method, folder)
    if not path.exists():
        return None
    try:
        return dict(yaml.safe_load(path.read_text(encoding="utf-8"))["settings"])
    except (OSError, yaml.YAMLError, KeyError, TypeError, ValueError) as error:
        raise RunError(f"{path} is damaged: {error}") from None


def config_hash(settings: Mapping[str, Any]) -> str:
    """A hash of a method's settings, 12 hexadecimal digits."""
    text = json.dumps(settings, sort_keys=True, default=list)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def packed(policy: AnyPolicy) -> bytes:
    """The content of a policy file."""
    content = io.BytesIO()
    np.savez_compressed(content, **policy.arrays())
    return content.getvalue()


def add(entry: Entry, folder: Path = FOLDER) -> list[Path]:
    """Add a run to a table; returns the files that are new or changed.

    Either all of them are written or none. Several processes may add runs at the same time.

    Raises:
        OSError: a file cannot be written.
        RunError: the table is damaged, already has the run, or has the method with other settings;
            the message names them.
    """
    with atomic.alone(folder):
        return _add(entry, folder)


def _add(entry: Entry, folder: Path) -> list[Path]:
    before = read(folder)
    first = entry.rows[0]
    key = entry.method, first.env_name, first.seed
    if any((row.exp_name, row.env_name, row.seed) == key for row in before):
        raise RunError(f"{folder} has {key[0]} on {key[1]}, seed {key[2]}, already")
    known = settings_of_method(entry.method, folder)
    if known is not None:
        wanted = json.loads(json.dumps(entry.settings, default=list))
        differing = [
            f"{name} is {wanted.get(name)!r} in the run, {known.get(name)!r} in the table"
            for name in sorted(known.keys() | wanted.keys())
            if wanted.get(name) != known.get(name)
        ]
        if differing:
            raise RunError(
                f"{entry.method} is a method of other settings: {'; '.join(differing)}. Give the"
                " run's a name of its own (name=...)"
            )
    about = run_file(*key, folder)
    ordered = sorted([*before, *entry.rows], key=lambda row: (row.exp_name, row.env_name, row.seed))
    contents = {results_file(folder): tables.text(ordered, Row).encode()}
    if known is None:
        made = {"config": first.config, "settings": json.loads(json.dumps(entry.settings))}
        contents[method_file(entry.method, folder)] = _yaml(made)
    policy = packed(entry.policy)
    kept = {**entry.about, "policy_file": None}
    if first.seed == POLICY_SEED:
        contents[about.with_suffix(".npz")] = policy
        kept["policy_file"] = about.with_suffix(".npz").name
    contents[about] = _yaml(kept)
    atomic.write_together(contents)
    return list(contents)


def _yaml(content: Mapping[str, Any]) -> bytes:
    return str(yaml.safe_dump(dict(content), sort_keys=False)).encode()


@dataclass(frozen=True)
class Line:
    """A task of the table, over the runs of one method."""

    id: str  # of the task
    runs: int  # number of runs
    # Mean of the last evaluations within each number of CPU minutes, over runs; a run that ended
    # sooner counts with its last one.
    on_the_way: Mapping[int, float | None]
    scores: Sequence[float]  # of the runs, 100 episodes each, by seed
    # Success rates in these episodes, by seed; empty for a task without success.
    successes: Sequence[float]
    cpu_minutes: float | None  # of training, the mean over runs


def line(rows: Sequence[Row], method: str, id: str) -> Line:
    """The line of a task; without runs if the table has none."""
    runs: dict[int, list[Row]] = {}
    for row in rows:
        if (row.exp_name, row.env_name) == (method, id):
            runs.setdefault(row.seed, []).append(row)
    ordered = [runs[seed] for seed in sorted(runs)]
    finals = [row for run in ordered for row in run if row.metric == metrics.FINAL]
    successes = [row for run in ordered for row in run if row.metric == metrics.FINAL_SUCCESS]
    on_the_way: dict[int, float | None] = {}
    for minutes in CPU_MINUTES:
        evaluations = [within(run, 60 * minutes) for run in ordered]
        values = [value for value in evaluations if value is not None]
        # A mean over only some of the runs would be misleading.
        on_the_way[minutes] = (
            float(np.mean(values)) if evaluations and len(values) == len(evaluations) else None
        )
    spent = [row.cpu_s / 60 for row in finals]
    return Line(
        id,
        len(ordered),
        on_the_way,
        [row.value for row in finals],
        [row.value for row in successes],
        float(np.mean(spent)) if spent else None,
    )


def within(run: Iterable[Row], cpu_s: float) -> float | None:
    """The last evaluation of a run within some CPU seconds; None before the first."""
    evaluations = [row for row in run if row.metric == metrics.RETURN and row.cpu_s <= cpu_s]
    return max(evaluations, key=lambda row: row.env_step).value if evaluations else None
