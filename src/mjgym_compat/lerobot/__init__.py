"""LeRobot plug-in: `lerobot-train` and `lerobot-eval` on the environments of this package.

    lerobot-eval --policy.path=... --env.discover_packages_path=mjgym_compat.lerobot \\
        --env.type=mjgym --env.task=robosuite/Lift-v0

Importing it registers the type "mjgym" with LeRobot, and `ID`, its environment, with Gymnasium.
"""

from dataclasses import dataclass, field
from typing import Any

import gymnasium
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.envs.configs import EnvConfig

from mjgym.datasets.lerobot_dataset import ACTION, IMAGE, IMAGES
from mjgym_compat.lerobot_env import OBSERVATIONS, PIXELS, PLAIN, LeRobotEnv

__all__ = ["ID", "OBSERVATIONS", "LeRobotEnv", "MjgymConfig", "make_env"]

ID = "mjgym/LeRobot-v0"
KINDS = {PIXELS: FeatureType.VISUAL, "environment_state": FeatureType.ENV}


@EnvConfig.register_subclass("mjgym")
@dataclass
class MjgymConfig(EnvConfig):  # type: ignore[misc]
    """LeRobot's environment settings, `--env.type=mjgym --env.<name>=...`; see `LeRobotEnv`.

    `fps` is set by the task; without `cameras`, images are of the task's view.
    """

    task: str | None = "robosuite/Lift-v0"
    fps: int = 0
    obs_type: str = "state"  # or "pixels_agent_pos", "pixels"
    cameras: list[str] = field(default_factory=list)
    observation_height: int = 84  # pixels
    observation_width: int = 84
    episode_length: int | None = None  # control steps; None for the task's default
    kwargs: dict[str, Any] = field(default_factory=dict)  # of `gymnasium.make`, as JSON
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
            several = isinstance(part, gymnasium.spaces.Dict)
            pictures = {f"{PIXELS}/{n}": x for n, x in part.items()} if several else {}
            kind = KINDS.get(name, FeatureType.STATE)
            for key, one in (pictures or {name: part}).items():
                self.features[key] = PolicyFeature(type=kind, shape=one.shape)
                self.features_map[key] = _policy_key(key)
        env.close()

    @property
    def package_name(self) -> str:
        return __name__

    @property
    def gym_id(self) -> str:
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


def _policy_key(name: str) -> str:
    vectors = {ours: theirs for theirs, ours in PLAIN.items()}
    return {PIXELS: IMAGE, **vectors}.get(name, f"{IMAGES}{name.removeprefix(f'{PIXELS}/')}")


def make_env(*, arguments: Any, **kwargs: Any) -> LeRobotEnv:
    """The environment of `ID`; task arguments are separate, as Gymnasium consumes some itself."""
    return LeRobotEnv(**kwargs, **arguments)


if ID not in gymnasium.registry:
    # Without Gymnasium's wrappers, which would hide `task_description`.
    gymnasium.register(ID, f"{__name__}:make_env", order_enforce=False, disable_env_checker=True)
