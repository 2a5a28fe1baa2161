"""stable-baselines3's vector environment interface over a batch."""

from collections.abc import Iterable, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from stable_baselines3.common.vec_env import VecEnv as BaseVecEnv
from stable_baselines3.common.vec_env import VecMonitor

Infos = list[dict[str, Any]]
Indices = int | Iterable[int] | None


class VecEnv(BaseVecEnv):  # type: ignore[misc]
    """A vector environment of this package as a `stable_baselines3.common.vec_env.VecEnv`.

    Its results equal those of `DummyVecEnv` over single environments bit for bit. Pictures of
    `frame_stack` have their frames among the channels, (height, width, frames * channels), as
    `CnnPolicy` takes them.

    Args:
        envs: made by `gymnasium.make_vec` with `autoreset_mode="SameStep"`.

    Raises:
        ValueError: it has another autoreset mode.
    """

    def __init__(self, envs: gymnasium.vector.VectorEnv[Any, Any, Any]) -> None:
        mode = envs.metadata.get("autoreset_mode")
        if mode != AutoresetMode.SAME_STEP:
            raise ValueError(
                "stable-baselines3 begins the next episode in the step that ends one: make"
                f' it with autoreset_mode="SameStep", not {mode}; sb3.make_vec does'
            )
        self.envs = envs
        self.spec = envs.spec  # whose id stands in VecMonitor's file
        self._each: Any = envs.unwrapped  # access to the attributes of sub-environments
        self._actions: Any = None
        self._shown = envs.single_observation_space
        super().__init__(envs.num_envs, _merged_space(self._shown), envs.single_action_space)

    def reset(self) -> Any:
        """Start episodes, with the seeds of a preceding `seed`. Options are not supported."""
        seeds: Any = list(self._seeds)  # Gymnasium's type has one seed for all
        observations, info = self.envs.reset(seed=seeds)
        self.reset_infos = _rows(info, self.num_envs)
        self._reset_seeds()
        self._reset_options()
        return _merged(observations, self._shown)

    def step_async(self, actions: np.ndarray) -> None:
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, Infos]:
        """Advance by one control step.

        Returns:
            Observations (of the next episode where one has ended), rewards (float32), dones, and an
            info for each sub-environment, with `TimeLimit.truncated` and, at the end of an episode,
            `terminal_observation`.
        """
        observations, rewards, terminations, truncations, info = self.envs.step(self._actions)
        dones = terminations | truncations
        final_obs, final_info = info.pop("final_obs", None), info.pop("final_info", {})
        infos = _rows(info, self.num_envs)
        if dones.any():
            final_infos = _rows(final_info, self.num_envs)
            for i in np.flatnonzero(dones).tolist():
                # Other entries belong to the new episode.
                self.reset_infos[i], infos[i] = infos[i], final_infos[i]
                infos[i]["terminal_observation"] = _merged(final_obs[i], self._shown)
        for row, cut in zip(infos, (truncations & ~terminations).tolist(), strict=True):
            row["TimeLimit.truncated"] = cut
        return _merged(observations, self._shown), rewards.astype(np.float32), dones, infos

    def close(self) -> None:
        self.envs.close()

    def get_images(self) -> Sequence[np.ndarray | None]:
        return list(self._each.call("render"))

    def get_attr(self, attr_name: str, indices: Indices = None) -> list[Any]:
        values = self._each.get_attr(attr_name)
        return [values[i] for i in self._get_indices(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Indices = None) -> None:
        rows = list(self._get_indices(indices))
        self._each.set_attr(attr_name, [value] * len(rows), ids=rows)

    def env_method(
        self, method_name: str, *method_args: Any, indices: Indices = None, **method_kwargs: Any
    ) -> list[Any]:
        rows = list(self._get_indices(indices))
        return list(self._each.call(method_name, *method_args, ids=rows, **method_kwargs))

    def env_is_wrapped(self, wrapper_class: type[Any], indices: Indices = None) -> list[bool]:
        return [False for _ in self._get_indices(indices)]


def make_vec(
    id: str, num_envs: int = 1, *, monitor: str | None = None, **kwargs: Any
) -> VecMonitor:
    """A batch for stable-baselines3: `SAC("MlpPolicy", sb3.make_vec("dmc/walker-walk-v0", 16))`.

    It is in stable-baselines3's `VecMonitor`, so that its log shows returns; `monitor` is the file
    for the return and length of every episode, to whose name ".monitor.csv" is appended.
    """
    envs = gymnasium.make_vec(id, num_envs, autoreset_mode="SameStep", **kwargs)
    return VecMonitor(VecEnv(envs), monitor)


def _stacked_pictures(space: spaces.Space[Any]) -> bool:
    return space.dtype == np.uint8 and len(space.shape or ()) == 4


def _merged_space(space: spaces.Space[Any]) -> spaces.Space[Any]:
    if isinstance(space, spaces.Dict):
        return spaces.Dict({name: _merged_space(part) for name, part in space.items()})
    if isinstance(space, spaces.Box) and _stacked_pictures(space):
        return spaces.Box(_merged(space.low, space), _merged(space.high, space), dtype=np.uint8)
    return space


def _merged(observations: Any, space: spaces.Space[Any]) -> Any:
    if isinstance(space, spaces.Dict):
        return {name: _merged(observations[name], part) for name, part in space.items()}
    if not _stacked_pictures(space):
        return observations
    last = np.moveaxis(observations, -4, -2)  # (..., height, width, frames, channels)
    return last.reshape(*last.shape[:-2], -1)


def _rows(info: dict[str, Any], n: int) -> Infos:
    """A vector info as one info per sub-environment, in the form of single environments."""
    rows: Infos = [{} for _ in range(n)]
    for name, values in info.items():
        if name.startswith("_"):
            continue
        each = list(values.copy())
        if values.dtype == np.bool_:  # single environments have arrays of shape ()
            each = [np.array(value) for value in each]
        for row, value, present in zip(rows, each, info[f"_{name}"].tolist(), strict=True):
            if present:
                row[name] = value
    return rows
