"""The checks of vector environments find planted faults, and none in Gymnasium's own two."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from helpers.lanes import mostly_nightly
from helpers.small_process import fresh
from mjgym.checks import check_vector_env, of_vector_envs

MODES = list(AutoresetMode)
LIMIT = 5


class Drift(gymnasium.Env):
    """A point that drifts, until it is far away."""

    observation_space = gymnasium.spaces.Box(-9, 9, (2,), np.float32)
    action_space = gymnasium.spaces.Box(-1, 1, (1,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.uniform(-1, 1, 2).astype(np.float32)
        return self.place, {"far": float(np.abs(self.place).max())}

    def step(self, action):
        self.place = self.place + np.float32(0.7) * action
        far = float(np.abs(self.place).max())
        return self.place, 1.0 + float(action[0]), far > 2, False, {"far": far}


def make():
    return gymnasium.wrappers.TimeLimit(Drift(), LIMIT)


def checked(cls, mode=AutoresetMode.NEXT_STEP):
    return check_vector_env(
        lambda: cls([make] * 3, autoreset_mode=mode), max_episode_steps=LIMIT, steps=60
    )


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "id", mostly_nightly(["CartPole-v1", "Blackjack-v1", "FrozenLake-v1", "Pendulum-v1"], quick=4)
)
def test_none_in_gymnasiums_sync_vector_env(id, mode):
    def envs():
        return SyncVectorEnv([lambda: gymnasium.make(id)] * 3, autoreset_mode=mode)

    assert check_vector_env(envs) == []


@pytest.mark.parametrize("mode", mostly_nightly(MODES, quick=3))
@pytest.mark.parametrize("cls", mostly_nightly([SyncVectorEnv, AsyncVectorEnv], quick=2))
def test_none_in_either_of_gymnasiums_own(cls, mode):
    assert checked(cls, mode) == []


@pytest.mark.parametrize("mode", mostly_nightly(MODES, quick=3))
def test_none_in_ours(mode):
    def envs(**options):
        return gymnasium.make_vec(
            "dmc/reacher-easy-v0", 3, autoreset_mode=mode, max_episode_steps=LIMIT, **options
        )

    assert check_vector_env(envs) == []
    for observation in ("dict", "goal"):
        assert check_vector_env(lambda kind=observation: envs(observation=kind)) == []


def test_an_instance_stays_open():
    envs = SyncVectorEnv([make] * 2)
    assert check_vector_env(envs, max_episode_steps=LIMIT) == []
    assert not envs.closed


# Faults, each planted into Gymnasium's own vector environment.


class Buffer(SyncVectorEnv):
    """It returns its buffer."""

    def step(self, actions):
        result = super().step(actions)
        return self._observations, *result[1:]


class Doubles(SyncVectorEnv):
    """Its observations are of another dtype than their space."""

    def reset(self, **arguments):
        observation, info = super().reset(**arguments)
        return observation.astype(np.float64), info


class Turned(SyncVectorEnv):
    """Its rewards are in another order."""

    def step(self, actions):
        observation, rewards, *rest = super().step(actions)
        return observation, rewards[::-1].copy(), *rest


class OneSeed(SyncVectorEnv):
    """Its sub-environments get the same seed."""

    def reset(self, *, seed=None, options=None):
        seed = [seed] * self.num_envs if isinstance(seed, int) else seed
        return super().reset(seed=seed, options=options)


class Unseeded(SyncVectorEnv):
    """It ignores seeds."""

    def reset(self, *, seed=None, options=None):
        return super().reset(options=options)


class OtherMode(SyncVectorEnv):
    """It resets in the same step, but says that it does in the next."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **{**kwargs, "autoreset_mode": AutoresetMode.SAME_STEP})
        self.metadata["autoreset_mode"] = AutoresetMode.NEXT_STEP

    def step(self, actions):
        *result, info = super().step(actions)
        return *result, {name: x for name, x in info.items() if "final" not in name}


