"""Base classes of the family's tasks: a robot on a floor, and one that follows commands."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from mjgym.arrays import Array
from mjgym.mjcf import Spec, add
from mjgym.observables import Observable
from mjgym.robots.legged_robots import LeggedRobot, legged_robots
from mjgym.rotations import XX, YX, about_z
from mjgym.sim import SingleView, View
from mjgym.task import Action, Arrays, Signal, Task, Viewpoint
from mjgym.variation import Uniform, noises

SPREAD = 0.5  # m, largest offset of the start each way
YAW = 3.14  # rad, largest turn of the start each way
FLOOR = "floor"  # its geom
ARROW_HEIGHT = 0.6  # of the arrows above the root, in heights of the robot
SECONDS = 0.6  # length of an arrow at 1 m/s
ROOT = 7  # numbers of the free joint in qpos, which come first
FOREVER = 1e9  # s or steps, until a command that is held changes
COUNT, FORCE = (1, 3, 1), (2, 3, 1)  # contact sensors: how many contacts, and their net force


@dataclass(frozen=True)
class LeggedTask(Task):
    """A legged robot on a floor."""

    robot: str | LeggedRobot = "go1"  # or its name, or "module:Class"
    time_limit: float = 20.0  # s
    control_timestep: float = 0.02  # s
    physics_timestep: float = 0.005  # s
    noise: bool = False  # in the observation

    largest_noise: ClassVar[Mapping[str, float]] = {}  # of entries, in their units

    @property
    def body(self) -> LeggedRobot:
        return legged_robots.find(self.robot)

    @property
    def viewpoint(self) -> Viewpoint:
        """From the front, at the side; the robot stays in view."""
        distance = 0.6 + 1.8 * self.body.height
        return Viewpoint(
            azimuth=140.0, elevation=-15.0, distance=distance, bodies=(self.body.root,)
        )

    @property
    def observables(self) -> Mapping[str, Observable]:
        largest = self.largest_noise if self.noise else {}
        return {
            name: Observable(noise=noises.additive(Uniform(-size, size)))
            for name, size in largest.items()
        }

    @property
    def physics_steps(self) -> int:
        return max(1, round(self.control_timestep / self.physics_timestep))

    def model(self) -> Spec:
        spec = self.body.model()
        self.body.check(spec)
        spec.option.timestep = self.physics_timestep
        self.add_ground(spec)
        add(
            spec.body(self.body.root), "light", name="lamp", mode="track", pos=(0.8, -0.8, 3),
            dir=(-0.25, 0.25, -1), diffuse=(0.7, 0.7, 0.7), castshadow=True,
        )  # fmt: skip
        return spec

    def add_ground(self, spec: Spec) -> None:
        """Add what the robot stands on: geoms of the world."""
        add_floor(spec)

    def watch(self, spec: Spec, name: str, **attributes: Any) -> None:
        """Add a sensor that keeps its readings of a control step, for `View.past`.

        The published rewards see bodies as they were before the last physics step.
        """
        add(spec, "sensor", name=name, nsample=self.physics_steps, **attributes)

    def seen(self, v: View, names: Sequence[str]) -> dict[str, Any]:
        """Readings of sensors of vectors before the last physics step, by name, (..., 3) each."""
        readings = v.past(names)[..., -1, :]
        return {name: readings[..., i, :] for i, name in enumerate(names)}

    @property
    def scales(self) -> np.ndarray:
        """Offset of each joint's target per unit of action, rad."""
        raise NotImplementedError

    @property
    def measurements(self) -> Mapping[str, Mapping[str, Any]]:
        """The source of each entry of the observation for a robot's controller.

        An entry is a `quantity` `of` a part, times a `scale`. Sensors may be as they were some
        `physics_steps_ago`, and an action the one some `actions_before` the last.
        """
        return {
            "joint_pos": {"quantity": "joint_position_from_default"},
            "joint_vel": {"quantity": "joint_velocity"},
        }

    @property
    def rest(self) -> tuple[float, ...]:
        """The usual position of each joint, rad."""
        return self.body.pose

    def at_rest(self, v: View) -> Array:
        """Default joint positions, (joints,) rad, as an array of the view's library."""
        return v.from_numpy(np.array(self.rest))

    def weighted(self, terms: Arrays) -> Arrays:
        """Terms with a weight, a field of the same name, other than 0."""
        return {name: term for name, term in terms.items() if getattr(self, name)}

    def reward(self, terms: Arrays) -> Array:
        return self.control_timestep * sum(getattr(self, name) * x for name, x in terms.items())

    def labels(self, v: View) -> dict[str, Signal]:
        shown = self.observation(v)
        return {name: label for name, label in self.known_labels().items() if name in shown}

    def known_labels(self) -> dict[str, Signal]:
        """Labels of entries that may be observed."""
        action = Signal(names=self.body.joints, unit="1")
        return {"actions": action, "last_act": action}


