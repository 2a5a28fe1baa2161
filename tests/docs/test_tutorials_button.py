"""The tutorial whose creature must press a button: what the script says is so."""

import copy
import importlib
import subprocess
import sys

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym
from helpers.places import SCRIPTS
from helpers.suite import gymnasium_checker
from mjgym.checks import check
from mjgym.task import registrations
from mjgym.variation import Uniform

pytestmark = pytest.mark.slow

SCRIPT = SCRIPTS / "tutorials" / "press_button.py"
ID = "tutorial/creature-press_button-v0"
STILL = np.zeros(12)


@pytest.fixture(scope="module")
def script():
    """The script as a module; its id is gone again for the tests that look at all ids."""
    sys.path.insert(0, str(SCRIPT.parent))
    yield importlib.import_module(SCRIPT.stem)
    sys.path.remove(str(SCRIPT.parent))
    sys.modules.pop(SCRIPT.stem)
    registrations.pop(ID)
    gymnasium.registry.pop(ID)


def run(*arguments):
    """What the script prints as a program."""
    command = [sys.executable, str(SCRIPT), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stand(env, height=0.0):
    """A state in which the creature stands with its first foot on the button, or above it (m)."""
    x, y, _ = env.unwrapped.data.body("button").xpos
    # The foot is 0.12 + 0.07 m in front of the torso and 0.1 + 0.012 m below; the button is 8 mm
    # high.
    return {"qpos": [x - 0.19, y, 0.12 + height, 1, 0, 0, 0, *STILL]}


def green(picture):
    """The number of pixels that are clearly green."""
    r, g, b = np.moveaxis(np.asarray(picture)[..., :3].astype(int), -1, 0)
    return int(((g > 2 * r) & (g > 2 * b) & (g > 50)).sum())


@pytest.mark.weekly
def test_the_program_says_that_batch_and_single_runs_are_equal():
    said = run("--steps", 2)
    assert said == "64 sub-environments equal single ones, bit for bit, in 2 steps\n"


def test_importing_the_script_registers_the_id(script):
    assert script.ID == ID
    assert mjgym.registry.ids(tag="tutorial") == [ID]
    assert gymnasium.spec(ID).max_episode_steps == 400
    env = gymnasium.make(ID)
    assert env.action_space.shape == (12,)
    assert env.observation_space.shape == (12 + 12 + 3 + 1,)
    hip, knee = np.deg2rad([30, 60])
    assert np.allclose(env.action_space.high, 6 * [hip, knee])
    assert np.allclose(env.action_space.low, 6 * [-hip, -knee])
    assert gymnasium.make(ID, legs=4).action_space.shape == (8,)


@pytest.mark.weekly
def test_the_task_keeps_the_promises_of_tasks(script):
    gymnasium_checker(gymnasium.make(ID))
    findings = check(ID)
    assert len(findings) > 10
    assert [f for f in findings if f.status == "fail"] == []


@pytest.mark.weekly
def test_the_slots_of_a_batch_equal_single_runs_over_several_episodes(script, monkeypatch):
    # A button among the legs is pressed now and then by random actions.
    monkeypatch.setattr(script, "BUTTON_RADIUS", Uniform(0.0, 0.2))
    limit, steps, seed, n = 5, 14, 11, 64
    envs = gymnasium.make_vec(ID, num_envs=n, max_episode_steps=limit)
    envs.action_space.seed(0)
    actions = [envs.action_space.sample() for _ in range(steps)]
    start = envs.reset(seed=seed)[0]
    batch = [envs.step(action) for action in actions]
    env = gymnasium.make(ID, max_episode_steps=limit)
    restarts = 0
    for i in range(n):
        assert np.array_equal(env.reset(seed=seed + i)[0], start[i])
        done = False
        for action, step in zip(actions, batch, strict=True):
            if done:  # the batch starts a new episode in this step
                single = (env.reset()[0], 0.0, False, False)
                restarts += 1
            else:
                single = env.step(action[i])[:4]
            assert np.array_equal(single[0], step[0][i])
            assert single[1:] == tuple(part[i] for part in step[1:4])
            done = single[2] or single[3]
    assert restarts == 2 * n
    rewards = np.array([step[1] for step in batch])
    assert 0 < rewards.mean() < 1
    assert ((rewards > 0) & (rewards < 1)).any()
    assert np.allclose(rewards * 25, np.rint(rewards * 25))


def forces_by_hand(env, action):
    """The touch after each of the 25 physics steps of a control step, by the engine's functions.

    Positions and velocities are those at the end of a step, forces those that led there.
    """
    model, data = env.unwrapped.model, copy.copy(env.unwrapped.data)
    data.ctrl[:] = action
    forces = []
    for _ in range(25):
        mujoco.mj_step2(model, data)
        mujoco.mj_step1(model, data)
        forces.append(float(data.sensor("touch").data[0]))
    return forces


def test_touch_is_the_mean_and_reward_the_share_of_the_physics_steps(script):
    env = gymnasium.make(ID, observation="dict", dtype="float64")
    env.reset(seed=0)
    env.unwrapped.set_state(stand(env, height=0.01))  # it falls onto the button
    rng = np.random.default_rng(0)
    rewards, means = [], []
    for _ in range(40):
        action = rng.uniform(-0.2, 0.2, 12)
        forces = forces_by_hand(env, action)
        observation, reward, _, _, info = env.step(action)
        assert observation["touch"] == pytest.approx([np.mean(forces)], rel=1e-12, abs=0)
        assert reward == sum(1.0 <= force <= 3.0 for force in forces) / 25
        assert info["terms/right_force"] == reward
        rewards.append(reward)
        means.append(np.mean(forces))
    assert len({r for r in rewards if 0 < r < 1}) > 3  # counts, and anew in each control step
    assert max(means) > 1


def test_the_hinges_are_read_with_noise_and_the_button_without(script):
    envs = gymnasium.make_vec(ID, num_envs=64, observation="dict", dtype="float64")
    envs.reset(seed=0)
    errors = {"angles": [], "velocities": []}
    for _ in range(10):
        observation = envs.step(envs.action_space.sample())[0]
        state = envs.unwrapped.get_state()
        errors["angles"].append(observation["angles"] - state["qpos"][:, 7:])
        errors["velocities"].append(observation["velocities"] - state["qvel"][:, 6:])
        buttons = state["body_pos"][:, envs.unwrapped.model.body("button").id]
        for seen, qpos, button in zip(observation["button"], state["qpos"], buttons, strict=True):
            conjugate, expected = qpos[3:7] * [1, -1, -1, -1], np.empty(3)
            mujoco.mju_rotVecQuat(expected, button - qpos[:3], conjugate)
            assert np.allclose(seen, expected, rtol=0, atol=1e-12)
    for values in map(np.array, errors.values()):
        assert values.size == 10 * 64 * 12
        assert abs(values.mean()) < 5 * 0.01 / np.sqrt(values.size)
        assert values.std() == pytest.approx(0.01, rel=0.05)


@pytest.mark.weekly
@pytest.mark.gl
def test_the_button_of_each_slot_shows_its_own_press(script):
    arguments = {"render_mode": "rgb_array", "width": 160, "height": 160}
    env = gymnasium.make(ID, **arguments)
    env.reset(seed=1)
    envs = gymnasium.make_vec(ID, num_envs=3, **arguments)
    envs.reset(seed=0)  # the second one begins as the single one does
    qpos = envs.unwrapped.get_state()["qpos"]
    pose = stand(env)
    qpos[1] = pose["qpos"]
    env.unwrapped.set_state(pose)
    envs.unwrapped.set_state({"qpos": qpos})
    for _ in range(20):
        env.step(STILL)
        envs.step(np.zeros((3, 12)))
    pressed = [green(picture) > 5 for picture in envs.render()]
    assert pressed == [False, True, False]
    assert np.array_equal(env.render(), envs.render()[1])
