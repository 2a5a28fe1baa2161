"""The interface of robosuite over this package's tabletop tasks.

`import mjgym.adapters.robosuite as suite` and `suite.make("Lift", robots="Panda", ...)`: loops
written for robosuite 1.5 run as they are. As there, pictures are part of the observation unless
`use_camera_obs=False`, and they are upside down, unless `image_convention="opencv"`.
"""

import dataclasses
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium
import mujoco
import numpy as np

from mjgym import registry
from mjgym.actions import Action, bounds
from mjgym.adapters.robosuite_arguments import task_fields
from mjgym.adapters.robosuite_controllers import (
    ALL_COMPOSITE_CONTROLLERS,
    ALL_PART_CONTROLLERS,
    load_composite_controller_config,
    load_part_controller_config,
    refactor_composite_controller_config,
)
from mjgym.adapters.robosuite_simulation import Simulation
from mjgym.envs.env import Env
from mjgym.loop.states import in_simulation
from mjgym.robots import arms, hands
from mjgym.util.suggestions import or_else

__all__ = [
    "ALL_COMPOSITE_CONTROLLERS",
    "ALL_ENVIRONMENTS",
    "ALL_GRIPPERS",
    "ALL_PART_CONTROLLERS",
    "ALL_ROBOTS",
    "RobosuiteEnv",
    "Robot",
    "load_composite_controller_config",
    "load_part_controller_config",
    "make",
    "refactor_composite_controller_config",
]

_IDS = {id.partition("/")[2].removesuffix("-v0"): id for id in registry.ids(namespace="robosuite")}
ALL_ENVIRONMENTS = tuple(_IDS)
ALL_ROBOTS = tuple(name for name in arms.names() if arms.find(name).base)
ALL_GRIPPERS = tuple(name for name in hands.names() if hands.find(name).law is not None)

CONVENTIONS = ("opengl", "opencv")
SEGMENTATIONS = (None, "element")
ALL_OF_A_KIND = "all-"  # before the kind of a camera: that of every robot


@dataclass(frozen=True)
class Episodes:
    """The keyword arguments of `make` that are about episodes and pictures, not about the task.

    Args:
        horizon: control steps of an episode.
        ignore_done: whether an episode goes on after them.
        seed: of the first episode; None for an unpredictable one.
        has_renderer: whether `render` opens a window.
        render_camera: that the window begins with.
        use_camera_obs: whether the observation has pictures.
        camera_names: one, or several; "all-eye_in_hand" is that of every robot.
        camera_heights: of all or of each, pixels.
        camera_widths: of all or of each, pixels.
        camera_depths: whether all or each come with depth.
        camera_segmentations: None or "element", of all or of each.
        image_convention: "opengl" for pictures whose first row is the lowest, "opencv" for upright
            ones.
    """

    horizon: int = 1000
    ignore_done: bool = False
    seed: int | None = None
    has_renderer: bool = False
    render_camera: str = "frontview"
    use_camera_obs: bool = True
    camera_names: Any = "agentview"
    camera_heights: Any = 256
    camera_widths: Any = 256
    camera_depths: Any = False
    camera_segmentations: Any = None
    image_convention: str = "opengl"

    def __post_init__(self) -> None:
        if self.image_convention not in CONVENTIONS:
            hint = or_else(self.image_convention, CONVENTIONS)
            raise ValueError(f"image_convention: no {self.image_convention!r}{hint}")
        if self.horizon < 1:
            raise ValueError(f"horizon: expected 1 or more, got {self.horizon}")

    def pictures(self, model: mujoco.MjModel) -> list["Picture"]:
        """The pictures of an observation, of a model's cameras."""
        if not self.use_camera_obs:
            return []
        names = self.camera_names
        names = [names] if isinstance(names, str) else list(names)
        columns = [
            self._each(field, len(names))
            for field in ("camera_heights", "camera_widths", "camera_depths")
        ]
        columns.append(self._each("camera_segmentations", len(names)))
        return [
            Picture(camera, *asked)
            for name, *asked in zip(names, *columns, strict=True)
            for camera in known_cameras(name, model)
        ]

    def _each(self, field: str, count: int) -> list[Any]:
        value = getattr(self, field)
        if not isinstance(value, list | tuple):
            return [value] * count
        if len(value) != count:
            raise ValueError(f"{field}: {len(value)} of them for {count} cameras")
        return list(value)


