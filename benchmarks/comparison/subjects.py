"""Timed subjects: our batch and single environment, two peers, the engine's loop.

Each function here builds one subject and runs in a separate process. All are driven by `measure`
with actions drawn beforehand, uniformly from the control ranges (from [-1, 1] without a range).
"""

import contextlib
import dataclasses
import functools
import itertools
import multiprocessing
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

WARM_UP = 100  # control steps before the first window: objects have settled by then
RESETS = 3  # timed before the warm-up
RAMP = 3  # untimed control steps before each window: caches are cold, threads asleep


@dataclass(frozen=True)
class Settings:
    """Settings of a subject.

    Attributes:
        id: of the task.
        num_envs: simulations of the vectorized subjects.
        threads: number of threads.
        seed: of the first simulation, and of the actions.
        cpu: whether seconds are CPU time of all threads, instead of wall-clock time: for machines
            with other load.
    """

    id: str
    num_envs: int
    threads: int
    seed: int = 0
    cpu: bool = False


@dataclass
class Subject:
    """A subject to time.

    Attributes:
        advance: makes one call with an action.
        actions: to cycle through.
        simulations: number that each call advances.
        control_steps: number per call; only the engine's loop makes more than one.
        ended: whether the call's result says that all episodes have ended.
        restart: then begins new ones; None without episodes.
        reset: begins all new episodes, as its user would; None without episodes.
        begin: goes to the start from which it is timed; None to go on from the last reset.
        release: releases threads.
        warm_up: control steps before the first window.
        cpu: CPU seconds so far.
    """

    advance: Callable[[Any], Any]
    actions: Iterable[Any]
    simulations: int = 1
    control_steps: int = 1
    ended: Callable[[Any], bool] = lambda result: False
    restart: Callable[[], Any] | None = None
    reset: Callable[[], Any] | None = None
    begin: Callable[[], Any] | None = None
    release: Callable[[], Any] = lambda: None
    warm_up: int = WARM_UP
    cpu: Callable[[], float] = time.process_time


Builder = Callable[[Settings], Subject]
"""Builds a subject, in the process that it is timed in."""


@dataclass
class Window:
    """Counts of one measurement.

    Attributes:
        calls: number of calls of `advance`.
        seconds: spent in them.
        restarts: seconds of each restart within the window; not part of `seconds`.
    """

    calls: int = 0
    seconds: float = 0.0
    restarts: list[float] = field(default_factory=list)


