"""Robots of a task: arms, hands, mounts and names, driven by controllers.

Names of the n-th robot begin with "robot<n>_", its mount's with "fixed_mount<n>_" (of a base that
moves with "mobilebase<n>_", of one with legs "leg<n>_"), and those of the hand on its right or left
arm with "gripper<n>_right_" or "gripper<n>_left_".
"""

import dataclasses
import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.controllers import Chain, Composite, Controller, State, controllers, make
from mjgym.controllers.gripper import GripperLaw
from mjgym.mjcf import Spec, add, word
from mjgym.robots import Arm, Base, Hand, Limb, arms, attach, bases, hands
from mjgym.rotations import about_z
from mjgym.sim.views import View
from mjgym.task import Action, Array, Arrays
from mjgym.util.values import one_of

PHYSICS_TIMESTEP = 0.002  # s
DEFAULT = "default"  # instead of a name: the robot's default
TOOL_CENTRE = "grip_site"  # controlled site of every tabletop hand
OF_ROBOT = ("hybrid", "parts", "scaled_hands")  # parameters beside those of the arms' controller


@dataclass(frozen=True)
class Manipulator:
    """One arm of a robot, with its hand and its controller."""

    robot: int
    side: str  # "right" or "left"
    limb: Limb  # joints and motors; names without prefix
    hand: Hand
    controller: Controller
    alone: bool  # whether the robot has no other arm
    stand: str  # the site that defines the robot's frame

    @functools.cached_property
    def name(self) -> str:
        return f"robot{self.robot}_{self.side}"

    @functools.cached_property
    def label(self) -> str:
        return f"robot{self.robot}_" if self.alone else f"{self.name}_"

    @functools.cached_property
    def hand_prefix(self) -> str:
        return f"gripper{self.robot}_{self.side}_"

    @functools.cached_property
    def joints(self) -> tuple[str, ...]:
        return tuple(f"robot{self.robot}_{joint}" for joint in self.limb.joints)

    @functools.cached_property
    def motors(self) -> tuple[str, ...]:
        return tuple(f"robot{self.robot}_{actuator}" for actuator in self.limb.actuators)

    @functools.cached_property
    def finger_joints(self) -> tuple[str, ...]:
        return tuple(self.hand_prefix + joint for joint in self.hand.joints)

    @functools.cached_property
    def finger_actuators(self) -> tuple[str, ...]:
        return tuple(self.hand_prefix + actuator for actuator in self.hand.actuators)

    @functools.cached_property
    def wrist(self) -> str:
        return f"robot{self.robot}_{self.limb.wrist}"

    @functools.cached_property
    def link(self) -> str:
        return f"robot{self.robot}_{self.limb.link}"

    @functools.cached_property
    def tool(self) -> str:
        return self.hand_prefix + self.hand.tool_centre

    @functools.cached_property
    def origin(self) -> str:
        """Site that defines the axes of the arm's motion: the arm's, or the robot's."""
        if self.controller.couples or not self.limb.origin:
            return self.stand
        return f"robot{self.robot}_{self.limb.origin}"


@dataclass(frozen=True)
class Driven:
    """A group of a robot's joints other than its arms, e.g. the drive of its base; see `Group`."""

    robot: int
    name: str
    joints: tuple[str, ...]
    motors: tuple[str, ...]
    tool: str
    start: tuple[float, ...]
    controller: Controller

    @property
    def origin(self) -> str:
        return self.tool


@dataclass(frozen=True)
class Robot:
    """A robot with its hands and its mount."""

    number: int  # index of the robot, from 0
    arm: Arm
    base: Base  # its mount
    manipulators: tuple[Manipulator, ...]  # its arms, the right one first
    groups: tuple[Driven, ...] = ()  # its driven joints beside its arms, then those of its base
    hybrid: bool = False  # whether an action ends with the mode in which arms move

    @functools.cached_property
    def joints(self) -> tuple[str, ...]:
        return tuple(f"robot{self.number}_{joint}" for joint in self.arm.joints)

    @functools.cached_property
    def base_prefix(self) -> str:
        return f"{self.base.prefix}{self.number}_"

    @functools.cached_property
    def centre(self) -> str:
        """Site that is observed as the pose of its base; empty for a fixed one."""
        return self.base.centre and self.base_prefix + self.base.centre

    @functools.cached_property
    def driven_parts(self) -> tuple[Manipulator | Driven, ...]:
        """Its arms, then its other driven joints: parts of an action in this order."""
        return (*self.manipulators, *self.groups)

    def stand(self, scene: Spec, place: tuple[float, float, float]) -> None:
        """Attach it to a scene at x and y (m) on the floor, rotated by an angle (rad)."""
        x, y, yaw = place
        pos = x, y, self.arm.height
        site = add(scene.worldbody, "site", name=f"stand{self.number}", pos=pos, group=4)
        site.quat = about_z(yaw)
        mount, arm = self.base_prefix, f"robot{self.number}_"
        attach(scene, self.base, mount, site)
        attach(scene, self.arm, arm, mount + self.base.mount)
        for manipulator in self.manipulators:
            attach(scene, manipulator.hand, manipulator.hand_prefix, manipulator.wrist)


