"""Dimensions of an action: name, range, unit; by default the actuators' controls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import mujoco
import numpy as np

Model: TypeAlias = mujoco.MjModel

# Action bounds of actuators without a control range, as in the published suite.
UNLIMITED = 1e10


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


def controls(model: Model) -> tuple[Action, ...]:
    """The actuators' controls, in model order.

    A motor's unit is that of its force or torque at control 1 and gear 1, a servo's that of its
    target.
    """
    limited = model.actuator_ctrllimited.astype(bool)
    lows = np.where(limited, model.actuator_ctrlrange[:, 0], -UNLIMITED).tolist()
    highs = np.where(limited, model.actuator_ctrlrange[:, 1], UNLIMITED).tolist()
    return tuple(_control(model, i, lows[i], highs[i]) for i in range(model.nu))


def _control(model: Model, i: int, low: float, high: float) -> Action:
    kind, target, linear = actuated(model, i)
    gain, bias = model.actuator_gainprm[i, 0], model.actuator_biasprm[i]
    acts = f"{kind} {target}".strip()
    if bias[1] == -gain != 0:
        unit, meaning = ("m", "rad")[not linear], f"target position of {acts}"
    elif bias[1] < 0 and gain:
        # A scaled servo: it rests where gain u + b0 + b1 q = 0.
        ends = sorted((gain * u + bias[0]) / -bias[1] for u in (low, high))
        scale = ("rad", "m")[linear]
        unit = "1"
        meaning = f"target position of {acts}, from {ends[0]:.3g} to {ends[1]:.3g} {scale}"
    elif bias[2] == -gain != 0:
        unit, meaning = ("m/s", "rad/s")[not linear], f"target velocity of {acts}"
    else:
        unit, meaning = ("N", "N m")[not linear], f"{('force', 'torque')[not linear]} on {acts}"
    name, gear = model.actuator(i).name or target, float(model.actuator_gear[i, 0])
    return Action(name, low, high, unit, gear, acts, meaning)


def actuated(model: Model, actuator: int) -> tuple[str, str, bool]:
    """Kind and name of an actuator's target, and whether it moves along a line."""
    transmission = mujoco.mjtTrn
    kind = int(model.actuator_trntype[actuator])
    target = int(model.actuator_trnid[actuator, 0])
    if kind in (transmission.mjTRN_JOINT, transmission.mjTRN_JOINTINPARENT):
        return "joint", model.joint(target).name, _slides(model, target)
    if kind == transmission.mjTRN_TENDON:
        first = int(model.tendon_adr[target])
        wrapped = int(model.wrap_objid[first])
        over_joints = int(model.wrap_type[first]) == mujoco.mjtWrap.mjWRAP_JOINT
        linear = _slides(model, wrapped) if over_joints else True
        return "tendon", model.tendon(target).name, linear
    if kind == transmission.mjTRN_BODY:
        return "body", model.body(target).name, True
    linear = bool(model.actuator_gear[actuator, :3].any())
    return "site", model.site(target).name, linear


def _slides(model: Model, joint: int) -> bool:
    return int(model.jnt_type[joint]) == int(mujoco.mjtJoint.mjJNT_SLIDE)
