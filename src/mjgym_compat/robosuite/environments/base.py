"""`make`, and environments with robosuite's methods over the tabletop tasks of this package."""

import copy
import dataclasses
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import gymnasium
import numpy as np

from mjgym import registry
from mjgym.actions import Action, bounds
from mjgym.envs.env import Env
from mjgym.loop.states import MEMORY, in_simulation
from mjgym.util.suggestions import did_you_mean, or_else
from mjgym_compat.robosuite.arguments import task_fields
from mjgym_compat.robosuite.episodes import Episodes, Picture
from mjgym_compat.robosuite.macros import SIMULATION_TIMESTEP
from mjgym_compat.robosuite.models.objects import MujocoModel
from mjgym_compat.robosuite.models.scene_model import Scene
from mjgym_compat.robosuite.robots import Robot
from mjgym_compat.robosuite.sim_facade import Simulation
from mjgym_compat.robosuite.utils import sim_utils
from mjgym_compat.robosuite.utils.observables import Observable, Observables

REGISTERED_ENVS = {
    id.partition("/")[2].removesuffix("-v0"): id for id in registry.ids(namespace="robosuite")
}
"""The ids of the environments by their published names."""
OURS = ("vary", "observables")  # keyword arguments of `mjgym.make` that pass through
# Tasks whose objects' sizes are drawn; the fields of others are drawn in every reset.
SIZES = ("Lift", "TwoArmHandover", "TwoArmPegInHole", "TwoArmTransport")


def make(env_name: str, robots: str | Sequence[str] = "Panda", **kwargs: Any) -> "RobosuiteEnv":
    """Make a task, called as in robosuite: `make("Lift", robots="Panda", use_camera_obs=False)`.

    Args:
        env_name: one of `ALL_ENVIRONMENTS`.
        robots: a name, or one for each robot.
        **kwargs: robosuite's, see `Episodes` and `mjgym_compat.robosuite.arguments`; and `vary` and
            `observables` of `mjgym.envs.options.Options`.

    Raises:
        TypeError: an argument is unknown; the message names the nearest ones.
        ValueError: there is no such task, robot, controller or camera (the message names the
            nearest ones), or a value is not supported here.
    """
    if env_name not in REGISTERED_ENVS:
        raise ValueError(f"env_name: no {env_name!r}{or_else(env_name, REGISTERED_ENVS)}")
    id = REGISTERED_ENVS[env_name]
    names = {field.name for field in dataclasses.fields(Episodes) if field.init}
    episodes = Episodes(**{name: kwargs.pop(name) for name in names & kwargs.keys()})
    ours = {name: kwargs.pop(name) for name in OURS if name in kwargs}
    asked = {"robots": robots, **kwargs}
    fields = task_fields(env_name, id, asked, {*names, *OURS})
    asked |= ours
    env: Any = gymnasium.make(
        id,
        observation="dict",
        dtype="float64",
        max_episode_steps=-1,  # no limit: the horizon is counted here
        disable_env_checker=True,
        **ours,
        **fields,
    )
    kind = type(env_name, (RobosuiteEnv,), {"__doc__": RobosuiteEnv.__doc__})
    named: RobosuiteEnv = kind(env.unwrapped, episodes, asked)
    return named


