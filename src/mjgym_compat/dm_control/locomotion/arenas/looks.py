"""Looks of arenas: plain, or a meadow under a hazy sky."""

import numpy as np

from mjgym.mjcf import asset_path
from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control import mjcf

MEADOW = "outdoor_natural"
AESTHETICS = ("default", MEADOW)


def read(file: str, name: str | None) -> mjcf.RootElement:
    """The model of an arena of this package."""
    model = mjcf.from_path(asset_path(f"locomotion/arenas/{file}"))
    if name:
        model.model = name
    if model.compiler.angle == "degree":  # walkers are in radians
        model.compiler.angle = "radian"
        for geom in model.find_all("geom"):
            if geom.euler is not None:
                geom.euler = np.deg2rad(geom.euler)
    return model


def ground(model: mjcf.RootElement, aesthetic: str) -> mjcf.Element | None:
    """Add the sky and the material of the ground; None for plain.

    Raises:
        ValueError: there is no such aesthetic.
    """
    if aesthetic not in AESTHETICS:
        raise ValueError(f"aesthetic: no {aesthetic!r}{or_else(aesthetic, AESTHETICS)}")
    if aesthetic != MEADOW:
        return None
    if model.find("material", "grass") is None:
        for texture in model.find_all("texture"):
            if texture.type == "skybox":
                texture.remove()
        model.include_copy(read("outdoors.xml", None))
    return model.find("material", "grass")
