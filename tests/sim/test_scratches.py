"""Starts in which physics runs: written by several threads, with what one thread would write."""

import threading
from dataclasses import dataclass, field

import gymnasium
import numpy as np
import pytest

from mjgym import VectorEnv
from mjgym.sim.scratches import MIN_STEPS
from mjgym.tasks.dmc.cheetah import LEGS, Cheetah
from mjgym.variation import Uniform

THREADS, COUNT = 3, 12


@dataclass(frozen=True)
class Noted(Cheetah):
    """A cheetah that notes which threads write its starts, and whose start may fail."""

    steps: int = 200
    fails_from: float = 2.0  # of a number within 0 and 1
    threads: list = field(default_factory=list)

    def initialize(self, v, rng):
        self.threads.append(threading.current_thread().name)
        v.qpos[LEGS] = rng.uniform(*v.jnt_range[LEGS].T)
        v.step(self.steps)
        if rng.uniform() > self.fails_from:
            raise ValueError(f"a start that fails at {v.qpos[0]:.12f}")


def made(task, threads, **options):
    return VectorEnv(task, COUNT, threads=threads, dtype="float64", **options)


def test_as_by_one_thread():
    one, several = (
        gymnasium.make_vec("dmc/cheetah-run-v0", COUNT, threads=n) for n in (1, THREADS)
    )
    for seed in (7, None):
        starts = [envs.reset(seed=seed)[0] for envs in (one, several)]
        np.testing.assert_array_equal(*starts)
    mask = np.arange(COUNT) % 2 == 0
    starts = [envs.reset(options={"reset_mask": mask})[0] for envs in (one, several)]
    np.testing.assert_array_equal(*starts)
    one.close(), several.close()


@pytest.mark.weekly
@pytest.mark.parametrize(("steps", "several"), [(MIN_STEPS - 1, False), (100 * MIN_STEPS, True)])
def test_where_physics_runs_several_threads_write(steps, several):
    task = Noted(steps=steps)
    envs = made(task, THREADS)
    envs.reset(seed=0)
    task.threads.clear()
    envs.reset(seed=0)
    assert len(task.threads) == COUNT
    assert (len(set(task.threads)) > 1) == several
    assert len(set(task.threads)) <= THREADS
    envs.close()


def test_one_writes_what_is_varied():
    task = Noted()
    envs = made(task, THREADS, vary={"body_mass[torso]": Uniform(5.0, 7.0)})
    task.threads.clear()
    envs.reset(seed=0)
    assert set(task.threads) == {threading.main_thread().name}
    envs.close()


def test_the_first_one_that_fails_is_raised():
    messages = []
    for threads in (1, THREADS):
        envs = made(Noted(fails_from=0.5), threads)
        with pytest.raises(ValueError, match="a start that fails") as error:
            envs.reset(seed=3)
        messages.append(str(error.value))
        envs.close()
    assert messages[0] == messages[1]


def test_closing_ends_the_threads():
    envs = made(Noted(), THREADS)
    envs.reset(seed=0)
    assert any(thread.name.startswith("mjgym-start") for thread in threading.enumerate())
    envs.close()
    assert not any(thread.name.startswith("mjgym-start") for thread in threading.enumerate())
