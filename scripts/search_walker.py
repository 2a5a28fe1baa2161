"""Search parameters of the reflex walker in space, by CMA-ES from perturbed starts.

    python scripts/search_walker.py RUN --cpu-minutes 100
    python scripts/search_walker.py RUN --cpu-minutes 200 --trust  # goes on where it ended

It needs `pip install -e ".[fast]" cma`. A generation's candidates walk from the same starts, drawn
anew for each generation. A harness damps roll and sideways motion; it loosens as more of the walks
reach the horizon, which grows once it is gone. RUN holds `search.csv` (a line per generation) and
`search.pickle` (the state). Physics steps are 1 ms, or those of the id with `--fine`.
"""

import argparse
import dataclasses
import functools
import pickle
import time
from pathlib import Path
from typing import Any, ClassVar

import cma
import numpy as np

from mjgym.envs.vector import VectorEnv
from mjgym.registry import registration
from mjgym.tasks.l2m.musculoskeletal import Musculoskeletal
from mjgym.tasks.l2m.reflex import START, STEERING, Reflexes, parameters
from mjgym.tasks.l2m.walk import OpenSimWalk
from mjgym.util import atomic

CANDIDATES, STARTS = 12, 8
COARSE, FINE = 0.001, 0.0004  # s, physics steps
SPEED_RANGE, LEAN_RANGE = 0.1, np.deg2rad(3)  # m/s forward and sideways, rad, of starts
DAMPING = {"pelvis_list": 300.0, "pelvis_tz": 600.0}  # N m s/rad, N s/m, of the whole harness
LOOSENED, TIGHTENED = 0.9, 1.03  # of the harness in a generation
ENOUGH, FEW = 0.35, 0.1  # share of walks that reach the horizon
GONE = 0.004  # of the harness
SPREAD, LEAST_SPREAD, SIDEWAYS_SPREAD = 0.02, 0.015, 0.06  # of parameters
SPACE = 9  # parameters of the frontal plane


@dataclasses.dataclass(frozen=True)
class HarnessedWalk(OpenSimWalk):
    """A walk with damping per episode, and its own physics step."""

    varies: ClassVar[tuple[str, ...]] = ("dof_damping",)

    longest_step: float = COARSE

    @functools.cached_property
    def body(self) -> Musculoskeletal:
        """The mechanics, with the longest physics step."""
        return Musculoskeletal(self.planar, self.control_timestep, self.longest_step)


