"""robomimic's environment interface over the environments of this package.

robomimic's scripts use it after `install()`, or as follows:

    python -m mjgym_compat.robomimic run_trained_agent --agent model.pth --n_rollouts 50

This rolls out policies that robomimic has trained on files of this package or on demonstrations of
robosuite.
"""

import builtins
import runpy
import sys
import types
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from robomimic.envs.env_base import EnvBase, EnvType
from robomimic.utils import obs_utils

import mjgym
from mjgym.datasets.formats import About, remake
from mjgym.datasets.robomimic_hdf5 import keyed
from mjgym.mjcf.written_fields import with_fields
from mjgym_compat.robosuite_hdf5 import RecordedModel, arguments

PICTURE = 84  # default width and height in pixels
OWN = "mjgym"  # the whole state, in addition to robomimic's "model" and "states"


class Env(EnvBase):  # type: ignore[misc]
    """An environment of this package as a `robomimic.envs.env_base.EnvBase`.

    Observations have robomimic's keys, see `mjgym.datasets.robomimic_hdf5.keyed`. Episodes have no
    time limit here: robomimic applies the horizon.

    Args:
        env_name: a registered id; it comes from files and checkpoints, so nothing is imported.
        render: whether `render("human")` opens a window.
        render_offscreen: ignored: rendering is always possible.
        use_image_obs: ignored: `pixels` and `observation` decide.
        postprocess_visual_obs: whether images are prepared for networks.
    """

    kind = EnvType.GYM_TYPE

    def __init__(
        self,
        env_name: str,
        render: bool = False,
        render_offscreen: bool = False,
        use_image_obs: bool = False,
        postprocess_visual_obs: bool = True,
        **kwargs: Any,
    ) -> None:
        self._name, self._kwargs = env_name, deepcopy(kwargs)
        self._prepared = postprocess_visual_obs
        id, asked = self._asked(use_image_obs)
        window = {"render_mode": "human"} if render else {}
        self.env = remake(About(id, asked), {"max_episode_steps": -1, **window})
        self._plain: Any = self.env.unwrapped
        self._observation: Any = None
        self._reward, self._done, self._success = 0.0, False, False
        self._xml: str | None = None

    def _asked(self, pictures: bool) -> tuple[str, dict[str, Any]]:
        return self._name, dict(self._kwargs)

    # The loop.

    def reset(self) -> dict[str, np.ndarray]:
        """Start an episode; returns its observation."""
        self._observation, _ = self.env.reset()
        self._begin()
        return self.get_observation()

    def _begin(self) -> None:
        self._reward, self._done, self._success = 0.0, False, False
        self._xml = None

    def step(self, action: np.ndarray) -> tuple[dict[str, np.ndarray], float, bool, dict[str, Any]]:
        """Advance by one control step: observation, reward, whether the task terminated, info."""
        self._observation, reward, terminated, _, info = self.env.step(np.asarray(action))
        self._reward, self._done = float(reward), bool(terminated)
        self._success = bool(info.get("success", False))
        return self.get_observation(), self._reward, self._done, info

    def reset_to(self, state: Mapping[str, Any]) -> dict[str, np.ndarray] | None:
        """Restore a state of `get_state` or a recorded one; returns its observation.

        Args:
            state: "mjgym", the whole state; or else "states", time, qpos and qvel, and optionally
                "model", the MJCF of their model.
        """
        if self._observation is None:
            self.env.reset()  # Gymnasium's wrappers require one
        if OWN in state:
            self._observation = self._plain.set_state(state[OWN])
        elif "states" in state:
            self.env.reset()
            recorded = RecordedModel(state.get("model", self._model_xml()))
            self._observation = recorded.place(self._plain, np.asarray(state["states"]))
        else:
            return None
        self._begin()
        reached = self._plain.task.success(self._plain.view)
        self._success = reached is not None and bool(reached)
        return self.get_observation()

    def get_state(self) -> dict[str, Any]:
        """The current state: "model" (MJCF), "states" (time, qpos, qvel) and "mjgym" (complete)."""
        state = self._plain.get_state()
        row = np.concatenate([np.ravel(state[name]) for name in ("time", "qpos", "qvel")])
        return {"model": self._model_xml(), "states": row, OWN: state}

    def _model_xml(self) -> str:
        if self._xml is None:
            task, state = self._plain.task, self._plain.get_state()
            self._xml = with_fields(task.model(), {name: state[name] for name in task.varies})
        return self._xml

    # Queries.

    def get_observation(self, observation: Any = None) -> dict[str, np.ndarray]:
        """The current observation with robomimic's keys."""
        entries = keyed(self._observation if observation is None else observation)
        known = obs_utils.OBS_KEYS_TO_MODALITIES or {}
        for key, value in entries.items():
            visual = key in known and obs_utils.key_is_obs_modality(key=key, obs_modality="rgb")
            if visual and self._prepared:
                entries[key] = obs_utils.process_obs(obs=value, obs_key=key)
        return entries

    def render(
        self,
        mode: str = "human",
        height: int | None = None,
        width: int | None = None,
        camera_name: str | None = None,
    ) -> np.ndarray | None:
        """Show the current state in the window, or return its image, uint8 (height, width, 3)."""
        if mode == "human":
            self.env.render()
            return None
        if mode != "rgb_array":
            raise NotImplementedError(f"mode {mode!r} is neither 'human' nor 'rgb_array'")
        size = {"height": height or PICTURE, "width": width or PICTURE}
        picture: np.ndarray = self._plain.camera(camera_name, **size)
        return picture

    def get_reward(self) -> float:
        return self._reward

    def get_goal(self) -> Any:
        raise NotImplementedError(f"{self._name} has no goals that are observations")

    def set_goal(self, **kwargs: Any) -> None:
        raise NotImplementedError(f"{self._name} has no goals that are observations")

    def is_done(self) -> bool:
        return self._done

    def is_success(self) -> dict[str, bool]:
        return {"task": self._success}

    @property
    def action_dimension(self) -> int:
        return int(np.prod(self.env.action_space.shape or ()))

    @property
    def name(self) -> str:
        return self._name.replace("/", "-")

    @property
    def type(self) -> int:
        return int(self.kind)

    @property
    def version(self) -> str:
        return mjgym.__version__

    @property
    def base_env(self) -> gymnasium.Env[Any, Any]:
        return self.env

    def serialize(self) -> dict[str, Any]:
        """Name, type and arguments, from which robomimic recreates the environment."""
        return {
            "env_name": self._name,
            "env_version": self.version,
            "type": self.type,
            "env_kwargs": deepcopy(self._kwargs),
        }

    @classmethod
    def create_for_data_processing(
        cls,
        env_name: str,
        camera_names: Sequence[str],
        camera_height: int,
        camera_width: int,
        reward_shaping: bool,
        **kwargs: Any,
    ) -> "Env":
        """An environment that renders or returns the observations of recorded states.

        `reward_shaping` is ignored: the arguments determine the reward.
        """
        kwargs = cls._with_cameras(kwargs, camera_names, camera_height, camera_width)
        env = cls(env_name, postprocess_visual_obs=False, **kwargs)
        keys = [*env.reset()]
        pictures = [key for key in keys if key.endswith("image")]
        states = [key for key in keys if key not in pictures]
        specs = {"obs": {"low_dim": states, "rgb": pictures}}
        obs_utils.initialize_obs_utils_with_obs_specs(specs)
        return env

    @staticmethod
    def _with_cameras(
        kwargs: dict[str, Any], names: Sequence[str], height: int, width: int
    ) -> dict[str, Any]:
        plain = str(kwargs.get("observation", "flat")).removesuffix("+pixels")
        if not names:
            return {n: x for n, x in kwargs.items() if n != "pixels"} | {"observation": plain}
        pixels = {"camera": tuple(names), "height": height, "width": width}
        return {**kwargs, "observation": f"{plain}+pixels", "pixels": pixels}

    @property
    def rollout_exceptions(self) -> tuple[builtins.type[BaseException], ...]:
        """Empty: policies cause no exceptions, since divergence ends an episode."""
        return ()

    def __repr__(self) -> str:
        return f"{self._name} {self._kwargs}"


