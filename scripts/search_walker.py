"""Search parameters of the reflex walker in space, by CMA-ES from perturbed starts.

    python scripts/search_walker.py RUN --cpu-minutes 100
    python scripts/search_walker.py RUN --cpu-minutes 200 --trust --choose  # goes on from there

It needs `pip install -e ".[fast]" cma`. A generation's candidates walk from the same starts, START
and others drawn anew; the horizon grows as more of the walks reach it. A walk is worth its seconds
without a fall, each up to half more at the target velocity, and a twentieth of its published
reward. RUN holds `search.csv` (a line per generation) and `search.pickle` (the state). Physics
steps are 2 ms, or those of the id with `--fine`. `--choose` ends with the choice of `chosen.toml`:
of the distribution's mean and 47 of its points, those that walk longest from START, up to 25 s, and
of these the one with the longest mean walk, up to 10 s, from 16 other starts.
"""

import argparse
import pickle
import time
from pathlib import Path
from typing import Any

import cma
import numpy as np

from mjgym.envs.vector import VectorEnv
from mjgym.registry import registration
from mjgym.tasks.l2m.reflex import BALANCE, START, Reflexes, looked_at, parameters
from mjgym.util import atomic

CANDIDATES = 24
SPREADS = (0.0, 1.0, 1.0, 1.0)  # of a generation's starts, shares of the largest perturbation
COARSE = 0.002  # s, physics steps
SPEED_RANGE, LEAN_RANGE = 0.1, np.deg2rad(3)  # m/s forward and sideways, rad, of starts
ENOUGH, LONGER = 0.35, 1.15  # share of walks that reach the horizon, and its growth then
SPREAD, LEAST_SPREAD, SIDEWAYS_SPREAD = 0.05, 0.04, 0.2  # of parameters
SAGITTAL = 37  # parameters, before those of the frontal plane
CHOSEN_FROM, CHOSEN_BY, CHOICE_SEED = 48, 16, 1  # points, starts and seed of the choice
CHOICE_EPISODES = 500  # seed of the first; scores have 0 to 63, and the search begins at 1000
LONG, LONG_ENOUGH = 25.0, 10.0  # s, of the choice: from START, and from the others
# Of one-at-a-time variations, the better.
FIRST = {"cd_f": 1.5, "HAB_6_DG": 0.5, "HAD_6_DG": 0.3}
PER_SECOND = 20.0  # largest published reward, which counts as much as a second without a fall


class Walks:
    """Walks of many parameters, on batches that shrink as walkers fall.

    Args:
        id: a registered walk.
        count: number of walks.
        fine: whether to keep the id's physics steps; OpenSim's forces can do without.
        heading: largest initial heading, rad.
    """

    def __init__(self, id: str, count: int, fine: bool = False, heading: float = 0.0) -> None:
        found = registration(id)
        given = {**found.fields, "init_pose": START, "time_limit": 1000.0, "seen_field": "centre"}
        task = found.task_class(**given, **({} if fine else {"longest_step": COARSE}))
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
        spread: float | tuple[float, ...] = 1.0,
    ) -> np.ndarray:
        """Begin `repeats` walks from each start.

        Args:
            rng: draws the starts.
            repeats: number of walks from each start.
            seed: of the first start's episode.
            spread: share of the largest perturbation, of all starts or of each.
        """
        envs = self.batches[0]
        n = envs.num_envs // repeats
        envs.reset(seed=[seed + i for i in range(n)] * repeats)
        state = envs.get_state()
        at = self._dofs
        share = np.asarray(spread)
        speed = share * rng.uniform(-SPEED_RANGE, SPEED_RANGE, size=(2, n))
        lean = share * rng.uniform(-LEAN_RANGE, LEAN_RANGE, size=n)
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
            state = looked_at(full[rows])
            velocity = state.velocity[:, :2]
            off = np.hypot(*(state.target - velocity).T)
            more = 0.5 * np.clip(1 - off / 1.4, -1, 1)
            reward[rows] += here * paid[: len(rows)]
            here &= ~fell[: len(rows)]
            time[rows] += self.timestep * here
            worth[rows] += self.timestep * here * (1 + more)
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
        worth += reward / PER_SECOND
        return {"time": time, "worth": worth, "reward": reward, "alive": alive}


def reflexes_of(names: list[str], points: np.ndarray) -> Reflexes:
    """Reflexes of many walkers, each with its parameters, (k, parameters)."""
    return Reflexes(
        {name: x[:, None] for name, x in zip(names, points.T, strict=True)}, abduction="angle"
    )