def normal(what: str, value: Any) -> Any:
    """Make a keyword argument hashable: a tuple of a sequence, sorted JSON text of a dict."""
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, Mapping):
        try:
            return json.dumps(dict(value), sort_keys=True)
        except TypeError:
            raise TypeError(f"{what}: {value!r} holds what is no plain number or word") from None
    if isinstance(value, Sequence):
        return tuple(normal(what, item) for item in value)
    raise TypeError(f"{what}: expected a name, a dict or one of them for each robot, not {value!r}")


def unpacked(value: Any) -> Any:
    """Invert `normal`: a dict for JSON text, else unchanged."""
    if not (isinstance(value, str) and value.lstrip().startswith("{")):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise ValueError(f"{value!r} is no JSON object: {error}") from None


@functools.lru_cache
def find_robots(
    robot: str | tuple[str, ...], gripper: Any, base: Any, controller: Any, substeps: int
) -> tuple[Robot, ...]:
    """Build the robots that keyword arguments of `Tabletop` name, as made by `normal`.

    Of a controller's parameters, "hybrid" says whether an action ends with the mode of a base that
    drives; "parts" has controllers of a torso, a head or legs by name; with
    `"scaled_hands": false`, hands whose actions are positions take them in their own units.
    """
    names = (robot,) if robot is None or isinstance(robot, str) else robot
    count = len(names)
    robots = []
    for i, (name, held, stand, law) in enumerate(
        zip(
            names,
            one_each("gripper", gripper, count),
            one_each("base", base, count),
            one_each("controller", controller, count),
            strict=True,
        )
    ):
        arm = _find_arm(name)
        mount = (arm.base or "RethinkMount") if stand == DEFAULT else stand
        foot = bases.find(mount, argument="base")
        control, options = _find_controller(law, substeps)
        limbs, taken, site = arm.limbs, {}, f"{foot.prefix}{i}_{foot.mount}"
        for side, limb in limbs.items():
            control.actions(limb.joints)  # raises for parameters of another number of joints
            hand = _find_hand(name, limb.hand or arm.hand, held)
            if hand.law is not None and not options.get("scaled_hands", True):
                hand = dataclasses.replace(hand, law=dataclasses.replace(hand.law, scaled=False))
            taken[side] = hand
        robots.append(
            Robot(
                i,
                arm,
                foot,
                tuple(
                    Manipulator(i, side, limb, taken[side], control, len(limbs) == 1, site)
                    for side, limb in limbs.items()
                ),
                _find_groups(i, arm, foot, options.get("parts", {}), substeps),
                bool(options.get("hybrid", foot.hybrid)),
            )
        )
    return tuple(robots)


def _find_groups(
    number: int, arm: Arm, base: Base, laws: Mapping[str, Any], substeps: int
) -> tuple[Driven, ...]:
    groups = [(f"robot{number}_", group) for group in arm.groups]
    groups += [(f"{base.prefix}{number}_", group) for group in base.groups]
    names = [group.name for _, group in groups]
    for part in laws:
        one_of("controller: part", part, names)
    driven = []
    for prefix, group in groups:
        law = group.controller
        if group.name in laws:
            law = _substeps(laws[group.name], substeps)
            law.actions(group.joints)  # raises for parameters of another number of joints
        driven.append(
            Driven(
                robot=number,
                name=f"robot{number}_{group.name}",
                joints=tuple(prefix + joint for joint in group.joints),
                motors=tuple(prefix + actuator for actuator in group.actuators),
                tool=prefix + group.site,
                start=group.start,
                controller=law,
            )
        )
    return tuple(driven)


def one_each(what: str, value: Any, count: int) -> tuple[Any, ...]:
    """Expand a value to one for each of several robots."""
    if not isinstance(value, list | tuple):  # a list in JSON
        return (value,) * count
    if len(value) != count:
        raise ValueError(f"{what}: {len(value)} of them for {count} robots: {value}")
    return tuple(value)


def _find_arm(name: str) -> Arm:
    arm = arms.find(name, argument="robot")
    if not _driven_by_torques(arm):
        fit = [other for other in arms.names() if _driven_by_torques(arms.find(other))]
        raise ValueError(
            f"robot: the joints of {name!r} are not driven by torques, or nothing carries its hand;"
            f" {', '.join(fit)} would do"
        )
    return arm


