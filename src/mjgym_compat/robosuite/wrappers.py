"""Wrappers under the names of `robosuite.wrappers`, whose others take environments of `make`."""

from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np


class Wrapper:
    """A wrapper that forwards everything it does not define to an environment or a wrapper."""

    def __init__(self, env: Any) -> None:
        self.env = env

    @classmethod
    def class_name(cls) -> str:
        return cls.__name__

    # Wrappers call these of their base class.

    def reset(self) -> Any:
        return self.env.reset()

    def step(self, action: Any) -> Any:
        return self.env.step(action)

    def render(self, **options: Any) -> Any:
        return self.env.render(**options)

    def observation_spec(self) -> Any:
        return self.env.observation_spec()

    @property
    def action_spec(self) -> Any:
        return self.env.action_spec

    @property
    def unwrapped(self) -> Any:
        return self.env.unwrapped

    def __getattr__(self, name: str) -> Any:
        if name == "env":  # during construction
            raise AttributeError(name)
        return getattr(self.env, name)


class GymWrapper(Wrapper, gymnasium.Env[Any, np.ndarray]):
    """A `gymnasium.Env`; `reset(seed=)` seeds the episode. As in robosuite, the horizon terminates.

    Args:
        env: of `make`, or of the published robosuite.
        keys: entries of the observation; None for "object-state", images and the robots'
            "robot0_proprio-state".
        flatten_obs: whether they are concatenated to a float64 vector; otherwise a dict.
    """

    metadata = {"render_modes": []}  # noqa: RUF012  (as Gymnasium declares it)
    render_mode = None
    spec = None

    def __init__(
        self, env: Any, keys: Sequence[str] | None = None, flatten_obs: bool = True
    ) -> None:
        Wrapper.__init__(self, env)
        self._plain = getattr(env, "unwrapped", env)  # the published base class has none
        self.name = "_".join(["".join(env.robot_names), type(self._plain).__name__])
        self.reward_range = (0, getattr(env, "reward_scale", None))
        observation = env.observation_spec()
        if keys is None:
            keys = [*(["object-state"] if "object-state" in observation else [])]
            keys += [f"{camera}_image" for camera in env.camera_names if env.use_camera_obs]
            keys += [f"robot{i}_proprio-state" for i in range(env.num_robots)]
        self.keys = list(keys)
        self.flatten_obs = flatten_obs
        if missing := [key for key in self.keys if key not in observation]:
            raise ValueError(f"keys: the observation has no {', '.join(missing)}")
        chosen = self._chosen(observation)
        self.observation_space = (
            _space(chosen)
            if flatten_obs
            else gymnasium.spaces.Dict({key: _space(value) for key, value in chosen.items()})
        )
        self.obs_dim = chosen.size if flatten_obs else sum(map(np.size, chosen.values()))
        low, high = env.action_spec
        self.action_space = gymnasium.spaces.Box(low.astype(np.float32), high.astype(np.float32))

    @property
    def unwrapped(self) -> Any:
        return self

    def _chosen(self, observation: Mapping[str, Any]) -> Any:
        entries = {key: np.asarray(observation[key]) for key in self.keys}
        if self.flatten_obs:
            return np.concatenate([np.ravel(value).astype(float) for value in entries.values()])
        return entries

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """Start an episode; see `gymnasium.Env.reset`. There are no options."""
        gymnasium.Env.reset(self, seed=seed)
        if seed is not None:
            if hasattr(self._plain, "reseed"):
                self._plain.reseed(seed)
            else:  # the published one's samplers share its generator
                fresh = np.random.default_rng(seed)
                self._plain.rng.bit_generator.state = fresh.bit_generator.state
        return self._chosen(self.env.reset()), {}

    def step(self, action: np.ndarray) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, done, info = self.env.step(action)
        return self._chosen(observation), reward, bool(done), False, info

    def compute_reward(self, achieved_goal: Any, desired_goal: Any, info: Any) -> float:
        return float(self.env.reward())

    def render(self, **kwargs: Any) -> Any:
        return self.env.render(**kwargs)

    def close(self) -> None:
        self.env.close()


def _space(value: np.ndarray) -> gymnasium.spaces.Box:
    if value.dtype.kind in "iu":
        ends = np.iinfo(value.dtype)
        return gymnasium.spaces.Box(ends.min, ends.max, value.shape, value.dtype.type)
    return gymnasium.spaces.Box(-np.inf, np.inf, value.shape, value.dtype.type)
