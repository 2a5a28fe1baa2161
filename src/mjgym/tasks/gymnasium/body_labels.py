"""Names and units of quantities of bodies and joints that the engine holds in its own order."""

from mjgym.sim import View
from mjgym.task import Signal
from mjgym.task.signals import vector_names

# The engine's order of an inertia: rotational, times mass and offset, mass.
_INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz", "mass x", "mass y", "mass z", "mass")
_INERTIA_UNITS = ("kg m^2",) * 6 + ("kg m",) * 3 + ("kg",)


def inertias(v: View) -> dict[str, Signal]:
    """Labels of `cinert` of all bodies but the world."""
    bodies = _bodies(v)
    names = tuple(f"{body} inertia {part}" for body in bodies for part in _INERTIA)
    return {"cinert": Signal(names=names, unit=_INERTIA_UNITS * len(bodies), source="cinert")}


def velocities(v: View) -> dict[str, Signal]:
    """Labels of `cvel` of all bodies but the world."""
    return {"cvel": _spatial(v, ("spin", "velocity"), ("rad/s", "m/s"), "cvel")}


def contact_forces(v: View) -> dict[str, Signal]:
    """Labels of `cfrc_ext` of all bodies but the world."""
    return {"cfrc_ext": _spatial(v, ("torque", "force"), ("N m", "N"), "cfrc_ext")}


def joint_forces(v: View, dofs: slice) -> dict[str, Signal]:
    """Labels of `qfrc_actuator` of the hinges behind a free joint."""
    names = v.names("joint")[1:]
    assert len(names) == v.model.nv - dofs.start
    return {"qfrc_actuator": Signal(names=names, unit="N m", source="qfrc_actuator")}


def _spatial(v: View, parts: tuple[str, str], units: tuple[str, str], source: str) -> Signal:
    names = vector_names(*(f"{body} {part}" for body in _bodies(v) for part in parts))
    unit = tuple(u for _ in _bodies(v) for u in units for _ in "xyz")
    return Signal(names=names, unit=unit, frame="world", source=source)


def _bodies(v: View) -> tuple[str, ...]:
    return tuple(name or f"body {i}" for i, name in enumerate(v.names("body")))[1:]
