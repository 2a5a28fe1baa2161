"""The interface of stable-baselines3's vector environments over a batch."""

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv as BaseVecEnv
from stable_baselines3.common.vec_env import VecMonitor

Infos = list[dict[str, Any]]
Indices = int | Iterable[int] | None


class VecEnv(BaseVecEnv):  # type: ignore[misc]
    """A vector environment of ours as a `stable_baselines3.common.vec_env.VecEnv`.

    What it returns equals what stable-baselines3's own `DummyVecEnv` over single environments
    returns, transition by transition and to the bit.

    Args:
        envs: made by `gymnasium.make_vec` with `autoreset_mode="SameStep"`.

    Raises:
        ValueError: it is in another autoreset mode.
    """

    def __init__(self, envs: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise ValueError(
                "stable-baselines3 begins the next episode in the step that ends one: make"
                f' it with autoreset_mode="SameStep", not {mode}; sb3.make_vec does'
            )
        self.envs = envs
        self._each: Any = envs.unwrapped  # what gives each sub-environment's attributes
        self._actions: Any = None
        super().__init__(envs.num_envs, envs.single_observation_space, envs.single_action_space)

    def reset(self) -> Any:
        """Start episodes; with seeds, once, after `seed`. There are no options to pass on."""
        seeds: Any = list(self._seeds)  # Gymnasium declares one for all
        observations, info = self.envs.reset(seed=seeds)
        self.reset_infos = _rows(info, self.num_envs)
        self._reset_seeds()
        self._reset_options()
        return observations

    def step_async(self, actions: np.ndarray) -> None:
        """Note the actions that `step_wait` takes."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, Infos]:
        """Advance by one control step.

        Returns:
            The observations (those of the next episode where one has ended), rewards (float32),
            ends, and an info for each sub-environment, with `TimeLimit.truncated` and, where an
            episode has ended, `terminal_observation`.
        """
        observations, rewards, terminations, truncations, info = self.envs.step(self._actions)
        dones = terminations | truncations
        final_obs, final_info = info.pop("final_obs", None), info.pop("final_info", {})
        infos = _rows(info, self.num_envs)
        if dones.any():
            final_infos = _rows(final_info, self.num_envs)
            for i in np.flatnonzero(dones).tolist():
                # What is not of the episode that has ended is of the one that begins.
                self.reset_infos[i], infos[i] = infos[i], final_infos[i]
                infos[i]["terminal_observation"] = final_obs[i]
        for row, cut in zip(infos, (truncations & ~terminations).tolist(), strict=True):
            row["TimeLimit.truncated"] = cut
        return observations, rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        """Close the environments."""
        self.envs.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        """A picture of each sub-environment, as `render()` shows them side by side."""
        return list(self._each.call("render"))

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        """An attribute of the given sub-environments; see `mjgym.VectorEnv.get_attr`."""
        values = self._each.get_attr(attr_name)
        return [values[i] for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        """Set an attribute of the given sub-environments; see `mjgym.VectorEnv.set_attr`."""
        rows = list(self._get_indices(indices))
        self._each.set_attr(attr_name, [value] * len(rows), ids=rows)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        """Call a method of the given sub-environments; see `mjgym.VectorEnv.call`."""
        rows = list(self._get_indices(indices))
        return list(self._each.call(method_name, *method_args, ids=rows, **method_kwargs))

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        """False for each: sub-environments are rows of one batch, which no wrapper is around."""
        return [False for _ in self._get_indices(indices)]


def make_vec(
    id: str, num_envs: int = 1, *, monitor: str | None = None, **kwargs: Any
) -> VecMonitor:
    """A batch for stable-baselines3: `SAC("MlpPolicy", sb3.make_vec("dmc/walker-walk-v0", 16))`.

    Args:
        id: of the task.
        num_envs: number of sub-environments.
        monitor: file to which the return and length of every episode are written, a line for each;
            ".monitor.csv" is appended.
        **kwargs: of `gymnasium.make_vec`, but for `autoreset_mode`.

    Returns:
        The batch in stable-baselines3's `VecMonitor`, so that its log shows returns.
    """
    envs = gymnasium.make_vec(id, num_envs, autoreset_mode="SameStep", **kwargs)
    return VecMonitor(VecEnv(envs), monitor)


def _rows(info: dict[str, Any], n: int) -> Infos:
    """The info of each sub-environment, as a single one has it, of what a vector's holds."""
    rows: Infos = [{} for _ in range(n)]
    for name, values in info.items():
        if name.startswith("_"):
            continue
        each = list(values.copy())
        if values.dtype == np.bool_:  # which a single one has as arrays of shape ()
            each = [np.array(value) for value in each]
        for row, value, present in zip(rows, each, info[f"_{name}"].tolist(), strict=True):
            if present:
                row[name] = value
    return rows
