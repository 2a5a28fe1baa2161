"""Robot control: goals once per control step, torques before each physics step."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from mjgym.controllers import Chain, Composite, State
from mjgym.controllers.gripper import GripperLaw
from mjgym.sim.views import View
from mjgym.task import Action, Array, Arrays
from mjgym.tasks.robosuite.team import Driven, Manipulator, Robot


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
        self._arm_numbers, gripper_numbers = numbers(robots)
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


def numbers(robots: Sequence[Robot]) -> tuple[list[slice], list[slice]]:
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
