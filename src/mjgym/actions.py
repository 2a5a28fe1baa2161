"""Dimensions of an action: name, range, unit; by default the actuators' controls."""

import dataclasses
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import mujoco
import numpy as np

Model: TypeAlias = mujoco.MjModel

# Action bounds of actuators without a control range, as in the published suite.
UNLIMITED = 1e10

# Units for a turn and a line, and meaning, of the inputs that the engine names.
_INPUTS = {
    "pos": (("rad", "m"), "target position of {}"),
    "vel": (("rad/s", "m/s"), "target velocity of {}"),
    "ff": (("N m", "N"), "feedforward force on {}"),
    "voltage": (("V", "V"), "voltage of the motor of {}"),
    "pressure": (("Pa", "Pa"), "pressure on {}"),
    **{f"r{axis}": (("rad", "rad"), f"target rotation vector of {{}}, {axis}") for axis in "xyz"},
    **{f"q{part}": (("1", "1"), f"target quaternion of {{}}, {part}") for part in "wxyz"},
}


@dataclass(frozen=True)
class Action:
    """One dimension of an action.

    Args:
        name: e.g. the actuator's.
        unit: "1" if dimensionless.
        gear: the actuator's gear; 1 if there is no single actuator.
        source: what it acts on, e.g. "joint knee".
        meaning: one phrase, e.g. "target position of joint knee".
    """

    name: str
    low: float
    high: float
    unit: str = "1"
    gear: float = 1.0
    source: str = ""
    meaning: str = ""


def bounds(actions: Sequence[Action]) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper bounds, float64, one per dimension."""
    return np.array([a.low for a in actions]), np.array([a.high for a in actions])


def drawable(low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bounds for drawing actions: -1 and 1 where an action is unlimited."""
    return np.where(low > -UNLIMITED, low, -1.0), np.where(high < UNLIMITED, high, 1.0)


def controls(model: Model) -> tuple[Action, ...]:
    """The actuators' controls, in the order of `ctrl`.

    The controls of an actuator with several are named "<actuator>/<input>", as in MuJoCo's viewer.
    A motor's unit is that of its force or torque at control 1 and gear 1, a servo's that of its
    target.
    """
    return tuple(c for i in range(model.nactuator) for c in actuator_controls(model, i))


def actuator_controls(model: Model, i: int) -> list[Action]:
    """The controls of one actuator: usually one, several of a `pid`, none of a passive motor."""
    kind, target, linear = actuated(model, i)
    acts = f"{kind} {target}".strip()
    name = model.actuator(i).name or target
    gear = float(model.actuator_gear[model.actuator_outadr[i], 0])
    first, count = int(model.actuator_ctrladr[i]), int(model.actuator_ctrlnum[i])
    made = []
    for k in range(count):
        row = first + k
        low, high = model.actuator_ctrlrange[row].tolist()
        if not model.actuator_ctrllimited[row]:
            low, high = -UNLIMITED, UNLIMITED
        given = mujoco.mj_actuatorInputName(model, i, k)
        if given is None:
            unit, meaning = _law(model, i, linear, acts, low, high)
        else:
            unit, meaning = _meaning(given, linear, acts)
        label = name if count == 1 else f"{name}/{given or k}"
        made.append(Action(label, low, high, unit, gear, acts, meaning))
    return made


def _meaning(given: str, linear: bool, acts: str) -> tuple[str, str]:
    """Unit and meaning of a control by the engine's name of the input."""
    units, meaning = _INPUTS.get(given, (("", ""), f"{given} of {{}}"))
    return units[linear], meaning.format(acts)


def _law(model: Model, i: int, linear: bool, acts: str, low: float, high: float) -> tuple[str, str]:
    """Unit and meaning of a control, from the gain and bias of its actuator."""
    gain, bias = model.actuator_gainprm[i, 0], model.actuator_biasprm[i]
    if bias[1] == -gain != 0:
        moving = model.actuator_dyntype[i] == mujoco.mjtDyn.mjDYN_INTEGRATOR
        return _meaning("vel" if moving else "pos", linear, acts)
    if bias[1] < 0 and gain:
        # A scaled servo: it rests where gain u + b0 + b1 q = 0.
        ends = sorted((gain * u + bias[0]) / -bias[1] for u in (low, high))
        unit = ("rad", "m")[linear]
        return "1", f"target position of {acts}, from {ends[0]:.3g} to {ends[1]:.3g} {unit}"
    if bias[2] == -gain != 0:
        return _meaning("vel", linear, acts)
    return ("N m", "N")[linear], f"{('torque', 'force')[linear]} on {acts}"


# Ends of units and beginnings of meanings of hinges, as those of slides.
_OF_HINGES = re.compile(r"^torque\b|\bN m$|\brad(?=(/s)?$)")
_OF_SLIDES = {"torque": "force", "N m": "N", "rad": "m"}


def along_slides(model: Model, actions: Sequence[Action]) -> tuple[Action, ...]:
    """Actions in m and N where they move slides; a control law describes joints as hinges."""
    slides = {f"joint {model.joint(i).name}" for i in range(model.njnt) if _slides(model, i)}

    def of_slide(text: str) -> str:
        return _OF_HINGES.sub(lambda found: _OF_SLIDES[found[0]], text)

    return tuple(
        dataclasses.replace(a, unit=of_slide(a.unit), meaning=of_slide(a.meaning))
        if a.source in slides
        else a
        for a in actions
    )


def actuated(model: Model, actuator: int) -> tuple[str, str, bool]:
    """Kind and name of an actuator's target, and whether it moves along a line."""
    transmission = mujoco.mjtTrn
    kind = int(model.actuator_trntype[actuator])
    target, reference = model.actuator_trnid[actuator].tolist()
    turns = kind == transmission.mjTRN_SO3  # of a ball joint, or of a site in another's frame
    if kind in (transmission.mjTRN_JOINT, transmission.mjTRN_JOINTINPARENT) or (
        turns and reference < 0
    ):
        return "joint", model.joint(target).name, _slides(model, target)
    if kind == transmission.mjTRN_TENDON:
        return "tendon", model.tendon(target).name, is_linear(model, target)
    if kind == transmission.mjTRN_BODY:
        return "body", model.body(target).name, True
    gear = model.actuator_gear[model.actuator_outadr[actuator]]
    return "site", model.site(target).name, not turns and bool(gear[:3].any())


def is_linear(model: Model, tendon: int) -> bool:
    """Tell whether a tendon's length is in m: it runs through space, or sums slides."""
    first = int(model.tendon_adr[tendon])
    over_joints = int(model.wrap_type[first]) == mujoco.mjtWrap.mjWRAP_JOINT
    return not over_joints or _slides(model, int(model.wrap_objid[first]))


def _slides(model: Model, joint: int) -> bool:
    return int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
