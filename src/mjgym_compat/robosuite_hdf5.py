"""Replay of robosuite and robomimic demonstrations in the environments of this package.

Their files contain actions and states as flattened by `MjSimState`: time, qpos and qvel of the
model in `model_file`. Each action is replayed from its recorded state: observations, rewards and
ends come from this package's environment, actions from the dataset. Values drawn for an episode,
such as object sizes, come from `model_file`.
"""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import gymnasium
import mujoco
import numpy as np
from lxml import etree

from mjgym.datasets.formats import About, Demonstrations, require_plain
from mjgym.datasets.hdf5_files import File
from mjgym.datasets.recording import DAMAGE, DemonstrationError, Episode, Recording, State, place
from mjgym.loop.states import first_memory
from mjgym.mjcf.elements import Spec
from mjgym.mjcf.size_limits import require_bounded_text, require_self_contained
from mjgym.sim.fields import QPOS, QVEL, rows
from mjgym.util.suggestions import or_else

ROBOSUITE = 1  # robomimic's EnvType
# Names of versions before 1.5, with unnamed grippers on single arms.
OLD_GRIPPER = re.compile(r"^gripper(\d)_(?!right_|left_)")
DRAWN = ("geom_size", "geom_pos", "geom_quat", "geom_friction", "body_pos", "body_quat", "site_pos")
# Renamed arguments of `robosuite.make`.
RENAMED = {"camera_depth": "camera_depths"}
GONE = ("gripper_visualization",)
# Renamed parameters of controllers.
RENAMED_LAW = {"damping": "damping_ratio", "damping_limits": "damping_ratio_limits"}


