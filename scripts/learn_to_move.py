"""Learn to walk to the sinks of `walk_around-v0` by TD3, and bundle the policy.

    python scripts/learn_to_move.py runs/sinks   # goes on where it was stopped

It needs `pip install -e ".[train,fast]"`. States of the reflex walk are recorded first. Training
begins in them, in stages, each from the networks of the one before:

- `stop`: the sink is near and ahead of a walker. Three in ten begin standing at it.
- `to`: it is up to 7 m away, also of walkers that have stopped, and these see it in any direction.
- `on`: 2 to 4 s at a sink achieve it, and another one follows; one in five begins as an episode of
  the id does, or in START;
- `last`: the same at a falling learning rate, with physics steps of 1 ms; more begin so.

A control step pays `alive`, 0.1; `near`, 0.3 at the sink and half of it 0.3 m off; `towards`, 0.2
at 1.2 m/s towards the sink; and `effort`. Physics steps are 2 ms before the last stage. The policy
sees `seen_field=sink`, and is scored on the id as it is.
"""

import argparse
import contextlib
import dataclasses
import functools
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import bundle_policy
import gymnasium
import numpy as np

from mjgym.arrays import Array, total
from mjgym.describe.fingerprint import fingerprint
from mjgym.envs.vector import VectorEnv
from mjgym.mjcf import Spec
from mjgym.policies import network, trained
from mjgym.policies.network import Policy, begin
from mjgym.sim import SingleView, View
from mjgym.task import Arrays, register
from mjgym.tasks.l2m.reflex import START
from mjgym.tasks.l2m.skeleton import COORDINATES, MUSCLES
from mjgym.tasks.l2m.target_field import FARTHEST_SINK, NEAREST_SINK, SEEN, SEEN_SPACING
from mjgym.tasks.l2m.walk import (
    FAR_SINK,
    FORWARD,
    LIST,
    RIGHT,
    STRAIGHT,
    TILT,
    UP,
    OpenSimWalk,
    placed,
)
from mjgym.util import atomic
from mjgym_train.run import Run

SCORED, ID = "l2m/walk_around-v0", "learn_to_move/sinks-v0"
PHYSICS = 0.002  # s

# Recorded states: of walkers, and of those that have stopped. At first these stand straight.
WALKERS, WALK_SEED, WALK_STEPS, WALK_EVERY = 64, 7000, 2000, 11
STOPPED, STOP_SEED, STOP_STEPS, STOP_FIRST, STOP_EVERY = 96, 77, 799, 300, 13
STANDING, SPEED, LEAN, LEAN_ASIDE = 1000, 0.15, 0.03, 0.02  # number; deviations, m/s and rad
STATE = (len(COORDINATES), len(COORDINATES), len(MUSCLES), len(MUSCLES), 2)
"""Numbers of a state: positions, speeds, activations, fibre lengths, loaded feet."""
MUSCLE = slice(2 * len(COORDINATES), sum(STATE))

# Sinks of starts: m, and the deviation of their bearing from the velocity, rad.
NEAR, NEAR_BEARING = (0.2, 1.6), 0.45
FAR, FAR_BEARING = (1.5, 7.0), 1.0
STANDS_LONGER = 1e6  # s, than any episode

ALIVE, NEAR_REWARD, TOWARDS, EFFORT = 0.1, 0.3, 0.2, 0.01  # of a control step
NEAR_SCALE, PACE, SLOWING = 0.3, 1.2, 0.5  # m, m/s, m
LOW = 0.7  # m, height of the pelvis, at which an episode ends

# Of the published observation: s between two, the body's numbers of the rate of yaw and of leans;
# of the map's lines, m/s of the slowest, and m from the sink within which interpolation bends them.
OBSERVED_EVERY, YAW_RATE, LEANS = 0.01, 8, ((1, 2), (6, 7))
SLOW, BENT, STILL = 0.3, 1.2, 1e-6

