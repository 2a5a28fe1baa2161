"""Measure the scripted walkers of Learn to Move in space, and write the table of the guide.

    python scripts/measure_walkers.py starts around       # measures these, and writes the table
    python scripts/measure_walkers.py                     # the table alone

- **starts**: the time to a fall on `walk_forward-v0`, from START for up to 25 s, and for up to 10 s
  from 100 starts, whose speeds (forward, sideways) and lean are within 0.1 m/s and 3 degrees of it.
- **around**: the score of `walk_around-v0` over the seeds 0 to 63, from START, and without action
  from the id's own start.

Intervals are Student's, 95 %, of means. The rows are in assets/baselines/learn_to_move.csv.
"""

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from measure_scripted_policies import commit
from search_walker import Walks

from mjgym.tasks.l2m.reflex import START
from mjgym.util import atomic
from mjgym_train.statistics import mean_interval

ROOT = Path(__file__).parents[1]
FILE, GUIDE = ROOT / "assets/baselines/learn_to_move.csv", ROOT / "assets/guides/learn_to_move.md"
BEGIN, END = "<!-- walkers -->", "<!-- end -->"
STARTS, START_SEED, SEEDS = 100, 2019, 64
COLUMNS = (
    "what", "id", "policy", "episodes", "mean", "low", "high", "reached", "cpu_s", "command",
    "commit",
)  # fmt: skip


def row(what: str, id: str, policy: str, sample: np.ndarray, reached: Any = "") -> dict[str, Any]:
    """A row without its costs: mean and interval of a sample."""
    low, high = mean_interval(sample) or ("", "")
    return {
        "what": what, "id": id, "policy": policy, "episodes": len(sample),
        "mean": float(np.mean(sample)), "low": low, "high": high, "reached": reached,
    }  # fmt: skip


def starts() -> list[dict[str, Any]]:
    """Times without a fall."""
    id, rows = "l2m/walk_forward-v0", []
    for what, count, seconds in (
        ("START", 1, 25.0),
        ("starts within 0.1 m/s, 3 deg", STARTS, 10.0),
    ):
        walks = Walks(id, count, fine=True)
        rng = np.random.default_rng(START_SEED)
        observation = walks.start(rng, 1, 0, spread=float(count > 1))
        script = walks.batches[0].task.scripted_policy()
        found = walks.walk(script, observation, round(seconds / walks.timestep))
        reached = f"{int(found['alive'].sum())} for {seconds:g} s"
        rows.append(row(f"seconds from {what}", id, "reflexes", found["time"], reached))
    return rows


def around() -> list[dict[str, Any]]:
    """Scores of Round 2."""
    id = "l2m/walk_around-v0"
    rows = []
    for policy in ("no action", "reflexes"):
        options = {} if policy == "no action" else {"init_pose": START}
        envs: Any = gymnasium.make_vec(id, SEEDS, threads=1, dtype="float64", **options)
        act = envs.unwrapped.task.scripted_policy()
        observation, _ = envs.reset(seed=0)
        score, alive = np.zeros(SEEDS), np.ones(SEEDS, dtype=bool)
        sinks = np.zeros(SEEDS)
        while alive.any():
            observation, reward, terminated, truncated, info = envs.step(
                np.zeros(envs.action_space.shape) if policy == "no action" else act(observation)
            )
            score += alive * reward
            sinks += alive * (info["terms/sink"] > 0)
            alive &= ~(terminated | truncated)
        rows.append(row("score", id, policy, score, f"{sinks.sum():g} sinks"))
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    """Format the rows as Markdown."""
    lines = [
        "| id | policy | | episodes | mean | 95 % interval | reached | CPU s | command |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for x in rows:
        within = f"{float(x['low']):.1f} to {float(x['high']):.1f}" if x["low"] != "" else ""
        name = x["id"].removeprefix("l2m/").removesuffix("-v0")
        lines.append(
            f"| `{name}` | {x['policy']} | {x['what']} |"
            f" {x['episodes']} | {float(x['mean']):.1f} | {within} | {x['reached']} |"
            f" {float(x['cpu_s']):.0f} | `{x['command']}` |"
        )
    return "\n".join(lines)


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = {"starts": starts, "around": around}
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help="default: the table alone")
    rows: dict[tuple[str, ...], dict[str, Any]] = {}
    if FILE.is_file():
        with FILE.open(newline="", encoding="utf-8") as file:
            rows = {(x["what"], x["id"], x["policy"]): x for x in csv.DictReader(file)}
    for part in parser.parse_args().parts:
        begun = time.process_time()
        measured = parts[part]()
        cost = round(time.process_time() - begun, 1)
        for x in measured:
            x |= {"cpu_s": cost, "command": f"python scripts/measure_walkers.py {part}"}
            rows[x["what"], x["id"], x["policy"]] = {**x, "commit": commit()}
            print(x, flush=True)
    with atomic.replacing(FILE) as part, part.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())
    text = GUIDE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    atomic.write_text(GUIDE, f"{before}{BEGIN}\n\n{table(list(rows.values()))}\n\n{END}{after}")


if __name__ == "__main__":
    main()
