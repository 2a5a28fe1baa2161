"""Poses of all tools of a robot by inverse kinematics, solved together for all of its arms."""

import functools
from dataclasses import dataclass
from typing import ClassVar

from mjgym import rotations
from mjgym.actions import UNLIMITED, Action
from mjgym.arrays import Array, namespace
from mjgym.controllers.controller import Arrays, Controller, State, controllers
from mjgym.controllers.joint import JointPosition
from mjgym.controllers.linear_algebra import gram, solve, times
from mjgym.controllers.operational_space import AXES, UNITS
from mjgym.controllers.parameters import Numbers, as_precise, clip, constant, one_of

GAIN = 0.95  # share of the way that the tools are to go in `integration_dt`


@dataclass(frozen=True)
class InverseKinematicsWholeBody(Controller):
    """The tools' absolute poses, by damped least squares, once a control step.

    S. R. Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and
    damped least squares methods" (2004). Where the tools do not feel it, joints are drawn to zero.
    All joints of a robot slow down together where one would be too fast. They then go where
    inverse kinematics wants them as `JointPosition` has them.

    Args:
        damping: of the least squares: gives up some of the way near singularities.
        integration_dt: s, over which the joints' velocities are taken.
        max_dq: rad/s, the fastest that any joint is to be; 0 for any.
        posture_gain: 1/s, of the pull towards zero, or one for each joint.
        input_ref_frame: the axes of the action: "world", or "base", those of the arm's origin.
        kp: gain on the joints' positions, 1/s^2, or one for each.
        kd: gain on the joints' velocities, 1/s, or one for each; None for critical damping.

    Raises:
        ValueError: a parameter has no such value.
    """

    damping: float = 0.05
    integration_dt: float = 0.1
    max_dq: float = 4.0
    posture_gain: Numbers = 1.0
    input_ref_frame: str = "world"
    kp: Numbers = 1000.0
    kd: Numbers | None = 200.0

    couples: ClassVar[bool] = True

    def __post_init__(self) -> None:
        one_of("input_ref_frame", self.input_ref_frame, ("base", "world"))
        for name in ("damping", "integration_dt"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: expected more than 0, got {getattr(self, name)!r}")
        if not self.max_dq >= 0:
            raise ValueError(f"max_dq: expected 0 or more, got {self.max_dq!r}")
        self.joints  # noqa: B018  (checks its parameters)

    @functools.cached_property
    def joints(self) -> JointPosition:
        """The law that takes the joints to where inverse kinematics wants them."""
        return JointPosition(
            kp=self.kp,
            kd=self.kd,
            input_type="absolute",
            kp_limits=(0.0, 1000.0),
        )

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        """A place and a rotation vector of the tool."""
        self.joints.actions(joints)  # checks that gains fit the joints
        frame = "the world" if self.input_ref_frame == "world" else "the arm's origin"
        whats = ("the tool's",) * 3 + ("rotation vector of the tool,",) * 3
        return tuple(
            Action(axis, -UNLIMITED, UNLIMITED, unit, meaning=f"{what} {axis[-1]} of {frame}")
            for axis, unit, what in zip(AXES, UNITS, whats, strict=True)
        )

    def memory(self, state: State) -> Arrays:
        """The joints where they are."""
        return self.joints.memory(state)

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        """The joints where the tool would be as asked for, were this the robot's only arm."""
        return self.coupled_goal(state, action, memory, self.fastest(state, action))

    def coupled_goal(self, state: State, action: Array, memory: Arrays, fastest: Array) -> Arrays:
        """The joints where the tool would be as asked for.

        Args:
            state: of the arm.
            action: (..., 6).
            memory: of the law.
            fastest: rad/s, the fastest joint of all of the robot's arms, (..., 1).
        """
        velocity = self._velocity(state, action)
        if self.max_dq:
            xp = namespace(velocity)
            velocity = velocity / xp.maximum(fastest / self.max_dq, xp.ones_like(fastest))
        wanted = state.qpos + self.integration_dt * velocity
        wanted = clip(wanted, state.qpos_low, state.qpos_high)
        return self.joints.goal(state, wanted, memory)

    def fastest(self, state: State, action: Array) -> Array:
        """The velocity of the fastest joint that an action asks for, (..., 1), rad/s."""
        velocity = self._velocity(state, action)
        xp = namespace(velocity)
        return xp.max(xp.abs(velocity), axis=-1)[..., None]

    def _velocity(self, state: State, action: Array) -> Array:
        """The joints' velocities, (..., n), that take the tool to a pose, were nothing too fast."""
        xp = namespace(action)
        action = as_precise(action, state.qpos)
        position = action[..., 0:3]
        rotation = rotations.from_rotation_vector(action[..., 3:6])
        if self.input_ref_frame == "base":
            turned = rotations.to_world(state.origin_rotation, position)
            position = state.origin_position + turned
            rotation = rotations.compose(state.origin_rotation, rotation)
        turn = rotations.compose(rotation, rotations.transposed(state.rotation))
        error = xp.concat([position - state.position, rotations.to_rotation_vector(turn)], axis=-1)
        jacobian = state.jacobian
        across = jacobian.mT
        posture = -constant(self.posture_gain, action) * state.qpos
        return (
            times(across, solve(gram(jacobian, self.damping**2), error))
            * (GAIN / self.integration_dt)
            + posture
            - times(across, solve(gram(jacobian), times(jacobian, posture)))
        )

    def torque(self, state: State, memory: Arrays) -> Array:
        """Of the joints' law."""
        return self.joints.torque(state, memory)


controllers.add("WHOLE_BODY_IK", InverseKinematicsWholeBody())
