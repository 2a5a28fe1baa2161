"""`make`, and the base class of all environments."""

import copy
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import mujoco
import numpy as np

from mjgym.envs.env import Env
from mjgym.mjcf import Spec
from mjgym.task import Arrays, Task
from mjgym.util.suggestions import or_else
from mjgym_compat.robosuite.episodes import Episodes, Picture
from mjgym_compat.robosuite.macros import SIMULATION_TIMESTEP
from mjgym_compat.robosuite.models.base import MujocoModel
from mjgym_compat.robosuite.renderers import MjviewerRenderer
from mjgym_compat.robosuite.utils import SimulationError, sim_utils
from mjgym_compat.robosuite.utils.binding_utils import Simulation
from mjgym_compat.robosuite.utils.observables import Observable, sensor

REGISTERED_ENVS: dict[str, type["MujocoEnv"]] = {}
"""Environments by their names."""
ABSTRACT = ("MujocoEnv", "RobotEnv", "ManipulationEnv", "TwoArmEnv", "RobosuiteEnv")
WHOLE = 1e-9  # relative tolerance of whole numbers of physics steps


def register_env(target_class: type["MujocoEnv"]) -> None:
    """Register an environment under its class name; subclasses are registered automatically."""
    REGISTERED_ENVS[target_class.__name__] = target_class


def make(env_name: str, *args: Any, **kwargs: Any) -> Any:
    """Make an environment: `make("Lift", robots="Panda", use_camera_obs=False)`.

    Args:
        env_name: of one of `REGISTERED_ENVS`: the tasks, and environments of one's own.
        *args: of its class.
        **kwargs: of its class; for the tasks robosuite's, see `Episodes` and
            `mjgym_compat.robosuite.arguments`, and `vary` and `observables` of
            `mjgym.envs.options.Options`.

    Raises:
        TypeError: an argument is unknown; the message names the nearest ones.
        ValueError: there is no such environment, robot, controller or camera (the message names the
            nearest ones), or a value is not supported here.
    """
    if env_name not in REGISTERED_ENVS:
        raise ValueError(f"env_name: no {env_name!r}{or_else(env_name, REGISTERED_ENVS)}")
    return REGISTERED_ENVS[env_name](*args, **kwargs)


