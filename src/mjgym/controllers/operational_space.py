"""Operational space control: tool forces, decoupled by the inertia, control the tool pose.

O. Khatib, "A unified approach for motion and force control of robot manipulators: the operational
space formulation" (1987).
"""

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

from mjgym import rotations
from mjgym.actions import Action
from mjgym.arrays import Array, namespace
from mjgym.controllers.controller import Arrays, State, controllers, limited
from mjgym.controllers.linear_algebra import regular
from mjgym.controllers.parameters import Numbers, as_precise, clip, constant, ordered
from mjgym.controllers.scaled import ImpedanceController
from mjgym.util.values import one_of

AXES = ("x", "y", "z", "rx", "ry", "rz")
UNITS = ("m", "m", "m", "rad", "rad", "rad")
POSTURE_GAIN = 10.0  # 1/s^2, null-space pull towards the initial posture


@dataclass(frozen=True)
class OperationalSpacePose(ImpedanceController):
    """Tool pose control: a displacement from the current pose, or an absolute pose."""

    output_max: Numbers = (0.05, 0.05, 0.05, 0.5, 0.5, 0.5)
    output_min: Numbers = (-0.05, -0.05, -0.05, -0.5, -0.5, -0.5)
    # Lower and upper limit of tool position, m, in the axes of `input_ref_frame`; None: unlimited
    position_limits: tuple[Numbers, Numbers] | None = None
    # Whether forces and torques use the translational and the rotational inertia separately; False:
    # both use the full inertia
    uncouple_pos_ori: bool = True
    # Axes of the action: "base", those of the arm's origin, or "world"
    input_ref_frame: str = "base"
    turns: ClassVar[bool] = True
    """True if the action turns the tool."""

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("input_ref_frame", self.input_ref_frame, ("base", "world"))
        ordered("position_limits", self.position_limits, 3)

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        count = len(AXES) if self.turns else 3
        frame = "the world" if self.input_ref_frame == "world" else "the arm's origin"
        if self.input_type == "absolute":
            place, turn, make = "the tool's", "rotation vector of the tool,", self.free_actions
        else:
            place, turn = "displacement of the tool along", "rotation of the tool about"
            make = self.scaled_actions
        meanings = tuple(
            f"{place if i < 3 else turn} {axis[-1]} of {frame}" for i, axis in enumerate(AXES)
        )
        return self.impedance_actions(AXES) + make(AXES[:count], UNITS[:count], meanings[:count])

    def memory(self, state: State) -> Arrays:
        in_world = self.input_ref_frame == "world" or not state.origin_moves
        position, rotation = _tool(state) if in_world else self._in_frame(state)
        memory = {
            **self.initial_goal("position", position),
            **self.initial_gains(position, len(AXES)),
            "rotation": rotation,
            "start": state.qpos,
        }
        if self.interpolation:
            memory["rotation_from"] = rotation
            memory["turn"] = namespace(position).zeros_like(position)
        return memory

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        action = as_precise(action, state.position)
        gains, action = self.impedance(action, len(AXES))
        if self.input_type == "absolute":
            position = action[..., 0:3]
            if self.turns:
                rotation = rotations.from_rotation_vector(action[..., 3:6])
            else:
                _, rotation = self._in_frame(state)
        else:
            action = self.scaled(action)
            position, rotation = self._in_frame(state)
            position = position + action[..., 0:3]
            if self.turns:
                turn = rotations.from_rotation_vector(action[..., 3:6])
                rotation = rotations.compose(turn, rotation)
        if self.position_limits is not None:
            position = clip(position, *(constant(x, position) for x in self.position_limits))
        if self.input_ref_frame == "base" and not state.origin_moves:
            position, rotation = _out_of_frame(state, position, rotation)
        changed = {**self.set_goal("position", position, memory), **gains, "rotation": rotation}
        if self.interpolation:
            start = memory["rotation"]
            changed["rotation_from"] = start
            changed["turn"] = rotations.to_rotation_vector(
                rotations.compose(rotation, rotations.transposed(start))
            )
        return changed

    def start_from_goal(self, state: State, memory: Arrays, where: Array) -> None:
        position, rotation = self._wanted(state, memory)
        state.position = state.xp.where(where[..., None], position, state.position)
        state.rotation = state.xp.where(where[..., None], rotation, state.rotation)

    def torque(self, state: State, memory: Arrays) -> Array:
        """tau = J^T (F - L J z) + M z + bias.

        F = L (kp e - kd (v - v0)) with L = (J M^-1 J^T)^-1 and the position and rotation errors e;
        z is the acceleration towards the initial posture, and J^T L J z its effect on the tool.
        """
        xp = state.xp
        position, rotation = self._wanted(state, memory)
        error = xp.concat(
            [position - state.position, rotations.rotation_error(state.rotation, rotation)], axis=-1
        )
        kp, kd = self.gains(memory, error, xp)
        velocity = state.velocity
        if state.origin_moves:
            velocity = velocity - state.origin_velocity
        acceleration = kp * error - kd * velocity
        posture = (
            POSTURE_GAIN * (memory["start"] - state.qpos) - 2 * math.sqrt(POSTURE_GAIN) * state.qvel
        )
        jacobian, inertia = state.jacobian, state.inertia
        # Vectors are columns from here on.
        acceleration, posture = acceleration[..., None], posture[..., None]
        felt = jacobian @ posture
        # J M^-1 J^T, the inverse of the inertia that the tool feels.
        whole = regular(jacobian @ xp.linalg.solve(inertia, jacobian.mT), xp)
        if self.uncouple_pos_ori:
            # One call solves the decoupled systems of the tool and the full system of the posture.
            rights = xp.concat([acceleration[..., None, :, :], felt[..., None, :, :]], axis=-3)
            systems = whole[..., None, :, :] * _block_masks(xp, whole.dtype, whole.device)
            forces = xp.linalg.solve(systems, rights)
            force = forces[..., 0, :, :] - forces[..., 1, :, :]
        else:
            force = xp.linalg.solve(whole, acceleration - felt)
        torque = jacobian.mT @ force + inertia @ posture
        return limited(state, torque[..., 0] + state.bias)

    def _in_frame(self, state: State) -> tuple[Array, Array]:
        if self.input_ref_frame == "world":
            return _tool(state)
        place = rotations.to_local(state.origin_rotation, state.position - state.origin_position)
        inverse = rotations.transposed(state.origin_rotation)
        return place, rotations.compose(inverse, state.rotation)

    def _wanted(self, state: State, memory: Arrays) -> tuple[Array, Array]:
        position, rotation = memory["position"], memory["rotation"]
        if self.interpolation:
            position = self.current("position", memory)
            turn = rotations.from_rotation_vector(memory["turn"] * self.fraction(memory))
            rotation = rotations.compose(turn, memory["rotation_from"])
        # A goal is stored in world axes if the action's frame is fixed.
        if self.input_ref_frame == "world" or not state.origin_moves:
            return position, rotation
        return _out_of_frame(state, position, rotation)


def _tool(state: State) -> tuple[Array, Array]:
    return state.position, state.rotation


def _out_of_frame(state: State, position: Array, rotation: Array) -> tuple[Array, Array]:
    place = state.origin_position + rotations.to_world(state.origin_rotation, position)
    return place, rotations.compose(state.origin_rotation, rotation)


@functools.lru_cache
def _block_masks(xp: Any, dtype: Any, device: Any) -> Array:
    block = [[1.0] * 3 + [0.0] * 3] * 3 + [[0.0] * 3 + [1.0] * 3] * 3
    return xp.asarray([block, [[1.0] * 6] * 6], dtype=dtype, device=device)


@dataclass(frozen=True)
class OperationalSpacePosition(OperationalSpacePose):
    """Tool position control; the orientation is held over the control step."""

    output_max: Numbers = 0.05
    output_min: Numbers = -0.05
    turns: ClassVar[bool] = False


controllers.add("OSC_POSE", OperationalSpacePose())
controllers.add("OSC_POSITION", OperationalSpacePosition())
