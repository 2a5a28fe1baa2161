"""Make offline data of control tasks: expert, medium and replay sets, and learn from them.

    python scripts/make_offline_data.py --out offline                    # the nine ids
    python scripts/make_offline_data.py --out offline dmc/walker-walk-v0 --learn iql td3_bc
    python scripts/make_offline_data.py --out try --episodes 2 --chunk 2000 --most 2000 \
        dmc/cartpole-swingup-v0 --learn td3_bc --updates 100

By default the nine suite tasks of RL Unplugged (Gulcehre et al., 2020). As in D4RL (Fu et al.,
2020) "expert" are episodes of the bundled policy, "medium" those of a policy that reaches a third
of its score, and "replay" is all that the run has lived through until then: the replay buffer in
its folder, which `--data` takes. The run goes on by pieces of --chunk steps until an evaluation is
there. `scores.csv` in the folder has a line for each set and for each run that learned from one:
mean return, and the score normalised as D4RL does. What is there is not made again; --collect adds
the lines to those of the package.
"""

import argparse
import dataclasses
import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mjgym import datasets
from mjgym.policies import trained
from mjgym.util import atomic
from mjgym.util.packaged import assets
from mjgym_train import baselines, metrics, tables
from mjgym_train.cli.seeds import MJGYM
from mjgym_train.run import Run

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

from comparison import report

FILE = assets() / "baselines" / "offline.csv"

IDS = tuple(
    f"dmc/{name}-v0"
    for name in (
        *("cartpole-swingup", "cheetah-run", "finger-turn_hard", "fish-swim", "humanoid-run"),
        *("manipulator-insert_ball", "manipulator-insert_peg", "walker-stand", "walker-walk"),
    )
)
MEDIUM = 1 / 3  # of the way from random actions to the bundled policy
HIGHEST = 1_000.0  # return of a suite task, where there is no bundled policy
WHOLE = ("--after", 1_000)  # control steps after success: episodes of the suite have no more


@dataclasses.dataclass(frozen=True)
class Row:
    """A set, or what a policy that has learned from it earns."""

    id: str
    set: str  # expert, medium or replay
    learner: str  # the algorithm; empty for the set itself
    episodes: int
    steps: int  # of the set, or updates of the learner
    mean: float  # return
    normalized: str  # score, a number where the task has a bundled policy
    command: str
    commit: str
    versions: str
    machine: str


def mjgym(*words: object) -> None:
    subprocess.run([*MJGYM, *map(str, words)], check=True)


def demonstrations(id: str, expert: str | Path, file: Path, episodes: int) -> dict[str, Any]:
    """Record the episodes of a policy, and describe them."""
    if not file.exists():
        mjgym("demos", id, "--expert", expert, "--count", episodes, *WHOLE, "--out", file)
    found = datasets.load(str(file))
    returns = [found.episode(k).rewards.sum() for k in range(found.count)]
    steps = sum(len(found.episode(k)) for k in range(found.count))
    return {"episodes": len(returns), "steps": steps, "mean": round(float(np.mean(returns)), 1)}


def medium_run(id: str, folder: Path, chunk: int, most: int) -> dict[str, Any]:
    """Train until a third of the expert's score is reached, and describe what is stored."""
    low = baselines.recorded(id)[baselines.RANDOM].mean
    known = id in trained.ids()
    high = trained.about_of(trained.file(id)).mean if known else HIGHEST
    run, wanted = Run(folder), low + MEDIUM * (high - low)
    while (score := last(run, metrics.RETURN)) is None or score.value < wanted:
        steps = chunk + (0 if score is None else score.env_step)
        if steps > most:
            print(f"{id}: medium is the policy of {steps - chunk} steps, below {wanted:.0f}")
            break
        words = ("--resume",) if score else ("--config", "fast", "keep_buffer=true")
        mjgym("train", "td3", id, *words, "evaluations=1", "--steps", steps, "--out", folder)
    returns = [m.value for m in run.metrics() if m.metric == metrics.TRAINING_RETURN]
    score = last(run, metrics.RETURN)
    assert score is not None
    mean = float(np.mean(returns)) if returns else score.value
    return {"episodes": len(returns), "steps": score.env_step, "mean": round(mean, 1)}