def begin(base: str, seed: int) -> dict[str, Any]:
    """Initial state of a search from named parameters."""
    known = {**parameters("spatial"), **dict.fromkeys(BALANCE, 0.0), **FIRST, **parameters(base)}
    names = list(known)
    middle = np.array(list(known.values()))
    spread = np.maximum(SPREAD * np.abs(middle), LEAST_SPREAD)
    spread[SAGITTAL:] = SIDEWAYS_SPREAD
    strategy = cma.CMAEvolutionStrategy(
        middle,
        1.0,
        {"CMA_stds": spread, "popsize": CANDIDATES, "seed": seed + 1, "verbose": -9},
    )
    return {
        "names": names, "strategy": strategy, "horizon": 6.0, "cpu": 0.0,
        "generation": 0, "rng": np.random.default_rng(seed),
    }  # fmt: skip


def choose(state: dict[str, Any], id: str) -> np.ndarray:
    """Point of the distribution that walks longest from starts which the search has not had."""
    strategy = pickle.loads(pickle.dumps(state["strategy"]))  # asking changes it
    points = np.array([strategy.mean, *strategy.ask(CHOSEN_FROM - 1)]).round(6)
    for count, spread, seconds in ((1, 0.0, LONG), (CHOSEN_BY, 1.0, LONG_ENOUGH)):
        walks = Walks(id, count * len(points), fine=True)
        observation = walks.start(
            np.random.default_rng(CHOICE_SEED), len(points), CHOICE_EPISODES, spread
        )
        reflexes = reflexes_of(state["names"], np.repeat(points, count, axis=0))
        found = walks.walk(reflexes, observation, round(seconds / walks.timestep))
        times = found["time"].reshape(len(points), count).mean(axis=1).round(3)
        print(times.tolist(), flush=True)
        points = points[times == times.max()]
    best: np.ndarray = points[0]
    return best


def main() -> None:
    """Search, and keep the state after each generation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--id", default="l2m/walk_forward-v0")
    parser.add_argument("--base", default="spatial-walk")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--longest", type=float, default=25.0, help="s, of the horizon")
    parser.add_argument("--fine", action="store_true")
    parser.add_argument("--cpu-minutes", type=float, default=100.0)
    parser.add_argument("--step", type=float, default=1.0, help="factor of the step size, now")
    parser.add_argument("--choose", action="store_true", help="write a point of the distribution")
    parser.add_argument("--trust", action="store_true", help="go on from the run's state")
    options = parser.parse_args()
    options.run.mkdir(parents=True, exist_ok=True)
    file, log = options.run / "search.pickle", options.run / "search.csv"
    if file.exists() and not options.trust:
        parser.error(f"{file} is a pickle, which can run code: add --trust if it is your own")
    state = pickle.loads(file.read_bytes()) if file.exists() else begin(options.base, options.seed)
    strategy = state["strategy"]
    strategy.sigma *= options.step
    starts = len(SPREADS)
    walks = Walks(options.id, CANDIDATES * starts, options.fine)
    before, start = state["cpu"], time.process_time()
    while state["cpu"] < 60 * options.cpu_minutes:
        points = np.array(strategy.ask())
        seed = 1000 * (state["generation"] + 1)
        observation = walks.start(state["rng"], CANDIDATES, seed, SPREADS)
        steps = round(state["horizon"] / walks.timestep)
        reflexes = reflexes_of(state["names"], np.repeat(points, starts, axis=0))
        found = walks.walk(reflexes, observation, steps)
        worth = found["worth"].reshape(CANDIDATES, starts).mean(axis=1)
        strategy.tell(points, list(-worth))
        share = found["alive"].reshape(CANDIDATES, starts).mean(axis=1)
        state["generation"] += 1
        state["cpu"] = before + time.process_time() - start
        row = {
            "generation": state["generation"],
            "cpu_s": round(state["cpu"], 1),
            "horizon": round(state["horizon"], 2),
            "mean_time": round(float(found["time"].mean()), 3),
            "best_time": round(float(found["time"].reshape(CANDIDATES, starts).mean(1).max()), 3),
            "share": round(float(share.mean()), 3),
            "best_share": round(float(share.max()), 3),
            "worth": round(float(worth.max()), 3),
            "mean_reward": round(float(found["reward"].mean()), 2),
            "sigma": round(float(strategy.sigma), 4),
        }
        kept = log.read_text() if log.exists() else f"{','.join(row)}\n"
        atomic.write_text(log, f"{kept}{','.join(map(str, row.values()))}\n")
        if share.mean() >= ENOUGH:
            state["horizon"] = min(options.longest, LONGER * state["horizon"])
        atomic.write_bytes(file, pickle.dumps(state))
    if options.choose:
        point = choose(state, options.id)
        lines = [f"{name} = {x:.6f}" for name, x in zip(state["names"], point, strict=True)]
        atomic.write_text(options.run / "chosen.toml", "\n".join(["[spatial-walk]", *lines, ""]))


if __name__ == "__main__":
    main()
