"""The tabletop tasks of this package as environments of robosuite."""

import dataclasses
import warnings
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np

from mjgym import registry
from mjgym.actions import Action
from mjgym.loop.states import MEMORY
from mjgym.util.suggestions import did_you_mean
from mjgym_compat.robosuite.arguments import HEIGHT_STD, published, task_fields
from mjgym_compat.robosuite.environments.base import MujocoEnv, make
from mjgym_compat.robosuite.episodes import Episodes
from mjgym_compat.robosuite.macros import SIMULATION_TIMESTEP
from mjgym_compat.robosuite.models.scene_model import Scene
from mjgym_compat.robosuite.robots import ROBOT_CLASS_MAPPING, FixedBaseRobot, Robot
from mjgym_compat.robosuite.utils.observables import Observable, sensor

WINDOW = (  # arguments of `make` about windows
    *("render_camera", "render_collision_mesh", "render_visual_mesh", "renderer"),
    "renderer_config",
)
FIXED = ("_load_model", "_pre_action")  # methods that a subclass cannot replace
OURS = ("vary", "observables")  # keyword arguments of `mjgym.make` that pass through
# Tasks whose objects' sizes are drawn; the fields of others are drawn in every reset.
SIZES = ("Lift", "TwoArmHandover", "TwoArmPegInHole", "TwoArmTransport")


