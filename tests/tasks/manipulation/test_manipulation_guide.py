"""The guide's task with the arm in one file: what the guide says is so."""

import importlib
import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from helpers.guide_code import modules, write_modules
from helpers.places import ASSETS
from helpers.rollouts import actions_for, equal
from helpers.suite import gymnasium_checker
from mjgym.checks import check
from mjgym.task import registrations

GUIDE = ASSETS / "guides" / "manipulation.md"
NAME = "press_with_brick"
ID = "example/press_with_brick-v0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the guide's modules lie as files."""
    folder = tmp_path_factory.mktemp("guide")
    write_modules(folder, GUIDE)
    return folder


@pytest.fixture(scope="module")
def script(folder):
    """The file as a module; its id is gone again for the tests that look at all ids."""
    sys.path.insert(0, str(folder))
    yield importlib.import_module(NAME)
    sys.path.remove(str(folder))
    sys.modules.pop(NAME)
    registrations.pop(ID)
    gymnasium.registry.pop(ID)


def test_the_file_is_short():
    assert len(modules(GUIDE)[NAME].splitlines()) <= 80


@pytest.mark.slow
def test_the_program_runs(folder):
    program = [sys.executable, str(folder / f"{NAME}.py")]
    done = subprocess.run(program, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rewards [")


@pytest.mark.slow
def test_the_task_keeps_the_promises_of_tasks(script):
    gymnasium_checker(gymnasium.make(ID))
    findings = check(ID)
    assert len(findings) > 10
    assert [f for f in findings if f.status == "fail"] == []


def test_slots_equal_single_runs(script):
    env, envs = gymnasium.make(ID), gymnasium.make_vec(ID, num_envs=3)
    assert equal(envs.reset(seed=0)[0][2], env.reset(seed=2)[0])
    for actions in actions_for(envs, 10):
        batch, single = envs.step(actions), env.step(actions[2])
        assert equal(batch[0][2], single[0])
        assert batch[1][2] == single[1]


def brick_on_button(env, height, speed=0.0):
    """A state with the brick over the button, falling at a speed (m/s)."""
    data = env.unwrapped.data
    qpos, qvel = data.qpos.copy(), data.qvel.copy()
    joint = env.unwrapped.model.joint("brick/")
    x, y, _ = data.body("button/cap").xpos
    start, dof = joint.qposadr[0], joint.dofadr[0]
    qpos[start : start + 7] = x, y, height, 1, 0, 0, 0
    qvel[dof + 2] = -speed
    return {"qpos": qpos, "qvel": qvel}


def test_a_brick_that_lies_on_the_button_is_too_light_and_one_that_hits_it_presses_it(script):
    env = gymnasium.make(ID, dtype="float64")
    env.reset(seed=0)
    env.unwrapped.set_state(brick_on_button(env, 0.0185))
    for _ in range(25):
        _, reward, _, _, info = env.step(np.zeros(9))
    assert not info["success"]
    assert 0.05 < reward < 0.1  # it is near
    env.unwrapped.set_state(brick_on_button(env, 0.03, speed=2.0))
    rewards = [env.step(np.zeros(9))[1] for _ in range(5)]
    assert max(rewards) > 0.9
    info = env.step(np.zeros(9))[-1]
    assert info["success_once"]
