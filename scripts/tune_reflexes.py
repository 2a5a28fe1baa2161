"""Tune the reflex walker for the planar `-fast` Learn to Move ids, by CMA-ES.

    python scripts/tune_reflexes.py --generations 100

The search starts from the parameters that walk on OpenSim's forces, and writes the best ones after
each generation to `assets/l2m/reflex_fast.toml`. A walk's fitness is the time without a fall and,
in part, its distance, up to the speed of the target field.
"""

import argparse
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from cma_es import search

from mjgym.tasks.l2m.reflex import IN_DEGREES, SCALES, START, Reflexes, parameters
from mjgym.util import atomic

TARGET = Path(__file__).parents[1] / "assets/l2m/reflex_fast.toml"
ID = "l2m/walk_planar-fast-v0"
SPEED = 1.4  # m/s, of the target field
SPREAD = 0.08  # initial deviation of each parameter


def reflexes(points: np.ndarray) -> Reflexes:
    """Reflexes of many walkers, each with its parameters, (k, parameters)."""
    names = parameters("planar")
    made = Reflexes(names)
    for name, value in zip(names, points.T, strict=True):
        scale, offset = SCALES.get(name, (1.0, 0.0))
        scaled = (scale * value + offset)[:, None]
        made._p[name] = np.deg2rad(scaled) if name in IN_DEGREES else scaled
    return made


def worth(envs: Any, points: np.ndarray, steps: int) -> np.ndarray:
    """Negative fitness of walks with these parameters, (k,)."""
    script = reflexes(points)
    observation, _ = envs.reset(seed=0)
    alive = np.ones(len(points), dtype=bool)
    value = np.zeros(len(points))
    timestep = envs.unwrapped.control_timestep
    for _ in range(steps):
        observation, _, fell, _, _ = envs.step(script(observation))
        alive &= ~fell
        if not alive.any():
            break
        speed = observation[:, 2 * 11 * 11 + 3]
        pace = 1 - np.abs(speed - SPEED) / SPEED
        value += timestep * alive * (1 + 0.5 * np.clip(pace, -1, 1))
    return -value


def main() -> None:
    """Search, and write the best parameters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--generations", type=int, default=100)
    parser.add_argument("--population", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=10.0, help="of a walk")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    names = list(parameters("planar"))
    start = np.array(list(parameters("planar").values()))
    if TARGET.exists():
        start = np.array(list(parameters("planar-fast").values()))
    envs = gymnasium.make_vec(
        ID, num_envs=options.population, init_pose=START, dtype="float64",
        autoreset_mode=gymnasium.vector.AutoresetMode.NEXT_STEP,
    )  # fmt: skip
    steps = round(options.seconds / envs.unwrapped.control_timestep)
    found = search(
        lambda points: worth(envs, points, steps), start, np.full(len(start), SPREAD),
        options.seed, options.population,
    )  # fmt: skip
    value = np.inf
    for generation in range(options.generations):
        best = next(found)
        print(f"{generation}: {-best.value:.2f}", flush=True)
        if best.value < value:
            value = best.value
            rows = [f"{name} = {x!r}" for name, x in zip(names, best.point.tolist(), strict=True)]
            head = (
                "# Written by scripts/tune_reflexes.py: the walk in the plane on MuJoCo's muscles."
            )
            atomic.write_text(TARGET, "\n".join([head, "", "[planar-fast]", *rows, ""]))


if __name__ == "__main__":
    main()
