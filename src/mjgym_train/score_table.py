"""The table of scores: rows, files, and scores during training.

A folder contains `results.csv` with a row per evaluation, a YAML file of settings per method, and
for each run `METHOD/ID_SEED.yaml` with its origin and score; seed 0 also has its policy (.npz).
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from mjgym.policies.network import AnyPolicy
from mjgym.policies.run_errors import RunError
from mjgym.util import atomic, bounded
from mjgym.util.packaged import assets
from mjgym_train import tables

FOLDER = assets() / "baselines" / "scores"
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
    return folder / "results.csv"


def method_file(method: str, folder: Path = FOLDER) -> Path:
    return folder / f"{method}.yaml"


def run_file(method: str, id: str, seed: int, folder: Path = FOLDER) -> Path:
    """Path of a run's origin and score; its policy has the same name, ending in .npz."""
    return folder / method / f"{id}_{seed}.yaml"


def read(folder: Path = FOLDER) -> list[Row]:
    return tables.kept(results_file(folder), Row)


def settings_of_method(method: str, folder: Path = FOLDER) -> dict[str, Any] | None:
    """Settings of a method in the table; None for an unknown one."""
    path = method_file(method, folder)
    if not path.exists():
        return None
    try:
        return dict(bounded.yaml_of(bounded.text(path), str(path))["settings"])
    except (KeyError, TypeError, ValueError) as error:
        raise RunError(f"{path} is damaged: {error}") from None


def config_hash(settings: Mapping[str, Any]) -> str:
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
    """
    with atomic.alone(folder):
        contents = _contents(entry, folder)
        atomic.write_together(contents)
    return list(contents)


def _contents(entry: Entry, folder: Path) -> dict[Path, bytes]:
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
    return contents


def _yaml(content: Mapping[str, Any]) -> bytes:
    return str(yaml.safe_dump(dict(content), sort_keys=False)).encode()
