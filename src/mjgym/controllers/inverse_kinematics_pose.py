"""The tool's pose by inverse kinematics: a step of it sets positions for the joints to go to."""

import functools
from dataclasses import dataclass

from mjgym import rotations
from mjgym.actions import Action
from mjgym.arrays import Array, namespace
from mjgym.controllers.controller import Arrays, Controller, State, controllers
from mjgym.controllers.joint import JointPosition
from mjgym.controllers.linear_algebra import gram, solve, times
from mjgym.controllers.operational_space import AXES, UNITS
from mjgym.controllers.parameters import Numbers, as_precise, constant

TIME = 0.1  # s, over which the joints' velocities are taken
GAIN = 0.95  # share of the way that they are to go in it
DAMPING = 0.05  # of the least squares: gives up some of the way near singularities
POSTURE_GAINS = (10.0, 10.0, 10.0, 10.0, 5.0, 5.0, 5.0)  # 1/s, of the pull towards the start
FASTEST = 1.0  # rad/s, of any joint


@dataclass(frozen=True)
class InverseKinematicsPose(Controller):
    """The tool's displacement and turn in world axes, by damped least squares, once a control step.

    S. R. Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and
    damped least squares methods" (2004). The joints then go there as `JointPosition` has them.

    Args:
        ik_pos_limit: the longest displacement that is asked for, m.
        ik_ori_limit: the greatest turn that is asked for, rad.
        kp: gain on the joints' positions, 1/s^2, or one for each.
        damping_ratio: of the joints, 1 for critical damping, or one for each.
        interpolation: as in `ScaledController`, and so `ramp_ratio` and `substeps`.

    Raises:
        ValueError: a parameter has no such value.
    """

    ik_pos_limit: float = 0.02
    ik_ori_limit: float = 0.05
    kp: Numbers = 100.0
    damping_ratio: Numbers = 1.0
    interpolation: str | None = None
    ramp_ratio: float = 0.2
    substeps: int = 25

    def __post_init__(self) -> None:
        for name in ("ik_pos_limit", "ik_ori_limit"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}: expected more than 0, got {getattr(self, name)!r}")
        self.joints  # noqa: B018  (checks its parameters)

    @functools.cached_property
    def joints(self) -> JointPosition:
        """The joint controller that tracks the solution of inverse kinematics."""
        return JointPosition(
            kp=self.kp,
            damping_ratio=self.damping_ratio,
            input_type="absolute",
            interpolation=self.interpolation,
            ramp_ratio=self.ramp_ratio,
            substeps=self.substeps,
        )

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        """A displacement and a turn of the tool."""
        self.joints.actions(joints)  # checks that gains fit the joints
        limits = (self.ik_pos_limit,) * 3 + (self.ik_ori_limit,) * 3
        ways = ("displacement of the tool along",) * 3 + ("rotation of the tool about",) * 3
        return tuple(
            Action(
                axis,
                -limit,
                limit,
                unit,
                meaning=f"{way} {axis[-1]} of the world",
            )
            for axis, limit, unit, way in zip(AXES, limits, UNITS, ways, strict=True)
        )

    def memory(self, state: State) -> Arrays:
        """The joints where they are, which is also the start that they are drawn to."""
        return {**self.joints.memory(state), "start": state.qpos}

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        """The joint positions that bring the tool to its target pose."""
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
        across = jacobian.mT
        gains = POSTURE_GAINS + POSTURE_GAINS[-1:] * jacobian.shape[-1]
        posture = constant(gains[: jacobian.shape[-1]], action) * (memory["start"] - state.qpos)
        velocity = (
            times(across, solve(gram(jacobian, DAMPING**2), twist))
            + posture
            - times(across, solve(gram(jacobian), times(jacobian, posture)))
        )
        fastest = xp.max(xp.abs(velocity), axis=-1)[..., None]
        velocity = velocity / xp.maximum(fastest / FASTEST, xp.ones_like(fastest))
        return self.joints.goal(state, state.qpos + TIME * velocity, memory)

    def torque(self, state: State, memory: Arrays) -> Array:
        """Of the joints' law."""
        return self.joints.torque(state, memory)

    def substep(self, state: State, memory: Arrays) -> Arrays:
        """Of the joints' law."""
        return self.joints.substep(state, memory)

    @property
    def remembers_substeps(self) -> bool:
        """Of the joints' law."""
        return self.joints.remembers_substeps


def _shortened(vector: Array, longest: float) -> Array:
    """Vectors (..., 3), shortened to a maximum length."""
    xp = namespace(vector)
    length = rotations.norm(vector)[..., None] if vector.ndim > 1 else rotations.norm(vector)
    return vector * (longest / xp.maximum(length, longest * xp.ones_like(vector[..., :1])))


controllers.add("IK_POSE", InverseKinematicsPose())
