"""Measure the scripted walkers of Learn to Move, and write the tables of the guide.

    python scripts/measure_walkers.py starts scores   # measures these, and writes the tables
    python scripts/measure_walkers.py                 # the tables alone

- **starts**: the time to a fall on `walk_forward-v0` and its `-fast` twin, from START for up to
  25 s, and for up to 10 s from 100 starts, whose speeds (forward, sideways) and lean are within
  0.1 m/s and 3 degrees of it.
- **scores**: of whole episodes of all ids, from START, and without action from the id's own start;
  seeds 0 to 63 where targets are drawn.

Intervals are Student's, 95 %, of means. The rows are in assets/baselines/learn_to_move.csv.
"""

import argparse
import csv
import time
from pathlib import Path
from typing import Any

import guide_marks
import gymnasium
import numpy as np
from measure_scripted_policies import commit
from search_walker import Walks

from mjgym.tasks.l2m.reflex import START
from mjgym.util import atomic
from mjgym_train.statistics import mean_interval

ROOT = Path(__file__).parents[1]
FILE, GUIDE = ROOT / "assets/baselines/learn_to_move.csv", ROOT / "assets/guides/learn_to_move.md"
END = "<!-- end -->"
STARTS, START_SEED, SEEDS = 100, 2019, 64


def row(what: str, id: str, policy: str, sample: np.ndarray, reached: Any = "") -> dict[str, Any]:
    """A row without its costs: mean and interval of a sample."""
    low, high = mean_interval(sample) or ("", "")
    return {
        "what": what, "id": id, "policy": policy, "episodes": len(sample),
        "mean": float(np.mean(sample)), "low": low, "high": high, "reached": reached,
    }  # fmt: skip


def starts() -> list[dict[str, Any]]:
    """Times without a fall."""
    rows = []
    for id in ("l2m/walk_forward-v0", "l2m/walk_forward-fast-v0"):
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


def scores() -> list[dict[str, Any]]:
    """Published rewards of whole episodes."""
    rows = []
    for name, count in (("planar", 1), ("forward", 1), ("sinks", SEEDS), ("around", SEEDS)):
        for id in (f"l2m/walk_{name}-v0", f"l2m/walk_{name}-fast-v0"):
            for policy in ("no action", "reflexes"):
                rows.append(row("score", id, policy, *score(id, policy, count)))
    return rows


def score(id: str, policy: str, count: int) -> tuple[np.ndarray, str]:
    """Score of each episode, and what all of them reached."""
    options = {} if policy == "no action" else {"init_pose": START}
    envs: Any = gymnasium.make_vec(id, count, threads=1, dtype="float64", **options)
    act = envs.unwrapped.task.scripted_policy()
    observation, _ = envs.reset(seed=0)
    total, alive = np.zeros(count), np.ones(count, dtype=bool)
    sinks, ended = 0, 0
    while alive.any():
        observation, reward, terminated, truncated, info = envs.step(
            np.zeros(envs.action_space.shape) if policy == "no action" else act(observation)
        )
        total += alive * reward
        sinks += int((alive * (info.get("terms/sink", alive * 0) > 0)).sum())
        ended += int((alive & truncated & ~terminated).sum())
        alive &= ~(terminated | truncated)
    envs.close()
    return total, f"{ended} to the end" + f", {sinks} sinks" * bool(sinks)


def table(rows: list[dict[str, Any]]) -> str:
    """Format the scores as Markdown, a row for each id."""
    lines = ["| score | no action | reflexes | 95 % interval | to the end |", "|---" * 5 + "|"]
    scores = {(x["id"], x["policy"]): x for x in rows if x["what"] == "score"}
    for id in dict.fromkeys(id for id, _ in scores):
        none, x = scores[id, "no action"], scores[id, "reflexes"]
        within = f"{float(x['low']):.1f} to {float(x['high']):.1f}" if x["low"] != "" else ""
        name, ended = id.removeprefix("l2m/").removesuffix("-v0"), x["reached"].split()[0]
        lines.append(
            f"| `{name}` | {float(none['mean']):.1f} | {float(x['mean']):.1f} | {within} |"
            f" {ended} of {x['episodes']} |"
        )
    return "\n".join(lines)


def key(row: dict[str, Any]) -> tuple[str, ...]:
    """Identify what a row measures."""
    return row["what"], row["id"], row["policy"]


def read(file: Path) -> list[dict[str, Any]]:
    """Read the rows of a CSV file."""
    with file.open(newline="", encoding="utf-8") as rows:
        return list(csv.DictReader(rows))


def write(file: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as CSV."""
    with atomic.replacing(file) as part, part.open("w", newline="", encoding="utf-8") as out:
        writer = csv.DictWriter(out, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parts = {"starts": starts, "scores": scores}
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help="default: the tables alone")
    for part in parser.parse_args().parts:
        begun = time.process_time()
        measured = parts[part]()
        cost = round(time.process_time() - begun, 1)
        for x in measured:
            command = f"python scripts/measure_walkers.py {part}"
            x |= {"cpu_s": cost, "command": command, "commit": commit()}
            print(x, flush=True)
        # Read now, as another measurement may have written it.
        write(FILE, [*{key(x): x for x in (*read(FILE), *measured)}.values()])
    text = GUIDE.read_text(encoding="utf-8")
    before, _, after = guide_marks.parts(text, "<!-- walkers -->", END)
    atomic.write_text(GUIDE, f"{before}\n\n{table(read(FILE))}\n\n{after}")


if __name__ == "__main__":
    main()