@dataclass(frozen=True)
class Picture:
    """What an observation shows of a camera: its picture, depth and geoms' ids."""

    camera: str
    height: int
    width: int
    depth: bool
    segmentation: str | None

    def __post_init__(self) -> None:
        if self.segmentation not in SEGMENTATIONS:
            raise ValueError(
                f"camera_segmentations: no {self.segmentation!r}, only None and 'element'"
            )


def known_cameras(name: str, model: mujoco.MjModel) -> list[str]:
    """The camera of a name, or those of every robot of a kind.

    Raises:
        ValueError: there is none; the message names the nearest.
    """
    cameras = [model.camera(i).name for i in range(model.ncam)]
    kind = name.removeprefix(ALL_OF_A_KIND)
    found = [c for c in cameras if (c == name if kind == name else c.endswith(kind))]
    if not found:
        raise ValueError(f"camera_names: no {name!r}{or_else(kind, cameras)}")
    return found


def make(env_name: str, robots: str | Sequence[str], **kwargs: Any) -> "RobosuiteEnv":
    """A task, called as in robosuite: `make("Lift", robots="Panda", use_camera_obs=False)`.

    Args:
        env_name: one of `ALL_ENVIRONMENTS`.
        robots: a name, or one for each robot.
        **kwargs: those of robosuite, and `image_convention`, which there is a macro; see
            `Episodes` and `mjgym.adapters.robosuite_arguments`.

    Raises:
        TypeError: an argument is unknown; the message names the nearest ones.
        ValueError: there is no such task, robot, controller or camera, where the message names the
            nearest ones, or an argument has a value that there is none of here.
    """
    if env_name not in _IDS:
        raise ValueError(f"env_name: no {env_name!r}{or_else(env_name, _IDS)}")
    names = {field.name for field in dataclasses.fields(Episodes)}
    episodes = Episodes(**{name: kwargs.pop(name) for name in names & kwargs.keys()})
    fields = task_fields(env_name, _IDS[env_name], {"robots": robots, **kwargs}, names)
    env: Any = gymnasium.make(
        _IDS[env_name],
        observation="dict",
        dtype="float64",
        max_episode_steps=-1,  # none: the horizon is counted here
        disable_env_checker=True,
        **fields,
    )
    return RobosuiteEnv(env.unwrapped, episodes)


