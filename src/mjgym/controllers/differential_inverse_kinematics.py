"""Inverse kinematics of one arm or of a whole robot: joint position goals from tool poses.

Damped least squares of S. R. Buss, "Introduction to inverse kinematics with Jacobian transpose,
pseudoinverse and damped least squares methods" (2004). `JointPosition` tracks the solution.
"""

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from mjgym import rotations
from mjgym.actions import UNLIMITED, Action
from mjgym.arrays import Array, namespace
from mjgym.controllers.controller import Arrays, Controller, State, controllers
from mjgym.controllers.joint import JointPosition
from mjgym.controllers.linear_algebra import gram, solve, times
from mjgym.controllers.operational_space import AXES, UNITS
from mjgym.controllers.parameters import Numbers, as_precise, clip, constant
from mjgym.util.values import not_negative, one_of, positive

GAIN = 0.95  # fraction of the error corrected within the time scale of the joint velocities

# Of one arm.
TIME = 0.1  # s, that time scale
DAMPING = 0.05  # least-squares damping: trades accuracy for stability near singularities
POSTURE_GAINS = (10.0, 10.0, 10.0, 10.0, 5.0, 5.0, 5.0)  # 1/s, posture gains
FASTEST = 1.0  # rad/s, joint speed limit


@dataclass(frozen=True)
class InverseKinematicsPose(Controller):
    """Tool displacement and rotation in world axes, by damped least squares in a control step."""

    ik_pos_limit: float = 0.02  # largest displacement, m
    ik_ori_limit: float = 0.05  # largest rotation, rad
    kp: Numbers = 100.0  # gain on joint position, 1/s^2, or one per joint
    damping_ratio: Numbers = 1.0  # 1 for critical damping, or one per joint
    interpolation: str | None = None  # as in `ScaledController`, as are `ramp_ratio` and `substeps`
    ramp_ratio: float = 0.2
    substeps: int = 25

    def __post_init__(self) -> None:
        for name in ("ik_pos_limit", "ik_ori_limit"):
            positive(name, getattr(self, name))
        self.joints  # noqa: B018  (checks its parameters)

    @functools.cached_property
    def joints(self) -> JointPosition:
        """The joint law that tracks the solution."""
        return JointPosition(
            kp=self.kp,
            damping_ratio=self.damping_ratio,
            input_type="absolute",
            interpolation=self.interpolation,
            ramp_ratio=self.ramp_ratio,
            substeps=self.substeps,
        )

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        self.joints.actions(joints)  # checks that gains fit the joints
        limits = (self.ik_pos_limit,) * 3 + (self.ik_ori_limit,) * 3
        ways = ("displacement of the tool along",) * 3 + ("rotation of the tool about",) * 3
        return tuple(
            Action(axis, -limit, limit, unit, meaning=f"{way} {axis[-1]} of the world")
            for axis, limit, unit, way in zip(AXES, limits, UNITS, ways, strict=True)
        )

    def memory(self, state: State) -> Arrays:
        return {**self.joints.memory(state), "start": state.qpos}

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        xp = namespace(action)
        action = as_precise(action, state.qpos)
        twist = (GAIN / TIME) * xp.concat(
            [
                _shortened(action[..., 0:3], self.ik_pos_limit),
                _shortened(action[..., 3:6], self.ik_ori_limit),
            ],
            axis=-1,
        )
        jacobian = state.jacobian
        gains = POSTURE_GAINS + POSTURE_GAINS[-1:] * jacobian.shape[-1]
        posture = constant(gains[: jacobian.shape[-1]], action) * (memory["start"] - state.qpos)
        velocity = _near_posture(_damped(jacobian, twist, DAMPING), jacobian, posture)
        wanted = state.qpos + TIME * _slowed(velocity, FASTEST)
        return self.joints.goal(state, wanted, memory)

    def torque(self, state: State, memory: Arrays) -> Array:
        return self.joints.torque(state, memory)

    def substep(self, state: State, memory: Arrays) -> Arrays:
        return self.joints.substep(state, memory)


