"""Collision masks with which only some bodies are looked at for contacts.

Contacts of held bodies with each other move nothing, but the engine looks for them, and for the
forces in them, all the same: of an arm that is folded into itself that is most of a physics step.
"""

import mujoco
import numpy as np

BITS = 31  # of the masks that say which geoms may touch which

FILTERS = ("geom_contype", "geom_conaffinity", "body_contype", "body_conaffinity")
"""The fields of MjModel that say which geoms may touch which."""


def contacts_of(model: mujoco.MjModel, bodies: tuple[int, ...]) -> dict[str, np.ndarray]:
    """Values of FILTERS with which nothing touches but what is on some bodies, and what they meet.

    Each kind of geoms (of one contype and conaffinity, on these bodies or held) gets a bit of its
    own. A held kind has it in its contype and has no conaffinity; another one has in its
    conaffinity the bits of all kinds that it may touch.

    Args:
        model: the compiled model.
        bodies: ids of those that move; what hangs on them moves too.

    Returns:
        By name; empty if there are more kinds than bits.
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
    found = {"geom_contype": bits[kind], "geom_conaffinity": touched[kind]}
    for name in ("contype", "conaffinity"):
        whole = np.zeros(model.nbody, dtype=np.int64)
        np.bitwise_or.at(whole, model.geom_bodyid, found[f"geom_{name}"])
        found[f"body_{name}"] = whole
    return found
