"""Minari: recordings of our ids, and the environments that come back from them."""

import json
import subprocess
import sys
import time
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from mjgym import datasets
from mjgym.datasets import DemonstrationError

h5py = pytest.importorskip("h5py", reason='needs pip install -e ".[minari]"')
minari = pytest.importorskip("minari", reason='needs pip install -e ".[minari]"')
pytest.importorskip("jax", reason="Minari's DataCollector needs it: minari[create]")

# Minari asks for an author, a link to code and a description of each data set.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture(autouse=True)
def _own_datasets(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


def entry(observations, t):
    """The observation of a time, of a recorded array or dict of arrays."""
    if isinstance(observations, dict):
        return {name: value[t] for name, value in observations.items()}
    return observations[t]


def same(one, other):
    if isinstance(one, dict):
        return set(one) == set(other) and all(np.array_equal(one[k], other[k]) for k in one)
    return one.dtype == other.dtype and np.array_equal(one, other)


@pytest.mark.parametrize(
    ("id", "kwargs"),
    [
        ("dmc/walker-walk-v0", {}),
        ("dmc/walker-walk-v0", {"observation": "dict"}),
        ("dmc/walker-walk-v0", {"dtype": "float64", "speed": 2.0}),
        # As a dict it is not to be had: HDF5 takes the "/" in "walker/joints_pos" for a folder.
        ("locomotion/ant-run_walls-v0", {}),
    ],
    ids=["plain", "dict", "float64", "locomotion"],
)
def test_a_recording_gives_the_environment_back(id, kwargs):
    env = minari.DataCollector(gymnasium.make(id, max_episode_steps=6, **kwargs))
    for episode in range(2):
        env.reset(seed=episode)
        ended = False
        while not ended:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            ended = terminated or truncated
    env.create_dataset("mjgym/recorded-v0", algorithm_name="random", eval_env=id)
    env.close()

    dataset = minari.load_dataset("mjgym/recorded-v0")
    assert dataset.total_episodes == 2
    recovered = dataset.recover_environment()
    assert recovered.spec.id == id
    assert recovered.spec.max_episode_steps == 6
    assert recovered.unwrapped.task == gymnasium.make(id, **kwargs).unwrapped.task
    for seed, episode in enumerate(dataset):
        observation, _ = recovered.reset(seed=seed)
        assert same(observation, entry(episode.observations, 0))
        for t, action in enumerate(episode.actions):
            observation, reward, terminated, truncated, _ = recovered.step(action)
            assert same(observation, entry(episode.observations, t + 1))
            assert reward == episode.rewards[t]
            assert (terminated, truncated) == (episode.terminations[t], episode.truncations[t])


def test_a_recording_needs_no_import_where_it_is_read():
    env = minari.DataCollector(gymnasium.make("dmc/walker-walk-v0", max_episode_steps=3))
    env.reset(seed=0)
    for _ in range(3):
        env.step(env.action_space.sample())
    env.create_dataset("mjgym/recorded-v0", algorithm_name="random", eval_env="dmc/walker-walk-v0")
    code = (
        "import minari; e = minari.load_dataset('mjgym/recorded-v0').recover_environment();"
        "print(e.reset(seed=0)[0].shape)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().endswith("(24,)")


ID = "dmc/pendulum-swingup-v0"
RECORDER = f"""
import sys, warnings; warnings.simplefilter("ignore")
import gymnasium
from mjgym import datasets
recorder = datasets.record(gymnasium.make("{ID}", max_episode_steps=3), "killed-v0")
recorder.action_space.seed(0)
for k in range(10_000):
    recorder.reset(seed=k)
    for _ in range(3):
        recorder.step(recorder.action_space.sample())
    recorder.keep()
    print(k + 1, flush=True)
"""


def recorded_until_killed(seconds):
    """How many episodes a recorder has acknowledged before it is killed in its work."""
    process = subprocess.Popen([sys.executable, "-c", RECORDER], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "1\n"
    time.sleep(seconds)
    process.kill()
    left = process.stdout.read().splitlines(keepends=True)
    process.wait()
    return max([int(line) for line in left if line.endswith("\n")], default=1)


@pytest.mark.parametrize("seconds", [0.05, 0.311, 0.523, 0.777, 1.019])
def test_what_is_acknowledged_survives_a_kill(seconds):
    acknowledged = recorded_until_killed(seconds)
    dataset = datasets.load("killed-v0")
    assert acknowledged <= dataset.count <= acknowledged + 1
    env = dataset.environment()
    for k in range(0, dataset.count, 7):
        assert dataset.episode(k).check(env).differs is None
    assert dataset.episode(dataset.count - 1).seed == dataset.count - 1
    assert minari.load_dataset("killed-v0").total_episodes == dataset.count


def small_dataset(episodes=3):
    env = gymnasium.make(ID, max_episode_steps=3)
    recorder = datasets.record(env, "small-v0")
    for seed in range(episodes):
        recorder.reset(seed=seed)
        for _ in range(3):
            recorder.step(env.action_space.sample())
        recorder.keep()
    return recorder


@pytest.mark.parametrize("content", [b"", b'{"total_epis', None], ids=["empty", "cut", "gone"])
def test_metadata_are_recovered_from_the_data(content, tmp_path):
    small_dataset()
    file = tmp_path / "small-v0" / "data" / "metadata.json"
    before = json.loads(file.read_text())
    file.unlink() if content is None else file.write_bytes(content)
    assert datasets.load("small-v0").count == 3
    after = json.loads(file.read_text())
    assert {**after, "dataset_size": 0} == {**before, "dataset_size": 0}


class Killed(BaseException):
    """As if the process had been killed there."""


@pytest.mark.parametrize("write", range(8))
def test_a_write_cut_at_any_page_is_finished_by_the_next_reader(write, tmp_path, monkeypatch):
    """All pages of a change are in the file, or none is seen."""
    recorder = small_dataset(2)
    done = 0
    path_open = Path.open

    class Cut:
        def __init__(self, file):
            self._file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self._file.close()

        def __getattr__(self, name):
            return getattr(self._file, name)

        def write(self, content):
            nonlocal done
            done += 1
            if done > write:
                self._file.write(content[:100])
                raise Killed
            return self._file.write(content)

    def opened(path, mode="r", *args, **kwargs):
        file = path_open(path, mode, *args, **kwargs)
        return Cut(file) if mode == "r+b" and path.name == "main_data.hdf5" else file

    recorder.reset(seed=2)
    for _ in range(3):
        recorder.step(recorder.action_space.sample())
    monkeypatch.setattr(Path, "open", opened)
    with pytest.raises(Killed):
        recorder.keep()
    monkeypatch.undo()
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    dataset = datasets.load("small-v0")
    env = dataset.environment()
    assert dataset.count == 2
    assert [dataset.episode(k).check(env).differs for k in range(2)] == [None, None]
    with h5py.File(tmp_path / "small-v0" / "data" / "main_data.hdf5") as file:
        assert set(file) in ({"episode_0", "episode_1"}, {"episode_0", "episode_1", "episode_2"})
        for episode in file.values():
            assert episode["rewards"].shape == (3,)


def test_a_journal_overwrites_no_file_elsewhere(tmp_path):
    small_dataset()
    file = tmp_path / "small-v0" / "data" / "main_data.hdf5"
    other = tmp_path / "other"
    other.write_bytes(file.read_bytes())
    before = other.read_bytes()
    file.unlink()
    file.symlink_to(other)
    record = np.zeros(1, [("page", "<i8"), ("content", "u1", (4096,))])
    with file.with_name(".main_data.hdf5.journal").open("wb") as journal:
        np.save(journal, record)
    with pytest.raises(DemonstrationError, match="leads elsewhere"):
        datasets.load("small-v0")
    assert other.read_bytes() == before


def test_the_slower_of_two_recorders_leaves_the_dataset_of_the_other():
    env = gymnasium.make(ID, max_episode_steps=3)
    slower = datasets.record(env, "small-v0")
    small_dataset(2)
    slower.reset(seed=9)
    slower.step(env.action_space.sample())
    with pytest.raises(DemonstrationError, match="another recorder has taken the name 'small-v0'"):
        slower.keep()
    dataset = datasets.load("small-v0")
    assert [dataset.episode(k).seed for k in range(dataset.count)] == [0, 1]
