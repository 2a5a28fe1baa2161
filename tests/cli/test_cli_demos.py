"""`mjgym demos`: episodes of scripted policies, written and replayed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from helpers.training_runs import SMALL_REPLAY, mjgym_, trainer
from mjgym import datasets
from mjgym.policies import trained

LIFT = "robosuite/Lift-v0"

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _hdf5() -> None:
    pytest.importorskip("h5py")


def recorded(folder: Path, *options: object, name: str = "lift", id: str = LIFT) -> Path:
    file = folder / f"{name}.hdf5"
    mjgym_("demos", id, "--out", file, *options)
    return file


@pytest.mark.weekly
def test_successes_are_kept_and_replayed_bit_for_bit(tmp_path: Path) -> None:
    file = recorded(tmp_path, "--count", 3, "--num-envs", 4)
    found = datasets.load(str(file))
    assert found.count == 3
    for k in range(3):
        episode = found.episode(k)
        assert episode.successes[-1]
        assert episode.seed == k
    said = mjgym_("replay", file, "--check").output
    assert said.count("bit for bit") == 3


@pytest.mark.weekly
def test_episodes_do_not_depend_on_the_batch(tmp_path: Path) -> None:
    few = datasets.load(str(recorded(tmp_path, "--count", 3, "--num-envs", 2, name="few")))
    many = datasets.load(str(recorded(tmp_path, "--count", 3, "--num-envs", 5, name="many")))
    for k in range(3):
        np.testing.assert_array_equal(few.episode(k).actions, many.episode(k).actions)


@pytest.mark.weekly
def test_noise_is_done_recorded_and_replayed(tmp_path: Path) -> None:
    plain = datasets.load(str(recorded(tmp_path, "--count", 2, name="plain")))
    file = recorded(tmp_path, "--count", 2, "--noise", 0.2, name="noisy")
    first = datasets.load(str(file)).episode(0).actions, plain.episode(0).actions
    steps = min(map(len, first))
    assert 0.05 < np.abs(first[0][:steps] - first[1][:steps]).mean() < 0.5
    assert mjgym_("replay", file, "--check").output.count("bit for bit") == 2


@pytest.mark.weekly
def test_the_experts_actions_are_recorded_where_the_noise_leads(tmp_path: Path) -> None:
    noisy = ("--count", 2, "--noise", 0.2)
    executed = datasets.load(str(recorded(tmp_path, *noisy, name="executed")))
    file = recorded(tmp_path, *noisy, "--actions", "expert", name="expert")
    expert = datasets.load(str(file))
    differences = []
    for k in range(2):
        one, other = executed.episode(k), expert.episode(k)
        np.testing.assert_array_equal(one.observations, other.observations)
        np.testing.assert_array_equal(one.rewards, other.rewards)
        differences.append(one.actions - other.actions)
    noise = np.concatenate(differences)[:, :6]  # the fingers' action is at its limits
    assert np.abs(noise.mean()) < 0.05
    assert 0.1 < noise.std() < 0.25
    said = mjgym_("replay", file, "--check", code=1).output
    assert said.count("is another than the recorded one") == 2


def test_the_experts_actions_without_noise_are_the_executed_ones(tmp_path: Path) -> None:
    file = recorded(tmp_path, "--count", 1, "--actions", "expert")
    assert mjgym_("replay", file, "--check").output.count("bit for bit") == 1


@pytest.mark.weekly
def test_failures_are_kept_if_asked(tmp_path: Path) -> None:
    file = recorded(tmp_path, "--count", 2, "--keep", "all", "--noise", 1.0)
    found = datasets.load(str(file))
    assert found.count == 2
    assert not all(found.episode(k).successes[-1] for k in range(2))


SWING, SINKS = "dmc/pendulum-swingup-v0", "l2m/walk_around-v0"


@pytest.mark.weekly
def test_episodes_of_a_trained_policy_of_a_run_and_of_random_actions(tmp_path: Path) -> None:
    """All are kept, are what the policy does whatever the batch, and are repeated by replay."""
    run = tmp_path / "run"
    trainer(run, *SMALL_REPLAY, "history=3", algorithm="td3", id=SWING, steps=80).train()
    limit = ("--set", "max_episode_steps=40")
    for expert in ("trained", run, "random"):
        few, many = (
            recorded(tmp_path, "--expert", expert, "--count", 3, "--num-envs", n, *limit,
                     name=f"{Path(str(expert)).name}{n}", id=SWING)
            for n in (1, 3)
        )  # fmt: skip
        one, other = datasets.load(str(few)), datasets.load(str(many))
        assert one.count == other.count == 3
        for k in range(3):
            np.testing.assert_array_equal(one.episode(k).actions, other.episode(k).actions)
        assert mjgym_("replay", few, "--check").output.count("bit for bit") == 3
        assert len(np.unique(one.episode(0).actions)) > 1
    policy = trained.bundled(SWING).policy
    episode = datasets.load(str(tmp_path / "trained1.hdf5")).episode(2)
    seen = episode.observations[:-1].astype(np.float32)
    np.testing.assert_allclose(policy(seen), episode.actions, atol=1e-3)
    said = mjgym_("demos", "walker-walk", "--expert", run, "--out", tmp_path / "no.hdf5", code=2)
    assert "was trained with 3 observed numbers" in " ".join(said.stderr.split())


@pytest.mark.weekly
def test_a_bundled_policy_gets_the_arguments_it_was_scored_with(tmp_path: Path) -> None:
    """Without them it sees other numbers, and was refused."""
    words = ("--expert", "trained", "--set", "max_episode_steps=3")
    file = recorded(tmp_path, *words, "--count", 1, id=SINKS)
    episode = datasets.load(str(file)).episode(0)
    seen = episode.observations[:-1].astype(np.float32)
    policy = trained.bundled(SINKS).policy
    policy.begin()
    np.testing.assert_allclose([policy(row) for row in seen], episode.actions, atol=1e-5)


@pytest.mark.weekly
def test_mistakes_are_named_and_nothing_is_written(tmp_path: Path) -> None:
    said = mjgym_("demos", "dmc/walker-walk-v0", "--out", tmp_path / "a.hdf5", code=None)
    assert said.exit_code
    assert "--expert mppi" in " ".join(said.output.split())
    said = mjgym_("demos", LIFT, "--out", "lift", "--count", 1, code=2)
    assert "lift.hdf5" in said.output
    assert "lift-v0" in said.output
    taken = recorded(tmp_path, "--count", 1, name="taken")
    content = taken.read_bytes()
    said = mjgym_("demos", LIFT, "--out", taken, "--count", 1, code=None)
    assert said.exit_code
    assert taken.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == ["taken.hdf5"]


@pytest.mark.weekly
def test_interrupted_it_keeps_what_is_whole(tmp_path: Path) -> None:
    file = tmp_path / "many.hdf5"
    # It hears of Ctrl-C again, which a shell has programs in the background ignore.
    listening = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = [sys.executable, "-c", f"{listening}; from mjgym.cli.app import main; main()"]
    words = ["demos", LIFT, "--out", str(file), "--count", "1000", "--num-envs", "4"]
    running = subprocess.Popen([*program, *words], env=os.environ, stdout=subprocess.DEVNULL)
    end = time.monotonic() + 240
    while time.monotonic() < end and not (file.exists() and _count(file) >= 2):
        time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    running.wait(120)
    found = datasets.load(str(file))
    assert 2 <= found.count < 1000
    assert all(found.episode(k).successes[-1] for k in range(found.count))


def _count(file: Path) -> int:
    try:
        return datasets.load(str(file)).count
    except (OSError, datasets.DemonstrationError):
        return 0
