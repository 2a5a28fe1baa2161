"""Joint control laws: torque, velocity, position, and the drives of a mobile base."""

from dataclasses import dataclass

from mjgym.actions import Action
from mjgym.arrays import Array, namespace
from mjgym.controllers.controller import Arrays, Controller, State, controllers, limited
from mjgym.controllers.linear_algebra import times
from mjgym.controllers.parameters import (
    Numbers,
    as_precise,
    clip,
    constant,
    finite,
    not_negative,
    ordered,
)
from mjgym.controllers.scaled import ImpedanceController, ScaledController


@dataclass(frozen=True)
class JointTorque(ScaledController):
    """Joint torques, added to gravity compensation.

    The default range of 0.1 N m hardly moves an arm with as much joint friction; raise
    `output_max`.
    """

    output_max: Numbers = 0.1
    output_min: Numbers = -0.1
    # Lower and upper torque limit of actions, N m; None for the motors'
    torque_limits: tuple[Numbers, Numbers] | None = None
    use_torque_compensation: bool = True  # add the bias forces

    def __post_init__(self) -> None:
        super().__post_init__()
        ordered("torque_limits", self.torque_limits)

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        ordered("torque_limits", self.torque_limits, len(joints))
        units = ("N m",) * len(joints)
        return self.scaled_actions(joints, units, tuple(f"torque on {j}" for j in joints))

    def memory(self, state: State) -> Arrays:
        return self.initial_goal("torque", namespace(state.qpos).zeros_like(state.qpos))

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        action = as_precise(action, state.bias)
        low, high = self.torque_limits or (state.torque_low, state.torque_high)
        torque = clip(self.scaled(action), constant(low, action), constant(high, action))
        return self.set_goal("torque", torque, memory)

    def torque(self, state: State, memory: Arrays) -> Array:
        """tau = goal + bias."""
        torque = self.current("torque", memory)
        return limited(state, torque + state.bias if self.use_torque_compensation else torque)


# Integral gain (on the sum over physics steps) and derivative gain, as fractions of kp.
INTEGRAL, DERIVATIVE = 0.005, 0.001
DIFFERENCES = 5  # differences of the error to average for its derivative


@dataclass(frozen=True)
class JointVelocity(ScaledController):
    """Joint velocities, tracked by a PID law per joint plus the bias forces.

    The integral holds while a joint's motor is at its limit. Errors are measured after each physics
    step, so a goal enters the integral one physics step after it is set.
    """

    output_max: Numbers = 0.5
    output_min: Numbers = -0.5
    # Gain on the error as a fraction of the joint's torque range, s/rad; with one per joint,
    # absolute gains, N m s/rad. A joint with an inertia below half of its gain times the physics
    # timestep chatters: light arms (Baxter's) want less
    kp: Numbers = 3.0
    # Lower and upper velocity limit, rad/s; None: unlimited
    velocity_limits: tuple[Numbers, Numbers] | None = (-1.0, 1.0)
    use_torque_compensation: bool = True  # add the bias forces

    def __post_init__(self) -> None:
        super().__post_init__()
        not_negative("kp", self.kp)
        ordered("velocity_limits", self.velocity_limits)

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        finite("kp", self.kp, len(joints))
        ordered("velocity_limits", self.velocity_limits, len(joints))
        units = ("rad/s",) * len(joints)
        return self.scaled_actions(joints, units, tuple(f"velocity of {j}" for j in joints))

    def memory(self, state: State) -> Arrays:
        xp = namespace(state.qvel)
        zero = xp.zeros_like(state.qvel)
        return {
            **self.initial_goal("velocity", zero),
            "error": zero,
            "error_sum": zero,
            "error_differences": xp.stack([zero] * DIFFERENCES, axis=-2),
        }

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        action = as_precise(action, state.qvel)
        velocity = self.scaled(action)
        if self.velocity_limits is not None:
            velocity = clip(velocity, *(constant(limit, action) for limit in self.velocity_limits))
        return self.set_goal("velocity", velocity, memory)

    def torque(self, state: State, memory: Arrays) -> Array:
        """tau = Kp e + Ki sum(e) + Kd mean(differences of e) + bias."""
        return limited(state, self._unlimited(state, memory))

    def substep(self, state: State, memory: Arrays) -> Arrays:
        xp = namespace(state.qvel)
        memory = super().substep(state, memory)
        error = self.current("velocity", memory) - state.qvel
        difference = (error - memory["error"])[..., None, :]
        unlimited = self._unlimited(state, memory)
        at_limit = (unlimited < state.torque_low) | (unlimited > state.torque_high)
        more = xp.where(xp.any(at_limit, axis=-1)[..., None], xp.zeros_like(error), error)
        return {
            **memory,
            "error": error,
            "error_sum": memory["error_sum"] + more,
            "error_differences": xp.concat(
                [memory["error_differences"][..., 1:, :], difference], axis=-2
            ),
        }

    def gain(self, torque_low: Array, torque_high: Array) -> Array:
        """Gain on each joint's error, (n,), N m s/rad."""
        gain = constant(self.kp, torque_low)
        return gain if isinstance(self.kp, tuple) else gain * (torque_high - torque_low)

    def _unlimited(self, state: State, memory: Arrays) -> Array:
        gain = self.gain(state.torque_low, state.torque_high)
        error = self.current("velocity", memory) - state.qvel
        differences = memory["error_differences"]
        derivative = differences[..., 0, :]
        for i in range(1, DIFFERENCES):
            derivative = derivative + differences[..., i, :]
        torque = gain * (
            error + INTEGRAL * memory["error_sum"] + DERIVATIVE * (derivative / DIFFERENCES)
        )
        return torque + state.bias if self.use_torque_compensation else torque


