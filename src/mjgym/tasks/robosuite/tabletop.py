"""Base class of the tabletop tasks: robots in a room, driven by controllers.

Differences from pitfalls of the published tasks:

| published | here |
|---|---|
| a seed fixes the draws from construction on | `reset(seed=s)` fixes the episode |
| sizes are drawn only when the model is recompiled | drawn per episode, without compilation |
| Cartesian entries and rewards are one physics step old | all entries are simultaneous |
| `done` at the horizon, and an error after it | truncation at the horizon; success ends nothing |
| images unless switched off, upside down | images on request, upright |
| a frequency that divides no number of physics steps is rounded | it is refused |
| a NaN in an action makes the arm limp until the next reset | it is refused |
| delays of readings do nothing | `mjgym.Observable(delay=...)` delays |
| "absolute" actions have meaningless bounds of 1 | their bounds are open |
| arms start from where a moving base was a physics step ago | from where it is |
| a goal that nothing has set yet is taken for one in the base's frame | it is converted |
| the first torque is computed with other finger positions | with the actual ones |
| a ramp of orientation holds an error that is not the tool's | the goal ramps |
"""

import functools
import itertools
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from mjgym.actions import along_slides
from mjgym.arrays import Array, namespace, total
from mjgym.mjcf import Spec, add, load
from mjgym.placements import Extent, Placement, find_placement, is_placement
from mjgym.resets import put
from mjgym.robots import Arm, grasped, watch_grasp
from mjgym.robots.grasping import HOW_MANY, Target
from mjgym.rotations import compose, conjugate, norm, product, to_local, to_quaternion, transposed
from mjgym.sim import SingleView, View
from mjgym.sim.engine import FOLLOWING
from mjgym.task import WHOLE_TOLERANCE, Action, Arrays, Model, Signal, Task, Viewpoint, steps_in
from mjgym.tasks.robosuite.team import (
    DEFAULT,
    PHYSICS_TIMESTEP,
    Drive,
    Manipulator,
    Robot,
    actions,
    find_robots,
    normal,
    one_each,
    places,
    unpacked,
)
from mjgym.util.values import not_negative, one_of, positive

HORIZON_TIMESTEP = 0.05  # s, of the control steps that the published horizon counts
TABLE_SIZE = (0.8, 0.8, 0.05)  # m
TABLE_TOP = (0.0, 0.0, 0.8)  # m, centre of the upper face
ARRANGEMENTS = ("opposed", "parallel")
NOISES = ("gaussian", "uniform")
REACH_SCALE = 10.0  # 1/m, decay of rewards for being near
Pose = tuple[tuple[float, float, float], tuple[float, float, float, float]]
"""A position (m) and a quaternion w, x, y, z."""

SIDE_TABLES: Pose = (
    (0.889435436, 0.0, 1.738381313),
    (0.653098025, 0.271040585, 0.271040764, 0.653097906),
)
"""Where the camera agentview sees two tables, or one at the side."""
FAR_APART = {"opposed": 0.25, "parallel": 0.6}
"""Distance of two robots that pass things on, m: see `Tabletop.apart`."""


def closeness(distance: Array, scale: float = REACH_SCALE) -> Array:
    """1 - tanh(scale * distance): 1 at 0 m, 0.24 at 0.1 m with the usual scale of 10/m."""
    return 1 - namespace(distance).tanh(scale * distance)


def reward_if(v: View, condition: Array, amount: float) -> Array:
    """A reward of `amount` where the condition, bool, holds, and 0 elsewhere."""
    return amount * v.xp.asarray(condition, dtype=v.xp.float64)


def xyzw(quaternion: Array, v: View) -> Array:
    """Reorder the engine's quaternion (w, x, y, z) to that of observations (x, y, z, w)."""
    return v.xp.concat([quaternion[..., 1:4], quaternion[..., 0:1]], axis=-1)


def upright(quaternion: Array, v: View) -> Array:
    """Flip the sign of a quaternion (w, x, y, z) so that w >= 0."""
    return v.xp.where(quaternion[..., 0:1] < 0, -quaternion, quaternion)