@dataclass(frozen=True)
class InverseKinematicsWholeBody(Controller):
    """Absolute tool poses, by damped least squares once per control step.

    Null-space motion draws joints to zero. All joints of a robot slow down together when one
    exceeds its speed limit, then those of a part with a lower limit.
    """

    damping: float = 0.05
    integration_dt: float = 0.1  # s, time scale of the joint velocities
    max_dq: float = 4.0  # rad/s, joint speed limit; 0: unlimited
    posture_gain: Numbers = 1.0  # 1/s, pull towards zero, or one per joint
    input_ref_frame: str = "world"  # axes of the action: "world", or "base", those of the robot
    kp: Numbers = 1000.0  # gain on joint position, 1/s^2, or one per joint
    # Gain on joint velocity, 1/s, or one per joint; None for critical damping
    kd: Numbers | None = 200.0
    # Whether the joints are an arm's, with a pose as the action; those of a torso, a head or legs
    # have none and take part in the arms' solution
    tool: bool = True

    couples: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("input_ref_frame", self.input_ref_frame, ("base", "world"))
        for name in ("damping", "integration_dt"):
            positive(name, getattr(self, name))
        not_negative("max_dq", self.max_dq)
        self.joints  # noqa: B018  (checks its parameters)

    @functools.cached_property
    def joints(self) -> JointPosition:
        return JointPosition(kp=self.kp, kd=self.kd, input_type="absolute", kp_limits=(0.0, 1000.0))

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        self.joints.actions(joints)  # checks that gains fit the joints
        if not self.tool:
            return ()
        frame = "the world" if self.input_ref_frame == "world" else "the robot"
        whats = ("the tool's",) * 3 + ("rotation vector of the tool,",) * 3
        return tuple(
            Action(axis, -UNLIMITED, UNLIMITED, unit, meaning=f"{what} {axis[-1]} of {frame}")
            for axis, unit, what in zip(AXES, UNITS, whats, strict=True)
        )

    def memory(self, state: State) -> Arrays:
        return self.joints.memory(state)

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        """Joint goals for the target tool pose, as if this were the robot's only part."""
        return self.coupled_goals([(self, state, action, memory)])[0]

    @staticmethod
    def coupled_goals(
        parts: Sequence[tuple["InverseKinematicsWholeBody", State, Array, Arrays]],
    ) -> list[Arrays]:
        first = next(law for law, *_ in parts if law.tool)
        states = [state for _, state, *_ in parts]
        xp = namespace(states[0].qpos)
        tools = [(law, state, action) for law, state, action, _ in parts if law.tool]
        error = xp.concat([law.error(state, action) for law, state, action in tools], axis=-1)
        rows = [
            xp.concat([state.jacobian_by(part) for part in states], axis=-1)
            for _, state, _ in tools
        ]
        jacobian = xp.concat(rows, axis=-2)
        pulls = [-constant(law.posture_gain, state.qpos) * state.qpos for law, state, *_ in parts]
        posture = xp.concat(pulls, axis=-1)
        velocity = _damped(jacobian, error, first.damping) * (GAIN / first.integration_dt)
        velocity = _slowed(_near_posture(velocity, jacobian, posture), first.max_dq)
        ends = list(itertools.accumulate(state.qpos.shape[-1] for state in states))
        goals = []
        for (law, state, _, memory), end in zip(parts, ends, strict=True):
            slowed = _slowed(velocity[..., end - state.qpos.shape[-1] : end], law.max_dq)
            wanted = state.qpos + first.integration_dt * slowed
            wanted = clip(wanted, state.qpos_low, state.qpos_high)
            goals.append(law.joints.goal(state, wanted, memory))
        return goals

    def error(self, state: State, action: Array) -> Array:
        """Distance (m) and rotation vector (rad) from the tool to the action's pose, (..., 6)."""
        xp = namespace(action)
        action = as_precise(action, state.qpos)
        position = action[..., 0:3]
        rotation = rotations.from_rotation_vector(action[..., 3:6])
        if self.input_ref_frame == "base":
            turned = rotations.to_world(state.origin_rotation, position)
            position = state.origin_position + turned
            rotation = rotations.compose(state.origin_rotation, rotation)
        turn = rotations.compose(rotation, rotations.transposed(state.rotation))
        return xp.concat([position - state.position, rotations.to_rotation_vector(turn)], axis=-1)

    def torque(self, state: State, memory: Arrays) -> Array:
        return self.joints.torque(state, memory)


def _damped(jacobian: Array, twist: Array, damping: float) -> Array:
    return times(jacobian.mT, solve(gram(jacobian, damping**2), twist))


def _near_posture(velocity: Array, jacobian: Array, posture: Array) -> Array:
    """Joint velocities with the part of a posture's, (..., n), that does not move the tool."""
    moving = times(jacobian.mT, solve(gram(jacobian), times(jacobian, posture)))
    return velocity + posture - moving


def _slowed(velocity: Array, limit: float) -> Array:
    if not limit:
        return velocity
    xp = namespace(velocity)
    fastest = xp.max(xp.abs(velocity), axis=-1)[..., None]
    return velocity / xp.maximum(fastest / limit, xp.ones_like(fastest))


def _shortened(vector: Array, longest: float) -> Array:
    xp = namespace(vector)
    length = rotations.norm(vector)[..., None] if vector.ndim > 1 else rotations.norm(vector)
    return vector * (longest / xp.maximum(length, longest * xp.ones_like(vector[..., :1])))


controllers.add("IK_POSE", InverseKinematicsPose())
controllers.add("WHOLE_BODY_IK", InverseKinematicsWholeBody())
