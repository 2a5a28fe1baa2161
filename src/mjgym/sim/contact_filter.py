"""Collision masks that restrict contacts to some bodies.

Contacts between held bodies move nothing, but the engine still computes them and their forces: for
an arm folded into itself that is most of a physics step.
"""

import mujoco
import numpy as np

BITS = 31  # of a collision mask

FILTERS = ("geom_contype", "geom_conaffinity", "body_contype", "body_conaffinity")
"""Fields of MjModel that hold collision masks."""


def contacts_of(model: mujoco.MjModel, bodies: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Values of FILTERS that leave only contacts of some bodies.

    Each kind of geoms (of one contype and conaffinity, moving or held) gets its own bit. A held
    kind has it in its contype and has no conaffinity; a moving one has the bits of all kinds that
    it may touch in its conaffinity.

    Args:
        bodies: ids of the moving bodies; their descendants move too.

    Returns:
        Values by name; empty if there are more kinds than bits.
    """
    moved = np.zeros(model.nbody, dtype=bool)
    moved[list(bodies)] = True
    for body, parent in enumerate(model.body_parentid):  # parents come first
        moved[body] |= moved[parent]
    moves = moved[model.geom_bodyid]
    rows = np.stack([model.geom_contype, model.geom_conaffinity, moves], axis=-1)
    kinds, kind = np.unique(rows, axis=0, return_inverse=True)
    if len(kinds) > BITS:
        return {}
    kind = kind.reshape(-1)
    contype, conaffinity, kind_moves = kinds.T
    may_touch = ((contype[:, None] & conaffinity) | (conaffinity[:, None] & contype)) != 0
    bits = 1 << np.arange(len(kinds))
    touched = np.where(may_touch & (kind_moves[:, None] == 1), bits, 0).sum(axis=1)
    masks = {"geom_contype": bits[kind], "geom_conaffinity": touched[kind]}
    for name in ("contype", "conaffinity"):
        whole = np.zeros(model.nbody, dtype=np.int64)
        np.bitwise_or.at(whole, model.geom_bodyid, masks[f"geom_{name}"])
        masks[f"body_{name}"] = whole
    return masks