class MujocoEnv:
    """Base class of environments: user-defined ones and those of the tasks.

    Subclasses load `self.model`, a `models.tasks.Task`, in `_load_model`, look up elements in
    `_setup_references`, return entries in `_setup_observables`, and define `reward`.

    Args:
        render_gpu_device_id: without effect.
        control_freq: Hz; a control step has as many whole physics steps as fit.
        lite_physics: whether positions are computed once in a physics step.
        **options: see `Episodes`.

    Attributes:
        env: the wrapped environment of this package.
        sim: see `Simulation`.
        horizon: control steps of an episode.
        control_freq: control frequency, Hz.
        timestep: control steps since the start of the episode.
        cur_time: seconds since the start of the episode, counted by control steps.
        viewer: see `MjviewerRenderer`; None without `has_renderer=True`.
    """

    env: Env
    sim: Simulation
    model: Any
    robots: ClassVar[Any] = ()
    _observables: OrderedDict[str, Observable]
    timestep, cur_time, done = 0, 0.0, False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.__name__ not in ABSTRACT:
            register_env(cls)

    def __init__(
        self,
        *,
        render_gpu_device_id: int = -1,
        control_freq: float = 20,
        lite_physics: bool = True,
        **options: Any,
    ) -> None:
        self._use(Episodes(layered=True, **{"use_camera_obs": False, **options}))
        self.lite_physics = lite_physics
        self.initialize_time(control_freq)
        self._load_model()
        self._initialize_sim()
        self._reset_internal()
        self._observables = self._setup_observables()

    def _use(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self.horizon = episodes.horizon
        self.ignore_done, self.hard_reset = episodes.ignore_done, episodes.hard_reset
        self.has_renderer = episodes.has_renderer
        self.has_offscreen_renderer = episodes.has_offscreen_renderer
        self.use_camera_obs = episodes.use_camera_obs
        self.seed = episodes.seed
        self.rng = np.random.default_rng(self.seed)
        self.deterministic_reset = False
        self.viewer: Any = None
        self._ep_meta: dict[str, Any] = {}
        self._xml_processors: list[Callable[[str], str]] = [self.edit_model_xml]
        self._observables = OrderedDict()
        self._obs_cache: dict[str, Any] = {}

    def _see(self, env: Env) -> None:
        self.env = env
        self._pictures = self._episodes.pictures(env.model)
        self._view_of = self._episodes.window_camera(env.model)
        self.camera_names = [picture.camera for picture in self._pictures]
        self.camera_heights = [picture.height for picture in self._pictures]
        self.camera_widths = [picture.width for picture in self._pictures]
        self.camera_depths = [picture.depth for picture in self._pictures]
        self.camera_segmentations = [
            list(picture.segmentations) or None for picture in self._pictures
        ]
        self.num_cameras = len(self.camera_names)
        self.sim = Simulation(env, self._episodes)

    @property
    def unwrapped(self) -> "MujocoEnv":
        return self

    def initialize_time(self, control_freq: float) -> None:
        """Set the control frequency, Hz.

        Raises:
            SimulationError: it is not above 0.
        """
        if not control_freq > 0:
            raise SimulationError(
                f"control_freq: expected a number of Hz above 0, not {control_freq!r}"
            )
        self.cur_time = 0.0
        self.control_freq = control_freq
        self.control_timestep = 1.0 / control_freq
        self.model_timestep = SIMULATION_TIMESTEP

    @property
    def _substeps(self) -> int:
        return int(self.control_timestep / self.model_timestep + WHOLE)

    # What subclasses define.

    def _load_model(self) -> None:
        """Build `self.model`."""

    def _setup_references(self) -> None:
        self.model.generate_id_mappings(sim=self.sim)

    def _setup_observables(self) -> "OrderedDict[str, Observable]":
        entries: OrderedDict[str, Observable] = OrderedDict()
        for picture in self._pictures:
            for name in self._image_names(picture):
                look = sensor("image")(partial(self._image, picture, name))
                entries[name] = Observable(name, look, sampling_rate=self.control_freq)
        return entries

    def reward(self, action: Any = None) -> float:
        raise NotImplementedError(f"{type(self).__name__} must define reward()")

    def _check_success(self) -> bool:
        return False

    def _reset_internal(self) -> None:
        self.initialize_renderer()
        self._setup_references()
        self.cur_time, self.timestep, self.done = 0.0, 0, False
        self._obs_cache = {}
        for observable in self._observables.values():
            observable.reset()

    # The loop.

    def _initialize_sim(self, xml_string: str | None = None) -> None:
        xml = xml_string or self.model.get_xml()
        for processor in self._xml_processors:
            xml = processor(xml)
        self._see(Env(Composed(xml=xml), observation="dict", dtype="float64"))
        self.sim.forward()

    def reset(self) -> "OrderedDict[str, Any]":
        """Start an episode, in a new model unless `hard_reset=False`; returns its observation."""
        self.close_renderer()
        if self.hard_reset and not self.deterministic_reset:
            self._load_model()
            self._initialize_sim()
        else:
            self.sim.reset()
        self._reset_internal()
        self.sim.forward()
        self._obs_cache = {}
        if self.hard_reset:
            for name, entry in self._setup_observables().items():
                self._observables[name].set_sensor(entry._sensor)
        self.visualize(vis_settings=dict.fromkeys(self._visualizations, False))
        self.update_state()
        return self._get_observations(force_update=True)

    def step(self, action: Any) -> tuple["OrderedDict[str, Any]", float, bool, dict[str, Any]]:
        """Advance by one control step: observation, reward, whether the episode is over, info.

        Raises:
            ValueError: the episode is over.
        """
        if self.done:
            raise ValueError("executing action in terminated episode; call reset()")
        self.timestep += 1
        for i in range(self._substeps):
            if self.lite_physics:
                self.sim.step1()
            else:
                self.sim.forward()
            self._pre_action(action, policy_step=i == 0)
            if self.lite_physics:
                self.sim.step2()
            else:
                self.sim.step()
            self._update_observables()
        self.cur_time += self.control_timestep
        reward, done, info = self._post_action(action)
        return self._get_observations(), reward, done, info

    def _pre_action(self, action: Any, policy_step: bool = False) -> None:
        """Set the controls; `policy_step` marks the first physics step of a control step."""
        self.sim.data.ctrl[:] = action

    def _drive(self, task: Any, action: Any, policy_step: bool, driven: Any = slice(None)) -> None:
        view = self.env.view
        if policy_step:
            self._wanted = np.asarray(self._of_task(action), float)
        action = self._wanted
        self._keep(task.before_step(view, action) if policy_step else task.substep(view))
        self.sim.data.ctrl[driven] = task.control(view, action)
        for robot in self.robots:
            robot.hold()

    def _of_task(self, action: Any) -> Any:
        wholes = [robot.composite_controller for robot in self.robots]
        if all(whole.joint_action_policy is None for whole in wholes):
            return action
        if np.shape(action) != (self.action_dim,):
            raise ValueError(f"action: expected {self.action_dim} numbers, got {np.shape(action)}")
        ends = np.cumsum([robot.action_dim for robot in self.robots])
        parts = zip(wholes, np.split(action, ends[:-1]), strict=True)
        return np.concatenate([whole.of_task(part) for whole, part in parts])

    def _action_limits(self, robots: Sequence[Any]) -> tuple[np.ndarray, np.ndarray]:
        low, high = zip(*(robot.action_limits for robot in robots), strict=True)
        return np.concatenate(low), np.concatenate(high)

    def _keep(self, memory: Mapping[str, Any]) -> None:
        if memory:
            view = self.env.view
            view.memory = {**view.memory, **view.owned(memory)}

    def _post_action(self, action: Any) -> tuple[float, bool, dict[str, Any]]:
        """Reward, whether the episode is over, and info, after a control step."""
        reward = self.reward(action)
        self.done = self.timestep >= self.horizon and not self.ignore_done
        return reward, self.done, {}

    def update_state(self) -> None:
        """Change the model's appearance alone; for subclasses."""

    def render(self) -> None:
        """Show the current state in a window; does nothing without `has_renderer=True`.

        Raises:
            RenderingError: there is no display.
        """
        self.initialize_renderer()
        if self.viewer is not None:
            self.viewer.update()

    def initialize_renderer(self) -> None:
        """Make the viewer, if the environment has one."""
        if self.has_renderer and self.viewer is None:
            self.viewer = MjviewerRenderer(self, self._view_of)

    def close_renderer(self) -> None:
        if self.viewer is not None:
            self.viewer.close()
            self.viewer = None

    def close(self) -> None:
        self.close_renderer()
        self.env.close()

    # Demonstrations: models as XML, states as vectors.

    def get_ep_meta(self) -> dict[str, Any]:
        return copy.deepcopy(self._ep_meta)

    def set_ep_meta(self, meta: Mapping[str, Any]) -> None:
        self._ep_meta = dict(meta)

    def unset_ep_meta(self) -> None:
        self._ep_meta = {}

    def edit_model_xml(self, xml_str: str) -> str:
        """Convert XML to a loadable form; that of `sim.model.get_xml()` needs no change."""
        return xml_str

    def set_xml_processor(self, processor: Callable[[str], str]) -> None:
        self._xml_processors.append(processor)

    def reset_from_xml_string(self, xml_string: str) -> None:
        """Start an episode with a model in XML, at its object positions."""
        self.close_renderer()
        self.deterministic_reset = True
        self._initialize_sim(xml_string)
        self.reset()
        self.deterministic_reset = False

    # Observations.

    def _update_observables(self, force: bool = False) -> None:
        for observable in self._observables.values():
            observable.update(self.model_timestep, self._obs_cache, force)

    def _get_observations(self, force_update: bool = False) -> "OrderedDict[str, Any]":
        """The last observation; with `force_update`, that of the current state."""
        if force_update:
            self._update_observables(force=True)
        shown: OrderedDict[str, Any] = OrderedDict()
        groups: OrderedDict[str, list[Any]] = OrderedDict()
        for name, entry in self._observables.items():
            if entry.is_enabled() and entry.is_active():
                shown[name] = entry.obs
                groups.setdefault(entry.modality, []).append(np.atleast_1d(entry.obs))
        for modality, values in groups.items():
            if modality != "image" or self._episodes.concatenated:
                shown[f"{modality}-state"] = np.concatenate(values, axis=-1)
        return shown

    def observation_spec(self) -> "OrderedDict[str, Any]":
        """The current observation: as in robosuite, its keys and shapes are the spec."""
        return self._get_observations(force_update=True)

    def _image_names(self, picture: Picture) -> list[str]:
        kinds = ["image", *(["depth"] if picture.depth else [])]
        kinds += [f"segmentation_{kind}" for kind in picture.segmentations]
        return [f"{picture.camera}_{kind}" for kind in kinds]

    def _image(self, picture: Picture, name: str, readings: Any) -> np.ndarray:
        camera = picture.camera
        kind = name.removeprefix(f"{camera}_")
        render = partial(self.sim.render, picture.width, picture.height, camera_name=camera)
        if kind == "image":
            return np.asarray(render())
        if kind == "depth":
            return np.asarray(render(depth=True)[1][..., None])
        elements = render(segmentation=True)
        whole = self.model.segmented(elements, kind.removeprefix("segmentation_"))
        return np.asarray(whole[..., None])

    def add_observable(self, observable: Observable) -> None:
        """Add an entry to the observation.

        Raises:
            ValueError: there is one of that name.
        """
        if observable.name in self.observation_names:
            raise ValueError(
                f"add_observable: there is {observable.name!r} already; see modify_observable"
            )
        self._observables[observable.name] = observable

    def modify_observable(self, observable_name: str, attribute: str, modifier: Any) -> None:
        """Change how an entry is read; see `Observable.modify`.

        Raises:
            ValueError: there is no such entry or attribute.
        """
        if observable_name not in self.observation_names:
            hint = or_else(observable_name, self.observation_names)
            raise ValueError(f"modify_observable: no entry {observable_name!r}{hint}")
        self._observables[observable_name].modify(attribute, modifier)

    @property
    def observation_names(self) -> set[str]:
        """Names of all entries, without groups."""
        return set(self._observables)

    @property
    def enabled_observables(self) -> set[str]:
        return {name for name, each in self._observables.items() if each.is_enabled()}

    @property
    def active_observables(self) -> set[str]:
        return {name for name, each in self._observables.items() if each.is_active()}

    @property
    def observation_modalities(self) -> set[str]:
        """Names of the groups of entries."""
        return {each.modality for each in self._observables.values()}

    # Queries.

    @property
    def action_spec(self) -> tuple[np.ndarray, np.ndarray]:
        """The action bounds, (action_dim,) each."""
        low, high = self.sim.model.actuator_ctrlrange.T
        return low.copy(), high.copy()

    @property
    def action_dim(self) -> int:
        return len(self.action_spec[0])

    def clear_objects(self, object_names: Any) -> None:
        names = {object_names} if isinstance(object_names, str) else set(object_names)
        for each in self.model.mujoco_objects:
            if each.name in names:
                self.sim.data.set_joint_qpos(each.joints[0], np.array((10, 10, 10, 1, 0, 0, 0)))

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
        return {"env"}

    def visualize(self, vis_settings: Mapping[str, bool]) -> None:
        """Show or hide the sites of the objects, by "env"."""
        for each in self.model.mujoco_objects:
            each.set_sites_visibility(sim=self.sim, visible=vis_settings["env"])


@dataclass(frozen=True)
class Composed(Task):
    """A simulation of a model in XML, without task; environments step it themselves."""

    xml: str = ""
    time_limit: float = np.inf
    control_timestep: float = SIMULATION_TIMESTEP

    def model(self) -> Spec:
        return mujoco.MjSpec.from_string(self.xml)

    def observation(self, v: Any) -> Arrays:
        return {"qpos": v.qpos}

    def terms(self, v: Any) -> Arrays:
        return {"nothing": 0.0 * v.time}