class RobosuiteEnv:
    """An environment of ours with robosuite's methods. An episode has begun when it is made.

    Args:
        env: of a tabletop task, with a dict for an observation.
        episodes: what else was asked for.

    Attributes:
        env: the environment below.
        robots: see `Robot`.
        sim: see `Simulation`.
        horizon: control steps of an episode.
        control_freq: of actions, Hz.
        timestep: control steps since the episode began.
        done: whether it is over.
    """

    def __init__(self, env: Env, episodes: Episodes) -> None:
        self.env = env
        task: Any = env.task
        self._episodes = episodes
        self._pictures = episodes.pictures(env.model)
        self._view_of = known_cameras(episodes.render_camera, env.model)[0]
        self._upright = episodes.image_convention == "opencv"
        self._actions = task.actions(env.model)
        self._window: Any = None
        self._seed = episodes.seed
        self.horizon = episodes.horizon
        self.control_freq: float = task.control_frequency
        self.sim = Simulation(env, self._upright)
        self.robots = [Robot(self, i, robot) for i, robot in enumerate(task.robots)]
        self.reset()

    # The loop.

    def reset(self) -> "OrderedDict[str, Any]":
        """Begin an episode; its observation."""
        entries, _ = self.env.reset(seed=self._seed)
        self._seed = None
        self.timestep, self.done = 0, False
        return self._observation(entries)

    def step(self, action: Any) -> tuple["OrderedDict[str, Any]", float, bool, dict[str, Any]]:
        """Advance by one control step: observation, reward, whether the episode is over, info.

        `done` comes with the horizon unless it is ignored, and where the task ends by itself; info
        is that of `mjgym.Env.step`.

        Raises:
            ValueError: the episode is over, or the action has a wrong shape or is not finite.
        """
        if self.done:
            raise ValueError("executing action in terminated episode; call reset()")
        entries, reward, terminated, truncated, info = self.env.step(np.asarray(action))
        self.timestep += 1
        over = self.timestep >= self.horizon and not self._episodes.ignore_done
        self.done = over or terminated or truncated
        return self._observation(entries), reward, self.done, info

    def render(self) -> None:
        """Show the present state in a window; nothing without `has_renderer=True`.

        Raises:
            RenderingError: there is no display.
        """
        if not self._episodes.has_renderer:
            return
        if self._window is None:
            from mjgym.rendering.window import Window

            self._window = Window(self.env.task, self.env.model)
        state = {n: x for n, x in self.env.get_state().items() if in_simulation(n)}
        self._window.show(state, self._view_of)

    def close(self) -> None:
        """Close the window and the environment."""
        if self._window is not None:
            self._window.close()
        self.env.close()

    # What is asked of it.

    @property
    def action_spec(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest action, (action_dim,) each."""
        return bounds(self._actions)

    @property
    def action_dim(self) -> int:
        """How many numbers an action has."""
        return len(self._actions)

    @property
    def actions(self) -> tuple[Action, ...]:
        """What the numbers of an action do, with units."""
        return tuple(self._actions)

    def observation_spec(self) -> "OrderedDict[str, Any]":
        """The present observation: as in robosuite, whose keys and shapes speak for themselves."""
        return self._observation(self.env.observe())

    def reward(self, action: Any = None) -> float:
        """The reward of the present state; actions are not paid for."""
        task = self.env.task
        return float(task.reward(task.terms(self.env.view)))

    def _check_success(self) -> bool:
        return bool(self.env.task.success(self.env.view))

    def _observation(self, entries: Mapping[str, np.ndarray]) -> "OrderedDict[str, Any]":
        shapes = self.env.entry_shapes
        of_robots: dict[str, dict[str, Any]] = {robot.prefix: {} for robot in self.robots}
        of_objects: dict[str, Any] = {}
        for name, value in entries.items():
            prefix = next((p for p in of_robots if name.startswith(p)), None)
            group = of_objects if prefix is None else of_robots[prefix]
            group[name] = np.reshape(value, shapes[name])[()]  # a number has no axis
        found: OrderedDict[str, Any] = OrderedDict()
        for group in of_robots.values():
            found.update(group)
        for picture in self._pictures:
            found.update(self._seen(picture))
        found.update(of_objects)
        for prefix, group in of_robots.items():
            found[f"{prefix}proprio-state"] = _joined(group)
        if of_objects:
            found["object-state"] = _joined(of_objects)
        return found

    def _seen(self, picture: Picture) -> dict[str, np.ndarray]:
        sim, name = self.sim, picture.camera
        size = (picture.width, picture.height)
        if picture.depth:
            image, depth = sim.render(*size, camera_name=name, depth=True)
            found = {f"{name}_image": image, f"{name}_depth": depth[..., None]}
        else:
            found = {f"{name}_image": sim.render(*size, camera_name=name)}
        if picture.segmentation is not None:
            elements = sim.render(*size, camera_name=name, segmentation=True)[..., 1:]
            found[f"{name}_segmentation_{picture.segmentation}"] = elements
        return found


def _joined(entries: Mapping[str, Any]) -> np.ndarray:
    return np.concatenate([np.ravel(value) for value in entries.values()])


class Robot:
    """A robot of an environment.

    Args:
        env: whose it is.
        number: of the robot.
        robot: the task's.

    Attributes:
        name: e.g. "Panda".
        arms: of "right" and "left" those that it has.
        prefix: what the names of its entries and elements begin with.
        robot_joints: the joints of its arms.
        part_controllers: the law of each arm, with its parameters.
        eef_site_id: the site between the fingers of each arm.
        gripper: the name of the hand, by arm.
    """

    def __init__(self, env: RobosuiteEnv, number: int, robot: Any) -> None:
        self._env = env
        self._robot = robot
        asked: Any = env.env.task.robot  # type: ignore[attr-defined]  # a field of the tabletop's
        self.name: str = asked if isinstance(asked, str) else asked[number]
        self.prefix = f"robot{number}_"
        self.robot_joints: tuple[str, ...] = robot.joints
        sides = {each.side: each for each in robot.manipulators}
        self.arms = tuple(sides)
        self.part_controllers = {side: each.controller for side, each in sides.items()}
        model = env.env.model
        self.eef_site_id = {side: int(model.site(m.tool).id) for side, m in sides.items()}
        self.gripper = {side: each.hand for side, each in sides.items()}
        self._parts: dict[str, list[int]] = {}
        for i, action in enumerate(env.actions):
            part, _, what = action.name.partition(" ")
            if part.startswith(self.prefix):
                held = "_gripper" if what.startswith("gripper") else ""
                self._parts.setdefault(part.removeprefix(self.prefix) + held, []).append(i)

    @property
    def dof(self) -> int:
        """How many joints its arms have."""
        return len(self.robot_joints)

    @property
    def action_dim(self) -> int:
        """How many numbers of the action are its own."""
        return sum(map(len, self._parts.values()))

    @property
    def action_limits(self) -> tuple[np.ndarray, np.ndarray]:
        """The least and the greatest of them."""
        low, high = self._env.action_spec
        own = sorted(i for numbers in self._parts.values() for i in numbers)
        return low[own], high[own]

    @property
    def init_qpos(self) -> np.ndarray:
        """The arms' published start, rad."""
        return np.array(self._robot.arm.start)

    @property
    def _joint_positions(self) -> np.ndarray:
        return self._of_joints("qpos")

    @property
    def _joint_velocities(self) -> np.ndarray:
        return self._of_joints("qvel")

    def _of_joints(self, field: str) -> np.ndarray:
        return np.concatenate(
            [getattr(self._env.env.data.joint(joint), field) for joint in self.robot_joints]
        )

    def create_action_vector(self, parts: Mapping[str, Any]) -> np.ndarray:
        """Its part of an action, from those of its parts: "right", "right_gripper" and so on.

        Args:
            parts: numbers by part; those of the others are 0.

        Raises:
            ValueError: there is no such part, or it has another number of numbers.
        """
        first = min(i for numbers in self._parts.values() for i in numbers)
        vector = np.zeros(self.action_dim)
        for name, values in parts.items():
            if name not in self._parts:
                raise ValueError(f"{self.name} has no part {name!r}{or_else(name, self._parts)}")
            numbers = np.array(self._parts[name]) - first
            if np.shape(values) != numbers.shape:
                raise ValueError(f"{name}: expected {len(numbers)} numbers, got {values!r}")
            vector[numbers] = values
        return vector

    def print_action_info(self) -> None:
        """Print what the numbers of its action do."""
        for name, numbers in self._parts.items():
            for i in numbers:
                action = self._env.actions[i]
                limits = f"[{action.low:g}, {action.high:g}] x {action.unit}"
                print(f"{name}: {limits}: {action.meaning}")