@functools.cache
def _driven_by_torques(arm: Arm) -> bool:
    spec = arm.model()
    return all(
        limb.actuators
        and limb.link
        and all(word(spec.actuator(name), "biastype") == "none" for name in limb.actuators)
        for limb in arm.limbs.values()
    )


def _find_hand(robot: str, own: str, name: str | None) -> Hand:
    if name == DEFAULT:
        name = own or "none"
    hand = hands.find("none" if name is None else name, argument="gripper")
    if hand.law is None or hand.tool_centre != TOOL_CENTRE:
        fit = [n for n in hands.names() if hands.find(n).law is not None]
        raise ValueError(
            f"gripper: {robot} cannot carry {name!r}, which fits another wrist; those that fit are"
            f" {', '.join(fit)}"
        )
    return hand


def _find_controller(controller: Any, substeps: int) -> tuple[Controller, Mapping[str, Any]]:
    parameters, options = unpacked(controller), {}
    if isinstance(parameters, Mapping):
        options = {name: value for name, value in parameters.items() if name in OF_ROBOT}
        parameters = {name: value for name, value in parameters.items() if name not in OF_ROBOT}
    if parameters is None or parameters == DEFAULT:
        raise ValueError(f"controller: expected one of {', '.join(controllers.names())}")
    return _substeps(parameters, substeps), options


def _substeps(parameters: Any, substeps: int) -> Controller:
    law = make(parameters)
    ramps = any(field.name == "substeps" for field in dataclasses.fields(law))
    if ramps and not (isinstance(parameters, Mapping) and "substeps" in parameters):
        law = make(law, substeps=substeps)
    return law


def places(
    robots: Sequence[Robot], offset: Any, arrangement: str, apart: Mapping[str, float]
) -> tuple[tuple[float, float, float], ...]:
    """Positions of the robots, x and y (m), and the angle (rad) about the vertical of each.

    Two are "opposed" to each other, from either side along y, or "parallel", side by side and
    facing along x, `apart` by arrangement (m); `offset` returns where one that faces along x is.
    """
    if len(robots) == 1:
        return ((*offset(robots[0].arm), 0.0),)
    poses = []
    for robot, sign in zip(robots, (1.0, -1.0), strict=True):
        x, y = offset(robot.arm)
        shift = -sign * apart[arrangement]
        if arrangement == "opposed":  # a quarter turn about the centre of the scene
            poses.append((-sign * y, sign * x + shift, sign * np.pi / 2))
        else:
            poses.append((x, y + shift, 0.0))
    return tuple(poses)


# Control: goals once per control step, torques before each physics step.


def actions(robots: Sequence[Robot]) -> tuple[Action, ...]:
    """Action dimensions: of each robot the arms', those of other joints, then the grippers'."""
    return tuple(
        action
        for robot in robots
        for action in (
            *(action for part in robot.driven_parts for action in _arm_actions(part)),
            *(action for arm in robot.manipulators for action in _gripper_actions(arm)),
            *_mode(robot),
        )
    )


def _mode(robot: Robot) -> tuple[Action, ...]:
    if not robot.hybrid:
        return ()
    meaning = "moves the arm from where it is (at most 0) or from its goal, which follows the base"
    return (Action(f"robot{robot.number}_base_mode", -1.0, 1.0, "", meaning=meaning),)


def _arm_actions(manipulator: Manipulator | Driven) -> list[Action]:
    joints, tool = manipulator.joints, f"site {manipulator.tool}"
    moved = {f"{manipulator.name} {joint}": f"joint {joint}" for joint in joints}
    return [
        dataclasses.replace(action, source=action.source or moved.get(action.name, tool))
        for action in _arms([manipulator]).actions()
    ]


def _arms(manipulators: Sequence[Manipulator | Driven]) -> Composite:
    return Composite(
        tuple((part.name, part.controller) for part in manipulators),
        tuple(part.joints for part in manipulators),
        tuple(part.robot for part in manipulators),
    )


def _gripper_actions(manipulator: Manipulator) -> tuple[Action, ...]:
    law = manipulator.hand.law
    assert law is not None
    moves = "in proportion" if law.proportional else "whatever its size"
    meaning = f"closes (above 0) or opens the fingers, {moves}: {law.speed:g} per control step"
    name = f"{manipulator.name} gripper"
    moved = ", ".join(f"actuator {actuator}" for actuator in manipulator.finger_actuators)
    described = Action(name, -1.0, 1.0, "half strokes", source=moved, meaning=meaning)
    if law.dimensions == 1:
        return (described,)
    return tuple(dataclasses.replace(described, name=f"{name} {i}") for i in range(law.dimensions))