def pose_in_hand(v: View, manipulator: Manipulator, body: str) -> tuple[Array, Array]:
    """Pose of a body in the hand's frame: (..., 3) m and a quaternion x, y, z, w (..., 4).

    The hand's frame is at the tool, with the axes of the link that carries the hand.
    """
    link, target = v.body(manipulator.link), v.body(body)
    ahead = to_local(link.xmat, target.xpos - v.site(manipulator.tool).xpos)
    return ahead, xyzw(upright(product(conjugate(link.xquat), target.xquat), v), v)


# The room, its tables, boxes, and sensors of contacts, which a batch cannot list.

LEG_RADIUS = 0.025  # m
LEG_INSET = 0.1  # m, from the table's edges to the centre of a leg
RIM = 0.002  # m, overhang
FRICTION = (1.0, 0.005, 0.0001)  # of tables: sliding, m torsional, m rolling
ALL_TOUCHES = "touches"  # the sensor of all contacts

BOX_FIELDS = ("geom_size", "body_mass", "body_inertia", *FOLLOWING)
"""The fields of a model that `resize_box` writes; a task that calls it names them in `varies`."""


def room() -> Spec:
    """Build an empty room: floor, lamp, cameras frontview, birdview, agentview and sideview.

    It has the physics of the family: a timestep of 2 ms, elliptic friction cones, air.
    """
    return load("robosuite/room.xml")


def add_table(
    scene: Spec,
    size: Sequence[float],
    top: Sequence[float],
    *,
    friction: Sequence[float] = FRICTION,
    name: str = "table",
) -> None:
    """Add a table: a slab on four legs, the geom "<name>_collision", with the site "<name>_top".

    Its size is along x, y and z, and `top` the centre of its upper face, (3,), all m.
    """
    x, y, z = (s / 2 for s in size)
    height = top[2] - 2 * z
    table = add(scene.worldbody, "body", name=name, pos=(top[0], top[1], top[2] - z))
    add(
        table, "geom", name=f"{name}_collision", type="box", size=(x, y, z), friction=friction,
        material="wood",
    )  # fmt: skip
    add(table, "site", name=f"{name}_top", pos=(0, 0, z), size=0.001, group=4)
    look = scene.find_default("room_look")  # legs and rims are visual
    for sx, sy in itertools.product((-1, 1), repeat=2):
        inward = (max(x - LEG_INSET, 0.0), max(y - LEG_INSET, 0.0))
        add(
            table, "geom", type="cylinder", default=look, material="steel",
            size=(LEG_RADIUS, height / 2), pos=(sx * inward[0], sy * inward[1], -z - height / 2),
        )  # fmt: skip
    for sign in (-1, 1):
        for half, pos in (((RIM, y, z), (sign * x, 0, 0)), ((x, RIM, z), (0, sign * y, 0))):
            add(
                table, "geom", type="box", default=look, material="edge",
                size=(half[0], half[1], z - RIM), pos=pos,
            )  # fmt: skip


def move_camera(scene: Spec, name: str, pose: Pose) -> None:
    camera = scene.camera(name)
    camera.pos, camera.quat = pose


def add_box(
    scene: Spec,
    name: str,
    half: Sequence[float],
    density: float,
    rgba: Sequence[float],
    **attributes: Any,
) -> None:
    """Add a free box to a scene: body "<name>_main", joint "<name>_joint0", geom "<name>_g0", site
    "<name>_default_site".

    Half sizes are along x, y and z, m; density kg/m^3; `attributes` are MJCF's of the geom.
    """
    box = load("robosuite/cube.xml")
    box.material("paint").rgba = rgba
    geom = box.geom("g0")
    geom.size, geom.density = half, density
    for attribute, value in attributes.items():
        setattr(geom, attribute, value)
    scene.attach(box, prefix=f"{name}_", frame=scene.worldbody.add_frame())


def resize_box(v: SingleView, name: str, half: Sequence[float], density: float) -> None:
    """Resize a box of `add_box`, with its mass, inertia and derived fields."""
    sides = np.asarray(half, dtype=float)
    body, geom = v.body(f"{name}_main"), v.geom(f"{name}_g0")
    mass = density * 8 * float(np.prod(sides))
    squares = sides * sides
    geom.size[:] = sides
    body.mass[:] = mass
    body.inertia[:] = mass / 3 * (squares.sum() - squares)
    v.set_constants()


