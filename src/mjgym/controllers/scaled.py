"""Base classes of controllers with scaled actions: ranges, interpolated goals, impedance."""

import functools
import math
from dataclasses import dataclass
from typing import Any

from mjgym.actions import UNLIMITED, Action
from mjgym.arrays import Array, namespace
from mjgym.controllers.controller import Arrays, Controller
from mjgym.controllers.parameters import (
    Numbers,
    clip,
    constant,
    damping,
    finite,
    not_negative,
    ordered,
    per_axis,
)
from mjgym.util.values import one_of


def ramp_steps(ramp_ratio: float, substeps: int) -> int:
    """Number of physics steps of a ramp: a fraction of the control step, rounded up."""
    return math.ceil(ramp_ratio * substeps - 1e-9)


def ramp(since: Array, steps: int) -> Array:
    """Interpolated fraction of a goal, some physics steps after it was set, (...) in (0, 1].

    The published ramp is harmonic: 1/5, 1/4, 1/3, 1/2 and 1 of the way for five steps. It would be
    linear if each step started from the previous point instead of the ramp's start.
    """
    xp = namespace(since)
    return 1 / xp.maximum(steps - since, xp.ones_like(since))


IMPEDANCE = ("fixed", "variable", "variable_kp")


@dataclass(frozen=True)
class ScaledController(Controller):
    """A controller that clips its action to a range, maps it to another, and may ramp its goal."""

    input_max: Numbers = 1.0
    input_min: Numbers = -1.0
    output_max: Numbers = 1.0
    output_min: Numbers = -1.0
    # "linear" to ramp each goal over the first physics steps, None to jump
    interpolation: str | None = None
    ramp_ratio: float = 0.2  # the fraction of the control step's physics steps that the ramp takes
    substeps: int = 25  # physics steps per control step, for interpolation

    def __post_init__(self) -> None:
        for name in ("input_max", "input_min", "output_max", "output_min"):
            finite(name, getattr(self, name))
        count = max(len(per_axis(x, 1)) for x in (self.input_min, self.input_max))
        pairs = zip(per_axis(self.input_min, count), per_axis(self.input_max, count), strict=False)
        if not all(low < high for low, high in pairs):
            raise ValueError(
                f"input_min: {self.input_min} is not below input_max, {self.input_max}"
            )
        one_of("interpolation", self.interpolation, (None, "linear"))
        if not 0 < self.ramp_ratio <= 1:
            raise ValueError(
                f"ramp_ratio: expected more than 0 and at most 1, got {self.ramp_ratio}"
            )
        if self.substeps < 1:
            raise ValueError(f"substeps: expected 1 or more, got {self.substeps}")

    def scaled(self, action: Array) -> Array:
        """An action (..., k) clipped to the input range and mapped to the output range."""
        low, high = constant(self.input_min, action), constant(self.input_max, action)
        least, most = constant(self.output_min, action), constant(self.output_max, action)
        share = (most - least) / (high - low)
        return (clip(action, low, high) - (low + high) / 2) * share + (least + most) / 2

    def scaled_actions(
        self, names: tuple[str, ...], units: tuple[str, ...], meanings: tuple[str, ...]
    ) -> tuple[Action, ...]:
        """Dimensions of a scaled action, with the unit and meaning of each command."""
        count = len(names)
        ranges = (self.input_min, self.input_max, self.output_min, self.output_max)
        for field, value in zip(
            ("input_min", "input_max", "output_min", "output_max"), ranges, strict=True
        ):
            finite(field, value, count)
        low, high, least, most = (per_axis(value, count) for value in ranges)
        return tuple(
            Action(
                name,
                bottom,
                top,
                f"{(m - s) / (top - bottom):g} {unit}",
                meaning=f"{meaning}, {s:g} to {m:g} {unit}",
            )
            for name, bottom, top, s, m, unit, meaning in zip(
                names, low, high, least, most, units, meanings, strict=True
            )
        )

    def free_actions(
        self, names: tuple[str, ...], units: tuple[str, ...], meanings: tuple[str, ...]
    ) -> tuple[Action, ...]:
        """Dimensions of an unscaled action."""
        return tuple(
            Action(name, -UNLIMITED, UNLIMITED, unit, meaning=meaning)
            for name, unit, meaning in zip(names, units, meanings, strict=True)
        )

    # A ramped goal is three arrays: start, target, and steps since it was set.

    def initial_goal(self, name: str, goal: Array) -> Arrays:
        """Memory of an initial goal, (..., k), without a ramp."""
        memory = {name: goal}
        if self.interpolation:
            memory[f"{name}_from"] = goal
            memory["since"] = namespace(goal).zeros_like(goal[..., 0])
        return memory

    def set_goal(self, name: str, goal: Array, memory: Arrays) -> Arrays:
        """Memory with a new goal, (..., k)."""
        changed = {**memory, name: goal}
        if self.interpolation:
            changed[f"{name}_from"] = memory[name]
            changed["since"] = namespace(goal).zeros_like(goal[..., 0])
        return changed

    def fraction(self, memory: Arrays) -> Array:
        """Fraction of the way from the previous goal to this one, (..., 1)."""
        steps = ramp_steps(self.ramp_ratio, self.substeps)
        return ramp(memory["since"], steps)[..., None]

    def current(self, name: str, memory: Arrays) -> Array:
        """Interpolated goal at this physics step, (..., k)."""
        goal = memory[name]
        if not self.interpolation:
            return goal
        start = memory[f"{name}_from"]
        return start + (goal - start) * self.fraction(memory)

    def substep(self, state: Any, memory: Arrays) -> Arrays:
        if not self.interpolation:
            return memory
        return {**memory, "since": memory["since"] + 1}


