"""The leaderboard: runs scored from their weights, on seeds drawn after the policy is fixed.

A folder has `rows.csv` and the policy of each row, by its hash. Scores are measured here; machine,
budget and method are what the run says. A policy is data: nothing of a run is executed.
"""

import contextlib
import hashlib
import json
import math
import secrets
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import mjgym
from mjgym import registry
from mjgym.policies import trained
from mjgym.policies.network import PolicyError, load
from mjgym.policies.run_errors import RunError
from mjgym.util import atomic
from mjgym.util.packaged import assets
from mjgym.util.suggestions import or_else
from mjgym_train import evaluation, metrics, score_table, tables
from mjgym_train.comparison import machine_of
from mjgym_train.run import Run

FOLDER = assets() / "baselines" / "leaderboard"
EPISODES = 100
SEEDS = 1_000_000, 2**31 - EPISODES
"""Range of the first seed: above those of tables and of evaluations in training."""


@dataclass(frozen=True)
class Row:
    """One policy and its score."""

    date: str  # of the scoring, UTC
    id: str  # of the task
    images: str  # arguments of the task that say which images it observes, as JSON; empty: none
    method: str
    score: float  # mean return
    standard_error: float
    success: str  # share of the episodes; empty for a task without success
    first_seed: int  # of `EPISODES` in a row
    engine: str  # that scored it
    cpu_minutes: str  # of training; this and what follows are empty if unknown
    steps: str  # of training
    learner: str  # engine of its updates
    machine: str
    source: str  # commit of the package that trained it
    policy_sha256: str


def scored(run: Run, first_seed: int | None = None) -> tuple[Row, bytes]:
    """Score a run's last policy, by default on seeds drawn now; its row, and the policy's file."""
    settings, policy = run.settings(), run.policy()
    id = str(settings["id"])
    if id not in registry.ids():
        raise RunError(f"id: there is no {id!r} here{or_else(id, registry.ids())}")
    content = score_table.packed(policy)
    seen = trained.image_options(settings["env"])
    images = json.dumps(seen) if seen else ""
    low, high = SEEDS
    first = low + secrets.randbelow(high - low) if first_seed is None else first_seed
    about = _evaluated(id, images, policy, first).about()
    lines = run.metrics()
    spent = [line.value for line in lines if line.metric == metrics.CPU_SECONDS]
    learner = run.fingerprint().get("learner", {})
    row = Row(
        datetime.now(UTC).date().isoformat(),
        id,
        images,
        str(settings.get("name") or settings["algorithm"]),
        float(f"{about['mean']:.6g}"),
        float(f"{about['std'] / math.sqrt(EPISODES):.3g}"),
        f"{about['success']:.2f}" if "success" in about else "",
        first,
        f"MuJoCo {mjgym.fingerprint()['versions']['mujoco']}",
        f"{spent[-1] / 60:.1f}" if spent else "",
        str(lines[-1].env_step) if lines else "",
        str(learner.get("engine", "")),
        machine_of(run.path),
        str(learner.get("source", "")),
        hashlib.sha256(content).hexdigest(),
    )
    return row, content


def _evaluated(id: str, images: str, policy: Any, first: int) -> evaluation.Evaluation:
    with contextlib.closing(evaluation.make(id, EPISODES, 1, **json.loads(images or "{}"))) as envs:
        return evaluation.evaluate(policy, envs, range(first, first + EPISODES))


def policy_file(row: Row, folder: Path = FOLDER) -> Path:
    return folder / f"{row.policy_sha256[:16]}.npz"


def read(folder: Path = FOLDER) -> list[Row]:
    return tables.kept(folder / "rows.csv", Row)


def add(row: Row, content: bytes, folder: Path = FOLDER) -> list[Path]:
    """Add a row and its policy; returns the written files."""
    with atomic.alone(folder):
        before = read(folder)
        if any((one.id, one.policy_sha256) == (row.id, row.policy_sha256) for one in before):
            raise RunError(f"{folder} has this policy on {row.id} already")
        ordered = sorted([*before, row], key=lambda one: (bool(one.images), one.id, -one.score))
        text = tables.text(ordered, Row).encode()
        contents = {folder / "rows.csv": text, policy_file(row, folder): content}
        atomic.write_together(contents)
    return list(contents)


def complaint(row: Row, folder: Path = FOLDER) -> str:
    """The difference of a row from its policy, scored again on its seeds; empty without one."""
    file = policy_file(row, folder)
    try:
        policy = load(file)
    except (OSError, PolicyError) as error:
        return str(error)
    if hashlib.sha256(score_table.packed(policy)).hexdigest() != row.policy_sha256:
        return f"{file} is another policy"
    mean = float(_evaluated(row.id, row.images, policy, row.first_seed).returns.mean())
    # Rounding makes episodes part on another processor: independent means may differ by this much.
    near = abs(mean - row.score) <= max(1e-3 * abs(row.score), 3 * row.standard_error)
    return "" if near else f"{row.id}: {row.score} in the row, {mean:.6g} from the weights"
