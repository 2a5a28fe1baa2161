"""What the README and the guides say is so: the example does what it says, tables are fresh."""

import collections
import importlib
import os
import re
import subprocess
import sys
import tomllib

import gymnasium
import numpy as np
import pytest

import mjgym
from helpers.guide_code import SHORTER, write_modules
from helpers.places import ASSETS, ROOT, SCRIPTS
from helpers.registered import packaged_ids
from helpers.suite import gymnasium_checker
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


@pytest.mark.slow
def test_the_tables_are_fresh():
    check = [sys.executable, str(SCRIPTS / "update_tables.py"), "--check"]
    done = subprocess.run(check, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


SET_UP, TESTS, *_ = re.findall(r"```bash\n(.*?)```", README.read_text(), re.DOTALL)


def test_the_first_block_sets_up_a_clone_and_runs_the_demo():
    assert SET_UP == 'pip install -e ".[fast]"\nmjgym demo\n'


def test_the_families_and_their_sizes_are_those_of_the_registry():
    rows = re.findall(r"^\| .*\| (\d+) \| `((\w+)/\S+)` \|$", README.read_text(), re.MULTILINE)
    sizes = collections.Counter(id.partition("/")[0] for id in packaged_ids())
    assert {family: int(size) for size, _, family in rows} == sizes
    assert {example for _, example, _ in rows} <= set(packaged_ids())


def test_its_speeds_are_those_of_the_guide():
    guide = (ASSETS / "guides" / "benchmarks.md").read_text()
    speed = README.read_text().partition("## Speed")[2].partition("\n## ")[0]
    numbers = re.findall(r"\b\d+,\d+\b|\b\d+\.\d+\b", speed)
    assert len(numbers) > 10
    assert [number for number in numbers if number not in guide] == []


@pytest.mark.slow
@pytest.mark.torch
def test_the_training_block_shows_its_progress(tmp_path):
    (block,) = re.findall(r"```python\n([^`]*SAC[^`]*)```", README.read_text())
    for long, short in SHORTER.items():
        block = block.replace(long, short)
    done = subprocess.run(
        [sys.executable, "-c", block],
        cwd=tmp_path,
        env={**os.environ, "MPLBACKEND": "agg"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "ep_rew_mean" in done.stdout
    assert (tmp_path / "swingup.png").stat().st_size > 0


def test_extras_are_installed_in_one_form():
    """In a clone: no index has the package, so that `pip install "mjgym[...]"` finds nothing."""
    folders = [ROOT / name for name in ("assets/guides", "scripts", "src", ".github")]
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    pages += [path for folder in folders for path in folder.rglob("*") if path.suffix in TEXT]
    other = re.compile(r"pip install (?!-e )[^\n]*\bmjgym\b|\bmjgym\[")
    assert [path for path in pages if other.search(path.read_text())] == []
    assert install("video") == 'pip install -e ".[video]"'


def test_extras_are_named_letter_by_letter():
    """pip before 23.3 looks for the name as it is typed, and built packages have no underscore."""
    extras = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    )
    assert not [extra for extra in extras if "_" in extra]
    pages = [README, *(ASSETS / "guides").glob("*.md")]
    named = {
        name.strip()
        for page in pages
        for group in re.findall(r"pip install [^\n`]*\.\[([\w,. -]+)\]", page.read_text())
        for name in group.split(",")
    }
    assert len(named) > 10
    assert named <= extras
