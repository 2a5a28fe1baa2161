"""Speed of an id: of one environment, of a batch, and of the engine alone."""

import copy
import importlib
import itertools
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np
from mujoco import rollout

from mjgym.actions import drawable
from mjgym.loop.bound_task import BoundTask
from mjgym.loop.episode import Episodes
from mjgym.loop.hooks import defined_hooks
from mjgym.sim import Single
from mjgym.sim.engine import quiet
from mjgym.sim.single import ONLY
from mjgym.task import Task
from mjgym.task.models import compile_model
from mjgym.util.processes import allowed_cores, last_word

WARM_UP = 100  # control steps before the first measurement, for objects to land
RAMP = 3  # uncounted control steps before each: cold caches, sleeping threads
PHYSICS_STEPS = 128  # at least, in one call of the engine alone
APART = 4  # control steps between two states that the engine alone starts from
# Minimum period of random actions in control steps: a short one shakes a body, and makes contacts
# that random actions do not make.
CYCLE = 128
REPEATS = 3  # of single calls such as a reset
MEMORY_STEPS = 10  # to include memory touched only by stepping
MEMORY_TIMEOUT = 300.0  # s


@dataclass
class Subject:
    """Something to time."""

    call: Callable[[], bool]  # makes one call; returns whether all episodes have ended with it
    control_steps: int
    simulations: int = 1
    # Starts new episodes where they have ended; None if not needed
    restart: Callable[[], Any] | None = None
    reset: Callable[[], Any] | None = None  # resets all episodes; None if there are no episodes
    close: Callable[[], Any] = lambda: None  # stops threads

    def advance(self, control_steps: int) -> None:
        """Make at least this number of control steps, resetting episodes that end."""
        for _ in range(-(-control_steps * self.simulations // self.control_steps)):
            if self.call() and self.restart is not None:
                self.restart()


def single(id: str, **kwargs: Any) -> Subject:
    """`gymnasium.make`, one environment with random actions."""
    env = gymnasium.make(id, **kwargs)
    env.reset(seed=0)
    space: Any = env.action_space
    actions = random_actions(space.low, space.high, (), np.float32, 1000, 0)

    def call() -> bool:
        _, _, terminated, truncated, _ = env.step(next(actions))
        return bool(terminated or truncated)

    return Subject(call, 1, restart=env.reset, reset=env.reset, close=env.close)


def batch(
    id: str,
    num_envs: int,
    *,
    threads: int | None = None,
    on: Mapping[str, Any] | None = None,
    seed: int = 0,
    **kwargs: Any,
) -> Subject:
    """`gymnasium.make_vec`, autoreset included, with random actions.

    Args:
        on: `backend` and `device` instead, where actions are beforehand and results stay.
    """
    where = {"threads": threads} if on is None else on
    envs: Any = gymnasium.make_vec(id, num_envs=num_envs, **where, **kwargs)
    observation, _ = envs.reset(seed=seed)
    space = envs.single_action_space
    # A task with players has num_envs matches, and a row for each player.
    actions = random_actions(space.low, space.high, (envs.num_envs,), np.float32, CYCLE, seed)
    if on is not None:
        entries = observation.values() if isinstance(observation, dict) else (observation,)
        to_device = next(iter(entries)).new_tensor
        actions = itertools.cycle([to_device(a) for a in itertools.islice(actions, CYCLE)])

    def call() -> bool:
        _, _, terminations, truncations, _ = envs.step(next(actions))
        return bool((terminations | truncations).all())  # waits for the device

    # The call after the end of the episodes resets them.
    return Subject(call, num_envs, num_envs, restart=call, reset=envs.reset, close=envs.close)


def engine(id: str, num_envs: int, *, threads: int | None = None, seed: int = 0) -> Subject:
    """The engine's `mj_step` in a C loop: the upper bound of any environment's speed.

    `mujoco.rollout` steps the task's model from initial states of the task, one MjData for each
    thread, with controls that change every control step. If a task computes controls from actions,
    as a controller's torques, those of some control steps are recorded beforehand, from states
    throughout episodes of random actions, and each call repeats these steps. No observations,
    rewards or resets are computed. A call makes at least PHYSICS_STEPS of each simulation, after
    which its warm start is dropped. The loop also copies state and sensors after each step;
    compared with `mj_step(model, data, nstep)`, which copies nothing, that costs 0 to 4 % (measured
    on cartpole and walker).
    """
    env: Any = gymnasium.make(id)
    limit = env.spec.max_episode_steps or np.inf
    env = env.unwrapped
    threads = min(threads or allowed_cores(), num_envs)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    starts = np.empty((num_envs, mujoco.mj_stateSize(env.model, kind)))
    models = []
    substeps = round(env.control_timestep / env.physics_timestep)
    control_steps = -(-PHYSICS_STEPS // substeps)
    physics_steps = control_steps * substeps
    space, nu = env.action_space, env.model.nu
    recorded = "control" in defined_hooks(env.task) or space.shape != (nu,)
    controls_of = np.empty((num_envs, physics_steps, nu)) if recorded else None
    wandering = random_actions(space.low, space.high, (), space.dtype, CYCLE, seed)
    for i in range(num_envs):
        if controls_of is None or i == 0:
            env.reset(seed=seed + i)
        else:
            _wander(env, itertools.islice(wandering, APART))
        mujoco.mj_getState(env.model, env.data, starts[i], kind)
        if env.task.varies:
            models.append(copy.copy(env.model))
        if controls_of is not None:
            lows, highs = space.low, space.high
            actions = random_actions(lows, highs, (), np.float64, control_steps, seed + i)
            controls_of[i] = _controls(
                env.task, env.get_state(), itertools.islice(actions, control_steps)
            )
    model, now = env.model, starts.copy()
    data = [mujoco.MjData(model) for _ in range(threads)]
    states = np.empty((num_envs, physics_steps, starts.shape[1]))
    sensors = np.empty((num_envs, physics_steps, model.nsensordata))
    controls: Iterator[np.ndarray]
    if controls_of is not None:
        controls = itertools.repeat(controls_of)
    else:
        count = -(-CYCLE // control_steps)
        drawn = random_actions(
            space.low, space.high, (num_envs, control_steps), np.float64, count=count, seed=seed
        )
        controls = itertools.cycle(
            [np.repeat(actions, substeps, axis=1) for actions in itertools.islice(drawn, count)]
        )
    # The engine resets a diverged simulation, and its time.
    shortest = (physics_steps - 0.5) * env.physics_timestep  # s
    pool = rollout.Rollout(nthread=threads if threads > 1 else 0)

    def call() -> bool:
        with quiet():
            pool.rollout(
                models or model,
                data,
                now,
                next(controls),
                nstep=physics_steps,
                state=states,
                sensordata=sensors,
                chunk_size=max(1, num_envs // (threads * 64)),
            )
        ends = states[:, -1]  # the first entry is the time
        if controls_of is not None:
            return False
        over = (ends[:, 0] - now[:, 0] < shortest) | (ends[:, 0] > limit * env.control_timestep)
        now[...] = ends
        if over.any():
            now[over] = starts[over]
        return False

    return Subject(call, control_steps * num_envs, num_envs, close=pool.close)


def _wander(env: Any, actions: Iterable[np.ndarray]) -> None:
    for action in actions:
        *_, terminated, truncated, _ = env.step(action)
        if terminated or truncated:
            env.reset()


class _Recording(Single):
    """A simulation that records the controls of each physics step."""

    def __init__(self, task: Task) -> None:
        super().__init__(compile_model(task), task.varies)
        self.controls: list[np.ndarray] = []

    compiles = False  # so that every physics step passes through `step`

    def step(self, control: Any, n: int, where: Any | None = None, *, forces: bool = False) -> None:
        self.controls.extend([np.array(control)] * n)
        super().step(control, n, where, forces=forces)


def _controls(task: Task, state: Mapping[str, Any], actions: Iterable[np.ndarray]) -> np.ndarray:
    simulation, rng = _Recording(task), np.random.default_rng(0)
    episodes = Episodes(BoundTask(task, simulation), lambda i: rng)
    episodes.set_state({name: value[None] for name, value in state.items()}, ONLY)
    for action in actions:
        episodes.step(action)
    return np.array(simulation.controls)


def random_actions(
    low: np.ndarray, high: np.ndarray, lead: tuple[int, ...], dtype: Any, count: int, seed: int
) -> Iterator[np.ndarray]:
    """An endless cycle through `count` uniform actions; -1 and 1 bound unlimited numbers."""
    low, high = drawable(low, high)
    drawn = np.random.default_rng(seed).uniform(low, high, (count, *lead, *low.shape))
    return itertools.cycle(list(drawn.astype(dtype)))


def reset_seconds(subject: Subject) -> float:
    """Median seconds of a reset of all episodes; 0 without episodes."""
    if subject.reset is None:
        return 0.0
    return _median_seconds(subject.reset)


def seconds_per_step(subject: Subject, seconds: float) -> float:
    """Seconds per control step of one simulation in mid-episode."""
    clock, call, restart = time.perf_counter, subject.call, subject.restart
    subject.advance(RAMP)
    calls, spent = 0, 0.0
    while spent < seconds or not calls:
        started = clock()
        ended = call()
        spent += clock() - started
        calls += 1
        if ended and restart is not None:
            restart()
    return spent / calls / subject.control_steps


def rates(
    subjects: Mapping[str, Subject], seconds: float, episode_steps: float, rounds: int = 3
) -> dict[str, list[float]]:
    """Control steps per second of each subject, including the resets' share.

    In each round the subjects are timed one after the other, so that ratios within a round compare
    neighbours in time. A reset counts as often as an episode ends.

    Args:
        seconds: of measurement for each subject, over all rounds.
        episode_steps: control steps in an episode; may be infinite.
    """
    resets = {name: reset_seconds(s) / s.simulations for name, s in subjects.items()}
    for subject in subjects.values():
        subject.advance(WARM_UP)
    measured: dict[str, list[float]] = {name: [] for name in subjects}
    for i in range(rounds):
        for name in list(subjects)[:: -1 if i % 2 else 1]:
            per_step = seconds_per_step(subjects[name], seconds / rounds)
            measured[name].append(1 / (per_step + resets[name] / episode_steps))
    return measured


def creation_seconds(
    id: str, num_envs: int, *, threads: int | None = None, on: Mapping[str, Any] | None = None
) -> float:
    """Median seconds of a few calls of make (for one) or make_vec."""

    def create() -> None:
        make(id, num_envs, threads=threads, on=on).close()

    return _median_seconds(create)


def make(
    id: str, num_envs: int, *, threads: int | None = None, on: Mapping[str, Any] | None = None
) -> Any:
    """`gymnasium.make` for one environment, `gymnasium.make_vec` for more or on a device."""
    if on is not None:
        return gymnasium.make_vec(id, num_envs=num_envs, **on)
    if num_envs == 1:
        return gymnasium.make(id)
    return gymnasium.make_vec(id, num_envs=num_envs, threads=threads)


def memory_on_device(id: str, num_envs: int, device: str, backend: str = "warp") -> float:
    """Bytes on a device for the arrays of each environment.

    Temporary memory of a step and the caches of Warp and torch are not counted.
    """
    envs = make(id, num_envs, on={"backend": backend, "device": device})
    held = envs.nbytes / num_envs
    envs.close()
    return float(held)


def _median_seconds(act: Callable[[], Any]) -> float:
    durations = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        act()
        durations.append(time.perf_counter() - started)
    return statistics.median(durations)


def memory(id: str, num_envs: int, *, threads: int | None = None) -> float:
    """Bytes by which a fresh process grows for each environment of a batch, or for a single one.

    Another environment of the id is made first, so that libraries do not count.
    """
    code = "import sys; from mjgym.checks.benchmark import growth; print(growth(*sys.argv[1:]))"
    task_class = gymnasium.spec(id).kwargs["task_class"]
    arguments = [task_class.partition(":")[0], id, str(num_envs), str(threads or allowed_cores())]
    paths = os.pathsep.join(path for path in sys.path if path)
    return float(last_word(["-c", code, *arguments], MEMORY_TIMEOUT, {"PYTHONPATH": paths}))


def growth(module: str, id: str, num_envs: str, threads: str) -> float:
    """Measure memory; `memory` runs this in a separate process."""
    importlib.import_module(module)
    first = make(id, 1)  # kept, so that its memory is not reused
    first.reset(seed=0)
    before = resident()
    envs = make(id, int(num_envs), threads=int(threads))
    envs.reset(seed=0)
    for _ in range(MEMORY_STEPS):
        envs.step(np.zeros(envs.action_space.shape, np.float32))
    return (resident() - before) / int(num_envs)


def resident() -> int:
    """Resident memory of this process in bytes; its peak if the system does not tell."""
    import resource  # not on Windows

    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
    return pages * resource.getpagesize()
