"""Writes to a model that simulations share: noticed, and undone."""

import functools
from collections.abc import Iterable

import mujoco
import mujoco.batch
import numpy as np

from mjgym.sim.engine import ASSET_FIELDS, get_field, set_field

VARIABLE = mujoco.batch.MODEL_FIELDS | ASSET_FIELDS
"""Fields of MjModel of which each simulation of a batch can have its own."""


@functools.cache
def field_names() -> tuple[str, ...]:
    """Dotted names of all arrays of MjModel, and of the physics options."""
    model = mujoco.MjModel.from_xml_string("<mujoco/>")
    arrays = (name for name in dir(model) if isinstance(getattr(model, name), np.ndarray))
    return (*arrays, *sorted(name for name in VARIABLE if name.startswith("opt.")))


def noted(model: mujoco.MjModel, names: Iterable[str]) -> dict[str, np.ndarray]:
    return {name: np.array(get_field(model, name)) for name in names}


def undone(model: mujoco.MjModel, before: dict[str, np.ndarray]) -> tuple[str, ...]:
    """Restore fields of a model to noted values, and return the names of those that differed."""
    changed = tuple(
        name
        for name, value in before.items()
        if np.asarray(get_field(model, name)).tobytes() != value.tobytes()
    )
    for name in changed:
        set_field(model, name, before[name])
    return changed
