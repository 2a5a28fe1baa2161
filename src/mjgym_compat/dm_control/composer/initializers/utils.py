"""Still joints and geoms of entities, for initializers."""

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mjgym_compat.dm_control.composer.entity import Entity
from mjgym_compat.dm_control.mjcf import Element


@contextlib.contextmanager
def JointStaticIsolator(physics: Any, joints: Element | Sequence[Element]) -> Iterator[None]:
    """Context manager that restores positions and velocities of all joints except some."""
    moving = [joints] if isinstance(joints, Element) else list(joints)
    if not moving:
        yield
        return
    inside = {id(joint) for joint in moving}
    everything = moving[0].root.root_model.find_all("joint")
    others = physics.bind([joint for joint in everything if id(joint) not in inside])
    qpos, qvel = np.array(others.qpos), np.array(others.qvel)
    yield
    if qpos.size:
        others.qpos, others.qvel = qpos, qvel


def geom_ids(physics: Any, entity: Entity) -> np.ndarray:
    """Ids of the geoms of an entity and of entities attached to it."""
    geoms = entity.mjcf_model.find_all("geom")
    return np.array([physics.bind(geom).element_id for geom in geoms], dtype=int)
