"""Models of this package's walkers and arenas, as elements."""

from typing import Any

import numpy as np

from mjgym.mjcf import asset_path
from mjgym_compat.dm_control import mjcf

ANGLES = ("range", "ref", "springref")  # attributes of hinges


def read(file: str, name: str | None = None) -> mjcf.RootElement:
    """Read a model in radians: models with different angle units cannot be attached."""
    model = mjcf.from_path(asset_path(f"locomotion/{file}"))
    if name:
        model.model = name
    if model.compiler.angle != "radian":
        model.compiler.angle = "radian"
        _to_radians(model)
    return model


def _to_radians(element: Any) -> None:
    own = element.get_attributes()
    hinge = element.tag == "joint" and own.get("type") != "slide"
    for name in ("euler", *(ANGLES if hinge else ())):
        if own.get(name) is not None:
            setattr(element, name, np.deg2rad(own[name]))
    for child in element.all_children():
        _to_radians(child)