class Walks:
    """Walks of many parameters, on batches that shrink as walkers fall.

    Args:
        id: a registered walk with OpenSim's forces.
        count: number of walks.
        fine: whether to keep the id's physics steps.
        heading: largest initial heading, rad.
    """

    def __init__(self, id: str, count: int, fine: bool = False, heading: float = 0.0) -> None:
        found = registration(id)
        given = {**found.fields, "init_pose": START, "time_limit": 1000.0}
        task = HarnessedWalk(**given, longest_step=FINE if fine else COARSE)
        sizes = [count]
        while sizes[-1] > CANDIDATES:
            sizes.append(sizes[-1] // 2)
        self.batches = [VectorEnv(task, n, threads=1, dtype="float64") for n in sizes]
        self.timestep, self.heading = self.batches[0].control_timestep, heading
        model = self.batches[0].model
        self._dofs = {model.joint(i).name: i for i in range(model.njnt)}  # hinges and slides

    def start(
        self,
        rng: np.random.Generator,
        repeats: int,
        seed: int,
        harness: float = 0.0,
        spread: float = 1.0,
    ) -> np.ndarray:
        """Begin `repeats` walks from each start, in a share of the harness.

        Args:
            rng: draws the starts.
            repeats: number of walks from each start.
            seed: of the first start's episode.
            harness: share of the damping.
            spread: share of the largest perturbation.
        """
        envs = self.batches[0]
        n = envs.num_envs // repeats
        envs.reset(seed=[seed + i for i in range(n)] * repeats)
        state = envs.get_state()
        at = self._dofs
        speed = spread * rng.uniform(-SPEED_RANGE, SPEED_RANGE, size=(2, n))
        lean = spread * rng.uniform(-LEAN_RANGE, LEAN_RANGE, size=n)
        heading = rng.uniform(-self.heading, self.heading, size=n)
        x, z = START[0] + speed[0], START[1] + speed[1]
        cosine, sine = np.cos(heading), np.sin(heading)
        rows = {
            ("qvel", "pelvis_tx"): cosine * x + sine * z,
            ("qvel", "pelvis_tz"): cosine * z - sine * x,
        }
        for (field, name), row in rows.items():
            state[field][:, at[name]] = np.tile(row, repeats)
        state["qpos"][:, at["pelvis_tilt"]] -= np.tile(lean, repeats)
        state["qpos"][:, at["pelvis_rotation"]] = np.tile(heading, repeats)
        for name, damping in DAMPING.items():
            state["dof_damping"][:, at[name]] = harness * damping
        return envs.set_state(state)

    def walk(self, reflexes: Reflexes, observation: np.ndarray, steps: int) -> dict[str, Any]:
        """Time without a fall (s), worth, reward, and whether it is alive, of each walk."""
        total = len(observation)
        time, worth, reward = np.zeros((3, total))
        rows, rung = np.arange(total), 0
        envs, full = self.batches[0], np.array(observation)
        alive = np.ones(total, dtype=bool)
        for _ in range(steps):
            actions = reflexes(full)
            given = np.zeros((envs.num_envs, actions.shape[1]))
            given[: len(rows)] = actions[rows]
            seen, paid, fell, _, _ = envs.step(given)
            full[rows] = seen[: len(rows)]
            here = alive[rows]
            off = np.hypot(*(_target(full[rows]) - _velocity(full[rows])).T)
            reward[rows] += here * paid[: len(rows)]
            here &= ~fell[: len(rows)]
            time[rows] += self.timestep * here
            worth[rows] += self.timestep * here * (1 + 0.5 * np.clip(1 - off / 1.4, -1, 1))
            alive[rows] = here
            if not here.any():
                break
            if rung + 1 < len(self.batches) and here.sum() <= self.batches[rung + 1].num_envs:
                kept = np.flatnonzero(here)
                rung += 1
                smaller = self.batches[rung]
                others = np.setdiff1d(np.arange(envs.num_envs), kept)
                padded = np.concatenate([kept, others])[: smaller.num_envs]
                smaller.reset(seed=0)
                smaller.set_state(envs.get_state(padded))
                envs, rows = smaller, rows[kept]
        return {"time": time, "worth": worth, "reward": reward, "alive": alive}


def _target(observation: np.ndarray) -> np.ndarray:
    return observation[:, 60:242:121]


def _velocity(observation: np.ndarray) -> np.ndarray:
    return observation[:, 245:247]


def reflexes_of(names: list[str], points: np.ndarray) -> Reflexes:
    """Reflexes of many walkers, each with its parameters, (k, parameters)."""
    return Reflexes(
        {name: x[:, None] for name, x in zip(names, points.T, strict=True)}, abduction="angle"
    )


def begin(base: str, seed: int) -> dict[str, Any]:
    """Initial state of a search from named parameters."""
    known = {**parameters(base), **dict.fromkeys(STEERING, 0.0)} | dict(parameters(base))
    names = list(known)
    middle = np.array(list(known.values()))
    spread = np.maximum(SPREAD * np.abs(middle), LEAST_SPREAD)
    spread[37:] = SIDEWAYS_SPREAD
    strategy = cma.CMAEvolutionStrategy(
        middle,
        1.0,
        {"CMA_stds": spread, "popsize": CANDIDATES, "seed": seed + 1, "verbose": -9},
    )
    return {
        "names": names, "strategy": strategy, "harness": 0.05, "horizon": 5.0, "cpu": 0.0,
        "generation": 0, "rng": np.random.default_rng(seed),
    }  # fmt: skip


def main() -> None:
    """Search, and keep the state after each generation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--id", default="l2m/walk_forward-v0")
    parser.add_argument("--base", default="spatial-walk")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--heading", type=float, default=0.0, help="degrees, of starts")
    parser.add_argument("--longest", type=float, default=25.0, help="s, of the horizon")
    parser.add_argument("--fine", action="store_true")
    parser.add_argument("--cpu-minutes", type=float, default=100.0)
    parser.add_argument("--trust", action="store_true", help="go on from the run's state")
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    file, log = options.run / "search.pickle", options.run / "search.csv"
    if file.exists() and not options.trust:
        parser.error(f"{file} is a pickle, which can run code: add --trust if it is your own")
    state = pickle.loads(file.read_bytes()) if file.exists() else begin(options.base, options.seed)
    strategy = state["strategy"]
    walks = Walks(options.id, CANDIDATES * STARTS, options.fine, np.deg2rad(options.heading))
    before, start = state["cpu"], time.process_time()
    while state["cpu"] < 60 * options.cpu_minutes:
        points = np.array(strategy.ask())
        observation = walks.start(
            state["rng"], CANDIDATES, 1000 * state["generation"], state["harness"]
        )
        steps = round(state["horizon"] / walks.timestep)
        found = walks.walk(
            reflexes_of(state["names"], np.repeat(points, STARTS, axis=0)), observation, steps
        )
        worth = found["worth"].reshape(CANDIDATES, STARTS).mean(axis=1)
        strategy.tell(points, list(-worth))
        share = found["alive"].reshape(CANDIDATES, STARTS).mean(axis=1)
        state["generation"] += 1
        state["cpu"] = before + time.process_time() - start
        row = {
            "generation": state["generation"],
            "cpu_s": round(state["cpu"], 1),
            "harness": round(state["harness"], 4),
            "horizon": round(state["horizon"], 2),
            "mean_time": round(float(found["time"].mean()), 3),
            "best_time": round(float(found["time"].reshape(CANDIDATES, STARTS).mean(1).max()), 3),
            "share": round(float(share.mean()), 3),
            "best_share": round(float(share.max()), 3),
            "worth": round(float(worth.max()), 3),
            "sigma": round(float(strategy.sigma), 4),
        }
        kept = log.read_text() if log.exists() else f"{','.join(row)}\n"
        atomic.write_text(log, f"{kept}{','.join(map(str, row.values()))}\n")
        if share.mean() >= ENOUGH:
            if state["harness"] == 0:
                state["horizon"] = min(options.longest, 1.15 * state["horizon"])
            loosened = LOOSENED * state["harness"]
            state["harness"] = loosened if loosened > GONE else 0.0
        elif share.mean() < FEW and state["harness"]:
            state["harness"] = min(1.0, TIGHTENED * state["harness"])
        atomic.write_bytes(file, pickle.dumps(state))


if __name__ == "__main__":
    main()