SETTINGS = (
    "action_repeat=4", "num_envs=64", "hidden=[128,128]", "keep_buffer=true",
    "exploration={gaussian: 0.6, parameter: 0.3, none: 0.1}", "evaluation_episodes=40",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Stage:
    """A stage of training.

    Args:
        minutes: CPU time.
        seed: of the run.
        env: arguments of `ToSinks`.
        settings: of the run, beside those of all stages.
    """

    minutes: float
    seed: int
    env: dict[str, Any]
    settings: tuple[str, ...] = ()


STAGES = {
    "stop": Stage(
        18, 1, {"standing": 0.3, "farthest": 0.3, "towards": 0.0, "time_limit": 8.0}
    ),
    "to": Stage(16, 2, {"standing": 0.25, "walking": 0.35, "time_limit": 10.0}),
    "on": Stage(
        17, 3,
        {"initial": 0.2, "standing": 0.16, "walking": 0.2, "renewed": True, "time_limit": 20.0},
    ),
    "last": Stage(
        25, 4,
        {
            "initial": 0.4, "standing": 0.12, "walking": 0.15, "renewed": True, "time_limit": 20.0,
            "longest_step": 0.001,
        },
        ("learning_rate=0.0003", "learning_rate_left=0.05"),
    ),
}  # fmt: skip


@functools.cache
def recorded(file: str) -> np.ndarray:
    """The states of a file, (n, 80)."""
    states: np.ndarray = np.load(file)
    return states


@register(ID, "Walk to a sink.")
@dataclasses.dataclass(frozen=True)
class ToSinks(OpenSimWalk):
    """Walk to a sink and stay there; what is not said here is as in `Walk`.

    Args:
        states: folder of the recorded states.
        initial: share of episodes that begin as those of the id, or in START.
        standing: share that begins standing, the sink anywhere.
        walking: share that begins walking, the sink far away; it is near for the rest.
        farthest: sink of those that stand, m.
        towards: most that a control step pays for walking to the sink.
        effort: price of the sum of squared activations in a control step.
        renewed: whether a second sink follows.
    """

    states: str = ""
    initial: float = 0.0
    standing: float = 0.0
    walking: float = 0.0
    farthest: float = FARTHEST_SINK
    towards: float = TOWARDS
    effort: float = EFFORT
    renewed: bool = False

    def model(self) -> Spec:
        """The walker, with room for its muscles and its sink at the start."""
        spec = super().model()
        spec.nuserdata = self.field.draws + sum(STATE[2:]) + 2
        return spec

    def initialize(self, v: SingleView, rng: np.random.Generator) -> None:
        """Draw a state, and a sink by its distance and bearing."""
        starts: dict[str, tuple[str, tuple[float, float], float | None]] = {
            "initial": ("initial", (NEAREST_SINK, FARTHEST_SINK), None),
            "standing": ("standing", (0.0, self.farthest), None),
            "walking": ("walking", FAR, FAR_BEARING),
            "near": ("walking", NEAR, NEAR_BEARING),
        }
        shares = np.array([self.initial, self.standing, self.walking, 0.0])
        shares[-1] = 1 - shares.sum()
        file, distances, bearing = starts[rng.choice(list(starts), p=shares)]
        states = recorded(f"{self.states}/{file}.npy")
        state = states[rng.integers(len(states))]
        q, u = state[: MUSCLE.start].reshape(2, -1).copy()
        q[[FORWARD, RIGHT]] = 0
        self.body.place(v, q, u)
        turn = rng.uniform(-np.pi, np.pi) if bearing is None else rng.normal(0, bearing)
        way = np.arctan2(-u[RIGHT], u[FORWARD]) + turn
        sink = rng.uniform(*distances) * np.array([np.cos(way), np.sin(way)])
        v.userdata = np.r_[rng.uniform(size=self.field.draws), state[MUSCLE], sink]

    def memory(self, v: View) -> Arrays:
        """Memory of a start: of its muscles, in equilibrium without activations, and its sink."""
        memory, xp = super().memory(v), v.xp
        ends = self.field.draws + np.cumsum([0, *STATE[2:], 2])
        activation, fibre, loaded, sink = (
            v.userdata[..., begin:end] for begin, end in itertools.pairwise(ends.tolist())
        )
        known = activation[..., :1] > 0
        muscles = self.body.memory_of(
            v,
            xp.where(known, activation, memory["muscle_activation"]),
            xp.where(known, fibre, memory["muscle_fibre_length"]),
        )
        stay = memory["stay"] + (0.0 if self.renewed else STANDS_LONGER)
        return {**memory, **muscles, "loaded": loaded, "sink": sink, "stay": stay}

    def terms(self, v: View) -> Arrays:
        """The parts of the reward."""
        xp, away = v.xp, v.memory["sink"] - self._position(v)
        square, activation = total(away * away), self.activation(v)
        ahead = total(self._velocity(v) * away) / xp.clip(xp.sqrt(square), SLOWING, None)
        return {
            "alive": xp.full_like(square, ALIVE),
            "towards": self.towards * xp.clip(ahead / PACE, -1.0, 1.0),
            "near": NEAR_REWARD / (1 + square / NEAR_SCALE**2),
            "effort": -self.effort * total(activation * activation),
        }

    def terminated(self, v: View) -> Array:
        """True for a walker that is about to fall."""
        return self.body.positions(v)[..., UP] < LOW


def states_of(envs: VectorEnv) -> np.ndarray:
    """States of all walkers, (n, 80)."""
    view, body = envs.view, envs.task.body
    names = ("muscle_activation", "muscle_fibre_length", "loaded")
    parts = body.positions(view), body.speeds(view), *(view.memory[name] for name in names)
    return np.concatenate(parts, axis=-1)


def resting(q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A state with muscles in equilibrium and loaded feet, (80,)."""
    return np.r_[q, u, np.zeros(2 * len(MUSCLES)), 1.0, 1.0]


def keep(file: Path, states: Any) -> None:
    """Write states, or leave what is there."""
    with atomic.replacing(file) as part:
        np.save(part, states)


def record(folder: Path) -> None:
    """Write initial states, states of the reflex walk, and some that stand about straight."""
    rng = np.random.default_rng(0)
    standing = []
    for _ in range(STANDING):
        q, u = placed(STRAIGHT)
        q[[TILT, LIST]] = rng.normal(0, (LEAN, LEAN_ASIDE))
        u[[FORWARD, RIGHT]] = rng.normal(0, SPEED, 2)
        standing.append(resting(q, u))
    task = OpenSimWalk(init_pose=START, seen_field="centre", longest_step=PHYSICS)
    act = task.scripted_policy()
    assert act is not None
    walking = walked(task, act, WALKERS, WALK_SEED, range(0, WALK_STEPS, WALK_EVERY))
    keep(folder / "initial.npy", [resting(*placed(pose)) for pose in (STRAIGHT, START)])
    keep(folder / "standing.npy", standing)
    keep(folder / "walking.npy", walking)  # last, as it says that all are there


def walked(task: OpenSimWalk, act: Any, count: int, seed: int, steps: Sequence[int]) -> np.ndarray:
    """States at some steps of walkers that have not fallen, (n, 80)."""
    envs = VectorEnv(task, count, threads=1)
    observation, _ = envs.reset(seed=seed)
    up, rows = np.ones(count, dtype=bool), []
    for step in range(steps[-1] + 1):
        if step in steps:
            rows.append(states_of(envs)[up])
        observation, _, fell, over, _ = envs.step(act(observation))
        up &= ~(fell | over)
    envs.close()
    return np.concatenate(rows)


def train(folder: Path) -> Path:
    """Train all stages; returns the last run."""
    states, run = folder / "states", folder
    if not (states / "walking.npy").exists():
        states.mkdir(exist_ok=True)
        record(states)
    for name, stage in STAGES.items():
        before, run = run, folder / name
        env = {"longest_step": PHYSICS, **stage.env, "states": str(states), "seen_field": "sink"}
        words = [f"{Path(__file__).stem}:{ID}", "--config", "fast", *SETTINGS, *stage.settings]
        words += [f"env.{key}={value}" for key, value in env.items()]
        words += [f"start_from={before}"] * (before != folder)
        words += ["--seed", str(stage.seed), "--cpu-minutes", str(stage.minutes)]
        command = [str(Path(sys.executable).with_name("mjgym")), "train", "td3", *words, "--trust"]
        places = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        subprocess.run(
            [*command, "--out", str(run), *["--resume"] * run.exists()],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
            check=True,
        )
        if name == "stop":
            states = stopped(folder, env)
    return run


def stopped(folder: Path, env: dict[str, Any]) -> Path:
    """Record walkers that the first stage has stopped, beside the other states."""
    out = folder / "states_stopped"
    if not (out / "walking.npy").exists():
        task = ToSinks(**env)
        act = network.load(folder / "stop/policy.npz")
        standing = walked(task, act, STOPPED, STOP_SEED, range(STOP_FIRST, STOP_STEPS, STOP_EVERY))
        out.mkdir(exist_ok=True)
        keep(out / "standing.npy", standing)
        for name in ("initial.npy", "walking.npy"):
            shutil.copy(folder / "states" / name, out)
    return out


def bundled(folder: Path) -> trained.Trained:
    """The policy of a run in half precision, with its score on the id."""
    run = Run(folder)
    last = run.metrics()[-1]
    ours = {"id": SCORED, "module": "", "start_from": "", "env": {"seen_field": "sink"}}
    with contextlib.closing(gymnasium.make(SCORED, seen_field="sink")) as env:
        about = trained.About(
            settings={**run.settings(), **ours},
            env_step=last.env_step,
            updates=last.updates,
            minutes=round(last.wall_s / 60, 2),
            returns=(),
            fingerprint=fingerprint(env),
        )
    policy = run.policy()
    assert isinstance(policy, Policy)
    return bundle_policy.scored(policy, about, half=True)


class FromPublished:
    """A policy of `seen_field=sink` that sees the published observation.

    Args:
        policy: that policy.
    """

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.restart()

    def restart(self, where: np.ndarray | None = None) -> None:
        """Begin episodes, all at once."""
        begin(self.policy)
        self._heading, self._rate = 0.0, 0.0

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """Actions for observations, (n, 339)."""
        return self.policy(self.seen(observation))

    def seen(self, observation: np.ndarray) -> np.ndarray:
        """Observations of `seen_field=sink`, (n, 99)."""
        field, body = np.split(np.array(observation, dtype=float), [2 * SEEN * SEEN], axis=-1)
        rate = body[:, YAW_RATE]
        self._heading = self._heading + OBSERVED_EVERY * (self._rate + rate) / 2
        self._rate = rate
        sink = sink_seen(field.reshape(-1, 2, SEEN, SEEN))
        cosine, sine = np.cos(self._heading), np.sin(self._heading)
        for pitch, roll in LEANS:
            forward, right = body[:, pitch].copy(), body[:, roll].copy()
            body[:, pitch] = cosine * forward - sine * right
            body[:, roll] = sine * forward + cosine * right
        return np.concatenate([sink, body], axis=-1)


def sink_seen(field: np.ndarray) -> np.ndarray:
    """The way to the sink that `seen_field=sink` shows, (n, 2) m, for maps (n, 2, 11, 11).

    Where the lines along the velocities meet, by least squares of the distances to them.
    """
    places = SEEN_SPACING * (np.arange(SEEN) - SEEN // 2)
    x, y = np.meshgrid(places, places, indexing="ij")
    speed = np.hypot(*np.moveaxis(field, 1, 0)) + STILL
    normal = np.stack([-field[:, 1] / speed, field[:, 0] / speed])
    offset = normal[0] * x + normal[1] * y
    weight = 1.0 * (speed > SLOW)
    for _ in range(3):
        matrix = np.einsum("inxy,jnxy,nxy->nij", normal, normal, weight)
        vector = np.einsum("inxy,nxy,nxy->ni", normal, offset, weight)
        sink = np.linalg.solve(matrix, vector[..., None])[..., 0]
        off = (x - sink[:, :1, None]) ** 2 + (y - sink[:, 1:, None]) ** 2
        weight = (off > BENT**2) / (off + STILL)  # near it, interpolation bends them
    distance = np.hypot(*sink.T)[:, None]
    return sink * FAR_SINK / np.maximum(distance, FAR_SINK)


def main() -> None:
    """Train, and bundle the last policy."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, help="folder of the states and of the stages' runs")
    folder = parser.parse_args().run.resolve()
    print(bundle_policy.put(bundled(train(folder)), trained.FOLDER))


if __name__ == "__main__":
    main()
