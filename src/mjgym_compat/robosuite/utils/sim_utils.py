"""Contacts of a simulation under robosuite's names."""

from typing import Any

from mjgym_compat.robosuite.models.objects import MujocoModel


def geoms_of(given: Any) -> set[str]:
    """The geoms that a model, a name or several names stand for."""
    if isinstance(given, MujocoModel):
        return set(given.contact_geoms)
    return {given} if isinstance(given, str) else set(given)


def check_contact(sim: Any, geoms_1: Any, geoms_2: Any = None) -> bool:
    """Whether any geom in `geoms_1` touches one in `geoms_2` (any geom if omitted)."""
    first = geoms_of(geoms_1)
    second = None if geoms_2 is None else geoms_of(geoms_2)
    return any(
        (a in first and (second is None or b in second))
        or (b in first and (second is None or a in second))
        for a, b in sim.contacts()
    )


def get_contacts(sim: Any, model: MujocoModel) -> set[str]:
    """Geoms of other models that touch a model."""
    geoms = set(model.contact_geoms)
    pairs = sim.contacts()
    return {b for a, b in pairs if a in geoms and b not in geoms} | {
        a for a, b in pairs if b in geoms and a not in geoms
    }