@dataclass(frozen=True)
class CommandedTask(LeggedTask):
    """A legged robot that follows velocity commands in its own frame."""

    command: tuple[float, float, float] | None = None  # m/s forward and left, rad/s; else drawn

    @property
    def command_ranges(self) -> tuple[tuple[float, float], ...]:
        """Ranges of commands forward and to the left, m/s, and about the vertical, rad/s."""
        raise NotImplementedError

    def commanded(self, command: np.ndarray) -> dict[str, np.ndarray]:
        """Memory entries for a new command."""
        raise NotImplementedError

    @property
    def reported(self) -> tuple[str, ...]:
        return ("command",)

    def initialize(self, v: SingleView, rng: Any) -> None:
        v.qpos[:2] = rng.uniform(-SPREAD, SPREAD, 2)
        v.qpos[2] = self.body.height
        v.qpos[3:ROOT] = about_z(rng.uniform(-YAW, YAW))
        v.qpos[ROOT:] = np.array(self.rest)

    def heading(self, v: View) -> Array:
        """Direction that the root faces, rad about the vertical from the world's x axis."""
        xmat = v.body(self.body.root).xmat
        return v.xp.atan2(xmat[..., YX], xmat[..., XX])

    def arrows(self, v: View) -> Arrays:
        """The commanded and the actual velocity in the plane, above the robot."""
        xp, command = v.xp, v.memory["command"]
        above = xp.asarray([0.0, 0.0, ARROW_HEIGHT * self.body.height])
        foot = v.qpos[..., :3] + above
        heading = self.heading(v)
        ahead, aside = xp.cos(heading), xp.sin(heading)
        east = command[..., 0] * ahead - command[..., 1] * aside
        north = command[..., 0] * aside + command[..., 1] * ahead
        level = xp.zeros_like(east)
        wanted = xp.stack([east, north, level], axis=-1)
        actual = xp.stack([v.qvel[..., 0], v.qvel[..., 1], level], axis=-1)
        return {
            name: xp.concat([foot, foot + SECONDS * velocity], axis=-1)
            for name, velocity in (("commanded", wanted), ("actual", actual))
        }

    @property
    def measurements(self) -> Mapping[str, Mapping[str, Any]]:
        return {**super().measurements, "command": {"quantity": "command"}}

    def known_labels(self) -> dict[str, Signal]:
        command = Signal(
            names=("forward", "left", "turn"), unit=("m/s", "m/s", "rad/s"), frame=self.body.root,
            source="memory command",
        )  # fmt: skip
        return {**super().known_labels(), "command": command}


def add_floor(spec: Spec) -> None:
    """Add an endless floor and a sky."""
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = (0.3,) * 3, (0.5,) * 3
    spec.visual.rgba.haze = (0.36, 0.47, 0.6, 1.0)
    add(
        spec, "texture", name="sky", type="skybox", builtin="gradient", width=256, height=1536,
        rgb1=(0.62, 0.74, 0.86), rgb2=(0.2, 0.3, 0.42),
    )  # fmt: skip
    add(
        spec, "texture", name="tiles", type="2d", builtin="checker", width=200, height=200,
        rgb1=(0.34, 0.38, 0.42), rgb2=(0.3, 0.34, 0.38), mark="edge", markrgb=(0.55, 0.58, 0.62),
    )  # fmt: skip
    add(
        spec, "material", name="tiles", textures="tiles", texuniform=True, texrepeat=(2, 2),
        reflectance=0.15,
    )  # fmt: skip
    add(
        spec.worldbody, "geom", name=FLOOR, type="plane", size=(0, 0, 0.01), condim=3,
        material="tiles",
    )  # fmt: skip


def servo_actions(robot: LeggedRobot, scales: np.ndarray, largest: float) -> tuple[Action, ...]:
    """One action per joint: the offset of its target from the usual pose, by a scale in rad."""
    return tuple(
        Action(
            joint, -largest, largest, source=f"joint {joint}",
            meaning=f"target position of joint {joint}, {scale:.3g} rad from {rest:.3g} rad",
        )
        for joint, scale, rest in zip(robot.joints, scales.tolist(), robot.pose, strict=True)
    )  # fmt: skip


def uniform_columns(
    rng: np.random.Generator, spans: Sequence[tuple[float, float]], rows: int
) -> np.ndarray:
    """Draw numbers between a low and a high end for each column, column by column."""
    low, high = np.array(spans).T[..., None]
    drawn: np.ndarray = low + (high - low) * rng.random((len(spans), rows))
    return drawn.T
