"""Element kinds of a model, and where their numbers are in the engine's arrays."""

import functools
from dataclasses import dataclass

import mujoco
import numpy as np


@dataclass(frozen=True)
class Kind:
    """An element kind."""

    count: str  # field of MjModel with the number of elements
    prefixes: tuple[str, ...]  # prefixes of fields with one row per element


KINDS = {
    "body": Kind("nbody", ("body_",)),
    "joint": Kind("njnt", ("jnt_", "dof_")),
    "geom": Kind("ngeom", ("geom_",)),
    "site": Kind("nsite", ("site_",)),
    "sensor": Kind("nsensor", ("sensor_", "sensor")),
    "actuator": Kind("nactuator", ("actuator_",)),
    "tendon": Kind("ntendon", ("tendon_", "ten_")),
    "camera": Kind("ncam", ("cam_",)),
    "light": Kind("nlight", ("light_",)),
    "equality": Kind("neq", ("eq_",)),
    "pair": Kind("npair", ("pair_",)),
    "material": Kind("nmat", ("mat_",)),
    "texture": Kind("ntex", ("tex_",)),
    "mesh": Kind("nmesh", ("mesh_",)),
    "hfield": Kind("nhfield", ("hfield_",)),
    "key": Kind("nkey", ("key_",)),
}

VIEWED = tuple(KINDS)[:9]
"""Kinds with numbers in MjData: those of `view.body(name)`, `view.names(kind)`."""

PREFIXES = {
    prefix[:-1]: kind for kind, k in KINDS.items() for prefix in k.prefixes if "_" in prefix
}
"""Kinds by the engine's abbreviation, "jnt", "dof", "cam", ..."""

QPOS, QVEL = "nq", "nv"
WIDTHS = {QPOS: np.array([7, 4, 1, 1]), QVEL: np.array([6, 3, 1, 1])}
"""Numbers of a joint in arrays of size nq and nv, by mjtJoint."""

UNEVEN = {
    QPOS: ("joint", "jnt_qposadr", ""),
    QVEL: ("joint", "jnt_dofadr", ""),
    "nu": ("actuator", "actuator_ctrladr", "actuator_ctrlnum"),
    "nout": ("actuator", "actuator_outadr", "actuator_outnum"),
    "na": ("actuator", "actuator_actadr", "actuator_actnum"),
    "nsensordata": ("sensor", "sensor_adr", "sensor_dim"),
    "nmocap": ("body", "body_mocapid", ""),
}
"""Sizes of arrays in which elements may have any number of rows: the kind, and the fields of
MjModel with each element's first row and row count (by `WIDTHS` for joints, one for mocap)."""

_OF_BODIES = (
    *("xpos", "xquat", "xmat", "xipos", "ximat", "cvel", "subtree_com", "subtree_linvel"),
    *("xfrc_applied", "cfrc_ext", "cfrc_int"),
)


def owner(field: str) -> tuple[str | None, str]:
    """Element kind that a field's rows belong to, or None, and the attribute's name.

    "geom_size" is the `size` of geoms, "xpos" the `xpos` of bodies.
    """
    if (size := declared_sizes().get(field, "")) in UNEVEN:
        of = UNEVEN[size][0]
        prefix = next((p for p in KINDS[of].prefixes if field.startswith(p)), "")
        return of, field.removeprefix(prefix)
    if field in _OF_BODIES:
        return "body", field
    prefix, _, attribute = field.partition("_")
    kind = PREFIXES.get(prefix)
    return (kind, attribute) if kind in VIEWED and attribute else (None, field)


def spans(model: mujoco.MjModel, size: str, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First rows and row counts, (n,) each, of elements in arrays of a size in `UNEVEN`."""
    _, address, count = UNEVEN[size]
    first = np.asarray(getattr(model, address))[ids]
    if count:
        return first, np.asarray(getattr(model, count))[ids]
    if size in WIDTHS:
        return first, WIDTHS[size][np.asarray(model.jnt_type)[ids]]
    return first, np.ones_like(first)


def rows(model: mujoco.MjModel, size: str, ids: np.ndarray) -> np.ndarray:
    """All rows of elements in arrays of a size in `UNEVEN`, one element after another."""
    ranges = [np.arange(a, a + n) for a, n in zip(*spans(model, size, ids), strict=True)]
    return np.concatenate(ranges) if ranges else np.zeros(0, dtype=np.int64)


def field_rows(model: mujoco.MjModel, field: str, ids: np.ndarray) -> np.ndarray:
    size = declared_sizes().get(field)
    return rows(model, size, ids) if size in UNEVEN else ids


def object_of(kind: str) -> mujoco.mjtObj:
    return mujoco.mjtObj.__members__[f"mjOBJ_{kind.upper()}"]


@functools.cache
def declared_sizes() -> dict[str, str]:
    """Declared lengths of the arrays of MjData and MjModel, by field: "qpos" is "nq" long."""
    from mujoco.introspect.structs import STRUCTS  # slow to import

    fields = (*STRUCTS["mjData"].fields, *STRUCTS["mjModel"].fields)
    return {f.name: f.array_extent[0] for f in fields if getattr(f, "array_extent", None)}


@functools.cache
def attributes(kind: str) -> dict[str, tuple[str, str]]:
    """Attributes of a kind: the field of MjData or MjModel, and its declared size.

    A field is listed under its name with and without a prefix.
    """
    sizes = {KINDS[kind].count, *(size for size, (of, *_) in UNEVEN.items() if of == kind)}
    known: dict[str, tuple[str, str]] = {}
    for field, size in declared_sizes().items():
        if size in sizes:
            for name in (field, *(field.removeprefix(p) for p in KINDS[kind].prefixes)):
                known.setdefault(name, (field, size))
    return known
