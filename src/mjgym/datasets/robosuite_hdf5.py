"""Demonstrations of robosuite and robomimic, played in this package's environments.

Their files hold actions, and states as `MjSimState` flattens them: time, qpos and qvel of the model
in `model_file`. Here each action is played from its recorded state: observations, rewards and ends
are those of this package's environment, actions the dataset's. What an episode has drawn, as sizes
of objects, comes from `model_file`.
"""

import dataclasses
import json
import re
from collections.abc import Mapping
from typing import Any

import gymnasium
import mujoco
import numpy as np
from lxml import etree

from mjgym.datasets.formats import About, remake
from mjgym.datasets.recording import DemonstrationError, Episode, Recording, State, place
from mjgym.datasets.robomimic_hdf5 import ROBOSUITE, File
from mjgym.util.suggestions import or_else

WIDTHS = {  # of joints in qpos and qvel
    mujoco.mjtJoint.mjJNT_FREE: (7, 6),
    mujoco.mjtJoint.mjJNT_BALL: (4, 3),
    mujoco.mjtJoint.mjJNT_SLIDE: (1, 1),
    mujoco.mjtJoint.mjJNT_HINGE: (1, 1),
}
# Of versions before 1.5, whose robots had one arm's gripper without a side.
OLD_GRIPPER = re.compile(r"^gripper(\d)_(?!right_|left_)")
DRAWN = ("geom_size", "geom_pos", "geom_quat", "geom_friction", "body_pos", "body_quat", "site_pos")
# Arguments of `robosuite.make` that are spelled otherwise now.
RENAMED = {"camera_depth": "camera_depths"}
GONE = ("gripper_visualization",)


