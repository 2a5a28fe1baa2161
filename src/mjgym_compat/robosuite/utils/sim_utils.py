"""Contacts of a simulation under robosuite's names."""

from typing import Any

from mjgym_compat.robosuite.models.base import MujocoModel


def geoms_of(model: Any) -> set[str]:
    """The geoms that a model, a name or several names stand for."""
    if isinstance(model, MujocoModel):
        return set(model.contact_geoms)
    return {model} if isinstance(model, str) else set(model)


def check_contact(sim: Any, geoms_1: Any, geoms_2: Any = None) -> bool:
    """Whether any geom in `geoms_1` touches one in `geoms_2` (any geom if omitted)."""
    first = geoms_of(geoms_1)
    second = None if geoms_2 is None else geoms_of(geoms_2)
    return any(
        a in first and (second is None or b in second)
        for pair in sim.contacts()
        for a, b in (pair, pair[::-1])
    )


def get_contacts(sim: Any, model: MujocoModel) -> set[str]:
    """Geoms of other models that touch a model."""
    geoms = set(model.contact_geoms)
    return {geom for pair in sim.contacts() if geoms & set(pair) for geom in pair} - geoms
