"""EnvPool's Gymnasium interface, synchronous and asynchronous, over the ids of the suite."""

import re
from typing import Any

import gymnasium
import numpy as np

from mjgym import registry
from mjgym.envs.overlapped import ENV_ID
from mjgym.util.suggestions import or_else
from mjgym.util.values import whole_number

ELAPSED = "elapsed_step"  # key of an info


def task_ids() -> dict[str, str]:
    """Ids of the suite by EnvPool's names: "WalkerWalk-v1" is "dmc/walker-walk-v0"."""
    return {f"{_camel(id)}-v1": id for id in registry.ids(namespace="dmc")}


def _camel(id: str) -> str:
    words = re.split(r"[-_]", id.partition("/")[2].removesuffix("-v0"))
    return "".join(word[:1].upper() + word[1:] for word in words)


def make_gymnasium(
    task_id: str,
    num_envs: int = 1,
    batch_size: int | None = None,
    num_threads: int | None = None,
    seed: int | None = 42,
    max_episode_steps: int | None = None,
) -> "Pool":
    """Make a pool of environments, like EnvPool.

    Args:
        task_id: EnvPool's, or an id of this package.
        batch_size: number of results that `recv` returns, a divisor of `num_envs`; None for all.
        num_threads: for the physics; None or 0 for all cores.
        seed: environment i starts with seed + i.
        max_episode_steps: control steps of an episode; None for the published limit.

    Raises:
        ValueError: there is no such task, a number is not a whole one from 1 on, or `batch_size`
            does not divide `num_envs`.
    """
    known = task_ids()
    id = known.get(task_id, task_id)
    if id not in registry.ids():
        raise ValueError(f"task_id: there is no {task_id!r}{or_else(task_id, sorted(known))}")
    whole_number("num_envs", num_envs)
    size = num_envs if batch_size is None else batch_size
    whole_number("batch_size", size)
    if num_envs % size:
        raise ValueError(f"batch_size: {size} does not divide num_envs, {num_envs}")
    envs: Any = gymnasium.make_vec(
        id,
        num_envs=num_envs,
        overlap=num_envs // size,
        threads=num_threads or None,
        max_episode_steps=max_episode_steps,
    )
    return Pool(envs, seed)


def make(task_id: str, env_type: str = "gymnasium", **options: Any) -> "Pool":
    """Make a pool of environments, like `envpool.make`; see `make_gymnasium`.

    Raises:
        ValueError: an interface other than Gymnasium's is asked for, or see `make_gymnasium`.
    """
    if env_type != "gymnasium":
        raise ValueError(f"env_type: only 'gymnasium' is there, not {env_type!r}")
    return make_gymnasium(task_id, **options)


class Pool:
    """A batch, or an `OverlappedVectorEnv`, with EnvPool's `send` and `recv`.

    Rewards are float32. An info has the numbers of its rows' environments, "env_id", and their
    control steps since the start of the episode, "elapsed_step".
    """

    def __init__(self, envs: Any, seed: int | None = None) -> None:
        self._envs = envs
        self._seed = seed
        self.num_envs: int = envs.num_envs
        self.observation_space = envs.single_observation_space
        self.action_space = envs.single_action_space
        self._groups: list[np.ndarray] = getattr(envs, "groups", [np.arange(self.num_envs)])
        self._ready: list[tuple[Any, ...]] = []
        self._elapsed: np.ndarray = np.zeros(self.num_envs, dtype=np.int32)
        self._ended: np.ndarray = np.zeros(self.num_envs, dtype=bool)  # the next step resets these

    def reset(self) -> tuple[Any, dict[str, Any]]:
        """Start an episode in every environment."""
        self._ready.clear()
        observations, info = self._envs.reset(seed=self._seed)
        self._seed = None
        self._elapsed[:], self._ended[:] = 0, False
        ids = np.arange(self.num_envs)
        return observations, {**info, ENV_ID: ids, ELAPSED: self._elapsed.copy()}

    def step(self, action: Any, env_id: np.ndarray | None = None) -> tuple[Any, ...]:
        self.send(action, env_id)
        return self.recv()

    def async_reset(self) -> None:
        """Start an episode in every environment; `recv` returns observations group by group."""
        observations, info = self.reset()
        for ids in self._groups:
            nothing = np.zeros(len(ids), dtype=bool)
            part = {n: x[ids] for n, x in info.items() if not n.startswith("_")}
            rewards = np.zeros(len(ids), dtype=np.float32)
            self._ready.append((observations[ids], rewards, nothing, nothing.copy(), part))

    def send(self, action: Any, env_id: np.ndarray | None = None) -> None:
        """Start a step of a batch of environments in the background.

        Args:
            env_id: `info["env_id"]` of the last results; None for all environments.
        """
        if len(self._groups) > 1:
            self._envs.send(action, env_id)
            return
        if env_id is not None and not np.array_equal(env_id, self._groups[0]):
            raise ValueError(f"env_id: expected 0 to {self.num_envs - 1} in order, got {env_id!r}")
        self._ready.append(self._counted(self._envs.step(action), self._groups[0]))

    def recv(self) -> tuple[Any, ...]:
        """Wait for a batch of observations, rewards, terminations, truncations and infos."""
        if self._ready:
            return self._ready.pop(0)
        if len(self._groups) == 1:
            raise RuntimeError("recv: no actions have been sent; send() some first")
        result = self._envs.recv()
        return self._counted(result, result[-1][ENV_ID])

    def _counted(self, result: tuple[Any, ...], ids: np.ndarray) -> tuple[Any, ...]:
        """The results of some environments, with their numbers and their steps."""
        observations, rewards, terminated, truncated, info = result
        self._elapsed[ids] = np.where(self._ended[ids], 0, self._elapsed[ids] + 1)
        self._ended[ids] = terminated | truncated
        info = {**info, ENV_ID: ids.copy(), ELAPSED: self._elapsed[ids]}
        return observations, rewards.astype(np.float32), terminated, truncated, info

    def close(self) -> None:
        self._envs.close()
