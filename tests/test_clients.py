"""The guide to clients: its blocks run, and what it says of other processes holds."""

import importlib.util
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import gymnasium
import pytest

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "assets" / "guides" / "clients.md").read_text()
BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)
NEEDS = {
    "stable-baselines3": ["stable_baselines3"],
    "TorchRL": ["torchrl"],
    "RLlib": ["ray"],
    "Minari": ["minari", "jax"],
    "dm_env": ["dm_env"],
}
# What trains for hours is tried with few steps: a text of the guide, and what is run instead.
SHORTER = {
    "learn(100_000)": "learn(150)",
    'PPO("MlpPolicy", sb3.make_vec("dmc/walker-walk-v0", 16))': (
        'PPO("MlpPolicy", sb3.make_vec("dmc/walker-walk-v0", 16), n_steps=8, n_epochs=1)'
    ),
    "total_frames=1_000_000)": "total_frames=1600)\nassert len(list(collector)) == 1",
    "env_runners(num_env_runners=2)": (
        "env_runners(num_env_runners=1)"
        ".training(train_batch_size_per_learner=200, minibatch_size=100, num_epochs=1)"
    ),
}


def sections():
    """The guide's sections that show code, as one program each."""
    found = []
    for section in re.split(r"^## ", GUIDE, flags=re.MULTILINE)[1:]:
        title = section.partition("\n")[0]
        program = "\n".join(BLOCK.findall(section))
        if program:
            found.append(pytest.param(title, program, id=title))
    return found


def run(program, folder):
    path = folder / "block.py"
    path.write_text(program)
    return subprocess.run(
        [sys.executable, str(path)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
            "MINARI_DATASETS_PATH": str(folder / "datasets"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("title", "program"), sections())
def test_a_section_runs(title, program, tmp_path):
    for module in NEEDS.get(title, ()):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    for long, short in SHORTER.items():
        program = program.replace(long, short)
    done = run(program, tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_is_shortened_is_in_the_guide():
    assert all(long in GUIDE for long in SHORTER)


def table():
    rows = re.findall(
        r"^\| \[(.+?)\]\(#.+?\) \| (\S*) ?\| (?:`mjgym\[(\w+)\]`)?", GUIDE, re.MULTILINE
    )
    assert len(rows) == 7
    return rows


def test_extras_are_there_from_the_tested_versions_on():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    named = [(client, version, extra) for client, version, extra in table() if extra]
    assert len(named) == 5
    for client, version, extra in named:
        lowest = [re.search(r">=([\d.]+)", need).group(1) for need in extras[extra]]
        assert any(version.startswith(low) for low in lowest), client


def test_a_plain_id_is_not_found_in_another_process(tmp_path):
    """What the guide warns of; if this fails, the warning can go."""
    plain = run('import gymnasium; gymnasium.make("dmc/walker-walk-v0")', tmp_path)
    assert "NamespaceNotFound" in plain.stderr
    named = run('import gymnasium; gymnasium.make("mjgym:dmc/walker-walk-v0")', tmp_path)
    assert named.returncode == 0, named.stderr


def test_ids_with_the_package_in_front_go_to_spawned_processes():
    envs = gymnasium.make_vec(
        "mjgym:dmc/walker-walk-v0", 2, vectorization_mode="async",
        vector_kwargs={"context": "spawn"},
    )  # fmt: skip
    single = gymnasium.make("dmc/walker-walk-v0")
    observations, _ = envs.reset(seed=4)
    assert (observations[1] == single.reset(seed=5)[0]).all()
    envs.close()
