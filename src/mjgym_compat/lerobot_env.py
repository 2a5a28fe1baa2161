"""LeRobot's interface of environments; needs no LeRobot."""

import functools
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from mjgym.datasets.lerobot_dataset import ENVIRONMENT, IMAGE, IMAGES, STATE, described, keyed
from mjgym.util.values import one_of

OBSERVATIONS = ("state", "pixels_agent_pos", "pixels")
PLAIN = {STATE: "agent_pos", ENVIRONMENT: "environment_state"}
"""LeRobot's names of observation vectors in environments, by those in datasets."""
PIXELS = "pixels"

Suites = dict[str, dict[int, SyncVectorEnv | AsyncVectorEnv]]


class LeRobotEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment with LeRobot's interface; an episode ends when the task succeeds.

    The observation is a dict: `agent_pos`, the robots' proprioception; `environment_state`, all
    other entries; `pixels`, an image, or images by camera if there are several. Infos have
    `is_success`.

    Args:
        obs_type: "state" for `agent_pos` and `environment_state`, "pixels_agent_pos" or "pixels".
    """

    def __init__(
        self,
        task: str,
        obs_type: str = "state",
        cameras: tuple[str, ...] = (),
        height: int = 84,
        width: int = 84,
        render_mode: str | None = None,
        **kwargs: Any,
    ) -> None:
        one_of("obs_type", obs_type, OBSERVATIONS)
        if obs_type != "state":
            chosen: Any = tuple(cameras) if len(cameras) > 1 else (*cameras, 0)[0]
            kwargs["pixels"] = {"camera": chosen, "height": height, "width": width}
        observation = "dict" if obs_type == "state" else "dict+pixels"
        size = {"height": height, "width": width} if render_mode == "rgb_array" else {}
        super().__init__(
            gymnasium.make(
                task, observation=observation, render_mode=render_mode, **{**size, **kwargs}
            )
        )
        self.task, self.task_description = task, described(task)
        # LeRobot 0.6 writes its films with PyAV, which takes no float.
        self.metadata = {**self.env.metadata, "render_fps": round(self.env.metadata["render_fps"])}
        self._shown = {
            "state": (STATE, ENVIRONMENT),
            "pixels_agent_pos": (STATE, IMAGE),
            "pixels": (IMAGE,),
        }[obs_type]
        entries: Any = self.env.observation_space
        zeros = {name: np.zeros(space.shape, space.dtype) for name, space in entries.items()}
        self.observation_space = _space(self._converted(zeros))

    @property
    def _max_episode_steps(self) -> int:
        return int(self.env.get_wrapper_attr("_max_episode_steps"))

    def _converted(self, observation: Any) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for key, value in keyed(observation).items():
            shown = IMAGE if key.startswith(IMAGE) else key
            if shown not in self._shown:
                continue
            if key.startswith(IMAGES):
                entries.setdefault(PIXELS, {})[key.removeprefix(IMAGES)] = value
            else:
                entries[PLAIN.get(key, PIXELS)] = value
        return entries

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        # LeRobot 0.6 marks each reset of its own with an option that its wrapper reads.
        own = {key: x for key, x in (options or {}).items() if not key.startswith("lerobot_")}
        observation, info = self.env.reset(seed=seed, options=own)
        return self._converted(observation), {**info, "is_success": False}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step(action)
        success = bool(info.get("success", False))
        info = {**info, "is_success": success}
        return self._converted(observation), float(reward), terminated or success, truncated, info


def _space(observation: Any) -> gymnasium.Space[Any]:
    if isinstance(observation, dict):
        return gymnasium.spaces.Dict({name: _space(value) for name, value in observation.items()})
    if observation.dtype == np.uint8:
        return gymnasium.spaces.Box(0, 255, observation.shape, np.uint8)
    return gymnasium.spaces.Box(-np.inf, np.inf, observation.shape, observation.dtype)


def make_suites(task: str, n_envs: int = 1, use_async_envs: bool = False, **kwargs: Any) -> Suites:
    """Make a task's vector environment for LeRobot, as `{suite: {task_id: environment}}`.

    Its autoreset mode is `SAME_STEP`: the step that ends an episode has `is_success` in
    `final_info`.

    Args:
        task: id, with a module before it if that registers it: "module:id".
        use_async_envs: whether each sub-environment has a process of its own.
        kwargs: of `LeRobotEnv`.
    """
    if n_envs < 1:
        raise ValueError(f"n_envs: {n_envs} is less than 1")
    one = functools.partial(LeRobotEnv, task, **{"render_mode": "rgb_array", **kwargs})
    kind = AsyncVectorEnv if use_async_envs else SyncVectorEnv
    envs = kind([one] * n_envs, autoreset_mode=AutoresetMode.SAME_STEP)
    return {task.rpartition(":")[2].partition("/")[0]: {0: envs}}
