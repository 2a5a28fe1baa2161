"""Readers of curves that others have published or logged.

| source | file | the run's name |
|---|---|---|
| SimBa, SimbaV2, FlashSAC, XQC | .csv: exp_name, env_name, seed, metric, env_step, value | rows |
| TD-MPC2, and its tables of others | .csv: step, reward, seed | task.csv in a folder |
| MR.Q | .txt: "Env: Dmc-..." and a row of all seeds for each time step | heads |
| CleanRL, Weights & Biases | .csv: columns "ENV__EXP__SEED__TIME - charts/..." | columns |
| CleanRL, TensorBoard | .csv: Wall time, Step, Value | run-ENV__EXP__SEED__TIME-tag-... |
| stable-baselines3, zoo | progress.csv, evaluations.npz, .monitor.csv | folders EXP/ENV_RUN |

Mean returns of evaluations become `metrics.RETURN`, those of training episodes
`metrics.TRAINING_RETURN`; other quantities keep their names.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from mjgym.util import bounded, npz
from mjgym_train import metrics
from mjgym_train.metrics import Metric

NAMES = {
    "avg_return": metrics.RETURN,
    "eval/mean_reward": metrics.RETURN,
    "rollout/ep_rew_mean": metrics.TRAINING_RETURN,
    "charts/episodic_return": metrics.TRAINING_RETURN,
}
"""Our names of returns by their names elsewhere."""

Rows = Sequence[dict[str, str]]


def our_name(metric: str) -> str:
    return NAMES.get(metric, metric)


def read(path: Path) -> list[Metric]:
    """The numbers of a file in any of these formats."""
    if path.suffix == ".npz":
        return list(_evaluations(path))
    if path.suffix == ".txt":
        return list(_one_block_a_task(path))
    file = io.StringIO(bounded.text(path, metrics.MOST_BYTES), newline="")
    first = file.readline()
    if not first.startswith("#{"):
        file.seek(0)
    rows = csv.DictReader(file)
    try:
        columns = rows.fieldnames or ()
        for form, reader in FORMS:
            if all(any(re.fullmatch(name, c) for c in columns) for name in form):
                return list(reader(path, list(rows), first))
    except csv.Error as error:
        raise ValueError(f"{path}: {error}") from None
    except (TypeError, ValueError) as error:  # a missing or invalid cell
        raise ValueError(f"{path}:{max(rows.line_num, 1)}: {error}") from None
    return metrics.read(path)  # reports missing columns of our format


def _long(path: Path, rows: Rows, first: str) -> Iterator[Metric]:
    """Our format, shared by SimBa, SimbaV2, FlashSAC and XQC."""
    for metric in metrics.read(path):
        yield Metric(**{**vars(metric), "metric": our_name(metric.metric)})


def _one_task_a_file(path: Path, rows: Rows, first: str) -> Iterator[Metric]:
    """TD-MPC2's format."""
    folder = path.absolute().parent.name
    for row in rows:
        yield Metric(
            "tdmpc2" if folder == "results" else folder,
            path.stem,
            int(float(row["seed"])),
            metrics.RETURN,
            int(float(row["step"])),
            float(row["reward"]),
        )


def _wide(path: Path, rows: Rows, first: str) -> Iterator[Metric]:
    """A table of Weights & Biases, with a column per run."""
    for row in rows:
        step = row.get("global_step") or row["Step"]
        for column, cell in row.items():
            run, _, metric = column.rpartition(" - ")
            if not run or not cell or metric.endswith(("__MIN", "__MAX")) or metric == "_step":
                continue
            yield Metric(*_cleanrl(run, path), our_name(metric), int(float(step)), float(cell))


def _tensorboard(path: Path, rows: Rows, first: str) -> Iterator[Metric]:
    """A curve exported from TensorBoard."""
    match = re.fullmatch(r"run-(?P<run>.+)-tag-(?P<tag>.+)", path.stem)
    if match is None:
        raise ValueError("the file's name tells no run: run-NAME-tag-METRIC.csv")
    began = float(rows[0]["Wall time"]) if rows else 0.0
    for row in rows:
        yield Metric(
            *_cleanrl(match["run"], path),
            our_name(match["tag"].replace("_", "/", 1)),
            int(float(row["Step"])),
            float(row["Value"]),
            wall_s=float(row["Wall time"]) - began,
        )


