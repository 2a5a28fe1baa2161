"""Skin files of MuJoCo: a mesh whose vertices follow bones."""

import dataclasses
import struct
from collections.abc import Callable
from typing import Any

import numpy as np

_NAME = 40  # bytes of a body's name


@dataclasses.dataclass
class Bone:
    """A body that vertices follow."""

    body: Any  # with a `full_identifier`
    bindpos: np.ndarray  # of the body where the skin was made, m
    bindquat: np.ndarray
    vertex_ids: np.ndarray
    vertex_weights: np.ndarray  # share of the bone in each vertex's motion


@dataclasses.dataclass
class Skin:
    """A mesh and its bones."""

    vertices: np.ndarray  # (n, 3), m
    texcoords: np.ndarray  # (n, 2)
    faces: np.ndarray  # indices of vertices, (n, 3)
    bones: list[Bone]


def parse(contents: bytes, body_getter: Callable[[str], Any]) -> Skin:
    """Read a skin file."""
    place = 0

    def take(kind: str, *shape: int) -> np.ndarray:
        nonlocal place
        count = int(np.prod(shape))
        if count < 0 or place + 4 * count > len(contents):
            raise ValueError("this is no skin file: numbers are missing")
        values = np.frombuffer(contents, kind, count, place).reshape(shape).copy()
        place += values.nbytes
        return values

    vertices, texcoords, faces, bones = take("<i4", 4).tolist()
    skin = Skin(take("<f4", vertices, 3), take("<f4", texcoords, 2), take("<i4", faces, 3), [])
    for _ in range(bones):
        name = take("<i4", _NAME // 4).tobytes().partition(b"\0")[0].decode()
        bindpos, bindquat, count = take("<f4", 3), take("<f4", 4), take("<i4", 1).item()
        weights = take("<i4", count), take("<f4", count)
        skin.bones.append(Bone(body_getter(name), bindpos, bindquat, *weights))
    return skin


def serialize(skin: Skin) -> bytes:
    """Contents of a skin file."""
    parts = [
        struct.pack(
            "<4i", len(skin.vertices), len(skin.texcoords), len(skin.faces), len(skin.bones)
        ),
        *(a.tobytes() for a in (skin.vertices, skin.texcoords, skin.faces)),
    ]
    for bone in skin.bones:
        name = bone.body.full_identifier.encode()
        if len(name) > _NAME:
            raise ValueError(f"skin: the name of body {name!r} has more than {_NAME} bytes")
        parts += [name.ljust(_NAME, b"\0"), bone.bindpos.tobytes(), bone.bindquat.tobytes()]
        parts += [struct.pack("<i", len(bone.vertex_ids)), bone.vertex_ids.tobytes()]
        parts.append(bone.vertex_weights.tobytes())
    return b"".join(parts)
