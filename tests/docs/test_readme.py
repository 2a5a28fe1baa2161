"""What the README and the guides say is so: the example does what it says, tables are fresh."""

import importlib
import re
import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from guide_code import modules, write_modules
from places import ASSETS, HELPERS, ROOT, SCRIPTS
from suite import gymnasium_checker

import mjgym
from mjgym.util.packaged import install

README = ROOT / "README.md"
TEXT = {".md", ".py", ".ipynb"}


@pytest.fixture(scope="module")
def puck(tmp_path_factory):
    """The example task, in a module of its own outside of the package."""
    folder = tmp_path_factory.mktemp("user")
    write_modules(folder, README)
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


def test_the_target_of_the_example_is_elsewhere_in_every_episode(puck):
    env = gymnasium.make("my/puck-push-v0").unwrapped
    places = []
    for seed in range(3):
        env.reset(seed=seed)
        places.append(env.view.site("target").xpos[:2].copy())
        assert np.array_equal(env.view.site("target").pos[:2], places[-1])
    assert len(np.unique(places, axis=0)) == 3


@pytest.mark.parametrize("name", ["hexapod", "stairs"])
def test_the_modules_shown_are_those_that_are_tested(name):
    code = modules(ASSETS / "guides" / "locomotion.md")[name]
    assert code == (HELPERS / "extending" / f"{name}.py").read_text()


@pytest.mark.slow
def test_the_tables_are_fresh():
    check = [sys.executable, str(SCRIPTS / "update_tables.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_two_blocks_set_up_a_clone():
    """Each works alone in a clone: nothing is fetched but packages."""
    blocks = re.findall(r"```bash\n(.*?)```", README.read_text(), re.DOTALL)
    assert blocks[0].split("\n") == ["pip install -e .", "mjgym demo", ""]
    assert blocks[1].split("\n") == ['pip install -e ".[test]"', "pytest -n auto", ""]


def test_extras_are_installed_in_one_form():
    """In a clone: no index has the package, so that `pip install "mjgym[...]"` finds nothing."""
    folders = [ROOT / name for name in ("assets/guides", "scripts", "src", ".github")]
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    pages += [path for folder in folders for path in folder.rglob("*") if path.suffix in TEXT]
    other = re.compile(r"pip install (?!-e )[^\n]*\bmjgym\b|\bmjgym\[")
    assert [path for path in pages if other.search(path.read_text())] == []
    assert install("video") == 'pip install -e ".[video]"'