class NoFinal(SyncVectorEnv):
    """It lacks the last observations."""

    def step(self, actions):
        *result, info = super().step(actions)
        return *result, {name: x for name, x in info.items() if "final_obs" not in name}


class WrongFinal(SyncVectorEnv):
    """Its last observations are the first of the next episodes."""

    def step(self, actions):
        observation, *result, info = super().step(actions)
        for i in np.flatnonzero(info.get("_final_obs", False)):
            info["final_obs"][i] = observation[i].copy()
        return observation, *result, info


class WrongMask(SyncVectorEnv):
    """It masks all last infos."""

    def step(self, actions):
        *result, info = super().step(actions)
        if "final_info" in info:
            info["_final_info"] = np.ones(self.num_envs, dtype=bool)
        return *result, info


class Terminating(SyncVectorEnv):
    """Its time limits terminate."""

    def step(self, actions):
        observation, rewards, terminations, truncations, info = super().step(actions)
        return observation, rewards, terminations | truncations, np.zeros_like(truncations), info


class WholeReset(SyncVectorEnv):
    """It resets all where some are asked for."""

    def reset(self, *, seed=None, options=None):
        return super().reset(seed=seed)


class Unmasked(SyncVectorEnv):
    """Its infos have no masks."""

    def step(self, actions):
        *result, info = super().step(actions)
        return *result, {name: x for name, x in info.items() if name != "_far"}


class OneSpace(SyncVectorEnv):
    """Its observation space is that of one."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.observation_space = self.single_observation_space


class Unclosable(SyncVectorEnv):
    """It can be closed only once."""

    def close(self, **arguments):
        if self.closed:
            raise RuntimeError("closed already")
        super().close(**arguments)


NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED


@pytest.mark.parametrize(
    ("cls", "mode", "words"),
    [
        (Buffer, NEXT, "a step overwrites the observations"),
        (Doubles, NEXT, "reset returns observations of dtype float64, not float32"),
        (Turned, NEXT, "change results of sub-environment 2"),
        (OneSeed, NEXT, "sub-environment i has the seed 0"),
        (Unseeded, NEXT, "gives other observations each time"),
        (OtherMode, NEXT, "the step after the end of an episode"),
        (NoFinal, SAME, "lacks 'final_obs'"),
        (WrongFinal, SAME, "final_obs are the observations that step returns"),
        (WrongMask, SAME, "the mask '_final_info'"),
        (Terminating, NEXT, "a time limit (5 steps) truncates"),
        (WholeReset, DISABLED, "changes the observation of sub-environment 1"),
        (Unmasked, NEXT, "info has 'far' without a mask '_far'"),
        (OneSpace, NEXT, "and not 3 times single_observation_space"),
        (Unclosable, NEXT, "a second close raises RuntimeError"),
    ],
)
def test_planted_faults_are_named(cls, mode, words):
    faults = checked(cls, mode)
    assert any(words in fault for fault in faults), faults
    for fault in faults:  # each with a page
        assert fault.endswith(")")
        assert "https://" in fault


def test_what_is_no_vector_env():
    (fault,) = check_vector_env(make)
    assert "expected a gymnasium.vector.VectorEnv, got TimeLimit" in fault


def test_what_a_check_raises_is_a_fault():
    class Broken(SyncVectorEnv):
        def reset(self, *, seed=None, options=None):
            raise RuntimeError("no reset today")

    assert any("it raised RuntimeError: no reset today" in fault for fault in checked(Broken))


@pytest.mark.slow
def test_the_file_stands_alone(tmp_path):
    """It depends on Gymnasium and NumPy only, so that it can be taken into other projects."""
    copy = tmp_path / "vector_env_checker.py"
    copy.write_text(Path(of_vector_envs.__file__).read_text(encoding="utf-8"), encoding="utf-8")
    program = (
        "import sys; sys.modules['mjgym'] = sys.modules['mujoco'] = None\n"
        "import gymnasium as gym, vector_env_checker as c\n"
        "assert c.check_vector_env(lambda: gym.make_vec('CartPole-v1', 2, 'sync')) == []\n"
    )
    fresh(program, folder=tmp_path)