def watch_contact(scene: Spec, first: str, second: str) -> None:
    """Add the sensor that `in_contact` reads."""
    add(
        scene, "sensor", name=f"{first} on {second}", type="contact",
        objtype=_kind(scene, first), objname=first,
        reftype=_kind(scene, second), refname=second, intprm=HOW_MANY,
    )  # fmt: skip


def _kind(scene: Spec, name: str) -> str:
    return "xbody" if scene.geom(name) is None else "geom"


def in_contact(v: View, first: str, second: str) -> Array:
    """Tell whether two bodies or geoms passed to `watch_contact` touch, (...) bool."""
    return v.sensor(f"{first} on {second}").data[..., 0] > 0


def watch_touches(scene: Spec, bodies: Sequence[str] = ()) -> None:
    """Add the sensors that `touches` reads, for some bodies without descendants, or for all."""
    for name in bodies:
        add(
            scene, "sensor", name=f"touches of {name}", type="contact", objtype="body",
            objname=name, intprm=HOW_MANY,
        )  # fmt: skip
    if not bodies:
        add(scene, "sensor", name=ALL_TOUCHES, type="contact", intprm=HOW_MANY)


def touches(v: View, bodies: Sequence[str] = ()) -> Array:
    """Number of contacts of the bodies passed to `watch_touches`, or of the scene, (...)."""
    names = [f"touches of {name}" for name in bodies] or [ALL_TOUCHES]
    return total(v.sensordata[..., v.rows("sensordata", names)])


# Robots and their task.

MEANINGS = {
    "joint_pos": "angle of each joint",
    "joint_pos_cos": "cosine of the angle of each joint",
    "joint_pos_sin": "sine of the angle of each joint",
    "joint_vel": "velocity of each joint",
    "joint_acc": "acceleration of each joint",
    "eef_pos": "place of the point between the fingers",
    "eef_quat": "orientation of the link that carries the hand",
    "eef_quat_site": "orientation of the tool",
    "gripper_qpos": "position of each joint of the fingers",
    "gripper_qvel": "velocity of each joint of the fingers",
}
FROM_BASE = {
    "base_pos": "place of the base's centre",
    "base_quat": "orientation of the base",
    "eef_pos": "place of the point between the fingers, from the base",
    "eef_quat": "orientation of the link that carries the hand, from the base",
    "eef_quat_site": "orientation of the tool, from the base",
}
"""Meanings of a robot's entries, by the end of their names."""


