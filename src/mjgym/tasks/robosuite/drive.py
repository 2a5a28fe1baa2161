"""Robot control: goals once per control step, torques before each physics step."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from mjgym.controllers import Chain, Composite, State
from mjgym.controllers.gripper import GripperLaw
from mjgym.sim.views import View
from mjgym.task import Action, Array, Arrays, Model
from mjgym.tasks.robosuite.team import Driven, Manipulator, Robot


def actions(robots: Sequence[Robot]) -> tuple[Action, ...]:
    """Action dimensions: of each robot the arms', those of other joints, then the grippers'."""
    return tuple(
        action
        for robot in robots
        for action in (
            *(action for each in robot.parts for action in _arm_actions(each)),
            *(action for each in robot.manipulators for action in _gripper_actions(each)),
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
        tuple((each.name, each.controller) for each in manipulators),
        tuple(each.joints for each in manipulators),
        tuple(each.robot for each in manipulators),
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

    def _look_up(self, model: Model) -> None:
        robots = self._robots
        self._manipulators = [each for robot in robots for each in robot.manipulators]
        parts = [each for robot in robots for each in robot.parts]
        self._chains = {
            each.name: Chain(model, each.joints, each.motors, each.tool, each.origin)
            for each in parts
        }
        self._arms = _arms(parts)
        self._arm_numbers, gripper_numbers = numbers(robots)
        self._modes = modes(robots)
        motors = [each.motors for each in parts]
        fingers = [each.finger_actuators for each in self._manipulators]
        names = [name for group in (*motors, *fingers) for name in group]
        ids = np.array([model.actuator(name).id for name in names])
        order = np.argsort(ids)
        self._order = None if (order == np.arange(len(ids))).all() else order
        ranges = [
            model.actuator_ctrlrange[[model.actuator(name).id for name in group]].T
            for group in fingers
        ]
        self._grippers = [
            _Gripper(f"{each.name} gripper", each.hand.law, moved, low, high)
            for each, moved, (low, high) in zip(
                self._manipulators, gripper_numbers, ranges, strict=True
            )
            if each.hand.actuators and each.hand.law is not None
        ]

    def _states(self, v: View) -> dict[str, State]:
        return {name: chain.state(v) for name, chain in self._chains.items()}

    def memory(self, v: View) -> Arrays:
        """Initial memory of the controllers and commands of the grippers."""
        if not self._chains:
            self._look_up(v.model)
        memory = self._arms.memory(self._states(v))
        for each in self._grippers:
            memory[each.command] = each.law.start(v.qpos)
        return memory

    def goal(self, v: View, action: Array) -> Arrays:
        """Memory at the start of a control step, from an action (..., numbers)."""
        xp = v.xp
        arms = xp.concat([action[..., numbers] for numbers in self._arm_numbers], axis=-1)
        states = self._states(v)
        for name, number in self._modes:
            self._arms.start_from_goal(name, states[name], v.memory, action[..., number] > 0)
        memory = self._arms.goal(states, arms, v.memory)
        for each in self._grippers:
            push = xp.clip(action[..., each.numbers], -1.0, 1.0)
            memory[each.command] = each.law.next(v.memory[each.command], push)
        return memory

    def control(self, v: View) -> Array:
        """Controls of all actuators, (..., nu): torques and finger targets."""
        xp, memory = v.xp, v.memory
        states = {}
        for name, chain in self._chains.items():  # `_states`, without its calls in each substep
            states[name] = chain.state(v)
        parts = list(self._arms.torque(states, memory).values())
        for each in self._grippers:
            ends = xp.asarray(each.centre), xp.asarray(each.reach)
            parts.append(each.law.control(memory[each.command], *ends))
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
    """A gripper in a compiled model.

    Args:
        command: name of its actuators' commands in the memory.
        low: lower ends of the actuators' control ranges.
        high: their upper ends.
    """

    def __init__(
        self, command: str, law: GripperLaw, numbers: slice, low: np.ndarray, high: np.ndarray
    ) -> None:
        self.command, self.law, self.numbers = command, law, numbers
        self.centre, self.reach = (low + high) / 2, (high - low) / 2


def modes(robots: Sequence[Robot]) -> list[tuple[str, int]]:
    """Arms that may move from their goals, with the number of the action that selects it."""
    found, end = [], 0
    for robot in robots:
        end += len(actions([robot]))
        if robot.hybrid:
            found += [(each.name, end - 1) for each in robot.manipulators]
    return found


def numbers(robots: Sequence[Robot]) -> tuple[list[slice], list[slice]]:
    """Slices of the action: of each robot's arms and other joints, and of each gripper."""
    arms, grippers, start = [], [], 0
    for robot in robots:
        end = start + len(_arms(robot.parts).actions())
        arms.append(slice(start, end))
        start = end
        for each in robot.manipulators:
            end = start + len(_gripper_actions(each))
            grippers.append(slice(start, end))
            start = end
        start += len(_mode(robot))
    return arms, grippers
