"""Position and velocity servos with scaled controls."""

from typing import Any

from mjgym_compat.dm_control import mjcf

_GOT_INVALID_KWARGS = "Received invalid keyword argument(s): {}"
_GOT_INVALID_TARGET = "`target` must be a joint or a tendon, got {}"
_OWN = ("joint", "tendon", "ctrllimited", "ctrlrange", "biastype", "gainprm", "biasprm")


def add_position_actuator(
    target: mjcf.Element, qposrange: Any, ctrlrange: Any = (-1, 1), kp: float = 1.0, **kwargs: Any
) -> mjcf.Element:
    """Add a position servo with controls mapped to positions."""
    return _add(target, qposrange, ctrlrange, kp, 1, kwargs)


def add_velocity_actuator(
    target: mjcf.Element, qvelrange: Any, ctrlrange: Any = (-1, 1), kv: float = 1.0, **kwargs: Any
) -> mjcf.Element:
    """Add a velocity servo with controls mapped to velocities; see `add_position_actuator`."""
    return _add(target, qvelrange, ctrlrange, kv, 2, kwargs)


def _add(
    target: mjcf.Element, span: Any, controls: Any, gain: float, order: int, kwargs: dict[str, Any]
) -> mjcf.Element:
    """Add an actuator with force gain * (target - actual), split into gain and bias."""
    invalid = sorted(set(kwargs).intersection(_OWN))
    if invalid:
        raise TypeError(_GOT_INVALID_KWARGS.format(invalid))
    kind = target.tag if target.tag == "joint" else getattr(target.parent, "tag", "")
    if kind not in ("joint", "tendon"):
        raise TypeError(_GOT_INVALID_TARGET.format(target))
    slope = (span[1] - span[0]) / (controls[1] - controls[0])
    bias = [gain * (span[0] - slope * controls[0]), 0.0, 0.0]
    bias[order] = -gain
    added: mjcf.Element = target.root.actuator.add(
        "general", biastype="affine", gainprm=[gain * slope], biasprm=bias, ctrllimited=True,
        ctrlrange=controls, **{kind: target}, **kwargs,
    )  # fmt: skip
    return added