@dataclass(frozen=True)
class Tabletop(Task):
    """Robots at a table, with objects on it.

    Observation: of each robot, whose entries begin with "robot0_" or "robot1_", `robot0_joint_pos`
    (rad), `robot0_joint_pos_cos`, `robot0_joint_pos_sin`, `robot0_joint_vel` (rad/s) and
    `robot0_joint_acc` (rad/s^2) of its arms; then of its arm, or with "right_" and "left_" in their
    names of both, `robot0_eef_pos`, the point between the fingers (m), `robot0_eef_quat`, the
    orientation of the link that carries the hand, `robot0_eef_quat_site`, that of the tool (both x,
    y, z, w), `robot0_gripper_qpos` and `robot0_gripper_qvel` (m or rad, per s). Then follow the
    objects' entries.

    A task defines `furnish` (furniture), `extents` and `placement` (positions of objects),
    `objects` (their observation), `terms`, `success` and, unless it is their sum, `stages`.

    Arguments of robots are one for all, or a tuple with one for each. A controller may also be a
    dict with its name as "type" and its parameters, or a JSON object of that.

    Raises:
        TypeError: a keyword argument is of no type that it can have.
        ValueError: a robot, gripper, controller, base or placement is unknown or does not fit, or a
            value is out of its range; the message names the nearest.
    """

    robot: Any = "Panda"  # a name in `mjgym.robots.arms`
    gripper: Any = DEFAULT  # a name in `mjgym.robots.hands`; "default": the robot's own; None: none
    controller: Any = "OSC_POSE"  # a name in `mjgym.controllers.controllers`
    base: Any = DEFAULT  # a name in `mjgym.robots.bases`; "default": the robot's own
    arrangement: str = "opposed"  # of two robots; or "parallel"
    placement: Any = DEFAULT  # where objects lie, see `mjgym.placements.find_placement`
    reward_type: str = "dense"  # pays for the stages on the way; "sparse": for success alone
    reward_scale: float | None = 1.0  # the most that a control step pays; None: as published, raw
    control_frequency: float = 20.0  # Hz, of actions
    start_noise: float | tuple[float, ...] = 0.02  # rad, of arms: standard deviation, or bound
    start_noise_type: str | tuple[str, ...] = "gaussian"  # or "uniform"
    object_entries: bool = True  # objects are observed, not the robots alone
    grouped: bool = (
        False  # observes `robot0_proprio-state`, of each robot, and `object-state` alone
    )

    time_limit: float = field(default=50.0, kw_only=True)  # s: 1000 control steps
    control_timestep: float = field(default=0.05, init=False)  # s, of the frequency

    control_every_substep = True

    viewpoint = Viewpoint(azimuth=155, elevation=-20, distance=1.55, lookat=(-0.25, 0.0, 1.1))

    arms_needed: ClassVar[int] = 1
    """1 for a task of one robot, however many arms it has; 2 for one of two arms."""
    agentview: ClassVar[Pose | None] = None
    """Where the camera agentview is, if not where it is in the room."""
    apart: ClassVar[Mapping[str, float]] = {"opposed": 0.0, "parallel": 0.25}
    """Distance of two robots from the middle (parallel), or further back (opposed), m."""

    @property
    def most(self) -> float:
        """The raw reward of success; a plain value overrides it."""
        return 1.0

    # Options.

    def __post_init__(self) -> None:
        for name in ("robot", "gripper", "controller", "base"):
            object.__setattr__(self, name, normal(name, getattr(self, name)))
        if not is_placement(self.placement):
            object.__setattr__(self, "placement", normal("placement", self.placement))
        for name, choices in (("arrangement", ARRANGEMENTS), ("reward_type", self.reward_types)):
            one_of(name, getattr(self, name), choices)
        positive("control_frequency", self.control_frequency)
        object.__setattr__(self, "control_timestep", 1 / self.control_frequency)
        steps = self.control_timestep / PHYSICS_TIMESTEP
        if steps < 1 - WHOLE_TOLERANCE or abs(steps - round(steps)) > WHOLE_TOLERANCE * steps:
            near = [1 / (n * PHYSICS_TIMESTEP) for n in (max(int(steps), 1), int(steps) + 1)]
            raise ValueError(
                f"control_frequency: {self.control_frequency} Hz is no whole number of physics"
                f" steps of {PHYSICS_TIMESTEP} s; the nearest are"
                f" {' and '.join(f'{hz:.6g}' for hz in near)} Hz"
            )
        self._check_arms()
        for size, kind in self._noises:
            not_negative("start_noise", size)
            one_of("start_noise_type", kind, NOISES)
        _ = self.chosen_placement

    def episode_steps(self) -> int | None:
        """The published horizon, which counts control steps: as many at any frequency."""
        return steps_in(self.time_limit, HORIZON_TIMESTEP)

    def _check_arms(self) -> None:
        task, robots = type(self).__name__, self.robots
        if self.arms_needed == 1 and len(robots) != 1:
            raise ValueError(f"robot: {task} is a task for one robot, not for {len(robots)}")
        if self.arms_needed == 2 and not (len(robots) == 2 or len(self.manipulators) == 2):
            raise ValueError(
                f"robot: {task} needs two arms: two robots, e.g. ('Panda', 'Panda'), or one with"
                f" two arms, e.g. 'Baxter'; got {self.robot!r}"
            )
        if len(robots) == 2 and len(self.manipulators) > 2:
            raise ValueError(f"robot: {task} has room for two arms, not for {self.robot!r}")

    @property
    def _noises(self) -> list[tuple[float, str]]:
        sizes, kinds = (
            one_each(name, getattr(self, name), len(self.robots))
            for name in ("start_noise", "start_noise_type")
        )
        return list(zip(sizes, kinds, strict=True))

    @functools.cached_property
    def robots(self) -> tuple[Robot, ...]:
        substeps = round(self.control_timestep / PHYSICS_TIMESTEP)
        return find_robots(self.robot, self.gripper, self.base, self.controller, substeps)

    @functools.cached_property
    def manipulators(self) -> tuple[Manipulator, ...]:
        return tuple(manipulator for robot in self.robots for manipulator in robot.manipulators)

    # Layout.

    def model(self) -> Spec:
        scene = room()
        if self.agentview is not None:
            move_camera(scene, "agentview", self.agentview)
        where = places(self.robots, self.robot_place, self.arrangement, self.apart)
        for robot, place in zip(self.robots, where, strict=True):
            robot.stand(scene, place)
        self.furnish(scene)
        return scene

    def furnish(self, scene: Spec) -> None:
        """Add tables and objects to the scene, which already has the robots."""
        raise NotImplementedError(f"{type(self).__name__} must define furnish()")

    def robot_place(self, arm: Arm) -> tuple[float, float]:
        """The position of a robot that faces the task along x: (x, y) m."""
        return -arm.centre_distance, 0.0

    @property
    def default_placement(self) -> Placement:
        """The task's default placement of its objects."""
        return Placement()

    reward_types: ClassVar[tuple[str, ...]] = ("dense", "sparse")
    object_names: ClassVar[tuple[str, ...]] = ()
    """The objects that are placed."""
    bodies: ClassVar[Mapping[str, str]] = {}
    """Their bodies, where these are not named "<name>_main"."""

    @functools.cached_property
    def chosen_placement(self) -> Placement:
        """The placement of the objects: the chosen one, or the task's default."""
        chosen = unpacked(self.placement)
        return find_placement(chosen, self.default_placement, self.object_names)

    def body_of(self, name: str) -> str:
        return self.bodies.get(name, f"{name}_main")

    def watch_grasp(self, scene: Spec, target: Target, arm: int | None = None) -> None:
        """Add the sensors that `grasped` reads, for one arm's hand or for all."""
        for manipulator in self.manipulators if arm is None else self.manipulators[arm : arm + 1]:
            watch_grasp(scene, manipulator.hand, manipulator.hand_prefix, target)

    def grasped(self, v: View, target: Target, arm: int | None = None) -> Array:
        """Tell whether one arm's hand, or any, touches something with all its fingers, bool."""
        hands = self.manipulators if arm is None else self.manipulators[arm : arm + 1]
        held = [
            grasped(v, manipulator.hand, manipulator.hand_prefix, target) for manipulator in hands
        ]
        return functools.reduce(operator.or_, held)

    def distance(self, v: View, point: Array) -> Array:
        """Distance of the nearest tool from a point (..., 3), m."""
        distances = [norm(v.site(arm.tool).xpos - point) for arm in self.manipulators]
        if len(distances) == 1:
            return v.xp.asarray(distances[0])
        return v.xp.min(v.xp.stack([v.xp.asarray(d) for d in distances], axis=-1), axis=-1)

    # Start of an episode.

    def initialize(self, v: SingleView, rng: Any) -> None:
        for robot, (size, kind) in zip(self.robots, self._noises, strict=True):
            start = np.array(robot.arm.start or [0.0] * len(robot.joints))
            if kind == "gaussian":
                noise = rng.normal(size=start.shape)
            else:
                noise = rng.uniform(-1, 1, size=start.shape)
            v.qpos[v.rows("qpos", robot.joints)] = start + size * noise
            for part in robot.groups:
                if part.start:
                    v.qpos[v.rows("qpos", part.joints)] = part.start
            for joint, place in robot.arm.base_start:
                v.joint(robot.base_prefix + joint).qpos[:] = place
        for arm in self.manipulators:
            if arm.hand.start:
                v.qpos[v.rows("qpos", arm.finger_joints)] = arm.hand.start
        self.place(v, rng)

    def place(self, v: SingleView, rng: Any) -> None:
        """Draw the objects' sizes, if they differ, and put the objects in their places."""
        poses = self.chosen_placement.draw(rng, self.extents(v), {})
        for name, pose in poses.items():
            put(v, self.body_of(name), pose.pos, pose.quat)

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return {}

    # Actions.

    def actions(self, model: Model) -> tuple[Action, ...]:
        return along_slides(model, actions(self.robots))

    @functools.cached_property
    def _drive(self) -> Drive:
        return Drive(self.robots)

    def memory(self, v: View) -> Arrays:
        return self._drive.memory(v)

    def before_step(self, v: View, action: Array) -> Arrays:
        return self._drive.goal(v, action)

    def control(self, v: View, action: Array) -> Array:
        return self._drive.control(v)

    def substep(self, v: View) -> Arrays:
        return self._drive.substep(v)

    def current_forces(self, v: View) -> Array:
        """Always: accelerations and contacts are of the instant of all other entries."""
        return True

    # Observation.

    def observation(self, v: View) -> Arrays:
        groups = {
            f"robot{robot.number}_proprio-state": self.robot_entries(v, robot)
            for robot in self.robots
        }
        if self.object_entries:
            groups["object-state"] = self.objects(v)
        if not self.grouped:
            return {name: x for entries in groups.values() for name, x in entries.items()}
        return {name: _joined(v, entries) for name, entries in groups.items()}

    def labels(self, v: View) -> dict[str, Signal]:
        if not self.grouped:
            signals: dict[str, Signal] = {}
            for robot in self.robots:
                signals |= _robot_labels(robot, self.robot_entries(v, robot))
            for name in self.objects(v) if self.object_entries else ():
                side, _, quantity = name.partition("_")
                if side in ("right", "left"):  # of `from_tools`
                    signals[name] = Signal(f"{quantity.replace('_', ' ')}, of the {side} arm")
            return signals
        groups = {
            f"robot{robot.number}_proprio-state": "the robot's entries in a row"
            for robot in self.robots
        }
        if self.object_entries:
            groups["object-state"] = "the objects' entries in a row"
        return {name: Signal(meaning) for name, meaning in groups.items()}

    def robot_entries(self, v: View, robot: Robot) -> Arrays:
        """Observation entries of a robot, under the published names and in their order."""
        prefix = f"robot{robot.number}_"
        qpos = v.qpos[..., v.rows("qpos", robot.joints)]
        dofs = v.rows("qvel", robot.joints)
        entries = {
            f"{prefix}joint_pos": qpos,
            f"{prefix}joint_pos_cos": v.xp.cos(qpos),
            f"{prefix}joint_pos_sin": v.xp.sin(qpos),
            f"{prefix}joint_vel": v.qvel[..., dofs],
            f"{prefix}joint_acc": v.qacc[..., dofs],
        }
        for arm in robot.manipulators:
            entries[f"{arm.label}eef_pos"] = v.site(arm.tool).xpos
            entries[f"{arm.label}eef_quat"] = xyzw(v.body(arm.link).xquat, v)
            entries[f"{arm.label}eef_quat_site"] = xyzw(to_quaternion(v.site(arm.tool).xmat), v)
            fingers = arm.finger_joints
            if fingers:
                entries[f"{arm.label}gripper_qpos"] = v.qpos[..., v.rows("qpos", fingers)]
                entries[f"{arm.label}gripper_qvel"] = v.qvel[..., v.rows("qvel", fingers)]
        if robot.centre:
            entries |= _from_base(v, robot)
        return entries

    def objects(self, v: View) -> Arrays:
        """Observation entries of the objects."""
        raise NotImplementedError(f"{type(self).__name__} must define objects()")

    def from_tools(self, v: View, points: Mapping[str, Array]) -> Arrays:
        """From each tool to points (..., 3), m, in world axes, by the entries' names.

        Where a robot has two arms, the names begin with "right_" and "left_".
        """
        return {
            f"{'' if arm.alone else arm.side + '_'}{name}": point - v.site(arm.tool).xpos
            for arm in self.manipulators
            for name, point in points.items()
        }

    # Reward.

    def reward(self, terms: Arrays) -> Array:
        raw = self.stages(terms) if self.reward_type == "dense" else _added(terms)
        return raw if self.reward_scale is None else raw * (self.reward_scale / self.most)

    def stages(self, terms: Arrays) -> Array:
        """The dense reward before scaling, from the terms; their sum by default."""
        return _added(terms)