class RobosuiteEnv(MujocoEnv):
    """An environment with robosuite's methods over a task; it starts with a reset episode.

    Its class is named after the task, e.g. "Lift"; the task's objects are attributes by their
    names, e.g. `env.cube`. Subclasses replace `reward`, `_check_success`, `_setup_references`,
    `_setup_observables`, `_reset_internal` and `_post_action`; the model is the task's.

    Args:
        robots: a name, or one for each robot.
        **kwargs: see `make`.

    Attributes:
        robots: see `Robot`.
        terminated: whether the task ended the episode, not the horizon.
        actions: the action dimensions, with names and units.
        placement_initializer: the sampler passed to `make`, or None.

    Raises:
        TypeError: a subclass replaces what the task defines.
    """

    id = title = ""
    robots: list[Robot]  # type: ignore[misc]  # of instances here

    def __init__(self, robots: str | Sequence[str] = "Panda", **kwargs: Any) -> None:
        for name in FIXED:
            if getattr(type(self), name) is not getattr(RobosuiteEnv, name):
                raise TypeError(
                    f"{type(self).__name__}: {name} has no effect on {self.title}, whose model and"
                    " controls are the task's; derive from ManipulationEnv instead"
                )
        names = {field.name for field in dataclasses.fields(Episodes) if field.init}
        episodes = Episodes(**{name: kwargs.pop(name) for name in names & kwargs.keys()})
        ours = {name: kwargs.pop(name) for name in OURS if name in kwargs}
        asked = {"robots": robots, **kwargs}
        self._fields = task_fields(self.title, self.id, asked, {*names, *OURS})
        self._fields |= {"observation": "dict", "dtype": "float64", **ours}
        self._use(episodes)
        self._asked = asked | ours
        self.env_configuration = str(asked.get("env_configuration", "default"))
        self.placement_initializer = asked.get("placement_initializer")
        self._start_seed = episodes.seed
        self._sizes: dict[str, np.ndarray] | None = None
        self._height_std = (asked.get("task_config") or {}).get(HEIGHT_STD, 0.0)
        self._make(self._fields)
        self._entries: dict[str, Any] = {}
        self._setup_references()
        self._observables = self._setup_observables()
        # Entries that have been added or changed.
        self._read_apart = {n for n, e in self._observables.items() if e not in self._of_the_task}
        self.reset()

    def _make(self, fields: Mapping[str, Any]) -> None:
        made: Any = gymnasium.make(
            self.id,
            max_episode_steps=-1,  # no limit: the horizon is counted here
            disable_env_checker=True,
            **fields,
        )
        self._see(made.unwrapped)
        env, task, asked = self.env, made.unwrapped.task, self._asked
        self.actions: tuple[Action, ...] = tuple(task.actions(env.model))
        self.use_object_obs = bool(task.object_entries)
        self.reward_scale, self.reward_shaping = task.reward_scale, task.reward_type == "dense"
        self.initialize_time(asked.get("control_freq", task.control_frequency))
        self.model_timestep = SIMULATION_TIMESTEP
        self.model = Scene(env)
        fields = published(task)
        tables = {name: value for name, value in fields.items() if name.startswith("table_")}
        self.model.mujoco_arena = SimpleNamespace(**tables)
        objects = {each.name: each for each in self.model.mujoco_objects}
        bodies = {n: self.sim.model.body_name2id(each.root_body) for n, each in objects.items()}
        self._known: dict[str, Any] = {
            **fields,
            **{"objects": [*objects.values()], "lite_physics": True, "viewer_get_obs": False},
            **{
                "obj_body_id": bodies,
                "obj_geom_id": {n: [*x.geom_ids] for n, x in objects.items()},
            },
            **{f"{n}_body_id": body for n, body in bodies.items()},
            **{n: getattr(self._episodes, n) for n in WINDOW},
            **objects,
        }
        titles = [task.robot] if isinstance(task.robot, str) else list(task.robot)
        configs = asked.get("controller_configs")
        self.robots = []
        for name, part, model in zip(titles, task.robots, self.model.mujoco_robots, strict=True):
            kind = ROBOT_CLASS_MAPPING.get(name, FixedBaseRobot)
            config = configs[part.number] if isinstance(configs, list | tuple) else configs
            robot = kind(
                name,
                part.number,
                control_freq=self.control_freq,
                composite_controller_config=config,
            )
            robot.robot_model = model
            robot.use(part)
            robot.reset_sim(self.sim, env, self.actions)
            self.robots.append(robot)
        self.robot_names = titles
        self.num_robots = len(self.robots)

    def __getattr__(self, name: str) -> Any:
        """Objects by their names, ids of their bodies, and arguments of `make`."""
        known = self.__dict__.get("_known", {})
        if name not in known:
            raise AttributeError(
                f"{type(self).__name__} has no {name!r}{did_you_mean(name, known)}"
            )
        return known[name]

    # The loop.

    def reset(self) -> "OrderedDict[str, Any]":
        """Start an episode, even after `close`; returns its observation."""
        if self._height_std and self.hard_reset:
            height = self.rng.normal(self._fields.get("table_height", 0.0), self._height_std)
            self.close()
            self._make({**self._fields, "table_height": float(height)})
            if self._start_seed is None:
                self._start_seed = int(self.rng.integers(2**31))
        self._reset_internal()
        if type(self)._reset_internal is not RobosuiteEnv._reset_internal:
            self.sim.forward()  # which changes the last bits of the next step
        return self._get_observations(force_update=True)

    def _reset_internal(self) -> None:
        self.env.closed = False
        self.initialize_renderer()
        for robot in self.robots:
            robot.forget()
        self._entries, _ = self.env.reset(seed=self._start_seed)
        self._start_seed = None
        self._keep_sizes()
        self.timestep, self.cur_time = 0, 0.0
        self.done = self.terminated = False
        self._setup_references()
        for name in self._read_apart:
            self._observables[name].reset()

    def _setup_references(self) -> None:
        pass  # attributes know the bodies of objects

    def step(self, action: Any) -> tuple["OrderedDict[str, Any]", float, bool, dict[str, Any]]:
        """Advance by one control step: observation, reward, whether the episode is over, info.

        `done` is set at the horizon, unless ignored, and when the task terminates; info is that of
        `mjgym.Env.step`.

        Raises:
            ValueError: the episode is over, or the action has a wrong shape or is not finite.
        """
        if self.done:
            raise ValueError("executing action in terminated episode; call reset()")
        action = np.asarray(action)
        stepped = self.env.step(self._of_task(action))
        self._entries, reward, terminated, truncated, info = stepped
        self.timestep += 1
        self.cur_time += self.control_timestep
        start = 0
        for robot in self.robots:
            robot.hold()
            robot.remember(action[start : (start := start + robot.action_dim)])
        over = self.timestep >= self.horizon and not self.ignore_done
        self.terminated = terminated
        self.done = over or terminated or truncated
        self._outcome = float(reward), info
        self._update_observables()
        reward, self.done, info = self._post_action(action)
        return self._shown(), reward, self.done, info

    def _post_action(self, action: Any) -> tuple[float, bool, dict[str, Any]]:
        reward, info = self._outcome
        if type(self).reward is not RobosuiteEnv.reward:
            reward = float(self.reward(action))
        return reward, self.done, info

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

    def remade(self, **changed: Any) -> Any:
        """A new environment with changed arguments of `make`."""
        fields = [field.name for field in dataclasses.fields(Episodes) if field.init]
        episodes = {name: getattr(self._episodes, name) for name in fields}
        return make(type(self).__name__, **{**self._asked, **episodes, **changed})

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
        return self._action_limits(self.robots)

    def _pre_action(self, action: Any, policy_step: bool = False) -> None:
        """Set the controls in user-written loops; `step` does not use it."""
        self._drive(self.env.task, action, policy_step)

    def reward(self, action: Any = None) -> float:
        """The reward of the current state; actions do not matter."""
        task = self.env.task
        return float(task.reward(task.terms(self.env.view)))

    def staged_rewards(self) -> tuple[float, ...]:
        """The current stages of the shaped reward, the task's terms."""
        return tuple(float(x) for x in self.env.task.terms(self.env.view).values())

    def _check_success(self) -> bool:
        return bool(self.env.task.success(self.env.view))

    # Observations.

    def _setup_observables(self) -> "OrderedDict[str, Observable]":
        modalities: dict[str, list[Observable]] = {
            **{f"{robot.prefix}proprio": [] for robot in self.robots},
            "image": list(super()._setup_observables().values()),
            "object": [],
        }
        for name in self.env.entry_shapes:
            prefix = next((r.prefix for r in self.robots if name.startswith(r.prefix)), None)
            modality = "object" if prefix is None else f"{prefix}proprio"
            read = sensor(modality)(partial(self._entry, name))
            modalities[modality].append(Observable(name, read, sampling_rate=self.control_freq))
        self._of_the_task = [each for group in modalities.values() for each in group]
        return OrderedDict((each.name, each) for each in self._of_the_task)

    def _entry(self, name: str, readings: Any) -> Any:
        shape = self.env.entry_shapes[name]
        return np.reshape(self._entries.get(name, np.zeros(shape)), shape)[()]

    def _update_observables(self, force: bool = False) -> None:
        """Update the entries; modified ones are read at every physics step."""
        for name, entry in self._observables.items():
            if name not in self._read_apart and entry.modality != "image":
                self._obs_cache[name] = self._entry(name, None)
        for name in (n for n in self._observables if n in self._read_apart):
            for _ in range(1 if force else self._substeps):
                self._observables[name].update(self.model_timestep, self._obs_cache, force)

    def _get_observations(self, force_update: bool = False) -> "OrderedDict[str, Any]":
        """The last observation; with `force_update`, that of the current state."""
        if force_update:
            self._entries = self.env.observe()
            self._update_observables(force=True)
        return self._shown()

    def _shown(self) -> "OrderedDict[str, Any]":
        shown: OrderedDict[str, Any] = OrderedDict()
        groups: dict[str, list[Any]] = {}
        for name, entry in self._observables.items():
            if not (entry.is_enabled() and entry.is_active()):
                continue
            if name in self._read_apart:
                shown[name] = entry.obs
            elif entry.modality == "image":
                shown[name] = entry._sensor({})
            else:
                shown[name] = self._obs_cache[name]
            groups.setdefault(entry.modality, []).append(shown[name])
        order = [name for name in groups if name not in ("image", "object")]
        order += ["image"] if self._episodes.concatenated else []
        for name in [*order, "object"]:
            if groups.get(name):
                shown[f"{name}-state"] = _joined(groups[name], name == "image")
        return shown

    def add_observable(self, observable: Observable) -> None:
        super().add_observable(observable)
        self._read_apart.add(observable.name)
        last = [n for n, each in self._observables.items() if each.modality == observable.modality]
        order = [n for n in self._observables if n != observable.name]
        if len(last) > 1:  # after the others of its modality
            order.insert(order.index(last[-2]) + 1, observable.name)
            self._observables = OrderedDict((name, self._observables[name]) for name in order)

    def modify_observable(self, observable_name: str, attribute: str, modifier: Any) -> None:
        super().modify_observable(observable_name, attribute, modifier)
        if attribute == "sampling_rate" and modifier > self.control_freq:
            warnings.warn(
                f"sampling_rate: {modifier:g} Hz is above that of actions, {self.control_freq:g}"
                " Hz, at which the entries of tasks are read; make(..., observables={...}) with"
                " mjgym.Observable reads them between control steps",
                stacklevel=2,
            )
        if attribute not in ("active", "enabled"):
            self._read_apart.add(observable_name)

    # Visualization.

    @property
    def _visualizations(self) -> set[str]:
        return {"env", "robots", "grippers"}

    def visualize(self, vis_settings: Mapping[str, bool]) -> None:
        """Show or hide sites: of the "env", the "robots" and the "grippers"."""
        self.model.show_sites(vis_settings)


def _joined(values: Sequence[Any], deep: bool) -> np.ndarray:
    if deep:
        return np.concatenate(values, axis=-1)
    return np.concatenate([np.ravel(value) for value in values])


IDS = {id.partition("/")[2].removesuffix("-v0"): id for id in registry.ids(namespace="robosuite")}
"""The ids of the environments by their published names."""

for _name, _id in IDS.items():
    type(_name, (RobosuiteEnv,), {"id": _id, "title": _name, "__doc__": RobosuiteEnv.__doc__})
