"""Minari: recordings of our ids, and the environments that come back from them."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

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
