"""Measure the scripted walkers of Learn to Move, and write the tables of the guide.

    python scripts/measure_walkers.py starts scores   # measures these, and writes the tables
    python scripts/measure_walkers.py                 # the tables alone

- **starts**: the time to a fall on `walk_forward-v0` and its `-fast` twin, from START for up to
  25 s, and for up to 10 s from 100 starts, whose speeds (forward, sideways) and lean are within
  0.1 m/s and 3 degrees of it.
- **scores**: of whole episodes of all ids, from START, and without action from the id's own start;
  seeds 0 to 63 where targets are drawn.
- **reactions**: what `velocity` costs the reflexes on `walk_around-v0` by the target's bearing, and
  what it would cost points that react, from the same place to the same targets.

Intervals are Student's, 95 %, of means. The rows are in assets/baselines/learn_to_move.csv, the
search of parameters (`search.csv` of `search_walker.py`) in learn_to_move_search.csv beside it,
`progress.csv` of `reinforce_step_feedback.py` in learn_to_move_reinforcement.csv, and reactions in
learn_to_move_reactions.csv.
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

from mjgym.rotations import smallest_angle
from mjgym.tasks.l2m.reflex import START
from mjgym.tasks.l2m.walk import VELOCITY_WEIGHTS
from mjgym.util import atomic
from mjgym_train.statistics import mean_interval

ROOT = Path(__file__).parents[1]
FILE, GUIDE = ROOT / "assets/baselines/learn_to_move.csv", ROOT / "assets/guides/learn_to_move.md"
END = "<!-- end -->"
SEARCH = ROOT / "assets/baselines/learn_to_move_search.csv"
REINFORCEMENT = ROOT / "assets/baselines/learn_to_move_reinforcement.csv"
REACTIONS = ROOT / "assets/baselines/learn_to_move_reactions.csv"
SHOWN = 8  # generations of the search
EVERY = 10.0  # CPU minutes of reinforcement in a row
STARTS, START_SEED, SEEDS = 100, 2019, 64
QUADRANT = 45.0  # degrees of bearing in a row
# Of points: mean speed (m/s), time of a step, of the six that the reward asks for, and to stop (s).
PACE, STEP, SIX_STEPS, STOP = 1.15, 0.54, 2.2, 0.5
POINTS = {  # speed (m/s), turn towards the target (degrees/s), whether it stops
    "a point that walks straight on": (PACE, 0.0, False),
    "a point at 0.9 m/s": (0.9, 0.0, False),
    "a point at 0.6 m/s": (0.6, 0.0, False),
    "a point that turns by 14 degrees/s": (PACE, 14.0, False),
    "a point that turns by 22 degrees/s": (PACE, 22.0, False),
    "a point that turns by 30 degrees/s": (PACE, 30.0, False),
    "a point that stops after six steps, once the target is behind": (PACE, 0.0, True),
}


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


def reactions() -> list[dict[str, Any]]:
    """Parts of the score on `walk_around-v0`: of the reflexes by bearing, and of points."""
    envs: Any = gymnasium.make_vec(
        "l2m/walk_around-v0", SEEDS, threads=1, dtype="float64", init_pose=START
    )
    task = envs.unwrapped.task
    act = task.scripted_policy()
    observation, _ = envs.reset(seed=0)
    draws = np.array(envs.unwrapped.view.userdata)
    field = task.field.start(draws, np.zeros((SEEDS, 2)))
    paid = {name: np.zeros(SEEDS) for name in ("alive", "footstep", "velocity", "effort", "sink")}
    over = np.zeros(SEEDS, dtype=bool)
    while not over.all():
        observation, _, terminated, truncated, info = envs.step(act(observation))
        for name in paid:
            paid[name] += ~over * info[f"terms/{name}"]
        over |= terminated | truncated
    envs.close()
    rows = []
    bearing = np.abs(np.rad2deg(field["path_heading"]))
    for low in np.arange(0.0, 180.0, QUADRANT):
        some = (bearing >= low) & (bearing < low + QUADRANT)
        what = f"the reflexes, sinks at {low:g} to {low + QUADRANT:g} degrees"
        rows.append(parts_of(what, {name: x[some] for name, x in paid.items()}))
    rows.append(parts_of("the reflexes, all", paid))
    for what, (speed, turn, stops) in POINTS.items():
        cost = -VELOCITY_WEIGHTS[2] * point(task, draws, speed, np.deg2rad(turn), stops)
        rows.append(parts_of(what, {**paid, "velocity": cost, "sink": 0 * cost}))
    return rows


def parts_of(what: str, paid: dict[str, np.ndarray]) -> dict[str, Any]:
    """A row of means."""
    means = {name: float(x.mean()) for name, x in paid.items()}
    count = len(paid["alive"])
    return {"what": what, "episodes": count, **means, "score": sum(means.values())}


def point(task: Any, draws: np.ndarray, speed: float, turn: float, stops: bool) -> np.ndarray:
    """Distance by which a point goes astray of the targets, summed over steps, (episodes,) m."""
    field, dt = task.field, 2 * task.control_timestep
    position, astray = np.zeros((2, len(draws), 2))
    heading, distance = np.zeros((2, len(draws)))
    stopped = np.full(len(draws), np.inf)
    state = field.start(draws, position)
    every = round(STEP / dt)
    for i in range(round(task.time_limit / dt)):
        now = i * dt
        target = field.velocity(state, position[:, None])[:, 0]
        ahead = np.stack([np.cos(heading), np.sin(heading)], axis=-1)
        if i % every == 0:
            distance += np.hypot(*astray.T)
            astray[:] = 0
            behind = (ahead * target).sum(axis=-1) < 0
            if stops and now >= SIX_STEPS:
                stopped = np.where(behind, np.minimum(stopped, now), stopped)
        off = smallest_angle(np.arctan2(target[:, 1], target[:, 0]) - heading, 2 * np.pi)
        pace = speed * np.clip(1 - (now - stopped) / STOP, 0, 1)
        velocity = pace[:, None] * ahead
        heading = heading + dt * np.clip(off, -turn, turn)
        astray += dt * (velocity - target)
        position = position + dt * velocity
        state = field.advance(state, draws, position, dt)
    total: np.ndarray = distance + np.hypot(*astray.T)
    return total


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


def curve(rows: list[dict[str, Any]]) -> str:
    """Format some generations of a search as Markdown."""
    lines = ["| generation | CPU min | horizon, s | mean, s | reach it |", "|---|---|---|---|---|"]
    for i in np.linspace(0, len(rows) - 1, SHOWN).astype(int):
        x = {name: float(value) for name, value in rows[i].items()}
        near = rows[max(0, i - 2) : i + 3]
        mean, share = (np.mean([float(y[name]) for y in near]) for name in ("mean_time", "share"))
        lines.append(
            f"| {x['generation']:.0f} | {x['cpu_s'] / 60:.1f} | {x['horizon']:.1f} |"
            f" {mean:.1f} | {100 * share:.0f} % |"
        )
    return "\n".join(lines)


def learning(rows: list[dict[str, Any]]) -> str:
    """Format the progress of reinforcement as Markdown: means over every few CPU minutes."""
    lines = ["| CPU min | episodes | score | falls in 100 s |", "|---|---|---|---|"]
    cpu, episodes, score, falls = np.array(
        [[float(x[n]) for n in ("cpu_s", "episodes", "score", "falls_in_100_s")] for x in rows]
    ).T
    for first in np.arange(0.0, cpu[-1] / 60, EVERY):
        some = (cpu > 60 * first) & (cpu <= 60 * (first + EVERY))
        mean = np.average(score[some], weights=episodes[some])
        lines.append(
            f"| {first:.0f} to {min(first + EVERY, cpu[-1] / 60):.0f} | {episodes[some].sum():.0f}"
            f" | {mean:.0f} | {falls[some].mean():.1f} |"
        )
    return "\n".join(lines)


def reaction_table(rows: list[dict[str, Any]]) -> str:
    """Format the parts of the score as Markdown."""
    lines = ["| | episodes | velocity | effort | score |", "|---|---|---|---|---|"]
    for x in rows:
        numbers = " | ".join(f"{float(x[name]):.1f}" for name in ("velocity", "effort", "score"))
        lines.append(f"| {x['what']} | {x['episodes']} | {numbers} |")
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
    parts = {"starts": starts, "scores": scores, "reactions": reactions}
    parser.add_argument("parts", nargs="*", choices=[[], *parts], help="default: the tables alone")
    for part in parser.parse_args().parts:
        begun = time.process_time()
        measured = parts[part]()
        cost = round(time.process_time() - begun, 1)
        for x in measured:
            command = f"python scripts/measure_walkers.py {part}"
            x |= {"cpu_s": cost, "command": command, "commit": commit()}
            print(x, flush=True)
        if part == "reactions":
            write(REACTIONS, measured)
        else:  # read now, as another measurement may have written it
            write(FILE, [*{key(x): x for x in (*read(FILE), *measured)}.values()])
    text = GUIDE.read_text(encoding="utf-8")
    tables = {
        "search": curve(read(SEARCH)),
        "reinforcement": learning(read(REINFORCEMENT)),
        "walkers": table(read(FILE)),
        "reactions": reaction_table(read(REACTIONS)),
    }
    for mark, lines in tables.items():
        before, _, after = guide_marks.parts(text, f"<!-- {mark} -->", END)
        text = f"{before}\n\n{lines}\n\n{after}"
    atomic.write_text(GUIDE, text)


if __name__ == "__main__":
    main()
