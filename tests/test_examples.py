"""The example scripts, each run shortly as its users run it: from another folder, by its path."""

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

EXAMPLES = Path(__file__).parents[1] / "scripts" / "examples"
ID = "dmc/pendulum-swingup-v0"

pytestmark = pytest.mark.slow


def run(name, folder, *arguments, needs=(), id=ID):
    """The output of a script; skips where a library that it needs is not installed."""
    for module in needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), id, *map(str, arguments)],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
            "MINARI_DATASETS_PATH": str(folder / "datasets"),
            "MPLBACKEND": "agg",
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run_here():
    tested = set(re.findall(r'run\(\s*"(\w+\.py)"', Path(__file__).read_text()))
    assert {path.name for path in EXAMPLES.glob("*.py")} == tested


def test_ppo(tmp_path):
    out = run(
        "ppo.py", tmp_path, "--steps", 4096, "--num-envs", 2, "--horizon", 512,
        "--picture", "curve.png", needs=["torch", "matplotlib"],
    )  # fmt: skip
    assert len(re.findall(r"steps .* return", out)) == 4
    picture = Image.open(tmp_path / "curve.png").convert("L")
    assert picture.size == (900, 600)
    assert picture.getextrema()[0] < 100 < picture.getextrema()[1]


def test_soccer_ppo(tmp_path):
    out = run(
        "soccer_ppo.py", tmp_path, "--steps", 1500, "--matches", 4, "--horizon", 64, "--trials", 2,
        "--scores", 1, "--curve", "curve.csv", "--picture", "curve.png",
        needs=["torch", "matplotlib"], id="soccer/boxhead-1v1-v0",
    )  # fmt: skip
    assert re.search(r"steps .* won and lost against random play \d", out)
    header, *rows = (tmp_path / "curve.csv").read_text().splitlines()
    assert header.split(",")[:3] == ["steps", "seconds", "random_won"]
    assert len(rows) == 2
    assert Image.open(tmp_path / "curve.png").size == (660, 396)


def test_sb3(tmp_path):
    out = run(
        "sb3.py", tmp_path, "--steps", 128, "--num-envs", 2, "--horizon", 32,
        "--folder", "out", needs=["stable_baselines3"],
    )  # fmt: skip
    assert re.search(r"mean return of 2 episodes: \d+\.\d", out)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "policy.zip", "normalizer.pkl",
    }  # fmt: skip


def test_torchrl(tmp_path):
    out = run(
        "torchrl_ppo.py", tmp_path, "--steps", 4096, "--num-envs", 2, "--horizon", 1024,
        needs=["torchrl"],
    )  # fmt: skip
    returns = re.findall(r"steps  return +(\S+)", out)
    assert len(returns) == 2
    assert float(returns[0]) >= 0


def test_rllib(tmp_path):
    out = run(
        "rllib.py", tmp_path, "--iterations", 1, "--runners", 1, "--envs-per-runner", 2,
        "--batch", 2400, needs=["ray"],
    )  # fmt: skip
    (shown,) = re.findall(r"return +(\S+)", out)
    assert float(shown) >= 0


def test_minari_record(tmp_path):
    out = run("minari_record.py", tmp_path, "--episodes", 2, needs=["minari", "jax"])
    assert "2 episodes, 2000 steps" in out
    assert "differ by at most 0.0" in out