def last(run: Run, metric: str) -> metrics.Metric | None:
    rows = run.metrics() if run.metrics_file.exists() else []
    return next((row for row in reversed(rows) if row.metric == metric), None)


def learned(id: str, learner: str, data: Path, folder: Path, updates: int) -> dict[str, Any]:
    """Learn from a set by the task's own reward, and score the policy."""
    if not (folder / "evaluation.json").exists():
        words = ("--data", data, "--steps", updates, "--out", folder, "--overwrite")
        mjgym("train", learner, id, *words, *(() if learner == "bc" else ("rewards=recorded",)))
        mjgym("evaluate", folder)
    about = json.loads((folder / "evaluation.json").read_text())
    return {"episodes": about["episodes"], "steps": updates, "mean": round(about["mean"], 1)}


def packaged() -> list[Row]:
    """The rows that come with the package."""
    return tables.kept(FILE, Row)


def table(rows: Sequence[Row]) -> str:
    """A row for each set, with the normalised scores of the policies that learned from it."""
    learners = sorted({row.learner for row in rows} - {""})
    lines = []
    for row in (row for row in rows if not row.learner):
        found = {one.learner: one for one in rows if (one.id, one.set) == (row.id, row.set)}
        cells = (row.id, row.set, str(row.episodes), f"{row.steps:,}", f"{row.mean:.0f}")
        scores = (found[name].normalized if name in found else "" for name in ("", *learners))
        lines.append([*cells, *scores])
    header = ("id", "set", "episodes", "steps", "mean return", "normalized", *learners)
    return report.table(header, lines) if lines else "Not measured."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", default=IDS)
    parser.add_argument("--out", type=Path, required=True, help="folder")
    parser.add_argument("--episodes", type=int, default=200, help="of expert and medium sets")
    parser.add_argument("--chunk", type=int, default=20_000, help="steps between two looks")
    parser.add_argument("--most", type=int, default=1_000_000, help="steps of the run")
    parser.add_argument("--learn", nargs="*", default=(), metavar="ALGORITHM")
    parser.add_argument("--updates", type=int, default=100_000, help="of each learner")
    parser.add_argument("--collect", action="store_true", help="add the lines to the package's")
    asked = parser.parse_args()
    rows = tables.kept(asked.out / "scores.csv", Row)
    words = [word.replace(str(asked.out), "OUT") for word in sys.argv[1:] if word != "--collect"]
    command = shlex.join(["python", "scripts/make_offline_data.py", *words])
    about = {"command": command, **report.origin()}

    def note(id: str, name: str, learner: str, found: dict[str, Any]) -> None:
        score = baselines.normalized(id, found["mean"])
        share = "" if score is None else f"{score:.1f}"
        key = {"id": id, "set": name, "learner": learner}
        if not any((row.id, row.set, row.learner) == (id, name, learner) for row in rows):
            rows.append(Row(**key, **found, normalized=share, **about))
            print(rows[-1], flush=True)
        atomic.write_text(asked.out / "scores.csv", tables.text(rows, Row))

    for id in asked.ids:
        folder = asked.out / id.partition("/")[2]
        folder.mkdir(parents=True, exist_ok=True)
        sets: dict[str, Path] = {}
        if id in trained.ids():
            sets["expert"] = folder / "expert.hdf5"
            note(id, "expert", "", demonstrations(id, "trained", sets["expert"], asked.episodes))
        sets["replay"] = folder / "replay"
        note(id, "replay", "", medium_run(id, sets["replay"], asked.chunk, asked.most))
        sets["medium"] = folder / "medium.hdf5"
        note(id, "medium", "", demonstrations(id, sets["replay"], sets["medium"], asked.episodes))
        for name, data in sets.items():
            for learner in asked.learn:
                place = folder / f"{learner}_{name}"
                note(id, name, learner, learned(id, learner, data, place, asked.updates))
    if asked.collect:
        known = {(row.id, row.set, row.learner): row for row in [*packaged(), *rows]}
        atomic.write_text(FILE, tables.text(known.values(), Row))


if __name__ == "__main__":
    main()
