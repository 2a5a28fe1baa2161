"""Names and units of quantities of bodies and joints that the engine holds in its own order."""

from mjgym.sim import View
from mjgym.task import Signal
from mjgym.task.signals import vector_names

# The engine's order of an inertia: rotational, times mass and offset, mass.
_INERTIA = ("xx", "yy", "zz", "xy", "xz", "yz", "mass x", "mass y", "mass z", "mass")
_INERTIA_UNITS = ("kg m^2",) * 6 + ("kg m",) * 3 + ("kg",)
_SPATIAL = {
    "cvel": {"spin": "rad/s", "velocity": "m/s"},
    "cfrc_ext": {"torque": "N m", "force": "N"},
}


def body_labels(v: View) -> dict[str, Signal]:
    """Labels of `cinert`, `cvel` and `cfrc_ext` of all bodies but the world."""
    bodies = tuple(name or f"body {i}" for i, name in enumerate(v.names("body")))[1:]
    names = tuple(f"{body} inertia {part}" for body in bodies for part in _INERTIA)
    units = _INERTIA_UNITS * len(bodies)
    labels = {"cinert": Signal(names=names, unit=units, source="cinert")}
    for source, quantities in _SPATIAL.items():
        names = vector_names(*(f"{body} {name}" for body in bodies for name in quantities))
        units = tuple(unit for _ in bodies for unit in quantities.values() for _ in "xyz")
        labels[source] = Signal(names=names, unit=units, frame="world", source=source)
    return labels
