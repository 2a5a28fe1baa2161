"""Tune the reflex walker for the planar `-fast` Learn to Move ids, by CMA-ES.

    python scripts/tune_reflexes.py --generations 100

It needs `pip install cma`. The search starts from the parameters that walk on OpenSim's forces, and
writes the best ones after each generation to `assets/l2m/reflex_fast.toml`. A walk's fitness is the
time without a fall and, in part, its distance, up to the speed of the target field.
"""

import argparse
from pathlib import Path
from typing import Any

import cma
import gymnasium
import numpy as np

from mjgym.tasks.l2m.reflex import START, Reflexes, parameters
from mjgym.util import atomic

TARGET = Path(__file__).parents[1] / "assets/l2m/reflex_fast.toml"
ID = "l2m/walk_planar-fast-v0"
SPEED = 1.4  # m/s, of the target field
SPREAD = 0.08  # initial deviation of each parameter


def worth(envs: Any, points: np.ndarray, steps: int) -> np.ndarray:
    """Negative fitness of walks with these parameters, (k,)."""
    names = parameters("planar")
    script = Reflexes({name: x[:, None] for name, x in zip(names, points.T, strict=True)})
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
    strategy = cma.CMAEvolutionStrategy(
        start, SPREAD, {"popsize": options.population, "seed": options.seed + 1, "verbose": -9}
    )
    value = np.inf
    for generation in range(options.generations):
        points = strategy.ask()
        strategy.tell(points, list(worth(envs, np.array(points), steps)))
        best = strategy.result
        print(f"{generation}: {-best.fbest:.2f}", flush=True)
        if best.fbest < value:
            value = best.fbest
            rows = [f"{name} = {x!r}" for name, x in zip(names, best.xbest.tolist(), strict=True)]
            head = (
                "# Written by scripts/tune_reflexes.py: the walk in the plane on MuJoCo's muscles."
            )
            atomic.write_text(TARGET, "\n".join([head, "", "[planar-fast]", *rows, ""]))


if __name__ == "__main__":
    main()