def prepare(subject: Subject, *, cpu: bool = False) -> list[float]:
    """Time resets, then warm up the episodes; returns the resets' durations in seconds."""
    clock, durations = subject.cpu if cpu else time.perf_counter, []
    if subject.reset is not None:
        subject.reset()
        for _ in range(RESETS):
            started = clock()
            subject.reset()
            durations.append(clock() - started)
    if subject.begin is not None:
        subject.begin()
    for action in itertools.islice(subject.actions, -(-subject.warm_up // subject.control_steps)):
        subject.advance(action)
    return durations


def measure(subject: Subject, seconds: float, *, cpu: bool = False) -> Window:
    """Go on where the last window ended, until calls and restarts have taken `seconds`.

    With `cpu`, seconds are CPU time.

    Calls are timed individually, without the check for the end of episodes, and restarts
    separately, because a window has zero to two of them by chance. `report.rate` combines them in
    the proportion of an episode.
    """
    clock, advance, ended, restart = (
        subject.cpu if cpu else time.perf_counter,
        subject.advance,
        subject.ended,
        subject.restart,
    )
    actions = iter(subject.actions)
    for action in itertools.islice(actions, -(-RAMP // subject.control_steps)):
        if ended(advance(action)) and restart is not None:
            restart()
    window = Window()
    spent = 0.0
    while spent < seconds:
        action = next(actions)
        started = clock()
        result = advance(action)
        duration = clock() - started
        window.calls += 1
        window.seconds += duration
        spent += duration
        if ended(result) and restart is not None:
            started = clock()
            restart()
            duration = clock() - started
            window.restarts.append(duration)
            spent += duration
    return window


def batch(settings: Settings, **options: Any) -> Subject:
    """`gymnasium.make_vec` of our id, with float32 actions and autoreset.

    Args:
        settings: of the benchmark.
        **options: of `make_vec`, with its defaults.
    """
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)

    envs = gymnasium.make_vec(
        settings.id, num_envs=settings.num_envs, threads=settings.threads, **options
    )
    envs.reset(seed=settings.seed)
    return vector(envs, np.float32, settings)


def engine(settings: Settings) -> Subject:
    """The engine's loop alone over as many simulations as the batch has.

    Its call is that of the batch in each control step: all simulations, one after the other on each
    thread, each with a separate MjData. It starts from a state of a batch with random actions, and
    returns there when the batch's episodes would end.
    """
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)

    envs: Any = gymnasium.make_vec(
        settings.id, num_envs=settings.num_envs, threads=settings.threads
    ).unwrapped
    envs.reset(seed=settings.seed)
    moving = vector(envs, np.float32, settings)
    for action in itertools.islice(moving.actions, WARM_UP):
        moving.advance(action)
    simulations = envs._simulations
    state, control = simulations.batch.state, simulations.view.ctrl
    start, steps = state.copy(), itertools.count(1)
    substeps = round(envs.control_timestep / envs.physics_timestep)
    length = envs.max_episode_steps or float("inf")

    def advance(action: np.ndarray) -> bool:
        control[...] = action
        simulations.batch.advance(None, substeps, forces=False)
        return next(steps) % length == 0

    def restart() -> None:
        state[...] = start

    return Subject(
        advance=advance,
        actions=moving.actions,
        simulations=settings.num_envs,
        ended=bool,
        restart=restart,
        release=envs.close,
    )


def bare(settings: Settings) -> Subject:
    """Physics of one environment alone: the engine's steps of a control step, from Python."""
    import gymnasium

    made = single(settings)
    env: Any = gymnasium.make(settings.id).unwrapped
    env.reset(seed=settings.seed)
    substeps = round(env.control_timestep / env.physics_timestep)
    simulation, steps = env._episodes.simulation, itertools.count(1)
    length = gymnasium.spec(settings.id).max_episode_steps or float("inf")

    def advance(action: np.ndarray) -> bool:
        simulation.step(action, substeps)
        return next(steps) % length == 0

    return Subject(
        advance=advance,
        actions=made.actions,
        ended=bool,
        restart=lambda: env.reset(seed=settings.seed),
        begin=lambda: env.reset(seed=settings.seed),
        release=env.close,
    )


def envpool(settings: Settings) -> Subject:
    """EnvPool's Gymnasium interface in its synchronous mode, with actions of its dtype."""
    from comparison.other_suites import make_envpool

    envs = make_envpool(settings.id, settings.num_envs, settings.threads, seed=settings.seed)
    envs.reset()
    return vector(envs, envs.action_space.dtype, settings)


def sync(settings: Settings) -> Subject:
    """Gymnasium's `SyncVectorEnv` of its own environment: one after the other, in one process."""
    return _gymnasium(settings, "SyncVectorEnv")


def asynchronous(settings: Settings) -> Subject:
    """Gymnasium's `AsyncVectorEnv` of its own environment: a process for each."""
    subject = _gymnasium(settings, "AsyncVectorEnv")
    children = [child.pid for child in multiprocessing.active_children()]
    return dataclasses.replace(
        subject, cpu=lambda: time.process_time() + sum(map(_cpu_seconds, children))
    )


def _gymnasium(settings: Settings, kind: str) -> Subject:
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)
    from comparison.other_suites import gymnasium_name

    make = functools.partial(gymnasium.make, gymnasium_name(settings.id))
    envs = getattr(gymnasium.vector, kind)([make] * settings.num_envs)
    envs.reset(seed=settings.seed)
    return vector(envs, np.float32, settings)


def _cpu_seconds(pid: int) -> float:
    """CPU seconds of a process's first thread."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e9


def vector(envs: Any, dtype: Any, settings: Settings) -> Subject:
    """A Gymnasium-like vector environment with a `step` that resets after an episode's end."""
    from mjgym.checks.benchmark import CYCLE, random_actions

    space = getattr(envs, "single_action_space", envs.action_space)
    rows = getattr(envs, "num_envs", settings.num_envs)  # one per player, if there are players
    actions = random_actions(space.low, space.high, (rows,), dtype, count=CYCLE, seed=settings.seed)
    return Subject(
        advance=envs.step,
        actions=actions,
        simulations=settings.num_envs,
        ended=lambda result: bool((result[2] | result[3]).all()),
        restart=lambda: envs.step(next(iter(actions))),
        reset=envs.reset,
        release=envs.close,
    )


def single(settings: Settings) -> Subject:
    """`gymnasium.make` of our id, with its default wrappers."""
    import gymnasium

    from mjgym.checks.benchmark import random_actions

    env = gymnasium.make(settings.id)
    env.reset(seed=settings.seed)
    space: Any = env.action_space
    return Subject(
        advance=env.step,
        actions=random_actions(
            space.low, space.high, (), np.float32, count=1000, seed=settings.seed
        ),
        ended=lambda result: result[2] or result[3],
        restart=env.reset,
        reset=env.reset,
        begin=lambda: env.reset(seed=settings.seed),
        release=env.close,
    )


def dm_control(settings: Settings) -> Subject:
    """`dm_control.suite.load` of the same task, stepped through its interface.

    It is timed from our start: some terrains cost several times as much as others.
    """
    import gymnasium

    import mjgym  # noqa: F401  (registers the ids)
    from comparison.other_suites import make_dm_control

    env = make_dm_control(settings.id, seed=settings.seed)
    ours: Any = gymnasium.make(settings.id).unwrapped

    def begin() -> None:
        ours.reset(seed=settings.seed)
        env.reset()
        for name in ours.task.varies:
            getattr(env.physics.model, name)[...] = getattr(ours.model, name)
        for name in ("qpos", "qvel", "act"):
            getattr(env.physics.data, name)[...] = getattr(ours.data, name)
        env.physics.forward()

    return with_time_steps(env, np.float32, settings, begin)


def with_time_steps(
    env: Any, dtype: Any, settings: Settings, begin: Callable[[], Any] | None = None
) -> Subject:
    """An environment of dm_env's interface.

    Args:
        env: before its first episode.
        dtype: of the actions.
        settings: for the seed of the actions.
        begin: see `Subject`.
    """
    from mjgym.checks.benchmark import random_actions

    env.reset()
    spec = env.action_spec()
    return Subject(
        advance=env.step,
        actions=random_actions(
            spec.minimum, spec.maximum, (), dtype, count=1000, seed=settings.seed
        ),
        ended=lambda result: result.last(),
        restart=env.reset,
        reset=env.reset,
        begin=begin,
        release=env.close,
    )


def in_process(command: Sequence[str | Path], control_steps: int) -> Subject:
    """A peer's environment in another interpreter's process, driven line by line.

    Args:
        command: starts a process that says "built", answers "reset" with "reset", and a number with
            "going", or with "ended" if an episode has ended in the last of as many control steps.
        control_steps: number per request.
    """
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    requests, answers = process.stdin, process.stdout
    assert requests is not None
    assert answers is not None

    def answer() -> str:
        line = answers.readline()
        if not line:
            raise RuntimeError(f"the peer's process ended with {process.wait()}")
        return line.strip()

    def ask(request: str) -> str:
        requests.write(f"{request}\n")
        return answer()

    def release() -> None:
        requests.close()
        process.wait()

    answer()
    return Subject(
        advance=ask,
        cpu=lambda: _cpu_seconds(process.pid),
        actions=itertools.repeat(str(control_steps)),
        control_steps=control_steps,
        ended=lambda result: result == "ended",
        restart=lambda: ask("reset"),
        reset=lambda: ask("reset"),
        release=release,
    )


def limit(settings: Settings) -> Subject:
    """`mj_step` in a C loop on all threads: an upper bound for any environment."""
    from mjgym.checks.benchmark import engine

    n = settings.num_envs
    loop = engine(settings.id, n, threads=settings.threads, seed=settings.seed)
    return Subject(
        advance=lambda action: loop.call(),
        actions=itertools.repeat(None),  # it has its own
        simulations=n,
        control_steps=loop.control_steps // n,
        release=loop.close,
    )


@contextlib.contextmanager
def built(builder: Builder, settings: Settings) -> Any:
    """Build a subject, and release it at the end."""
    subject = builder(settings)
    try:
        yield subject
    finally:
        subject.release()
