"""`make`: the tabletop tasks of this package as environments of robosuite."""

import copy
import dataclasses
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np

from mjgym import registry
from mjgym.actions import Action, bounds
from mjgym.envs.env import Env
from mjgym.loop.states import MEMORY, first_memory, in_simulation
from mjgym.util.suggestions import did_you_mean
from mjgym.util.values import one_of
from mjgym_compat.robosuite.arguments import HEIGHT_STD, robot_configs, task_fields
from mjgym_compat.robosuite.bindings import Simulation
from mjgym_compat.robosuite.episodes import Episodes, Picture
from mjgym_compat.robosuite.macros import SIMULATION_TIMESTEP
from mjgym_compat.robosuite.robots import Robot
from mjgym_compat.robosuite.scene_parts import Scene

OURS = ("vary", "observables")  # keyword arguments of `mjgym.make` that pass through
# Tasks whose objects' sizes are drawn; the fields of others are drawn in every reset.
SIZES = ("Lift", "TwoArmHandover", "TwoArmPegInHole", "TwoArmTransport")
OBJECT, IMAGE = "object", "image"  # groups of entries


class RobosuiteEnv:
    """An environment with robosuite's methods over a task; it starts with a reset episode.

    Its class is named after the task, e.g. "Lift"; the task's objects are attributes by their
    names, e.g. `env.cube`, and the ids of their bodies, e.g. `env.cube_body_id`. `terminated` says
    whether the task ended the episode, not the horizon; `actions` has names and units.
    """

    id = title = ""
    env: Env  # of this package
    sim: Simulation
    model: Scene
    robots: list[Robot]
    model_timestep = SIMULATION_TIMESTEP

    def __init__(self, robots: str | Sequence[str] = "Panda", **kwargs: Any) -> None:
        names = {field.name for field in dataclasses.fields(Episodes) if field.init}
        self._episodes = Episodes(**{name: kwargs.pop(name) for name in names & kwargs.keys()})
        ours = {name: kwargs.pop(name) for name in OURS if name in kwargs}
        asked = {"robots": robots, **kwargs}
        self._fields = task_fields(self.title, self.id, asked, {*names, *OURS})
        self._fields |= {"observation": "dict", "dtype": "float64", **ours}
        self._asked = asked | ours
        self.horizon, self.ignore_done = self._episodes.horizon, self._episodes.ignore_done
        self.hard_reset, self.has_renderer = self._episodes.hard_reset, self._episodes.has_renderer
        self.use_camera_obs = self._episodes.use_camera_obs
        self._start_seed = self.seed = self._episodes.seed
        self.rng = np.random.default_rng(self.seed)
        self._window: Any = None
        self._ep_meta: dict[str, Any] = {}
        self._xml_processors: list[Callable[[str], str]] = []
        self._sizes: dict[str, np.ndarray] | None = None
        self._height_std = (asked.get("task_config") or {}).get(HEIGHT_STD, 0.0)
        self._make(self._fields)
        self.reset()

    def _make(self, fields: Mapping[str, Any]) -> None:
        made: Any = gymnasium.make(
            self.id,
            max_episode_steps=-1,  # no limit: the horizon is counted here
            disable_env_checker=True,
            **fields,
        )
        self.env = env = made.unwrapped
        task: Any = env.task
        self._pictures = self._episodes.pictures(env.model)
        self._view_of = self._episodes.window_camera(env.model)
        self.camera_names = [picture.camera for picture in self._pictures]
        self.camera_segmentations = [list(each.segmentations) or None for each in self._pictures]
        self.sim, self.model = Simulation(env, self._episodes), Scene(env)
        self.actions: tuple[Action, ...] = tuple(task.actions(env.model))
        self.use_object_obs = bool(task.object_entries)
        self.reward_scale, self.reward_shaping = task.reward_scale, task.reward_type == "dense"
        self.control_freq = self._asked.get("control_freq", task.control_frequency)
        self.control_timestep = 1.0 / self.control_freq
        objects = {each.name: each for each in self.model.mujoco_objects}
        ids = {f"{n}_body_id": env.model.body(x.root_body).id for n, x in objects.items()}
        self._objects: Callable[[Any], Mapping[str, Any]] = task.objects
        self._known: dict[str, Any] = {"objects": [*objects.values()], **objects, **ids}
        self.robot_names = [task.robot] if isinstance(task.robot, str) else list(task.robot)
        self.robots = [
            Robot(name, part, env, self.actions)
            for name, part in zip(self.robot_names, task.robots, strict=True)
        ]
        self.num_robots = len(self.robots)
        self.robot_configs = robot_configs(self.title, self._asked, self.num_robots)

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__.get("_known", {})
        if known and re.match("_[a-z]", name):  # of its objects, e.g. _pot_quat
            known = {f"_{entry}": x for entry, x in self._objects(self.env.view).items()}
        if name not in known:
            raise AttributeError(
                f"{type(self).__name__} has no {name!r}{did_you_mean(name, known)}; everything of"
                " robosuite's is on its own package, see mjgym_compat.install"
            )
        return known[name]

    @property
    def unwrapped(self) -> "RobosuiteEnv":
        return self

    # The loop.

    def reset(self) -> "OrderedDict[str, Any]":
        """Start an episode, even after `close`; returns its observation."""
        if self._height_std and self.hard_reset:
            height = self.rng.normal(self._fields.get("table_height", 0.0), self._height_std)
            self.close()
            self._make({**self._fields, "table_height": float(height)})
            if self._start_seed is None:
                self._start_seed = int(self.rng.integers(2**31))
        self.env.closed = False
        self._entries, _ = self.env.reset(seed=self._start_seed)
        self._start_seed = None
        self._keep_sizes()
        self.timestep, self.cur_time = 0, 0.0
        self.done = self.terminated = False
        return self._get_observations(force_update=True)

    def step(self, action: Any) -> tuple["OrderedDict[str, Any]", float, bool, dict[str, Any]]:
        """Advance by one control step: observation, reward, whether the episode is over, info.

        It is over at the horizon, unless ignored, and when the task terminates.
        """
        if self.done:
            raise ValueError("executing action in terminated episode; call reset()")
        self._entries, reward, self.terminated, truncated, info = self.env.step(np.asarray(action))
        self.timestep += 1
        self.cur_time += self.control_timestep
        over = self.timestep >= self.horizon and not self.ignore_done
        self.done = over or self.terminated or truncated
        return self._get_observations(), float(reward), self.done, info

    def _keep_sizes(self) -> None:
        """Restore the objects' sizes of the first episode, if resets are not hard."""
        env, task = self.env, self.env.task
        if self.hard_reset or not any(kind.__name__ in SIZES for kind in type(task).__mro__):
            return
        state = env.get_state()
        if self._sizes is None:
            self._sizes = {name: state[name] for name in task.varies if name in state}
            return
        before = task.extents(env.view)  # type: ignore[attr-defined]  # of `Tabletop`
        env.set_state(dict(self._sizes))
        after = task.extents(env.view)  # type: ignore[attr-defined]
        for name, extent in before.items():  # the lowest point stays in place
            joint = env.model.body(task.body_of(name)).jntadr[0]  # type: ignore[attr-defined]
            height = env.model.jnt_qposadr[joint] + 2
            env.data.qpos[height] += extent.bottom - after[name].bottom
        self._entries = env.set_state({"qpos": env.data.qpos.copy()})

    def reseed(self, seed: int) -> None:
        self._start_seed = seed

    def render(self) -> None:
        """Show the current state in a window; does nothing without `has_renderer=True`."""
        if not self.has_renderer:
            return
        if self._window is None:
            from mjgym.rendering.window import Window

            self._window = Window(self.env.task, self.env.model)
        state = {name: x for name, x in self.env.get_state().items() if in_simulation(name)}
        self._window.show(state, self._view_of)

    def close(self) -> None:
        if self._window is not None:
            self._window.close()
            self._window = None
        self.env.close()

    # Demonstrations: models as XML, states as vectors.

    def get_ep_meta(self) -> dict[str, Any]:
        return copy.deepcopy(self._ep_meta)

    def set_ep_meta(self, meta: Mapping[str, Any]) -> None:
        self._ep_meta = dict(meta)

    def unset_ep_meta(self) -> None:
        self._ep_meta = {}

    def set_xml_processor(self, processor: Callable[[str], str]) -> None:
        self._xml_processors.append(processor)

    def reset_from_xml_string(self, xml_string: str) -> None:
        """Start an episode with the model parameters in XML from `sim.model.get_xml()`.

        Robots start at their published positions and objects where the model has them, until
        `sim.set_state_from_flattened` is called. Controllers resume the memory stored in the XML,
        or start at the published positions if it has none, so that equal states and actions lead to
        equal states. XML of another environment is a ValueError, and nothing is changed.
        """
        for processor in self._xml_processors:
            xml_string = processor(xml_string)
        numbers = self.sim.model.read_xml(xml_string)
        self.reset()
        self.env.set_state(numbers)
        self.sim.reset()
        for robot in self.robots:
            robot.set_robot_joint_positions(robot.init_qpos)
        self.sim.forward()
        recorded = {name: x for name, x in numbers.items() if name.startswith(MEMORY)}
        self.env.set_state({**first_memory(self.env), **recorded})
        self.env.data.qacc_warmstart[:] = 0.0  # as after `sim.reset()`

    # Queries.

    @property
    def action_spec(self) -> tuple[np.ndarray, np.ndarray]:
        return bounds(self.actions)

    @property
    def action_dim(self) -> int:
        return len(self.actions)

    def reward(self, action: Any = None) -> float:
        task = self.env.task
        return float(task.reward(task.terms(self.env.view)))

    def staged_rewards(self) -> tuple[float, ...]:
        return tuple(float(x) for x in self.env.task.terms(self.env.view).values())

    def _check_success(self) -> bool:
        return bool(self.env.task.success(self.env.view))

    # Observations.

    def observation_spec(self) -> "OrderedDict[str, Any]":
        """The current observation: as in robosuite, its keys and shapes are the spec."""
        return self._get_observations(force_update=True)

    def _get_observations(self, force_update: bool = False) -> "OrderedDict[str, Any]":
        """The last observation; with `force_update`, that of the current state."""
        if force_update:
            self._entries = self.env.observe()
        prefixes = {robot.prefix: f"{robot.prefix}proprio" for robot in self.robots}
        groups: dict[str, dict[str, Any]] = {
            each: {} for each in (*prefixes.values(), IMAGE, OBJECT)
        }
        for picture in self._pictures:
            groups[IMAGE] |= self._images(picture)
        for name, shape in self.env.entry_shapes.items():
            group = next((g for prefix, g in prefixes.items() if name.startswith(prefix)), OBJECT)
            groups[group][name] = np.reshape(self._entries.get(name, np.zeros(shape)), shape)[()]
        shown = OrderedDict(entry for group in groups.values() for entry in group.items())
        for name, entries in groups.items():
            if entries and (name != IMAGE or self._episodes.concatenated):
                flat = [x if name == IMAGE else np.ravel(x) for x in entries.values()]
                shown[f"{name}-state"] = np.concatenate(flat, axis=-1)
        return shown

    def _images(self, picture: Picture) -> dict[str, np.ndarray]:
        camera, size = picture.camera, (picture.width, picture.height)
        seen = self.sim.render(*size, camera_name=camera, depth=picture.depth)
        images = {f"{camera}_image": np.asarray(seen[0] if picture.depth else seen)}
        if picture.depth:
            images[f"{camera}_depth"] = seen[1][..., None]
        for kind in picture.segmentations:
            elements = self.sim.render(*size, camera_name=camera, segmentation=True)
            images[f"{camera}_segmentation_{kind}"] = self.model.segmented(elements, kind)[
                ..., None
            ]
        return images

    @property
    def _visualizations(self) -> set[str]:
        return {"env", "robots", "grippers"}

    def visualize(self, vis_settings: Mapping[str, bool]) -> None:
        self.model.show_sites(vis_settings)


IDS = {id.partition("/")[2].removesuffix("-v0"): id for id in registry.ids(namespace="robosuite")}
"""The ids of the environments by their published names."""
ENVIRONMENTS = {
    name: type(name, (RobosuiteEnv,), {"id": id, "title": name, "__doc__": RobosuiteEnv.__doc__})
    for name, id in IDS.items()
}


def make(env_name: str, *args: Any, **kwargs: Any) -> Any:
    """Make an environment: `make("Lift", robots="Panda", use_camera_obs=False)`.

    Arguments are robosuite's, see `Episodes` and `mjgym_compat.robosuite.arguments`, and `vary` and
    `observables` of `mjgym.envs.options.Options`.
    """
    one_of("env_name", env_name, ENVIRONMENTS)
    return ENVIRONMENTS[env_name](*args, **kwargs)