@dataclass(frozen=True)
class ImpedanceController(ScaledController):
    """A spring-damper law between the current state and the goal."""

    kp: Numbers = 150.0  # gain on position, 1/s^2, or one per axis or joint
    damping_ratio: Numbers = 1.0  # 1 for critical damping, or one per axis or joint
    # "fixed"; "variable": the action begins with damping ratios and gains; "variable_kp": it begins
    # with gains. They are clipped to their limits, not scaled
    impedance_mode: str = "fixed"
    kp_limits: tuple[float, float] = (0.0, 300.0)
    damping_ratio_limits: tuple[float, float] = (0.0, 10.0)
    # "delta": the action is a displacement of the goal; "absolute": it is the goal, neither clipped
    # nor scaled
    input_type: str = "delta"

    def __post_init__(self) -> None:
        super().__post_init__()
        not_negative("kp", self.kp)
        not_negative("damping_ratio", self.damping_ratio)
        one_of("impedance_mode", self.impedance_mode, IMPEDANCE)
        one_of("input_type", self.input_type, ("delta", "absolute"))
        ordered("kp_limits", self.kp_limits, 1)
        ordered("damping_ratio_limits", self.damping_ratio_limits, 1)
        if min(*self.kp_limits, *self.damping_ratio_limits) < 0:
            raise ValueError("kp_limits, damping_ratio_limits: expected 0 or more")

    def impedance_actions(self, axes: tuple[str, ...]) -> tuple[Action, ...]:
        """Leading action dimensions that set the gains; empty for a fixed impedance."""
        for field in ("kp", "damping_ratio"):
            finite(field, getattr(self, field), len(axes))
        kinds = {
            "variable": (
                ("damping_ratio", "1", self.damping_ratio_limits, "damping ratio"),
                ("kp", "1/s^2", self.kp_limits, "gain"),
            ),
            "variable_kp": (("kp", "1/s^2", self.kp_limits, "gain"),),
        }.get(self.impedance_mode, ())
        return tuple(
            Action(f"{name} {axis}", low, high, unit, meaning=f"{meaning} of {axis}")
            for name, unit, (low, high), meaning in kinds
            for axis in axes
        )

    def impedance(self, action: Array, axes: int) -> tuple[Arrays, Array]:
        """Gains set by an action, for the memory, and the rest of the action."""
        if self.impedance_mode == "fixed":
            return {}, action
        ratio: Array = constant(self.damping_ratio, action)
        if self.impedance_mode == "variable":
            ratio = clip(action[..., :axes], *self.damping_ratio_limits)
            action = action[..., axes:]
        kp = clip(action[..., :axes], *self.kp_limits)
        return {"kp": kp, "kd": damping(kp, ratio)}, action[..., axes:]

    def gains(self, memory: Arrays, like: Array, xp: Any = None) -> tuple[Array, Array]:
        """Gains on position and velocity: numbers, or one per axis."""
        if "kp" in memory:
            return memory["kp"], memory["kd"]
        xp = xp or namespace(like)
        return _fixed_gains(self.kp, self.damping_ratio, xp, like.dtype, like.device)

    def initial_gains(self, like: Array, axes: int) -> Arrays:
        """Gains before the first action, if they are variable."""
        if self.impedance_mode == "fixed":
            return {}
        one = namespace(like).ones_like(like[..., :1])
        kp = namespace(like).concat([one * x for x in per_axis(self.kp, axes)], axis=-1)
        return {"kp": kp, "kd": damping(kp, constant(self.damping_ratio, like))}


@functools.lru_cache
def _fixed_gains(
    kp: Numbers, damping_ratio: Numbers, xp: Any, dtype: Any, device: Any
) -> tuple[Array, Array]:
    like = xp.empty(0, dtype=dtype, device=device)
    gain = constant(kp, like)
    return gain, damping(gain, constant(damping_ratio, like))