class RobosuiteEnv(Env):
    """An environment with robosuite's name and arguments, as in its demonstrations.

    Here `use_image_obs` decides whether the observation has images, of `camera_names`.
    """

    kind = EnvType.ROBOSUITE_TYPE

    def _asked(self, pictures: bool) -> tuple[str, dict[str, Any]]:
        id, asked = arguments({"env_name": self._name, "env_kwargs": self._kwargs})
        if pictures:
            names, height, width = (
                self._kwargs.get(name, usual)
                for name, usual in (
                    ("camera_names", "agentview"),
                    ("camera_heights", PICTURE),
                    ("camera_widths", PICTURE),
                )
            )
            names = [names] if isinstance(names, str) else names
            height, width = (x if isinstance(x, int) else x[0] for x in (height, width))
            asked = self._with_cameras(asked, names, height, width)
        return id, asked

    def is_done(self) -> bool:
        return False

    @staticmethod
    def _with_cameras(
        kwargs: dict[str, Any], names: Sequence[str], height: int, width: int
    ) -> dict[str, Any]:
        if "observation" in kwargs:
            return Env._with_cameras(kwargs, names, height, width)
        cameras = {"camera_names": [*names], "camera_heights": height, "camera_widths": width}
        return {**kwargs, **cameras, "use_camera_obs": bool(names)}


def make(meta: Mapping[str, Any], **options: Any) -> Env:
    """The environment of a file's or a checkpoint's metadata, including robosuite's tasks."""
    kind = RobosuiteEnv if meta["type"] == EnvType.ROBOSUITE_TYPE else Env
    return kind(meta["env_name"], **options, **meta["env_kwargs"])


def install() -> None:
    """Replace robomimic's environments for Gym and robosuite in this process.

    robomimic's versions need the outdated packages `gym` and `mujoco_py`.
    """
    for module, name, kind in (
        ("robomimic.envs.env_gym", "EnvGym", Env),
        ("robomimic.envs.env_robosuite", "EnvRobosuite", RobosuiteEnv),
    ):
        stand_in = types.ModuleType(module)
        setattr(stand_in, name, kind)
        sys.modules[module] = stand_in


if __name__ == "__main__":
    install()
    script, output = f"robomimic.scripts.{sys.argv.pop(1)}", sys.stdout
    try:
        runpy.run_module(script, run_name="__main__", alter_sys=True)
    finally:
        output.flush()  # its logger, which takes the place of sys.stdout, does not
