"""Compare statistics of episodes on MuJoCo Warp with those on MuJoCo, for ten ids.

    python scripts/compare_warp.py [ID ...] [--steps 1000] [--num-envs 64] [--device cpu]

Both have the same starts and random actions; chaos drives them apart. Compared are the mean reward
per step, episode ends per step, and the mean size of observations (entries clipped at 10): on both
engines, and their difference in standard errors ("z"), with worlds as independent samples.
"""

import argparse
import math
import time
from typing import Any

import gymnasium
import numpy as np

import mjgym  # noqa: F401  (registers the ids)
from mjgym.checks.benchmark import random_actions
from mjgym.variation import LogNormal, Uniform, factor

VARY = {"body_mass": factor(LogNormal(0, 0.2)), "geom_friction[*, 0]": factor(Uniform(0.5, 1.5))}
# Of all kinds: chains, contacts, falls, a placed target, a maze, gaps, an arm with a controller,
# and varying bodies.
IDS: dict[str, dict[str, Any]] = {
    "dmc/cartpole-swingup-v0": {},
    "dmc/finger-turn_hard-v0": {},
    "dmc/ball_in_cup-catch-v0": {},
    "dmc/hopper-hop-v0": {},
    "dmc/walker-run-v0": {"vary": VARY},
    "dmc/cheetah-run-v0": {},
    "locomotion/jumping_ball-run_gaps-v0": {},
    "locomotion/rolling_ball-maze_forage-v0": {},
    "manipulation/reach_site_features-v0": {},
    "dmc/humanoid-stand-v0": {},
}
ALIKE = 3.5  # standard errors: 30 comparisons stay below in 98 of 100 runs
CUT = 10.0  # of an observation entry, so that forces do not outweigh all others


def play(envs: Any, steps: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean rewards, episodes ended per step, and sizes of observations, for every world."""
    space = envs.single_action_space
    actions = random_actions(space.low, space.high, (envs.num_envs,), np.float32, steps, seed=1)
    envs.reset(seed=0)
    rewards, ends, sizes = np.zeros((3, envs.num_envs))
    for _ in range(steps):
        observation, reward, terminated, truncated, _ = envs.step(next(actions))
        rewards += reward
        ends += terminated | truncated
        sizes += np.abs(observation).clip(0, CUT).mean(axis=-1)
    envs.close()
    return rewards / steps, ends / steps, sizes / steps


def compared(ours: np.ndarray, theirs: np.ndarray) -> tuple[float, float, float]:
    """Both means, and their difference in standard errors; 0 if they are equal."""
    difference = float(ours.mean() - theirs.mean())
    error = math.sqrt((ours.var(ddof=1) + theirs.var(ddof=1)) / len(ours))
    z = 0.0 if difference == 0 else difference / error if error else math.inf
    return float(ours.mean()), float(theirs.mean()), z


def main() -> None:
    """Play and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", help="default: ten of all kinds")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    form = "{:40}" + 3 * " {:>9} {:>9} {:>5}" + " {:>5}"
    columns = (name for what in ("reward", "ends", "observed") for name in (what, "MuJoCo", "z"))
    print(form.format("id", *columns, "s"), flush=True)
    for id in given.ids or IDS:
        started = time.perf_counter()
        options = {"num_envs": given.num_envs, **IDS.get(id, {})}
        theirs = play(gymnasium.make_vec(id, **options), given.steps)
        device = {"backend": "warp", "device": given.device, "output": "numpy"}
        ours = play(gymnasium.make_vec(id, **device, **options), given.steps)
        comparisons = [compared(a, b) for a, b in zip(ours, theirs, strict=True)]
        cells = [
            f"{x:.4f}" if i < 2 else f"{x:.1f}" for each in comparisons for i, x in enumerate(each)
        ]
        mark = "" if all(abs(z) < ALIKE for *_, z in comparisons) else "  NOT ALIKE"
        spent = f"{time.perf_counter() - started:.0f}"
        print(form.format(id, *cells, spent) + mark, flush=True)


if __name__ == "__main__":
    main()
