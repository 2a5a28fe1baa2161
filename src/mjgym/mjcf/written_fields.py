"""MJCF of a model with fields changed after compilation."""

from collections.abc import Mapping

import mujoco
import numpy as np
from lxml import etree

PREFIX = "episode/"  # prefix of the custom numbers


def with_fields(
    spec: mujoco.MjSpec,
    fields: Mapping[str, np.ndarray],
    extra: Mapping[str, np.ndarray] | None = None,
) -> str:
    """MJCF of a model with changed fields, in its elements and, exactly, as custom numbers.

    Args:
        fields: of its MjModel by name, e.g. `geom_size`; for `bvh_aabb` the rows of bodies.
        extra: other numbers, by name, stored beside them.
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
    """The changed fields of a model compiled from `with_fields`, flat, by name."""
    numbers = [model.numeric(i) for i in range(model.nnumeric)]
    return {n.name.removeprefix(PREFIX): n.data for n in numbers if n.name.startswith(PREFIX)}
