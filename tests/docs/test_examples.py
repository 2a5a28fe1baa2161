"""The example scripts, each run shortly as its users run it: from another folder, by its path."""

import functools
import importlib.util
import os
import re
import sys
from pathlib import Path

import pytest
from PIL import Image

from helpers.forks import LIBRARIES, Forks
from helpers.lanes import lane
from helpers.places import SCRIPTS

EXAMPLES = SCRIPTS / "examples"
ID = "dmc/pendulum-swingup-v0"
IMPORT = re.compile(r"^(?:import|from) (\w+)", re.MULTILINE)

pytestmark = pytest.mark.slow


@functools.cache
def forks():
    path = os.pathsep.join(p for p in sys.path if p)
    return Forks(sys.executable, LIBRARIES, {**os.environ, "PYTHONPATH": path})


def run(name, folder, *arguments, needs=(), id=ID):
    """The output of a script; skips where a library that it needs is not installed."""
    for module in needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "MINARI_DATASETS_PATH": str(folder / "datasets"),
        "MPLBACKEND": "agg",
    }
    done = forks().run(
        EXAMPLES / name, id, *map(str, arguments), folder=folder, environment=environment
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run_here():
    files = list(EXAMPLES.glob("*.py"))
    tested = set(re.findall(r'run\(\s*"(\w+\.py)"', Path(__file__).read_text()))
    taken = {f"{name}.py" for path in files for name in IMPORT.findall(path.read_text())}
    assert {path.name for path in files} == tested | {path.name for path in files} & taken


def test_ppo(tmp_path):
    out = run(
        "ppo.py", tmp_path, "--steps", 2048, "--num-envs", 2, "--horizon", 512,
        "--picture", "curve.png", needs=["torch", "matplotlib"],
    )  # fmt: skip
    assert len(re.findall(r"steps .* return", out)) == 2
    picture = Image.open(tmp_path / "curve.png").convert("L")
    assert picture.size == (900, 600)
    assert picture.getextrema()[0] < 100 < picture.getextrema()[1]


@lane(0, 5)
def test_sac(tmp_path):
    out = run("sac.py", tmp_path, "--steps", 2400, "--num-envs", 4, needs=["torch"])
    assert len(re.findall(r"2000 steps .* losses(?: +-?\d+\.\d+){3}$", out, re.MULTILINE)) == 1
    assert re.search(r"^mean return of 4 episodes: \d+\.\d$", out, re.MULTILINE)


def test_reach_and_push(tmp_path):
    out = run("reach_and_push.py", tmp_path, 20, id="--steps")
    reached = re.findall(r"(tutorial/\S+): \d+ of 1216 random steps", out)
    assert reached == ["tutorial/hand-reach-v0", "tutorial/hand-push-v0"]


@lane(1, 5)
def test_sb3_her(tmp_path):
    """A sparse reward is learned from by hindsight."""
    out = run("sb3_her.py", tmp_path, 6000, "--horizon", 25, id="--steps",
              needs=["stable_baselines3"])  # fmt: skip
    before, after = map(float, re.findall(r"\d\.\d\d", out.splitlines()[-1]))
    assert before < 0.3
    assert after > 0.7
    assert (tmp_path / "sb3_her.zip").exists()


@lane(3, 5)
def test_soccer_ppo(tmp_path):
    out = run(
        "soccer_ppo.py", tmp_path, "--steps", 1500, "--matches", 4, "--horizon", 64, "--trials", 1,
        "--scores", 1, "--curve", "curve.csv", "--picture", "curve.png",
        needs=["torch", "matplotlib"], id="soccer/boxhead-1v1-v0",
    )  # fmt: skip
    assert re.search(r"steps .* won and lost against random play \d", out)
    header, *rows = (tmp_path / "curve.csv").read_text().splitlines()
    assert header.split(",")[:3] == ["steps", "seconds", "random_won"]
    assert len(rows) == 2
    drawn = tmp_path / "curve.png"
    assert Image.open(drawn).size == (660, 396)
    before = drawn.read_bytes()
    drawn.unlink()
    run("soccer_curve.py", tmp_path, "curve.png", id="curve.csv")
    assert drawn.read_bytes() == before


@lane(2, 5)
def test_sb3(tmp_path):
    out = run(
        "sb3.py", tmp_path, "--steps", 128, "--num-envs", 2, "--horizon", 32,
        "--folder", "out", needs=["stable_baselines3"],
    )  # fmt: skip
    assert re.search(r"mean return of 2 episodes: \d+\.\d", out)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "policy.zip", "normalizer.pkl",
    }  # fmt: skip


@lane(4, 5)
def test_torchrl(tmp_path):
    out = run(
        "torchrl_ppo.py", tmp_path, "--steps", 2048, "--num-envs", 2, "--horizon", 512,
        needs=["torchrl"],
    )  # fmt: skip
    returns = re.findall(r"steps  return +(\S+)", out)
    assert len(returns) == 2
    assert float(returns[1]) >= 0  # episodes have 1000 steps


@lane(2, 5)
@pytest.mark.usefixtures("programs_join_ray")
def test_rllib(tmp_path):
    """Without runners, which are those of the guide to clients: that is run in `test_clients`."""
    out = run(
        "rllib.py", tmp_path, "--iterations", 1, "--runners", 0, "--envs-per-runner", 2,
        "--batch", 2400,
    )  # fmt: skip
    (shown,) = re.findall(r"return +(\S+)", out)
    assert float(shown) >= 0


def test_minari_record(tmp_path):
    out = run("minari_record.py", tmp_path, "--episodes", 2, needs=["minari", "jax"])
    assert "2 episodes, 2000 steps" in out
    assert "differ by at most 0.0" in out


def test_players_are_rewarded_for_going_to_the_ball_in_line_with_the_goal(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.syspath_prepend(str(EXAMPLES))
    player = importlib.import_module("soccer_player")
    seen = torch.zeros(4, 77)
    # The ball is ahead, with the goal behind it; to the left; ahead; and between player and goal.
    seen[:, player.BALL] = torch.tensor([[5.0, 0.0], [0.0, 5.0], [5.0, 0.0], [-5.0, 0.0]])
    seen[:, player.GOAL] = torch.tensor([[30.0, 0.0], [0.0, 30.0], [5.0, 25.0], [20.0, 0.0]])
    to = player.place(seen)
    assert torch.allclose(to[0], torch.tensor([5.0, 0.0]), atol=0.2)  # straight at it
    assert to[2, 0] == 5.0
    assert to[2, 1] == pytest.approx(-player.BEHIND, abs=0.1)  # behind it
    assert to[3, 0] < -8  # farther behind it, where it is before the player
    worth = player.shaping(seen)
    assert worth[0] > worth[1]  # faces it
    seen[:, player.SPEED] = torch.tensor([8.0, 0.0])
    assert player.shaping(seen)[0] - worth[0] == pytest.approx(
        8 * player.SHAPING["speed"], rel=0.05
    )
    assert player.features(seen).isfinite().all()