@dataclass(frozen=True)
class JointPosition(ImpedanceController):
    """Joint positions, tracked by a spring and damper per joint in units of acceleration."""

    output_max: Numbers = 0.05
    output_min: Numbers = -0.05
    kp: Numbers = 50.0
    kd: Numbers | None = None  # gain on velocity, 1/s; None to derive it from the damping ratio
    # Lower and upper position limit, rad; None: unlimited
    qpos_limits: tuple[Numbers, Numbers] | None = None
    # Multiply by the inertia matrix and add the bias forces; otherwise the accelerations are used
    # as torques
    use_torque_compensation: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.kd is not None:
            not_negative("kd", self.kd)
            if self.impedance_mode != "fixed":
                raise ValueError("kd: only for impedance_mode 'fixed', as others ask for damping")
        ordered("qpos_limits", self.qpos_limits)

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        gains = self.impedance_actions(joints)
        ordered("qpos_limits", self.qpos_limits, len(joints))
        finite("kd", 0.0 if self.kd is None else self.kd, len(joints))
        units = ("rad",) * len(joints)
        if self.input_type == "absolute":
            meanings = tuple(f"position of {j}" for j in joints)
            return gains + self.free_actions(joints, units, meanings)
        meanings = tuple(f"displacement of {j}" for j in joints)
        return gains + self.scaled_actions(joints, units, meanings)

    def memory(self, state: State) -> Arrays:
        return {
            **self.initial_goal("qpos", state.qpos),
            **self.initial_gains(state.qpos, state.qpos.shape[-1]),
        }

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        action = as_precise(action, state.qpos)
        gains, action = self.impedance(action, state.qpos.shape[-1])
        qpos = action if self.input_type == "absolute" else state.qpos + self.scaled(action)
        if self.qpos_limits is not None:
            qpos = clip(qpos, *(constant(limit, qpos) for limit in self.qpos_limits))
        return {**self.set_goal("qpos", qpos, memory), **gains}

    def torque(self, state: State, memory: Arrays) -> Array:
        """tau = M (kp (goal - q) - kd qd) + bias."""
        kp, kd = self.gains(memory, state.qpos)
        if self.kd is not None:
            kd = constant(self.kd, state.qpos)
        torque = kp * (self.current("qpos", memory) - state.qpos) - kd * state.qvel
        if self.use_torque_compensation:
            torque = times(state.inertia, torque) + state.bias
        return limited(state, torque)


controllers.add("JOINT_TORQUE", JointTorque())
controllers.add("JOINT_VELOCITY", JointVelocity())
controllers.add("JOINT_POSITION", JointPosition())


MOTIONS = ("forward", "sideways", "turn")


@dataclass(frozen=True)
class MobileBase(Controller):
    """Velocities of a base along its own axes, as fractions of its top speeds.

    Its joints slide forward and sideways along fixed axes, and turn. An action is rotated by the
    angle of the base at the start of a control step, as in the published law, whose sense of that
    rotation is kept: with the base turned to the left, "forward" drives to its right.
    """

    def actions(self, joints: tuple[str, ...]) -> tuple[Action, ...]:
        return tuple(
            Action(name, -1.0, 1.0, "top speed", source=f"joint {joint}", meaning=f"drives: {name}")
            for name, joint in zip(MOTIONS, joints, strict=True)
        )

    def memory(self, state: State) -> Arrays:
        return {"speed": state.xp.zeros_like(state.qvel)}

    def goal(self, state: State, action: Array, memory: Arrays) -> Arrays:
        xp = state.xp
        action = as_precise(action, state.qpos)
        angle = state.qpos[..., 2]
        cosine, sine = xp.cos(angle), xp.sin(angle)
        x, y = action[..., 0], action[..., 1]
        speed = xp.stack([x * cosine + y * sine, y * cosine - x * sine, action[..., 2]], axis=-1)
        return {"speed": speed}

    def torque(self, state: State, memory: Arrays) -> Array:
        """Targets of the velocity drives, within their ranges."""
        low, high = state.torque_low, state.torque_high
        return limited(state, (low + high) / 2 + (high - low) / 2 * memory["speed"])