def _added(terms: Arrays) -> Array:
    first = next(iter(terms.values()))
    return sum(terms.values(), start=namespace(first).zeros_like(first))


def _from_base(v: View, robot: Robot) -> Arrays:
    base = v.site(robot.centre)
    prefix = f"robot{robot.number}_"
    inverse = transposed(base.xmat)
    entries = {
        f"{prefix}base_pos": base.xpos,
        f"{prefix}base_quat": xyzw(to_quaternion(base.xmat), v),
    }
    for arm in robot.manipulators:
        label = arm.label.replace(prefix, f"{prefix}base_to_", 1)
        tool = v.site(arm.tool)
        link = v.body(arm.link).xmat
        entries[f"{label}eef_pos"] = to_local(base.xmat, tool.xpos - base.xpos)
        entries[f"{label}eef_quat"] = xyzw(to_quaternion(compose(inverse, link)), v)
        entries[f"{label}eef_quat_site"] = xyzw(to_quaternion(compose(inverse, tool.xmat)), v)
    return entries


def _robot_labels(robot: Robot, entries: Iterable[str]) -> dict[str, Signal]:
    prefix, signals = f"robot{robot.number}_", {}
    tools = {f"{arm.label}eef_quat_site": arm.tool for arm in robot.manipulators}
    for entry in entries:
        from_base = entry.startswith(f"{prefix}base_")
        meanings = FROM_BASE if from_base else MEANINGS
        quantity = next((quantity for quantity in meanings if entry.endswith(quantity)), None)
        names: tuple[str, ...] = ()
        if entry in tools:
            names = tuple(f"{tools[entry]} quaternion {part}" for part in "xyzw")
        elif from_base and quantity != "base_pos":
            names = tuple("xyz" if quantity == "eef_pos" else "xyzw")
        if quantity is not None:
            signals[entry] = Signal(meanings[quantity], names)
    return signals


