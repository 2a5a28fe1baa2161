"""Looks of arenas: plain, or a meadow under a hazy sky."""

from typing import Any

from mjgym.util.suggestions import or_else
from mjgym_compat.dm_control import composer, mjcf
from mjgym_compat.dm_control.locomotion.models import read

MEADOW = "outdoor_natural"
AESTHETICS = ("default", MEADOW)


class Place(composer.Arena):
    """An arena built from one of this package's models."""

    _mjcf_root: Any


def ground(model: mjcf.RootElement, aesthetic: str) -> mjcf.Element | None:
    """Add the sky and the material of the ground; None for plain."""
    if aesthetic not in AESTHETICS:
        raise ValueError(f"aesthetic: no {aesthetic!r}{or_else(aesthetic, AESTHETICS)}")
    if aesthetic != MEADOW:
        return None
    if model.find("material", "grass") is None:
        for texture in model.find_all("texture"):
            if texture.type == "skybox":
                texture.remove()
        model.include_copy(read("arenas/outdoors.xml"))
    return model.find("material", "grass")
