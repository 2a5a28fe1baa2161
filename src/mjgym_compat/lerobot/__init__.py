"""LeRobot plug-in: `lerobot-train` and `lerobot-eval` on the environments of this package.

    lerobot-eval --policy.path=... --env.discover_packages_path=mjgym_compat.lerobot \\
        --env.type=mjgym --env.task=robosuite/Lift-v0

Importing it registers the type "mjgym" with LeRobot, and `ID`, its environment, with Gymnasium.
"""

from dataclasses import dataclass, field
from typing import Any

import gymnasium
import numpy as np
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig

from mjgym.datasets.lerobot_dataset import (
    ACTION,
    ENVIRONMENT,
    IMAGE,
    IMAGES,
    STATE,
    described,
    keyed,
)
from mjgym.util.suggestions import or_else

__all__ = ["ID", "OBSERVATIONS", "LeRobotEnv", "MjgymConfig", "make_env"]

ID = "mjgym/LeRobot-v0"
OBSERVATIONS = ("state", "pixels_agent_pos", "pixels")
PLAIN = {STATE: "agent_pos", ENVIRONMENT: "environment_state"}
"""LeRobot's names of observation vectors in environments, by those in datasets."""
PIXELS = "pixels"


class LeRobotEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """An environment with LeRobot's interface; an episode ends when the task succeeds.

    The observation is a dict: `agent_pos`, the robots' proprioception; `environment_state`, all
    other entries; `pixels`, an image, or images by camera if there are several. Infos have
    `is_success`.

    Args:
        obs_type: "state" for `agent_pos` and `environment_state`, "pixels_agent_pos" or "pixels".
        height: of images, pixels.
        width: of images, pixels.
        render_mode: of `gymnasium.make`.
        **kwargs: of `gymnasium.make`.

    Raises:
        ValueError: `obs_type` is unknown.
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
        if obs_type not in OBSERVATIONS:
            raise ValueError(f"obs_type: no {obs_type!r}{or_else(obs_type, OBSERVATIONS)}")
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
        """The time limit in control steps, under LeRobot's name."""
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
        observation, info = self.env.reset(seed=seed, options=options)
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


@EnvConfig.register_subclass("mjgym")
@dataclass
class MjgymConfig(EnvConfig):  # type: ignore[misc]
    """The arguments `--env....` of `--env.type=mjgym`; see `LeRobotEnv`.

    Args:
        fps: set by the task.
        obs_type: "state", "pixels_agent_pos" or "pixels".
        cameras: of the images; by default the task's view.
        observation_height: pixels.
        observation_width: pixels.
        episode_length: control steps of an episode; None for the task's default.
        kwargs: of `gymnasium.make`, as JSON, including the task's fields.
        render_mode: of `gymnasium.make`.
    """

    task: str | None = "robosuite/Lift-v0"
    fps: int = 0
    obs_type: str = "state"
    cameras: list[str] = field(default_factory=list)
    observation_height: int = 84
    observation_width: int = 84
    episode_length: int | None = None
    kwargs: dict[str, Any] = field(default_factory=dict)
    render_mode: str = "rgb_array"

    def __post_init__(self) -> None:
        env = gymnasium.make(ID, **self.gym_kwargs)
        plain: Any = env.unwrapped
        self.fps = round(1 / plain.control_timestep)
        shape = env.action_space.shape
        self.features = {ACTION: PolicyFeature(type=FeatureType.ACTION, shape=shape)}
        self.features_map = {ACTION: ACTION}
        space: Any = env.observation_space
        for name, part in space.items():
            pictures = {f"{PIXELS}/{n}": x for n, x in part.items()} if _several(part) else {}
            for key, one in (pictures or {name: part}).items():
                self.features[key] = PolicyFeature(type=_kind(name), shape=one.shape)
                self.features_map[key] = _policy_key(key)
        env.close()

    @property
    def package_name(self) -> str:
        return __name__

    @property
    def gym_id(self) -> str:
        """The id of the LeRobot environment, which makes the task."""
        return ID

    @property
    def gym_kwargs(self) -> dict[str, Any]:
        """The arguments of `gymnasium.make` except the id."""
        limit = {} if self.episode_length is None else {"max_episode_steps": self.episode_length}
        return {
            "task": self.task,
            "obs_type": self.obs_type,
            "cameras": tuple(self.cameras),
            "height": self.observation_height,
            "width": self.observation_width,
            "render_mode": self.render_mode,
            "arguments": {**limit, **self.kwargs},
        }


def _several(space: gymnasium.Space[Any]) -> bool:
    return isinstance(space, gymnasium.spaces.Dict)


def _kind(name: str) -> Any:
    kinds = {PIXELS: FeatureType.VISUAL, "environment_state": FeatureType.ENV}
    return kinds.get(name, FeatureType.STATE)


def _policy_key(name: str) -> str:
    for theirs, ours in PLAIN.items():
        if name == ours:
            return theirs
    return IMAGE if name == PIXELS else f"{IMAGES}{name.removeprefix(f'{PIXELS}/')}"


def make_env(*, arguments: Any, **kwargs: Any) -> LeRobotEnv:
    """The environment of `ID`; task arguments are separate, as Gymnasium consumes some itself."""
    return LeRobotEnv(**kwargs, **arguments)


if ID not in gymnasium.registry:
    # Without Gymnasium's wrappers, which would hide `task_description`.
    gymnasium.register(ID, f"{__name__}:make_env", order_enforce=False, disable_env_checker=True)
