"""What a controller is, what it sees of an arm, and where to find one by name."""

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mjgym.actions import Action
from mjgym.arrays import Array
from mjgym.controllers.parameters import clip
from mjgym.util.catalogue import Catalogue
from mjgym.util.suggestions import or_else

Arrays = dict[str, Array]


class State:
    """What a controller sees of an arm, as arrays of any leading shape, in world axes.

    Args:
        **readings: the arrays below by name, or functions of the state that compute them; those
            run once and only if a law looks at what they give.

    Raises:
        AttributeError: a law looks at what there is no reading of.
    """

    position: Array
    """The tool's place, (..., 3), m."""
    rotation: Array
    """The tool's axes, (..., 9), row by row."""
    velocity: Array
    """The tool's velocity and angular velocity, (..., 6), m/s and rad/s."""
    origin_position: Array
    """The place of the frame that the arm's actions are given in, (..., 3), m."""
    origin_rotation: Array
    """The axes of that frame, (..., 9)."""
    origin_velocity: Array
    """The velocity and angular velocity of that frame, (..., 6); 0.0 where nothing moves it."""
    jacobian: Array
    """Of the tool with respect to the arm's n joints, (..., 6, n): three rows of velocity, three
    of angular velocity."""
    inertia: Array
    """The arm's block of the joint-space inertia matrix, armature included, (..., n, n)."""
    bias: Array
    """Gravity, Coriolis and centrifugal forces at the joints, (..., n), N m."""
    qpos: Array
    """The joints' positions, (..., n), rad."""
    qvel: Array
    """The joints' velocities, (..., n), rad/s."""
    torque_low: Array
    """The least torque of each joint, (n,), N m."""
    torque_high: Array
    """The greatest torque of each joint, (n,), N m."""

    def __init__(self, **readings: Array | Callable[["State"], Array]) -> None:
        if unknown := readings.keys() - State.__annotations__.keys():
            name = min(unknown)
            raise TypeError(f"State: no reading {name!r}{or_else(name, State.__annotations__)}")
        self.__dict__["_readings"] = readings

    def __getattr__(self, name: str) -> Array:
        if name == "_readings" or name not in self._readings:
            raise AttributeError(f"this state has no {name!r}")
        value = self._readings[name]
        if callable(value):
            value = value(self)
        self.__dict__[name] = value
        return value


@dataclass(frozen=True)
class Controller:
    """A law that turns an action into joint torques: its parameters, and pure functions.

    It has no state of its own. What it must remember is a dict of arrays that lead as the state's
    do: `memory` makes it at an episode's start, `goal` changes it at each control step, `substep`
    after each physics step, and `torque` reads it before each.

    A law of one's own defines `actions`, `goal` and `torque`, and is found as "module:Class".
    """

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        """What the numbers of an action do, for an arm of these joints."""
        raise NotImplementedError(f"{type(self).__name__} must define actions()")

    def memory(self, state: State) -> Arrays:
        """What the law remembers, at an episode's start."""
        return {}

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        """The memory at the start of a control step, with what an action (..., numbers) asks."""
        raise NotImplementedError(f"{type(self).__name__} must define goal()")

    def torque(self, state: State, memory: Arrays) -> Array:
        """The joints' torques, (..., n), N m, within their limits."""
        raise NotImplementedError(f"{type(self).__name__} must define torque()")

    def substep(self, state: State, memory: Arrays) -> Arrays:
        """The memory after a physics step, from the state that the step led to."""
        return memory

    @property
    def remembers_substeps(self) -> bool:
        """Whether `substep` changes anything; by default whether a law has defined it."""
        return type(self).substep is not Controller.substep


controllers: Catalogue[Controller] = Catalogue("controller", Controller)


def make(controller: str | Mapping[str, Any] | Controller, **parameters: Any) -> Controller:
    """A controller by its name and parameters.

    Args:
        controller: a name ("OSC_POSE"), "module:Class" of a user's own, a dict of the parameters
            with the name as "type" (`{"type": "OSC_POSE", "kp": 300}`), or a controller.
        **parameters: that differ from the defaults.

    Raises:
        TypeError: there is no such parameter; the message names the nearest ones.
        ValueError: there is no such controller, or a parameter has no such value; the message names
            the nearest ones.
    """
    if isinstance(controller, Mapping):
        given = dict(controller)
        if "type" not in given:
            raise ValueError(f'controller: no "type" among {", ".join(map(repr, given))}')
        return make(given.pop("type"), **{**given, **parameters})
    found = controller if isinstance(controller, Controller) else controllers.find(controller)
    known = [field.name for field in dataclasses.fields(found)]
    for name in parameters:
        if name not in known:
            raise TypeError(
                f"controller {controller!r}: no parameter {name!r}{or_else(name, known)}"
            )
    return dataclasses.replace(found, **{n: _hashable(v) for n, v in parameters.items()})


def limited(state: State, torque: Array) -> Array:
    """Torques (..., n) within what the joints' motors give."""
    return clip(torque, state.torque_low, state.torque_high)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