def _joined(v: View, entries: Arrays) -> Array:
    """Concatenate the numbers of entries, (..., n)."""
    arrays = [v.xp.asarray(x) for x in entries.values()]  # a task may return numbers
    flat = [x[..., None] if x.ndim == len(v.lead) else x for x in arrays]
    return v.xp.concat(flat, axis=-1)


@dataclass(frozen=True)
class OneTable(Tabletop):
    """Robots at one table."""

    table_size: tuple[float, float, float] = TABLE_SIZE  # along x, y and z, m
    table_friction: tuple[float, float, float] = FRICTION  # sliding, torsional (m) and rolling (m)

    @property
    def table_top(self) -> tuple[float, float, float]:
        """The middle of the table's upper face, m; a plain value overrides it."""
        return TABLE_TOP

    def furnish(self, scene: Spec) -> None:
        add_table(scene, self.table_size, self.table_top, friction=self.table_friction)

    def robot_place(self, arm: Arm) -> tuple[float, float]:
        return -arm.table_distance - self.table_size[0] / 2, 0.0


@dataclass(frozen=True)
class TwoArms(Tabletop):
    """A task for two arms, numbered 0 and 1.

    They are those of two robots, or the right and the left arm of one.
    """

    robot: Any = ("Panda", "Panda")  # or one with two arms, e.g. "Baxter"

    viewpoint = Viewpoint(azimuth=150, elevation=-22, distance=2.2, lookat=(0.0, 0.0, 1.1))

    arms_needed: ClassVar[int] = 2

    def from_tool(self, v: View, arm: int, point: Array) -> Array:
        """From one arm's tool to a point, (..., 3) m, in world axes."""
        return point - v.site(self.manipulators[arm].tool).xpos
