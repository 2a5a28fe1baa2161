"""Any `dm_env.Environment`, such as your own Composer task, as a Gymnasium environment."""

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

RENDER_MODES = ("rgb_array",)


def gymnasium(
    env: Any,
    *,
    render_mode: str | None = None,
    width: int = 84,
    height: int = 84,
    camera_id: int | str = 0,
) -> gym.Env[Any, Any]:
    """A `dm_env.Environment` or an environment of robosuite as a Gymnasium environment.

    Spaces are those of its specifications: a Dict for a dictionary, a Tuple for a list, a Box for
    an array, Discrete for a discrete one. An episode that ends with discount 0 is terminated, one
    that ends with another is truncated; `info["discount"]` has it. If it is itself an adapter of a
    Gymnasium environment, that one is returned, unless a render mode is asked for. For robosuite
    see `mjgym_compat.robosuite.wrappers.GymWrapper`.

    Args:
        env: the environment. `reset(seed=)` seeds `env.random_state` or `env.task.random`.
        render_mode: "rgb_array", or None.

    Raises:
        TypeError: it is no `dm_env.Environment`, or has a reward for each of several players.
        ValueError: the render mode is unknown.
    """
    if isinstance(env, gym.Env):
        return env
    if hasattr(env, "robots") and hasattr(env, "sim"):
        from mjgym_compat.robosuite.wrappers import GymWrapper

        return GymWrapper(env)
    for name in ("reset", "step", "observation_spec", "action_spec", "reward_spec"):
        if not hasattr(env, name):
            raise TypeError(f"gymnasium: {env!r} is no dm_env.Environment: it lacks {name!r}")
    if isinstance(env.reward_spec(), list | tuple):
        raise TypeError("gymnasium: each player has a reward; Gymnasium's environments have one")
    if render_mode not in (None, *RENDER_MODES):
        raise ValueError(f"render_mode: must be None or one of {RENDER_MODES}, got {render_mode!r}")
    inner = getattr(env, "__dict__", {}).get("env")  # its own: wrappers pass attributes on
    if isinstance(inner, gym.Env) and render_mode is None:
        return inner
    return _OfDmEnv(env, render_mode, {"width": width, "height": height, "camera_id": camera_id})


class _OfDmEnv(gym.Env[Any, Any]):
    metadata: dict[str, Any] = {"render_modes": list(RENDER_MODES)}  # noqa: RUF012  (Gymnasium's)

    def __init__(self, env: Any, render_mode: str | None, picture: dict[str, Any]) -> None:
        self.dm_env, self.render_mode, self._picture = env, render_mode, picture
        self.observation_space = _space(env.observation_spec())
        self.action_space = _space(env.action_spec())
        if hasattr(env, "control_timestep"):
            rate = round(1 / env.control_timestep())
            self.metadata = {**self.metadata, "render_fps": rate}

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        if seed is not None and isinstance(getattr(self.dm_env, "env", None), gym.Env):
            self.dm_env.seed(seed)
        elif seed is not None:
            self._generator().seed(seed % 2**32)
        return _observed(self.observation_space, self.dm_env.reset().observation), {}

    def _generator(self) -> np.random.RandomState:
        places = (self.dm_env, "random_state"), (getattr(self.dm_env, "task", None), "random")
        for owner, name in places:
            if isinstance(generator := getattr(owner, name, None), np.random.RandomState):
                return generator
        raise ValueError(
            f"seed: {self.dm_env!r} has no np.random.RandomState as `random_state` or `task.random`"
        )

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        timestep = self.dm_env.step(action)
        discount = 1.0 if timestep.discount is None else float(timestep.discount)
        ended = timestep.last()
        return (
            _observed(self.observation_space, timestep.observation),
            float(timestep.reward or 0.0),
            ended and discount == 0,
            ended and discount != 0,
            {"discount": discount},
        )

    def render(self) -> Any:
        if self.render_mode is not None:
            return self.dm_env.physics.render(**self._picture)
        return None

    def close(self) -> None:
        self.dm_env.close()


def _space(spec: Any) -> spaces.Space[Any]:
    if isinstance(spec, Mapping):
        return spaces.Dict({name: _space(inner) for name, inner in spec.items()})
    if isinstance(spec, list | tuple):
        return spaces.Tuple([_space(inner) for inner in spec])
    if hasattr(spec, "num_values"):
        return spaces.Discrete(spec.num_values, dtype=np.dtype(spec.dtype).type)
    kind = np.dtype(spec.dtype)
    bounds: tuple[Any, Any] = (-np.inf, np.inf)
    if hasattr(spec, "minimum"):
        bounds = spec.minimum, spec.maximum
    elif kind.kind in "iu":
        bounds = np.iinfo(kind).min, np.iinfo(kind).max
    elif kind.kind == "b":
        bounds = False, True
    low, high = (np.broadcast_to(bound, spec.shape).astype(kind) for bound in bounds)
    return spaces.Box(low, high, spec.shape, kind.type)


def _observed(space: spaces.Space[Any], value: Any) -> Any:
    """An observation, as a copy in the space's own types."""
    if isinstance(space, spaces.Dict):
        return {name: _observed(inner, value[name]) for name, inner in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(_observed(s, v) for s, v in zip(space.spaces, value, strict=True))
    array = np.array(value, dtype=space.dtype)
    return space.dtype.type(array) if isinstance(space, spaces.Discrete) else array