class Drive:
    """Robots driven by actions.

    `memory`, the first hook of an episode, looks up their elements once: ids are the same in all
    models of a task.
    """

    def __init__(self, robots: Sequence[Robot]) -> None:
        self._robots = robots
        self._chains: dict[str, Chain] = {}

    def _look_up(self, v: View) -> None:
        robots, model = self._robots, v.model
        self._manipulators = [manipulator for robot in robots for manipulator in robot.manipulators]
        parts = [part for robot in robots for part in robot.driven_parts]
        self._chains = {
            part.name: Chain(model, part.joints, part.motors, part.tool, part.origin)
            for part in parts
        }
        self._arms = _arms(parts)
        self._arm_numbers, gripper_numbers = action_slices(robots)
        self._modes, end = [], 0  # arms that may move from their goals; the action that says so
        for robot in robots:
            end += len(actions([robot]))
            if robot.hybrid:
                self._modes += [(manipulator.name, end - 1) for manipulator in robot.manipulators]
        motors = [part.motors for part in parts]
        fingers = [manipulator.finger_actuators for manipulator in self._manipulators]
        names = [name for group in (*motors, *fingers) for name in group]
        order = np.argsort(np.arange(model.nu)[v.rows("ctrl", names)])
        self._order = None if (order == np.arange(len(order))).all() else order
        ranges = [model.actuator_ctrlrange[v.rows("ctrl", group)].T for group in fingers]
        self._grippers = [
            _Gripper(f"{manipulator.name} gripper", manipulator.hand.law, moved, low, high)
            for manipulator, moved, (low, high) in zip(
                self._manipulators, gripper_numbers, ranges, strict=True
            )
            if manipulator.hand.actuators and manipulator.hand.law is not None
        ]

    def _states(self, v: View) -> dict[str, State]:
        return {name: chain.state(v) for name, chain in self._chains.items()}

    def memory(self, v: View) -> Arrays:
        """Initial memory of the controllers and commands of the grippers."""
        if not self._chains:
            self._look_up(v)
        memory = self._arms.memory(self._states(v))
        for gripper in self._grippers:
            memory[gripper.command] = gripper.law.start(v.qpos)
        return memory

    def goal(self, v: View, action: Array) -> Arrays:
        """Memory at the start of a control step, from an action (..., numbers)."""
        xp = v.xp
        arms = xp.concat([action[..., numbers] for numbers in self._arm_numbers], axis=-1)
        states = self._states(v)
        for name, number in self._modes:
            self._arms.start_from_goal(name, states[name], v.memory, action[..., number] > 0)
        memory = self._arms.goal(states, arms, v.memory)
        for gripper in self._grippers:
            push = xp.clip(action[..., gripper.numbers], -1.0, 1.0)
            memory[gripper.command] = gripper.law.next(v.memory[gripper.command], push)
        return memory

    def control(self, v: View) -> Array:
        """Controls of all actuators, (..., nu): torques and finger targets."""
        xp, memory = v.xp, v.memory
        states = {}
        for name, chain in self._chains.items():  # `_states`, without its calls in each substep
            states[name] = chain.state(v)
        parts = list(self._arms.torque(states, memory).values())
        for gripper in self._grippers:
            ends = xp.asarray(gripper.centre), xp.asarray(gripper.reach)
            parts.append(gripper.law.control(memory[gripper.command], *ends))
        controls = xp.concat(parts, axis=-1)
        if self._order is None:
            return controls
        return xp.take(controls, xp.asarray(self._order), axis=-1)

    def substep(self, v: View) -> Arrays:
        """Controller memory after a physics step, if a controller changes it."""
        memory = v.memory
        changed = self._arms.substep(self._states(v), memory)
        return {name: value for name, value in changed.items() if value is not memory[name]}


class _Gripper:
    """A gripper in a compiled model, whose actuators' controls range from `low` to `high`."""

    def __init__(
        self, command: str, law: GripperLaw, numbers: slice, low: np.ndarray, high: np.ndarray
    ) -> None:
        self.command, self.law, self.numbers = command, law, numbers
        self.centre, self.reach = (low + high) / 2, (high - low) / 2


def action_slices(robots: Sequence[Robot]) -> tuple[list[slice], list[slice]]:
    """Slices of the action: of each robot's arms and other joints, and of each gripper."""
    arms, grippers, start = [], [], 0
    for robot in robots:
        end = start + len(_arms(robot.driven_parts).actions())
        arms.append(slice(start, end))
        start = end
        for manipulator in robot.manipulators:
            end = start + len(_gripper_actions(manipulator))
            grippers.append(slice(start, end))
            start = end
        start += len(_mode(robot))
    return arms, grippers
