"""The engine's functions, constants and enumerations, and the sizes of its arrays."""

import collections
import types
from typing import Any

import mujoco
from mujoco.introspect.structs import STRUCTS

mjlib = functions = constants = mujoco


def _size(part: Any) -> Any:
    return getattr(mujoco, part, part) if isinstance(part, str) else part


array_sizes = {
    struct.lower(): {
        field.name: tuple(_size(part) for part in extent)
        for field in STRUCTS[struct].fields
        if (extent := getattr(field, "array_extent", None))
    }
    for struct in ("mjModel", "mjData")
}
"""Axis sizes of the arrays of "mjmodel" and "mjdata": names of fields of MjModel, or numbers."""


def _named_tuple(name: str) -> Any:
    if not name.startswith("mjt"):
        raise AttributeError(name)
    members = getattr(mujoco, name).__members__
    return collections.namedtuple(name, members)(**members)


enums: Any = types.ModuleType("enums", "The engine's enumerations as named tuples.")
enums.__getattr__ = _named_tuple
