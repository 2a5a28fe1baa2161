"""MJCF of a model some of whose fields have been changed since it was compiled."""

from collections.abc import Mapping

import mujoco
import numpy as np
from lxml import etree

PREFIX = "episode/"  # of the names of the numbers that hold changed fields


def with_fields(
    spec: mujoco.MjSpec,
    fields: Mapping[str, np.ndarray],
    extra: Mapping[str, np.ndarray] | None = None,
) -> str:
    """A model as MJCF with changed fields, in its elements and, exactly, as custom numbers.

    Args:
        spec: the model; its elements take on the fields.
        fields: of its MjModel by name, e.g. `geom_size`; of `bvh_aabb` the rows of bodies.
        extra: numbers of no field, by name, that are kept beside them.
    """
    model = spec.compile()
    for name, values in fields.items():
        getattr(model, name)[: len(values)] = values
    spec.copy_back(model)
    root = etree.fromstring(spec.to_xml())
    custom = etree.SubElement(root, "custom")
    for name, values in {**fields, **(extra or {})}.items():
        numbers = " ".join(map(repr, np.ravel(values).astype(float).tolist()))
        etree.SubElement(custom, "numeric", name=PREFIX + name, data=numbers)
    return str(etree.tostring(root, encoding="unicode"))


def fields_of(model: mujoco.MjModel) -> dict[str, np.ndarray]:
    """The changed fields in a model that was compiled from `with_fields`, flat, by name."""
    numbers = [model.numeric(i) for i in range(model.nnumeric)]
    return {n.name.removeprefix(PREFIX): n.data for n in numbers if n.name.startswith(PREFIX)}