class RobosuiteEnv:
    """An environment with robosuite's methods; it starts with a reset episode.

    Its class is named after the task, e.g. "Lift"; the task's objects are attributes by their
    names, e.g. `env.cube`.

    Args:
        env: of a tabletop task, with dict observations.
        episodes: arguments about episodes and rendering.
        asked: all other arguments of `make`.

    Attributes:
        env: the wrapped environment.
        robots: see `Robot`.
        sim: see `Simulation`.
        model: see `Scene`.
        horizon: control steps of an episode.
        control_freq: control frequency, Hz.
        timestep: control steps since the start of the episode.
        cur_time: seconds since the start of the episode, counted by control steps.
        done: whether the episode is over.
        terminated: whether the task ended it, not the horizon.
        viewer: the window, None before the first `render`.
        actions: the action dimensions, with names and units.
        placement_initializer: the sampler passed to `make`, or None.
    """

    def __init__(self, env: Env, episodes: Episodes, asked: Mapping[str, Any]) -> None:
        self.env = env
        task: Any = env.task
        self._episodes = episodes
        self._asked = dict(asked)
        self._pictures = episodes.pictures(env.model)
        self._view_of = episodes.window_camera(env.model)
        self.actions: tuple[Action, ...] = tuple(task.actions(env.model))
        self.action_dim = len(self.actions)
        self.env_configuration = str(asked.get("env_configuration", "default"))
        self.placement_initializer = asked.get("placement_initializer")
        self._ep_meta: dict[str, Any] = {}
        self._xml_processors: list[Callable[[str], str]] = [self.edit_model_xml]
        self._seed = episodes.seed
        self._sizes: dict[str, np.ndarray] | None = None
        self.viewer: Any = None
        self.horizon = episodes.horizon
        self.ignore_done, self.hard_reset = episodes.ignore_done, episodes.hard_reset
        self.has_renderer = episodes.has_renderer
        self.has_offscreen_renderer = episodes.has_offscreen_renderer
        self.use_camera_obs = episodes.use_camera_obs
        self.deterministic_reset = False
        self.use_object_obs = bool(task.object_entries)
        self.reward_scale, self.reward_shaping = task.reward_scale, task.reward_type == "dense"
        self.control_freq: float = asked.get("control_freq", task.control_frequency)
        self.control_timestep = 1 / self.control_freq
        self.model_timestep = SIMULATION_TIMESTEP
        self.camera_names = [picture.camera for picture in self._pictures]
        self.camera_heights = [picture.height for picture in self._pictures]
        self.camera_widths = [picture.width for picture in self._pictures]
        self.camera_depths = [picture.depth for picture in self._pictures]
        self.camera_segmentations = [
            list(picture.segmentations) or None for picture in self._pictures
        ]
        self.sim = Simulation(env, episodes)
        self.model = Scene(env, episodes)
        self.robots = [
            Robot(env, i, robot, self.actions, self.model, self.sim, self.control_freq)
            for i, robot in enumerate(task.robots)
        ]
        self.robot_names = [robot.name for robot in self.robots]
        self.num_robots, self.num_cameras = len(self.robots), len(self.camera_names)
        self._observables = Observables(self.control_freq)
        self.reset()

    def __getattr__(self, name: str) -> Any:
        scene = self.__dict__.get("model")
        objects = {} if scene is None else {each.name: each for each in scene.mujoco_objects}
        if name not in objects:
            raise AttributeError(
                f"{type(self).__name__} has no {name!r}{did_you_mean(name, objects)}"
            )
        return objects[name]

    @property
    def unwrapped(self) -> "RobosuiteEnv":
        return self

    # The loop.

    def reset(self) -> "OrderedDict[str, Any]":
        """Start an episode, even after `close`; returns its observation."""
        self.env.closed = False
        self._entries, _ = self.env.reset(seed=self._seed)
        self._seed = None
        self._keep_sizes()
        self.timestep, self.cur_time = 0, 0.0
        self.done = self.terminated = False
        self._observables.reset()
        return self._observation(force=True)

    def step(self, action: Any) -> tuple["OrderedDict[str, Any]", float, bool, dict[str, Any]]:
        """Advance by one control step: observation, reward, whether the episode is over, info.

        `done` is set at the horizon, unless ignored, and when the task terminates; info is that of
        `mjgym.Env.step`.

        Raises:
            ValueError: the episode is over, or the action has a wrong shape or is not finite.
        """
        if self.done:
            raise ValueError("executing action in terminated episode; call reset()")
        self._entries, reward, terminated, truncated, info = self.env.step(np.asarray(action))
        self.timestep += 1
        self.cur_time += self.control_timestep
        over = self.timestep >= self.horizon and not self.ignore_done
        self.terminated = terminated
        self.done = over or terminated or truncated
        return self._observation(), reward, self.done, info

    def render(self) -> None:
        """Show the current state in a window; does nothing without `has_renderer=True`.

        Raises:
            RenderingError: there is no display.
        """
        if not self.has_renderer:
            return
        if self.viewer is None:
            from mjgym.rendering.window import Window

            self.viewer = Window(self.env.task, self.env.model)
        state = {n: x for n, x in self.env.get_state().items() if in_simulation(n)}
        self.viewer.show(state, self._view_of)

    def close_renderer(self) -> None:
        """Close the window."""
        if self.viewer is not None:
            self.viewer.close()
            self.viewer = None

    def close(self) -> None:
        self.close_renderer()
        self.env.close()

    def _keep_sizes(self) -> None:
        """Without hard resets, objects keep their sizes from the first episode."""
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
        self._seed = seed

    def remade(self, **changed: Any) -> "RobosuiteEnv":
        """A new environment with some arguments of `make` changed."""
        fields = [field.name for field in dataclasses.fields(Episodes) if field.init]
        episodes = {name: getattr(self._episodes, name) for name in fields}
        return make(type(self).__name__, **{**self._asked, **episodes, **changed})

    # Demonstrations: models as XML, states as vectors.

    def get_ep_meta(self) -> dict[str, Any]:
        """A copy of the episode's metadata."""
        return copy.deepcopy(self._ep_meta)

    def set_ep_meta(self, meta: Mapping[str, Any]) -> None:
        """Set the episode's metadata."""
        self._ep_meta = dict(meta)

    def unset_ep_meta(self) -> None:
        """Clear the episode's metadata."""
        self._ep_meta = {}

    def edit_model_xml(self, xml_str: str) -> str:
        """XML in loadable form: that of `sim.model.get_xml()` is unchanged."""
        return xml_str

    def set_xml_processor(self, processor: Callable[[str], str]) -> None:
        self._xml_processors.append(processor)

    def reset_from_xml_string(self, xml_string: str) -> None:
        """Start an episode with the model parameters in XML from `sim.model.get_xml()`.

        Robots start at their published positions and objects where the model has them, until
        `sim.set_state_from_flattened` is called. Controllers resume the memory stored in the XML,
        or start at the published positions if it has none, so that equal states and actions lead to
        equal states.

        Raises:
            ValueError: it is not XML of this environment; nothing is changed.
        """
        for processor in self._xml_processors:
            xml_string = processor(xml_string)
        numbers = self.sim.model.read_xml(xml_string)
        self.deterministic_reset = True
        self.reset()
        self.deterministic_reset = False
        self.env.set_state(numbers)
        self.sim.reset()
        for robot in self.robots:
            robot.set_robot_joint_positions(robot.init_qpos)
        self.sim.forward()
        memory = {MEMORY + name: x for name, x in self.env.task.memory(self.env.view).items()}
        recorded = {name: x for name, x in numbers.items() if name.startswith(MEMORY)}
        self.env.set_state({**memory, **recorded})
        self.env.data.qacc_warmstart[:] = 0.0  # as after `sim.reset()`

    # Queries.

    @property
    def action_spec(self) -> tuple[np.ndarray, np.ndarray]:
        """The action bounds, (action_dim,) each."""
        return bounds(self.actions)

    @property
    def table_offset(self) -> np.ndarray:
        """Centre of the table top, m."""
        return np.array(self.env.task.table_top)  # type: ignore[attr-defined]  # of `OneTable`

    def reward(self, action: Any = None) -> float:
        """The reward of the current state; actions do not matter."""
        task = self.env.task
        return float(task.reward(task.terms(self.env.view)))

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
        return self._observation(force=force_update)

    def _observation(self, force: bool = False) -> "OrderedDict[str, Any]":
        modalities: dict[str, dict[str, Any]] = {
            **{f"{robot.prefix}proprio": {} for robot in self.robots},
            "image": {n: x for picture in self._pictures for n, x in self._images(picture).items()},
            "object": {},
        }
        prefixes = tuple(robot.prefix for robot in self.robots)
        for name, value in self._entries.items():
            prefix = next((p for p in prefixes if name.startswith(p)), None)
            group = modalities["object" if prefix is None else f"{prefix}proprio"]
            group[name] = np.reshape(value, self.env.entry_shapes[name])[()]  # scalars have no axis
        modalities = self._observables.read(modalities, force)
        observation = OrderedDict(
            (name, value) for group in modalities.values() for name, value in group.items()
        )
        order = [name for name in modalities if name not in ("image", "object")]
        order += ["image"] if self._episodes.concatenated else []
        for name in [*order, "object"]:
            if modalities[name]:
                observation[f"{name}-state"] = _joined(modalities[name], name == "image")
        return observation

    def _images(self, picture: Picture) -> dict[str, np.ndarray]:
        name = picture.camera
        render = partial(self.sim.render, picture.width, picture.height, camera_name=name)
        if picture.depth:
            image, depth = render(depth=True)
            images = {f"{name}_image": image, f"{name}_depth": depth[..., None]}
        else:
            images = {f"{name}_image": render()}
        elements = render(segmentation=True) if picture.segmentations else np.empty(0)
        for kind in picture.segmentations:
            grouped = self.model.segmented(elements, kind)
            images[f"{name}_segmentation_{kind}"] = grouped[..., None]
        return images

    def add_observable(self, observable: Observable) -> None:
        """Add an entry to the observation.

        Raises:
            ValueError: there is one of that name.
        """
        if observable.name in self.observation_names:
            raise ValueError(
                f"add_observable: there is {observable.name!r} already; see modify_observable"
            )
        self._observables.add(observable)

    def modify_observable(self, observable_name: str, attribute: str, modifier: Any) -> None:
        """Change how an entry is read; see `Observables.modify`.

        Raises:
            ValueError: there is no such entry or attribute.
        """
        if observable_name not in self.observation_names:
            hint = or_else(observable_name, self.observation_names)
            raise ValueError(f"modify_observable: no entry {observable_name!r}{hint}")
        self._observables.modify(observable_name, attribute, modifier)

    @property
    def observation_names(self) -> set[str]:
        """Names of all entries, without groups."""
        entries = {*self.env.entry_shapes, *self._observables.added}
        for picture in self._pictures:
            kinds = ["image", *(["depth"] if picture.depth else [])]
            kinds += [f"segmentation_{kind}" for kind in picture.segmentations]
            entries |= {f"{picture.camera}_{kind}" for kind in kinds}
        return entries

    @property
    def enabled_observables(self) -> set[str]:
        return {n for n in self.observation_names if self._observables.find(n).enabled}

    @property
    def active_observables(self) -> set[str]:
        return {n for n in self.observation_names if self._observables.find(n).active}

    @property
    def observation_modalities(self) -> set[str]:
        """Names of the groups of entries."""
        shown = {"object": self.use_object_obs, "image": bool(self._pictures)}
        return {f"{robot.prefix}proprio" for robot in self.robots} | {n for n in shown if shown[n]}

    # Contacts.

    def check_contact(self, geoms_1: Any, geoms_2: Any = None) -> bool:
        """Whether any geom in `geoms_1` touches one in `geoms_2` (any geom if omitted)."""
        return sim_utils.check_contact(self.sim, geoms_1, geoms_2)

    def get_contacts(self, model: MujocoModel) -> set[str]:
        return sim_utils.get_contacts(self.sim, model)

    def _check_grasp(self, gripper: Any, object_geoms: Any) -> bool:
        """Whether each pad group of a gripper touches an object.

        Args:
            gripper: of `robots[i].gripper`, the whole dict (then any gripper counts), or groups of
                geom names.
            object_geoms: an object, or geom names.
        """
        if isinstance(gripper, Mapping):
            return any(self._check_grasp(each, object_geoms) for each in gripper.values())
        if hasattr(gripper, "important_geoms"):
            pads = gripper.important_geoms
            groups: Iterable[Any] = (pads["left_fingerpad"], pads["right_fingerpad"])
        else:
            groups = [gripper] if isinstance(gripper, str) else gripper
        return all(self.check_contact(group, object_geoms) for group in groups)

    def _gripper_to_target(
        self, gripper: Any, target: Any, target_type: str = "body", return_distance: bool = False
    ) -> Any:
        """Vector from a gripper's tool to a target, (3,) m, or its length; the shortest of several.

        Args:
            gripper: of `robots[i].gripper`, or the whole dict.
            target: an object, or an element's name.
            target_type: "body", "site" or "geom".
            return_distance: whether to return the distance.
        """
        if isinstance(gripper, Mapping):
            ways = [self._gripper_to_target(g, target, target_type) for g in gripper.values()]
            way = min(ways, key=lambda way: float(np.linalg.norm(way)))
        else:
            if isinstance(target, MujocoModel):
                target, target_type = target.root_body, "body"
            if target_type not in ("body", "site", "geom"):
                raise ValueError(f"target_type: no {target_type!r}, only body, site, geom")
            there = getattr(self.sim.data, f"get_{target_type}_xpos")(target)
            way = there - self.sim.data.get_site_xpos(gripper.important_sites["grip_site"])
        return float(np.linalg.norm(way)) if return_distance else way

    # Visualization.

    @property
    def _visualizations(self) -> set[str]:
        return {"env", "robots", "grippers"}

    def visualize(self, vis_settings: Mapping[str, bool]) -> None:
        """Show or hide sites: of the "env", the "robots" and the "grippers"."""
        self.model.show_sites(vis_settings)


def _joined(entries: Mapping[str, Any], deep: bool = False) -> np.ndarray:
    """Numbers concatenated; images side by side along their last axis."""
    if deep:
        return np.concatenate(list(entries.values()), axis=-1)
    return np.concatenate([np.ravel(value) for value in entries.values()])
