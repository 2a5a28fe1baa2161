"""Runs whose CPU time does not depend on other programs, and what is said where it does."""

import contextlib
import json
import subprocess
import sys
import time
import warnings

import pytest
import threadpoolctl

from helpers import training_runs
from helpers.lanes import lane, mostly_nightly
from helpers.small_process import fresh
from mjgym.util.packaged import assets
from mjgym_train.config import read
from mjgym_train.learn import algorithms, thread_pools
from mjgym_train.learn.training import make_trainer
from mjgym_train.run import Run

pytestmark = pytest.mark.torch

SPIN = "while True: pass"
STEPS = 8_000  # of which learning takes three CPU seconds


@pytest.fixture
def two_threads():
    """BLAS and OpenMP pools of two threads, as libraries make them on two cores."""
    with threadpoolctl.threadpool_limits(2):
        yield


def sizes() -> set[int]:
    return {pool["num_threads"] for pool in threadpoolctl.threadpool_info()}


@contextlib.contextmanager
def spinning(processes: int):
    """Other processes that never wait."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(processes)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def small_run(folder):
    return training_runs.trainer(
        folder, *training_runs.SMALL_REPLAY, algorithm="td3", keep_buffer=False
    )


@pytest.mark.slow
@pytest.mark.usefixtures("two_threads")
def test_a_trainer_gives_every_pool_its_threads_and_names_them(tmp_path):
    trainer = small_run(tmp_path)
    assert sizes() == {1}
    with threadpoolctl.threadpool_limits(2):  # as a library that is loaded later has
        trainer.train()
        assert sizes() == {1}
    learner = json.loads(trainer.run_folder.fingerprint_file.read_text())["learner"]
    assert learner["thread_pools"] == thread_pools.described()
    assert all(line.endswith(": 1 thread") for line in learner["thread_pools"])
    assert any(line.startswith("openblas") for line in learner["thread_pools"])
    assert learner["updates_per_cpu_second"] > 0


def test_a_run_whose_rate_halves_says_so_once(tmp_path):
    trainer = small_run(tmp_path)

    def pass_by(steps: int, updates: int, seconds: float) -> list[str]:
        trainer.env_step += steps
        trainer.updates += updates
        trainer._cpu_seconds += seconds
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            trainer._watch_rate()
        return [str(one.message) for one in said]

    assert pass_by(8_000, 1_000, 10.0) == []
    assert pass_by(8_000, 1_000, 19.0) == []
    assert pass_by(3_000, 2_000, 10.0) == []  # of more updates a step, not of other programs
    (said,) = pass_by(3_000, 900, 10.0)
    assert said.startswith("90 updates per CPU second, after 200 earlier")
    assert pass_by(3_000, 90, 10.0) == []
    trainer.close()


@pytest.mark.parametrize("given", mostly_nightly([{}, {"OMP_NUM_THREADS": "2"}], 2))
def test_commands_have_one_thread_unless_the_user_says_otherwise(given, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    program = (
        "import sys, mjgym_command, threadpoolctl\n"
        "sys.argv = ['mjgym', 'plan', 'dmc/pendulum-swingup-v0', '--steps', '1']\n"
        "try: mjgym_command.main()\n"
        "except SystemExit as end: assert not end.code\n"
        "print([pool['num_threads'] for pool in threadpoolctl.threadpool_info()])"
    )
    assert set(json.loads(fresh(program).splitlines()[-1])) == {2 if given else 1}


@lane(4, 5)
@pytest.mark.compiled
@pytest.mark.usefixtures("two_threads")
def test_beside_spinning_processes_a_run_computes_in_one_thread(tmp_path):
    """Its updates take the CPU time: threads of a pool that wait for a core would spin in most."""
    run = Run(tmp_path / "run")
    settings = ["tensorboard=false", "evaluations=1", "evaluation_episodes=1"]
    config = read(
        algorithms.find("td3").Config,
        [assets() / "training" / "fast.yaml"],
        settings,
        algorithm="td3",
        id="dmc/walker-walk-v0",
        steps=STEPS,
    )
    run.create(config)
    trainer = make_trainer(run, config)
    whole, own = time.process_time(), time.thread_time()
    with spinning(2):
        trainer.train()
    own, whole = time.thread_time() - own, time.process_time() - whole
    assert own >= 0.9 * whole
