"""What the README says is so: its example runs, its tables are fresh."""

import importlib
import re
import subprocess
import sys
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from suite import gymnasium_checker

import mjgym

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()


@pytest.fixture(scope="module")
def puck(tmp_path_factory):
    """The example task, in a module of its own outside of the package."""
    folder = tmp_path_factory.mktemp("user")
    code = re.search(r"<!-- example:begin -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    (folder / "puck.py").write_text(code)
    sys.path.insert(0, str(folder))
    yield importlib.import_module("puck")
    sys.path.remove(str(folder))


def test_the_example_runs_single_and_batched(puck):
    envs = gymnasium.make_vec("my/puck-push-v0", num_envs=8, margin=0.5)
    singles = [gymnasium.make("my/puck-push-v0", margin=0.5) for _ in range(8)]
    observations, _ = envs.reset(seed=3)
    for i, env in enumerate(singles):
        assert np.array_equal(env.reset(seed=3 + i)[0], observations[i])
    rng = np.random.default_rng(0)
    for _ in range(99):
        actions = rng.uniform(-1, 1, (8, 2))
        observations, rewards, terminations, truncations, info = envs.step(actions)
        for i, env in enumerate(singles):
            observation, reward, terminated, truncated, single_info = env.step(actions[i])
            assert np.array_equal(observation, observations[i])
            assert (reward, terminated, truncated) == (
                rewards[i],
                terminations[i],
                truncations[i],
            )
            assert single_info["success"] == info["success"][i]
    assert not truncated
    assert envs.step(actions)[3].all()


def test_the_example_passes_the_checker_and_can_be_found(puck):
    gymnasium_checker(gymnasium.make("my/puck-push-v0"))
    assert mjgym.registry.ids(tag="mine") == ["my/puck-push-v0"]


@pytest.mark.parametrize("name", ["sensing", "varying"])
def test_what_is_shown_of_it_runs(name):
    code = re.search(rf"<!-- {name}:begin -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    made = {}
    exec(code, made)
    env = made.get("env") or made["envs"]
    env.reset(seed=0)
    observation, *_ = env.step(env.action_space.sample())
    assert env.observation_space.contains(observation)


@pytest.mark.parametrize("name", ["hexapod", "stairs"])
def test_the_modules_shown_are_those_that_are_tested(name):
    code = re.search(rf"<!-- {name}:begin -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    assert code == (ROOT / "tests" / "extending" / f"{name}.py").read_text()


def test_the_tables_are_fresh():
    check = [sys.executable, str(ROOT / "scripts" / "update_readme.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
