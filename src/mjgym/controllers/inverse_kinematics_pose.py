"""Tool pose control by inverse kinematics, which sets joint position goals."""

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

TIME = 0.1  # s, time scale of the joint velocities
GAIN = 0.95  # fraction of the error corrected within TIME
DAMPING = 0.05  # least-squares damping: trades accuracy for stability near singularities
POSTURE_GAINS = (10.0, 10.0, 10.0, 10.0, 5.0, 5.0, 5.0)  # 1/s, posture gains
FASTEST = 1.0  # rad/s, joint speed limit


@dataclass(frozen=True)
class InverseKinematicsPose(Controller):
    """Tool displacement and rotation in world axes, by damped least squares once per control step.

    S. R. Buss, "Introduction to inverse kinematics with Jacobian transpose, pseudoinverse and
    damped least squares methods" (2004). `JointPosition` tracks the solution.

    Args:
        ik_pos_limit: largest displacement, m.
        ik_ori_limit: largest rotation, rad.
        kp: gain on joint position, 1/s^2, or one per joint.
        damping_ratio: 1 for critical damping, or one per joint.
        interpolation: as in `ScaledController`, as are `ramp_ratio` and `substeps`.

    Raises:
        ValueError: a parameter is invalid.
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
        """Joint controller that tracks the solution of inverse kinematics."""
        return JointPosition(
            kp=self.kp,
            damping_ratio=self.damping_ratio,
            input_type="absolute",
            interpolation=self.interpolation,
            ramp_ratio=self.ramp_ratio,
            substeps=self.substeps,
        )

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        """Displacement and rotation of the tool."""
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
        """Current joint positions, also the posture target."""
        return {**self.joints.memory(state), "start": state.qpos}

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        """Joint positions that bring the tool to its target pose."""
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
        """Torques of the joint law."""
        return self.joints.torque(state, memory)

    def substep(self, state: State, memory: Arrays) -> Arrays:
        """Memory of the joint law."""
        return self.joints.substep(state, memory)

    @property
    def remembers_substeps(self) -> bool:
        """Whether the joint law remembers substeps."""
        return self.joints.remembers_substeps


def _shortened(vector: Array, longest: float) -> Array:
    """Shorten vectors (..., 3) to a maximum length."""
    xp = namespace(vector)
    length = rotations.norm(vector)[..., None] if vector.ndim > 1 else rotations.norm(vector)
    return vector * (longest / xp.maximum(length, longest * xp.ones_like(vector[..., :1])))


controllers.add("IK_POSE", InverseKinematicsPose())
