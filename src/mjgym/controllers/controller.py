"""The controller interface, the state that controllers read, and lookup by name."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from mjgym.actions import Action
from mjgym.arrays import Array, namespace
from mjgym.util.catalogue import Catalogue
from mjgym.util.suggestions import or_else

Arrays = dict[str, Array]


class State:
    """State of an arm for a controller: arrays of any leading shape, in world axes.

    Args:
        **readings: the arrays below by name, or functions of the state that compute them when first
            read.

    Raises:
        AttributeError: a controller reads a missing array.
    """

    xp: Any
    """The arrays' library."""
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
    origin_moves: bool
    """True if that frame can move; by default, whether `origin_velocity` is an array."""
    jacobian: Array
    """Jacobian of the tool with respect to the arm's n joints, (..., 6, n): three rows of velocity,
    three of angular velocity."""
    inertia: Array
    """The arm's block of the joint-space inertia matrix, armature included, (..., n, n)."""
    bias: Array
    """Gravity, Coriolis and centrifugal forces at the joints, (..., n), N m."""
    qpos: Array
    """The joints' positions, (..., n), rad."""
    qvel: Array
    """The joints' velocities, (..., n), rad/s."""
    qpos_low: Array
    """The least position of each joint, (n,), rad; -inf without a limit."""
    qpos_high: Array
    """The greatest position of each joint, (n,), rad; inf without a limit."""
    torque_low: Array
    """The least torque of each joint, (n,), N m."""
    torque_high: Array
    """The greatest torque of each joint, (n,), N m."""

    def __init__(self, **readings: Array | Callable[["State"], Array]) -> None:
        if unknown := readings.keys() - State.__annotations__.keys():
            name = min(unknown)
            raise TypeError(f"State: no reading {name!r}{or_else(name, State.__annotations__)}")
        defaults = {
            "xp": lambda state: namespace(state.qpos),
            "origin_moves": lambda state: not isinstance(state.origin_velocity, float),
        }
        self.__dict__.update(_readings={**defaults, **readings})

    def __getattr__(self, name: str) -> Array:
        if name == "_readings" or name not in self._readings:
            raise AttributeError(f"this state has no {name!r}")
        value = self._readings[name]
        if callable(value):
            value = value(self)
        self.__dict__[name] = value
        return value

    def jacobian_by(self, part: "State") -> Array:
        """Jacobian of the tool with respect to the joints of a part of the robot, (..., 6, m)."""
        if part is self:
            return self.jacobian
        zero = self.xp.zeros_like(part.qpos)
        return self.xp.stack([zero] * 6, axis=-2)


@dataclass(frozen=True)
class Controller:
    """A control law from action to joint torques: parameters and pure functions.

    A controller is stateless. Its memory is a dict of arrays with the state's leading shape:
    `memory` creates it at the start of an episode, `goal` updates it at each control step,
    `substep` after each physics step, and `torque` reads it before each physics step.

    To add a controller, define `actions`, `goal` and `torque`; "module:Class" names it.
    """

    couples: ClassVar[bool] = False
    """True if a robot's parts find their goals together, by `coupled_goals`; their actions are
    then given in the robot's frame instead of an arm's own."""

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        """Action dimensions for an arm with these joints."""
        raise NotImplementedError(f"{type(self).__name__} must define actions()")

    def memory(self, state: State) -> Arrays:
        """Memory at the start of an episode."""
        return {}

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        """Memory at the start of a control step, with the goal of the action (..., n)."""
        raise NotImplementedError(f"{type(self).__name__} must define goal()")

    def start_from_goal(self, state: State, memory: Arrays, where: Array) -> None:
        """Let the next `goal` begin at the last one where a condition (...) holds, if it can."""

    @staticmethod
    def coupled_goals(parts: Sequence[tuple[Any, State, Array, Arrays]]) -> list[Arrays]:
        """`goal` of all coupled parts of a robot: of each its law, state, action and memory."""
        raise NotImplementedError("a controller that couples parts must define coupled_goals()")

    def torque(self, state: State, memory: Arrays) -> Array:
        """Joint torques, (..., n), N m, within their limits."""
        raise NotImplementedError(f"{type(self).__name__} must define torque()")

    def substep(self, state: State, memory: Arrays) -> Arrays:
        """Memory after a physics step, from the new state."""
        return memory


controllers: Catalogue[Controller] = Catalogue("controller", Controller)


def make(controller: str | Mapping[str, Any] | Controller, **parameters: Any) -> Controller:
    """Create a controller from its name and parameters.

    Args:
        controller: a name ("OSC_POSE"), "module:Class" of a user class, a dict of parameters with
            the name as "type" (`{"type": "OSC_POSE", "kp": 300}`), or a controller.
        **parameters: changes to the defaults.

    Raises:
        TypeError: there is no such parameter; the message names the nearest ones.
        ValueError: there is no such controller, or a parameter is invalid; the message names the
            nearest values.
    """
    if isinstance(controller, Mapping):
        config = dict(controller)
        if "type" not in config:
            raise ValueError(f'controller: no "type" among {", ".join(map(repr, config))}')
        return make(config.pop("type"), **{**config, **parameters})
    law = controller if isinstance(controller, Controller) else controllers.find(controller)
    fields = [field.name for field in dataclasses.fields(law)]
    for name in parameters:
        if name not in fields:
            raise TypeError(
                f"controller {controller!r}: no parameter {name!r}{or_else(name, fields)}"
            )
    return dataclasses.replace(law, **{n: _hashable(v) for n, v in parameters.items()})


def limited(state: State, torque: Array) -> Array:
    return state.xp.minimum(state.xp.maximum(torque, state.torque_low), state.torque_high)


def _hashable(value: Any) -> Any:
    return tuple(map(_hashable, value)) if isinstance(value, list) else value
