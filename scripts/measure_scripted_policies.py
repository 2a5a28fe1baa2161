"""Measure the success of scripted policies, and write the table of the guide.

    python scripts/measure_scripted_policies.py robosuite/Lift-v0 ...    # adds rows to the file
    python scripts/measure_scripted_policies.py                          # the table alone

A row of assets/baselines/scripted_policies.csv is one id: episodes of the seeds 0, 1, ..., with the
task's limit, and the number that reach their goal, with command, commit and versions. A row
replaces an earlier one of the same id. The table is in assets/guides/demonstrations.md, between its
marks.
"""

import csv
import subprocess
import sys
from pathlib import Path
from typing import Any

import guide_marks
import gymnasium
import mujoco
import numpy as np

import mjgym
from mjgym.util import atomic

ROOT = Path(__file__).parents[1]
FILE = ROOT / "assets/baselines/scripted_policies.csv"
GUIDE = ROOT / "assets/guides/demonstrations.md"
BEGIN, END = "<!-- scripted policies -->", "<!-- end -->"
SEEDS, BATCH = 200, 50
COLUMNS = ("id", "episodes", "successes", "median_steps", "command", "commit", "mjgym", "mujoco")


def measure(id: str) -> dict[str, Any]:
    """Measure the row of an id."""
    successes: list[bool] = []
    steps: list[int] = []
    for seed in range(0, SEEDS, BATCH):
        envs = gymnasium.make_vec(id, BATCH, observation="dict", dtype="float64")
        policy = envs.unwrapped.task.scripted_policy()
        observation, _ = envs.reset(seed=seed)
        first = np.full(BATCH, -1)
        over = np.zeros(BATCH, dtype=bool)
        for step in range(1, envs.spec.max_episode_steps + 1):
            observation, _, terminated, truncated, info = envs.step(policy(observation))
            first = np.where((first < 0) & ~over & info["success"], step, first)
            over |= terminated | truncated | (first > 0)
            if over.all():
                break
        envs.close()
        successes += (first > 0).tolist()
        steps += first[first > 0].tolist()
    return {
        "id": id,
        "episodes": len(successes),
        "successes": sum(successes),
        "median_steps": int(np.median(steps)) if steps else "",
        "command": f"python scripts/measure_scripted_policies.py {id}",
        "commit": commit(),
        "mjgym": mjgym.__version__,
        "mujoco": mujoco.__version__,
    }


def commit() -> str:
    """Current commit, with a "+" if files of the package differ from it."""

    def git(*words: str) -> str:
        return subprocess.run(
            ("git", *words), cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.strip()

    return git("rev-parse", "--short", "HEAD") + "+" * bool(git("status", "--short", "src"))


def table(rows: list[dict[str, Any]]) -> str:
    """Format the rows as Markdown."""
    lines = ["| id | successes | share | median steps | MuJoCo |", "|---|---|---|---|---|"]
    for row in rows:
        share = int(row["successes"]) / int(row["episodes"])
        name = row["id"].removesuffix("-v0")
        lines.append(
            f"| `{name}` | {row['successes']} of {row['episodes']} | {100 * share:.1f} % |"
            f" {row['median_steps']} | {row['mujoco']} |"
        )
    return "\n".join(lines)


def main(ids: list[str]) -> None:
    """Measure ids, and write the table."""
    rows = {}
    if FILE.is_file():
        with FILE.open(newline="", encoding="utf-8") as file:
            rows = {row["id"]: row for row in csv.DictReader(file)}
    for id in ids:
        rows[id] = measure(id)
        print(rows[id], flush=True)
        with atomic.replacing(FILE) as part, part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[name] for name in sorted(rows))
    before, _, after = guide_marks.parts(GUIDE.read_text(encoding="utf-8"), BEGIN, END)
    made = table([rows[name] for name in sorted(rows)])
    atomic.write_text(GUIDE, f"{before}\n\n{made}\n\n{after}")


if __name__ == "__main__":
    main(sys.argv[1:])
