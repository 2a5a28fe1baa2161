"""Speed of mjgym on this machine: `pytest benchmarks --benchmark-only`.

The times of pytest-benchmark are those of a round, and `extra_info` (in `--benchmark-json`) has the
relevant number: control steps per second, microseconds per reset, megabytes per sub-environment.
All random actions are drawn beforehand. `peers.py` compares with others.
"""

import itertools
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from comparison import footprint, subjects
from comparison.subjects import Settings
from pytest_benchmark.fixture import BenchmarkFixture

import mjgym
from mjgym.checks.benchmark import random_actions
from mjgym.envs.vector import allowed_cores

SIZES = {
    "dmc/cartpole-swingup-v0": (1, 16, 256, 1024),
    "dmc/walker-walk-v0": (1, 16, 256, 1024),
    "dmc/humanoid-run-v0": (1, 16, 256, 1024),
    "dmc/quadruped-run-v0": (1, 16, 256, 1024),
    "dmc/dog-run-v0": (1, 8, 32),
}
IDS = [id for id in SIZES if id in mjgym.registry.ids()]
BATCHES = [(id, n) for id in IDS for n in SIZES[id]]
WARM_UP = 100  # control steps, after which objects have settled
SINGLE_STEPS = 200  # in a round
BATCH_STEPS = 512  # per round, over all sub-environments; at least 4 calls
ROUNDS = 10
MEMORY_ENVS = 1024


def timed(
    benchmark: BenchmarkFixture, run: Callable[[], Any], rounds: int = ROUNDS
) -> float | None:
    """Time rounds of a function; the median in seconds, None without timing."""
    benchmark.pedantic(run, rounds=rounds, warmup_rounds=1)
    return benchmark.stats.stats.median if benchmark.stats else None


def actions_of(space: Any, lead: tuple[int, ...], count: int) -> Any:
    return random_actions(space.low, space.high, lead, np.float32, count=count, seed=0)


@pytest.mark.parametrize("id", IDS)
def test_single_step(benchmark: BenchmarkFixture, id: str) -> None:
    """Single environment through `gymnasium.make`; episodes that end in a round are reset."""
    env = gymnasium.make(id)
    env.reset(seed=0)
    actions = actions_of(env.action_space, (), 1000)

    def run(steps: int = SINGLE_STEPS) -> None:
        for action in itertools.islice(actions, steps):
            _, _, terminated, truncated, _ = env.step(action)
            if terminated or truncated:
                env.reset()

    run(WARM_UP)
    seconds = timed(benchmark, run)
    if seconds:
        benchmark.extra_info["control_steps_per_second"] = SINGLE_STEPS / seconds
    env.close()


@pytest.mark.parametrize(("id", "num_envs"), BATCHES)
def test_batch_step(benchmark: BenchmarkFixture, id: str, num_envs: int) -> None:
    """Batch through `gymnasium.make_vec` with its defaults: all allowed cores, autoreset on."""
    envs = gymnasium.make_vec(id, num_envs=num_envs)
    envs.reset(seed=0)
    actions = actions_of(envs.single_action_space, (num_envs,), 16)
    calls = max(4, BATCH_STEPS // num_envs)

    def run(steps: int = calls) -> None:
        for action in itertools.islice(actions, steps):
            envs.step(action)

    run(WARM_UP)
    seconds = timed(benchmark, run)
    if seconds:
        benchmark.extra_info["control_steps_per_second"] = calls * num_envs / seconds
        benchmark.extra_info["threads"] = allowed_cores()
    envs.close()


@pytest.mark.parametrize("id", IDS)
def test_single_reset(benchmark: BenchmarkFixture, id: str) -> None:
    """A new episode in a single environment."""
    env = gymnasium.make(id)
    env.reset(seed=0)
    seconds = timed(benchmark, env.reset, rounds=100)
    if seconds:
        benchmark.extra_info["microseconds_per_reset"] = seconds * 1e6
    env.close()


@pytest.mark.parametrize("id", IDS)
def test_batch_reset(benchmark: BenchmarkFixture, id: str) -> None:
    """New episodes in all sub-environments of a batch at once."""
    num_envs = min(256, SIZES[id][-1])
    envs = gymnasium.make_vec(id, num_envs=num_envs)
    envs.reset(seed=0)
    seconds = timed(benchmark, envs.reset)
    if seconds:
        benchmark.extra_info["microseconds_per_reset"] = seconds / num_envs * 1e6
    envs.close()


@pytest.mark.parametrize("id", IDS)
def test_creation(benchmark: BenchmarkFixture, id: str) -> None:
    """`gymnasium.make`, with the model composed and compiled."""
    timed(benchmark, lambda: gymnasium.make(id).close())


@pytest.mark.parametrize("id", IDS)
def test_batch_creation(benchmark: BenchmarkFixture, id: str) -> None:
    """`gymnasium.make_vec` of 256 sub-environments (32 dogs)."""
    num_envs = min(256, SIZES[id][-1])
    timed(benchmark, lambda: gymnasium.make_vec(id, num_envs=num_envs).close())


def test_import(benchmark: BenchmarkFixture) -> None:
    """`import mjgym` beyond gymnasium and mujoco; a round is a fresh process."""
    both = "import gymnasium, mujoco"
    seconds: list[float] = []

    def run() -> None:
        seconds.append(footprint.import_time("import mjgym", both, repeats=1))

    benchmark.pedantic(run, rounds=5)
    benchmark.extra_info["import_seconds"] = float(np.median(seconds))


@pytest.mark.parametrize("id", IDS)
def test_memory(benchmark: BenchmarkFixture, id: str) -> None:
    """Growth of a process per sub-environment of a batch of 1024 (32 dogs)."""
    settings = Settings(id, min(MEMORY_ENVS, SIZES[id][-1]), allowed_cores())
    taken = benchmark.pedantic(lambda: footprint.of_batch(subjects.batch, settings), rounds=1)
    benchmark.extra_info["megabytes_per_env"] = taken.bytes_per_env / footprint.MEGABYTE
    benchmark.extra_info["creation_seconds"] = taken.seconds
