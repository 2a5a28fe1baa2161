"""`mjgym plan`, and planners as policies of other commands."""

import re
from pathlib import Path

import gymnasium
import numpy as np
import pytest
from typer.testing import CliRunner

from mjgym import datasets, planning, viewing
from mjgym.cli import shared_options
from mjgym.cli.app import app
from mjgym.cli.plan import FIRST_SEED
from mjgym.cli.policy_option import load_policy

ID = "dmc/point_mass-easy-v0"
SMALL = ("--rollouts", 4, "--horizon", 0.1, "--steps", 4)

OWN = '''
from dataclasses import dataclass

import mjgym
from helpers import toys


@mjgym.register("planned/cart-v0", "Push a cart.")
@dataclass(frozen=True)
class Cart(toys.Cart):
    """A cart."""

    time_limit = 0.2  # s
'''


def called(*words, code=0):
    found = CliRunner(env={"COLUMNS": "200"}).invoke(app, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return found.output


def test_returns_are_printed():
    said = called("plan", ID, "--episodes", 2, *SMALL)
    returns = [float(x) for x in re.findall(r"return ([\d.]+) in 4 steps", said)]
    assert re.findall(r"seed (\d+):", said) == [str(FIRST_SEED), str(FIRST_SEED + 1)]
    assert f"{np.mean(returns):.2f} over 2 episodes" in said
    assert "s per simulated second" in said
    assert re.search(r"successes +\d of 2", said)


def test_the_seeds_are_those_of_evaluate():
    from mjgym_train import evaluation

    assert evaluation.SEEDS[0] == FIRST_SEED


@pytest.mark.slow
def test_episodes_are_recorded(tmp_path: Path):
    pytest.importorskip("h5py")
    file = tmp_path / "planned.hdf5"
    said = called("plan", ID, "--planner", "cem", "--episodes", 2, *SMALL, "--record", file)
    found = datasets.load(str(file))
    assert found.count == 2
    for k in range(2):
        episode = found.episode(k)
        assert episode.seed == FIRST_SEED + k
        assert len(episode.actions) == 4
    total = float(re.search(r"return ([\d.]+) in", said)[1])
    assert float(np.sum(found.episode(0).rewards)) == pytest.approx(total, abs=0.01)
    assert called("replay", file, "--check").count("bit for bit") == 2


@pytest.mark.slow
def test_a_file_of_ones_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "own_cart.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    said = called("plan", "own_cart.py", "--planner", "ilqg", "--episodes", 1, "--horizon", 0.1)
    assert "in 10 steps" in said


@pytest.mark.slow
def test_demonstrations_of_a_planner(tmp_path: Path):
    pytest.importorskip("h5py")
    file = tmp_path / "planned.hdf5"
    words = ("--keep", "all", "--count", 2, "--set", "max_episode_steps=3")
    called("demos", ID, "--expert", "random_shooting", "--out", file, *words)
    found = datasets.load(str(file))
    assert [found.episode(k).seed for k in range(found.count)] == [0, 1]
    assert len(found.episode(0).actions) == 3


@pytest.mark.slow
def test_a_viewer_shows_a_planner():
    env = gymnasium.make("dmc/cartpole-swingup-v0")
    policy = load_policy("random_shooting", env)
    session = viewing.Session(env, policy, 0)
    while session.progress.steps < 3:
        session.advance()
    assert policy(None).shape == env.action_space.shape
    assert session.progress.total > 0


@pytest.mark.weekly
@pytest.mark.gl
def test_a_film_shows_the_first_episode(tmp_path: Path):
    from PIL import Image

    film = tmp_path / "planned.webp"
    called("plan", "dmc/walker-walk-v0", "--episodes", 2, *SMALL, "--out", film)  # falls
    assert Image.open(film).n_frames == 5
    picture = tmp_path / "planned.png"
    called("record", ID, "--policy", "mppi", "--steps", 2, "--out", picture)
    assert picture.exists()


def test_wrong_words_are_refused(tmp_path: Path):
    assert "did you mean mppi" in called("plan", ID, "--planner", "mpi", code=2)
    assert "did you mean mppi" in called(
        "demos", ID, "--expert", "mpi", "--out", tmp_path / "a.hdf5", code=2
    )
    assert "holds no run" in called("plan", ID, "--learned", tmp_path / "none", code=1)
    assert "end its name in one of" in called("plan", ID, "--out", tmp_path / "a.avi", code=2)


def test_planners_are_completed():
    assert shared_options.beginning("m", planning.METHODS) == ["mppi"]
    assert shared_options.beginning("", planning.METHODS) == list(planning.METHODS)
