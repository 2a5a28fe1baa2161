"""The example of a task with the arm in one file: what the script says is so."""

import importlib
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from rollouts import actions_for, equal
from suite import gymnasium_checker

from mjgym.checks import check
from mjgym.task import registrations

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "examples" / "press_with_brick.py"
ID = "example/press_with_brick-v0"
PRESSED = 0.006  # m


@pytest.fixture(scope="module")
def script():
    """The script as a module; its id is gone again for the tests that look at all ids."""
    sys.path.insert(0, str(SCRIPT.parent))
    yield importlib.import_module(SCRIPT.stem)
    sys.path.remove(str(SCRIPT.parent))
    sys.modules.pop(SCRIPT.stem)
    registrations.pop(ID)
    gymnasium.registry.pop(ID)


def test_the_file_is_short():
    assert len(SCRIPT.read_text().splitlines()) <= 80


def test_the_program_runs():
    done = subprocess.run(
        [sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("rewards [")


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