def arguments(meta: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The id and the arguments of `gymnasium.make` for a robosuite task.

    Raises:
        DemonstrationError: the task is not available here, or it refers to foreign code.
    """
    from mjgym_compat.robosuite.arguments import task_fields
    from mjgym_compat.robosuite.environment import IDS
    from mjgym_compat.robosuite.episodes import Episodes

    task, asked = str(meta["env_name"]), dict(meta["env_kwargs"])
    if task not in IDS:
        raise DemonstrationError(f"{task!r} is no task here{or_else(task, IDS)}")
    require_plain(asked)
    others = {field.name for field in dataclasses.fields(Episodes)}
    asked = {RENAMED.get(n, n): x for n, x in asked.items() if n not in ("env_name", *GONE)}
    configs = asked.get("controller_configs")
    each = configs if isinstance(configs, list) else [configs]
    modern = [_modern(config) if isinstance(config, Mapping) else config for config in each]
    asked["controller_configs"] = modern if isinstance(configs, list) else modern[0]
    asked = {name: value for name, value in asked.items() if name not in others}
    try:
        fields = task_fields(task, IDS[task], asked, others)
    except Exception as error:  # from anything that an argument reaches
        raise DemonstrationError(f"{task} as it is recorded is not here: {error}") from None
    if "reward_shaping" not in asked:
        fields.pop("reward_type")  # the reward is not recorded
    always = {"observation": "dict", "max_episode_steps": -1}
    return IDS[task], always | _changed(IDS[task], fields)


def _changed(id: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Task fields that differ from the defaults, with default controllers by name."""
    from mjgym import registry
    from mjgym_compat.robosuite.controllers import load_part_controller_config

    registered = registry.registration(id)
    changed = dict(fields)
    law = changed.get("controller")
    if isinstance(law, Mapping):
        usual = load_part_controller_config(default_controller=law["type"])
        if usual | dict(law) == usual:
            changed["controller"] = law["type"]
    defaults = {field.name: field.default for field in dataclasses.fields(registered.task_class)}
    defaults |= registered.fields
    return {name: value for name, value in changed.items() if value != defaults.get(name)}


class RobosuiteDemonstrations(Demonstrations):
    """Demonstrations of robosuite or robomimic, replayed in this package's environment."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.name, self.note = file.name, file.note
        self.count = len(file.demos)
        meta = _meta(file)
        try:
            id, kwargs = arguments(meta)
        except DemonstrationError as error:
            raise DemonstrationError(f"{self.name!r}: {error}") from None
        version = file.attributes.get("repository_version", meta.get("env_version", ""))
        description = f"{meta['env_name']} of robosuite {version}".strip()
        self.about = About(id, kwargs, description=description)
        self._env: gymnasium.Env[Any, Any] | None = None

    def episode(self, number: int) -> Episode:
        """An episode, by its number from 0, replayed from its recorded states."""
        self._require(number)
        if self._env is None:
            self._env = self.environment()
        with self._file.demo(number) as demo:
            xml = demo.attrs.get("model_file")
            if "states" not in demo or xml is None:
                raise DemonstrationError(
                    f"{self.name!r}: {self._file.demos[number]} has no states with their model"
                )
            actions, states = demo["actions"][:], demo["states"][:]
            if actions.ndim != 2 or states.ndim != 2 or len(states) < len(actions):
                raise ValueError(f"actions {actions.shape} do not fit states {states.shape}")
            for rows in (actions, states):
                if rows.dtype.kind not in "iuf" or not np.isfinite(rows).all():
                    raise ValueError("actions and states must be finite numbers")
        return _played(self._env, actions, states, xml)


def _meta(file: File) -> dict[str, Any]:
    """`env_name` and `env_kwargs` of a robomimic or robosuite file."""
    attributes = file.attributes
    try:
        if "env_args" in attributes:
            meta: dict[str, Any] = json.loads(attributes["env_args"])
            kind = meta["type"]
        else:
            asked = json.loads(attributes["env_info"])
            name = asked.get("env_name", attributes.get("env"))
            meta, kind = {"env_name": name, "env_kwargs": asked}, ROBOSUITE
        if not isinstance(meta.get("env_kwargs", {}), dict):
            raise ValueError("env_kwargs are no dict")
    except DAMAGE as error:
        raise DemonstrationError(
            f"{file.name!r} does not say which environment it is of: {error!r}"
        ) from None
    if kind != ROBOSUITE:
        raise DemonstrationError(
            f"{file.name!r} is of {meta.get('env_name')!r}, which is no task of robosuite's"
        )
    return meta


def _modern(config: Mapping[str, Any]) -> dict[str, Any]:
    modern = {RENAMED_LAW.get(name, name): value for name, value in config.items()}
    if "control_delta" in modern:
        modern["input_type"] = "delta" if modern.pop("control_delta") else "absolute"
    return modern


def _played(
    env: gymnasium.Env[Any, Any], actions: np.ndarray, states: np.ndarray, xml: str
) -> Episode:
    plain: Any = env.unwrapped
    if actions.shape[1:] != env.action_space.shape:
        raise DemonstrationError(
            f"the dataset's actions have {actions.shape[1]} numbers, those of the environment"
            f" {env.action_space.shape}"
        )
    recorded = RecordedModel(xml)
    env.reset(seed=0)
    observation = recorded.place(plain, states[0])
    recording = Recording(observation)
    for t, action in enumerate(actions):
        if t:
            place(plain, recorded.state(plain, states[t]))
        before = plain.get_state()
        observation, reward, terminated, truncated, info = env.step(action)
        success = bool(info.get("success", False))
        recording.add(before, action, observation, float(reward), terminated, truncated, success)
        if terminated:
            break
    return recording.episode(plain.get_state())


class RecordedModel:
    """The model of a demonstration, and the conversion of its states to this package's.

    Joints, bodies and primitive geoms are as recorded; meshes and textures, which are only on the
    recording machine, and inertias that follow from them are not.

    Raises:
        DemonstrationError: it is not a valid model.
    """

    def __init__(self, xml: str) -> None:
        try:
            require_bounded_text(xml)
            text = _without_files(xml)
            require_self_contained(text)
            self._model = mujoco.MjModel.from_xml_string(text)
        except (AttributeError, etree.XMLSyntaxError, TypeError, ValueError) as error:
            raise DemonstrationError(f"the dataset's model_file is no model: {error}") from None
        self._addresses: tuple[list[list[int]], list[list[int]]] | None = None

    def place(self, env: Any, row: np.ndarray) -> Any:
        """Start an episode at a recorded state, with its drawn values; returns the observation."""
        place(env, {**self.drawn(env), **self.state(env, row)})
        return env.set_state(first_memory(env))

    def state(self, env: Any, row: np.ndarray) -> State:
        """Time, qpos and qvel of a recorded state, mapped by joint name."""
        nq, nv = self._model.nq, self._model.nv
        if row.shape != (1 + nq + nv,):
            raise DemonstrationError(
                f"the dataset's states have {row.size} numbers, its model 1 + {nq} + {nv}"
            )
        if self._addresses is None:
            self._addresses = self._matched(env.model)
        theirs, ours = self._addresses
        mapped = {"time": np.array(row[0])}
        parts = {"qpos": row[1 : 1 + nq], "qvel": row[1 + nq :]}
        for i, (name, values) in enumerate(parts.items()):
            mapped[name] = getattr(env.data, name).copy()
            mapped[name][ours[i]] = values[theirs[i]]
        return mapped

    def _matched(self, model_here: mujoco.MjModel) -> tuple[list[list[int]], list[list[int]]]:
        names = [model_here.joint(i).name for i in range(model_here.njnt)]
        theirs: tuple[list[list[int]], list[list[int]]] = [[], []], [[], []]
        for joint in map(self._model.joint, range(self._model.njnt)):
            name = OLD_GRIPPER.sub(r"gripper\1_right_", joint.name)
            if name not in names or model_here.joint(name).type[0] != joint.type[0]:
                raise DemonstrationError(
                    f"the dataset is of another model, with a joint {joint.name!r}"
                    f"{or_else(name, names)}"
                )
            for i, size in enumerate((QPOS, QVEL)):
                for addresses, model, of in (
                    (theirs[0], self._model, joint),
                    (theirs[1], model_here, model_here.joint(name)),
                ):
                    addresses[i].extend(rows(model, size, np.array([of.id])).tolist())
        return theirs

    def drawn(self, env: Any) -> State:
        """The fields that a task draws per episode, as recorded in the model."""
        task, state = env.task, env.get_state()
        if not task.varies:
            return {}
        spec = task.model()
        # The frames of a robot and its base lie elsewhere than robosuite's, and are not drawn.
        fixed = tuple(
            prefix
            for robot in task.robots
            for prefix in (
                *(f"robot{robot.number}_", robot.base_prefix),
                *(each.hand_prefix for each in robot.manipulators),
            )
        )
        for field in [field for field in DRAWN if field in task.varies]:
            kind, _, attribute = field.partition("_")
            for element, counterpart in self._shared(kind, spec, fixed):
                setattr(counterpart, attribute, getattr(element, attribute))
        if "body_mass" in task.varies:  # densities may be drawn as well; meshes are not read
            for body, counterpart in self._shared("body", spec, fixed):
                geoms = [geom.type for geom in counterpart.geoms]
                if geoms and mujoco.mjtGeom.mjGEOM_MESH not in geoms:
                    counterpart.explicitinertial, counterpart.mass = True, body.mass.item()
                    for attribute in ("ipos", "iquat", "inertia"):
                        setattr(counterpart, attribute, getattr(body, attribute))
        model = spec.compile()
        return {name: np.array(getattr(model, name)[: len(state[name])]) for name in task.varies}

    def _shared(self, kind: str, spec: Spec, fixed: tuple[str, ...]) -> Iterator[tuple[Any, Any]]:
        """Named elements of the recorded model that ours has too, and ours, but for prefixes."""
        for element in map(getattr(self._model, kind), range(getattr(self._model, f"n{kind}"))):
            if element.name and not element.name.startswith(fixed):
                counterpart = getattr(spec, kind)(element.name)
                if counterpart is not None:
                    yield element, counterpart


def _without_files(xml: str) -> str:
    root = etree.fromstring(xml.encode())
    for geom in [*root.iter("geom")]:
        if geom.get("type") in ("mesh", "hfield") or geom.get("mesh") is not None:
            geom.getparent().remove(geom)
    for asset in [*root.iter("asset"), *root.iter("skin")]:
        asset.getparent().remove(asset)
    for element in root.iter():
        element.attrib.pop("material", None)
    compiler = root.find("compiler")
    compiler = etree.SubElement(root, "compiler") if compiler is None else compiler
    for name in ("boundmass", "boundinertia"):
        compiler.set(name, "1e-9")  # of bodies that lack their meshes
    return str(etree.tostring(root, encoding="unicode"))
