"""Bodies in another size."""

from typing import Any

import numpy as np

from mjgym_compat.dm_control import mjcf

DENSITY = 1000.0  # kg/m^3, of geoms that say none


def rescale_subtree(body: mjcf.Element, position_factor: float, size_factor: float) -> None:
    """Scale positions and sizes in the subtree of a body, or in a whole model."""
    factors = {"pos": position_factor, "fromto": position_factor, "size": size_factor}
    kinds = ("body", "geom", "site", "joint", "camera", "light")
    parts = (p for kind in kinds for p in body.find_all(kind, exclude_attachments=True))
    for part in parts:
        for name, factor in factors.items():
            value = getattr(part, name) if name in part.spec.attributes else None
            if value is not None:
                setattr(part, name, np.asarray(value) * factor)


def rescale_humanoid(
    walker: Any, position_factor: float, size_factor: float | None = None, mass: float | None = None
) -> None:
    """Give a walker another size, and another mass."""
    model = walker.mjcf_model
    rescale_subtree(model, position_factor, size_factor or position_factor)
    if mass is None:
        return
    share = mass / float(np.sum(mjcf.Physics.from_mjcf_model(model).model.body_mass))
    for geom in model.find_all("geom"):
        mjcf.commit_defaults(geom, ["mass", "density"])
        if geom.mass is None:
            geom.density = (DENSITY if geom.density is None else geom.density) * share
        else:
            geom.mass *= share
    for body in model.find_all("body"):
        inertial = body.inertial
        for name in ("mass", "diaginertia", "fullinertia") if inertial is not None else ():
            value = getattr(inertial, name)
            if value is not None:
                setattr(inertial, name, np.asarray(value) * share)