def _cleanrl(run: str, path: Path) -> tuple[str, str, int]:
    """Experiment, task and seed of a run named ENV__EXP__SEED__TIME."""
    parts = run.split("__")
    if len(parts) < 3 or not parts[2].isdecimal():
        raise ValueError(f"{run!r} names no run: ENV__EXPERIMENT__SEED__TIME")
    return parts[1], parts[0], int(parts[2])


def _progress(path: Path, rows: Rows, first: str) -> Iterator[Metric]:
    """The log of stable-baselines3."""
    for row in rows:
        for name in ("eval/mean_reward", "rollout/ep_rew_mean"):
            if row.get(name):
                yield Metric(
                    *_zoo(path),
                    our_name(name),
                    int(float(row["time/total_timesteps"])),
                    float(row[name]),
                    int(float(row.get("train/n_updates") or 0)),
                    float(row.get("time/time_elapsed") or 0),
                )


def _monitor(path: Path, rows: Rows, first: str) -> Iterator[Metric]:
    """Training episodes logged by the Monitor of stable-baselines3, one per row."""
    about = json.loads(first[1:]) if first.startswith("#{") else {}
    experiment, env, seed = _zoo(path)
    steps = 0
    for row in rows:
        steps += int(float(row["l"]))
        own = experiment, about.get("env_id") or env, seed
        ended = float(row["t"])
        yield Metric(*own, metrics.TRAINING_RETURN, steps, float(row["r"]), wall_s=ended)


_MOST_BYTES = 2**28  # of evaluations in a file


def _evaluations(path: Path) -> Iterator[Metric]:
    """Evaluations of the EvalCallback of stable-baselines3."""
    try:
        arrays = npz.read(path, ("timesteps", "results").__contains__, _MOST_BYTES)
        timesteps, results = arrays["timesteps"], arrays["results"]
    except (KeyError, ValueError) as error:
        raise ValueError(f"{path}: is none of stable-baselines3's evaluations: {error}") from None
    for step, returns in zip(timesteps, results, strict=True):
        yield Metric(*_zoo(path), metrics.RETURN, int(step), float(np.mean(returns)))


def _zoo(path: Path) -> tuple[str, str, int]:
    """Experiment, task and run number from folders of RL Baselines3 Zoo, ALGORITHM/ENV_RUN."""
    folder = path.absolute().parent
    match = re.fullmatch(r"(?P<env>.+)_(?P<run>\d+)", folder.name)
    if match is None:
        return folder.parent.name, folder.name, 0
    return folder.parent.name, match["env"], int(match["run"])


def _one_block_a_task(path: Path) -> Iterator[Metric]:
    """MR.Q's format: a row per time step, a column per seed."""
    env = ""
    lines = bounded.text(path, metrics.MOST_BYTES).splitlines()
    for number, line in enumerate(lines, start=1):
        if line.startswith("Env:"):
            env = line.partition(":")[2].strip()
        elif line.strip() and "----" not in line and "Timestep" not in line:
            try:
                step, *seeds = (float(cell) for cell in line.split("\t") if cell.strip())
            except ValueError as error:
                raise ValueError(f"{path}:{number}: {error}") from None
            if not env:
                raise ValueError(f"{path}:{number}: there is no task, Env: NAME, before it")
            for seed, value in enumerate(seeds):
                yield Metric(path.stem, env, seed, metrics.RETURN, int(step), value)


FORMS: tuple[tuple[tuple[str, ...], Callable[[Path, Rows, str], Iterator[Metric]]], ...] = (
    (metrics.COLUMNS[:6], _long),
    (("step", "reward", "seed"), _one_task_a_file),
    (("Wall time", "Step", "Value"), _tensorboard),
    (("Step|global_step", ".+ - .+"), _wide),
    (("time/total_timesteps",), _progress),
    (("r", "l", "t"), _monitor),
)
"""Identifying columns of each format, as regular expressions, and its reader."""