class RobosuiteDemonstrations:
    """Demonstrations of robosuite's or robomimic's, played in this package's environment.

    Args:
        file: the file.

    Attributes:
        name: the file's path.
        count: of episodes.
        about: where they come from.
        note: what is missing of a file that has been cut off; empty if nothing is.

    Raises:
        DemonstrationError: it is of no task of robosuite's that is here.
    """

    def __init__(self, file: File) -> None:
        from mjgym.adapters.robosuite.environments.base import IDS

        self._file = file
        self.name, self.note = file.name, file.note
        self.count = len(file.demos)
        task, self._asked = _arguments(file)
        if task not in IDS:
            raise DemonstrationError(
                f"{self.name!r} is of {task!r}, which is no task here{or_else(task, IDS)}"
            )
        self._task = task
        version = file.attributes.get("repository_version", "")
        description = f"{task} of robosuite {version}".strip()
        self.about = About(IDS[task], self._fields(), description=description)
        self._env: gymnasium.Env[Any, Any] | None = None

    def _fields(self) -> dict[str, Any]:
        from mjgym.adapters.robosuite.arguments import task_fields
        from mjgym.adapters.robosuite.environments.base import IDS
        from mjgym.adapters.robosuite.episodes import Episodes

        others = {field.name for field in dataclasses.fields(Episodes)}
        asked = {name: value for name, value in self._asked.items() if name not in others}
        try:
            fields = task_fields(self._task, IDS[self._task], asked, others)
        except (TypeError, ValueError) as error:
            raise DemonstrationError(
                f"{self.name!r}: {self._task} as it is recorded is not here: {error}"
            ) from None
        return {"observation": "dict", **fields}

    def environment(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:
        """The environment of this package that is like the one of the dataset."""
        id, asked = self.about.id, {"max_episode_steps": -1, **self.about.kwargs, **kwargs}
        return remake(lambda: gymnasium.make(id, **asked), id)

    def episode(self, number: int) -> Episode:
        """An episode, by its number from 0, played from its recorded states."""
        if self._env is None:
            self._env = self.environment()
        with self._file.demo(number) as demo:
            xml = demo.attrs.get("model_file")
            if "states" not in demo or xml is None:
                raise DemonstrationError(
                    f"{self.name!r}: {self._file.demos[number]} has no states with their model"
                )
            actions, states = demo["actions"][:], demo["states"][:]
        return _played(self._env, actions, states, xml)


def _arguments(file: File) -> tuple[str, dict[str, Any]]:
    """The task's name and the arguments of `robosuite.make`.

    Raises:
        DemonstrationError: the file does not say so.
    """
    attributes = file.attributes
    try:
        if "env_args" in attributes:
            args = json.loads(attributes["env_args"])
            if args["type"] != ROBOSUITE:
                raise DemonstrationError(
                    f"{file.name!r} is of {args['env_name']!r}, which is no task of robosuite's"
                )
            name, asked = args["env_name"], dict(args["env_kwargs"])
        else:
            asked = json.loads(attributes["env_info"])
            name = asked.get("env_name", attributes["env"])
    except (KeyError, TypeError, ValueError) as error:
        raise DemonstrationError(
            f"{file.name!r} does not say which environment it is of: {error!r}"
        ) from None
    asked = {RENAMED.get(n, n): x for n, x in asked.items() if n not in ("env_name", *GONE)}
    configs = asked.get("controller_configs")
    each = configs if isinstance(configs, list) else [configs]
    modern = [_modern(config) if isinstance(config, Mapping) else config for config in each]
    asked["controller_configs"] = modern if isinstance(configs, list) else modern[0]
    return str(name), asked


def _modern(config: Mapping[str, Any]) -> dict[str, Any]:
    """A controller's configuration of versions before 1.5 in the words of today."""
    found = dict(config)
    if "control_delta" in found:
        found["input_type"] = "delta" if found.pop("control_delta") else "absolute"
    return found


def _played(
    env: gymnasium.Env[Any, Any], actions: np.ndarray, states: np.ndarray, xml: str
) -> Episode:
    """An episode of actions, each played from its recorded state."""
    plain: Any = env.unwrapped
    recorded = _bare(xml)
    convert = _Addresses(recorded, plain.model)
    observation, _ = env.reset(seed=0)
    start = plain.get_state()
    place(plain, {**_drawn(recorded, plain.task, start), **convert(states[0], start)})
    memory = plain.task.memory(plain.view)
    observation = plain.set_state({f"memory.{name}": value for name, value in memory.items()})
    recording = Recording(observation)
    for t, action in enumerate(actions):
        if t:
            place(plain, convert(states[t], plain.get_state()))
        before = plain.get_state()
        observation, reward, terminated, truncated, info = env.step(action)
        success = bool(info.get("success", False))
        recording.add(before, action, observation, float(reward), terminated, truncated, success)
        if terminated:
            break
    return recording.episode(plain.get_state())


def _bare(xml: str) -> mujoco.MjModel:
    """A model without files: joints, bodies and simple geoms are as recorded, inertias are not."""
    try:
        root = etree.fromstring(xml.encode())
        for geom in [*root.iter("geom")]:
            if geom.get("type") in ("mesh", "hfield") or geom.get("mesh") is not None:
                geom.getparent().remove(geom)
            else:
                geom.attrib.pop("material", None)
        for asset in [*root.iter("asset"), *root.iter("skin")]:
            asset.getparent().remove(asset)
        for element in root.iter():
            element.attrib.pop("material", None)
        compiler = root.find("compiler")
        compiler = etree.SubElement(root, "compiler") if compiler is None else compiler
        for name in ("boundmass", "boundinertia"):
            compiler.set(name, "0.001")
        return mujoco.MjModel.from_xml_string(etree.tostring(root, encoding="unicode"))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise DemonstrationError(f"the dataset's model_file is no model: {error}") from None


class _Addresses:
    """Turns recorded states into those of a model of ours, joint by joint, by their names.

    Args:
        recorded: the model of the dataset.
        own: the model of this package.

    Raises:
        DemonstrationError: there is a joint that ours lacks, or another kind of it.
    """

    def __init__(self, recorded: mujoco.MjModel, own: mujoco.MjModel) -> None:
        self._sizes = recorded.nq, recorded.nv
        names = [own.joint(i).name for i in range(own.njnt)]
        theirs: tuple[list[int], list[int]] = [], []  # addresses in qpos and in qvel
        ours: tuple[list[int], list[int]] = [], []
        for joint in map(recorded.joint, range(recorded.njnt)):
            name = OLD_GRIPPER.sub(r"gripper\1_right_", joint.name)
            if name not in names or own.joint(name).type[0] != joint.type[0]:
                raise DemonstrationError(
                    f"the dataset is of another model, with a joint {joint.name!r}"
                    f"{or_else(name, names)}"
                )
            mine = own.joint(name)
            for i, field in enumerate(("qposadr", "dofadr")):
                width = WIDTHS[mujoco.mjtJoint(int(joint.type[0]))][i]
                theirs[i].extend(int(getattr(joint, field)[0]) + n for n in range(width))
                ours[i].extend(int(getattr(mine, field)[0]) + n for n in range(width))
        self._theirs, self._ours = theirs, ours

    def __call__(self, row: np.ndarray, state: State) -> State:
        """Time, qpos and qvel of a row, in a state that has all joints.

        Raises:
            DemonstrationError: the row has another length.
        """
        nq, nv = self._sizes
        if row.shape != (1 + nq + nv,):
            raise DemonstrationError(
                f"the dataset's states have {row.size} numbers, its model 1 + {nq} + {nv}"
            )
        qpos, qvel = state["qpos"].copy(), state["qvel"].copy()
        qpos[self._ours[0]] = row[1 : 1 + nq][self._theirs[0]]
        qvel[self._ours[1]] = row[1 + nq :][self._theirs[1]]
        return {"time": np.array(row[0]), "qpos": qpos, "qvel": qvel}


def _drawn(recorded: mujoco.MjModel, task: Any, state: State) -> State:
    """The fields that an episode of a task draws, as the recorded model has them.

    Args:
        recorded: the model of the dataset.
        task: the task.
        state: any of the task, for how many rows a state has of a field.
    """
    if not task.varies:
        return {}
    spec = task.model()
    for field in DRAWN:
        if field not in task.varies:
            continue
        kind, _, attribute = field.partition("_")
        elements = map(getattr(recorded, kind), range(getattr(recorded, f"n{kind}")))
        for element in elements:
            own = getattr(spec, kind)(element.name) if element.name else None
            if own is not None:
                setattr(own, attribute, getattr(element, attribute))
    model = spec.compile()
    return {name: np.array(getattr(model, name)[: len(state[name])]) for name in task.varies}
