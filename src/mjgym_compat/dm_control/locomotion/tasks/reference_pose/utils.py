"""Walkers and props in the states of recorded motions, and their features."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from mjgym_compat.dm_control.utils import transformations

GHOST_RGBA = (0.5, 0.5, 0.5, 0.999)  # opaque to the camera, but not in shadows

Features = Mapping[str, Any]


def add_walker(
    walker_fn: Callable[..., Any],
    arena: Any,
    name: str = "walker",
    ghost: bool = False,
    visible: bool = True,
    position: Sequence[float] = (0, 0, 0),
) -> Any:
    """Make a walker and attach it to an arena."""
    walker = walker_fn(name=name)
    if ghost:
        fade(walker, GHOST_RGBA if visible else (*GHOST_RGBA[:3], 0.0))
        for actuator in walker.mjcf_model.find_all("actuator"):
            actuator.remove()
    walker.create_root_joints(arena.attach(walker))
    walker.mjcf_model.parent_frame.pos = position
    return walker


def fade(entity: Any, rgba: Sequence[float] = GHOST_RGBA) -> None:
    """Give an entity one colour and disable its contacts."""
    for geom in entity.mjcf_model.find_all("geom"):
        geom.set_attributes(rgba=rgba, contype=0, conaffinity=0)


def get_qpos_qvel_from_features(features: Features) -> tuple[np.ndarray, np.ndarray]:
    """Positions (7 + n,) and velocities (6 + n,) of a free joint and the joints."""
    qpos = [features[name] for name in ("position", "quaternion", "joints")]
    qvel = [features[name] for name in ("velocity", "angular_velocity", "joints_velocity")]
    return np.concatenate(qpos), np.concatenate(qvel)


def set_walker_from_features(
    physics: Any, walker: Any, features: Features, offset: Any = 0
) -> None:
    """Set a walker's state."""
    set_walker(physics, walker, *get_qpos_qvel_from_features(features), offset=offset)


def set_walker(
    physics: Any,
    walker: Any,
    qpos: Any,
    qvel: Any,
    offset: Any = 0,
    null_xyz_and_yaw: bool = False,
    position_shift: Any = None,
    rotation_shift: Any = None,
) -> None:
    """Set a walker's state."""
    qpos, qvel = np.array(qpos, dtype=float), np.asarray(qvel, dtype=float)
    if null_xyz_and_yaw:
        qpos[:2] = 0.0
        yaw = 2 * np.arctan2(qpos[6], qpos[3])
        qpos[3:7] = transformations.quat_mul(
            np.array([np.cos(yaw / 2), 0.0, 0.0, -np.sin(yaw / 2)]), qpos[3:7]
        )
    walker.set_pose(physics, qpos[:3] + offset, qpos[3:7])
    walker.set_velocity(physics, qvel[:3], qvel[3:6])
    joints = physics.bind(walker.mocap_joints)
    joints.qpos, joints.qvel = qpos[7:], qvel[6:]
    if position_shift is not None or rotation_shift is not None:
        linear = qvel[:3]
        walker.shift_pose(physics, position_shift, rotation_shift)
        if rotation_shift is not None:
            turned = transformations.quat_rotate(np.asarray(rotation_shift, float), linear)
            walker.set_velocity(physics, turned)


def set_props_from_features(
    physics: Any, props: Sequence[Any], features: Features, z_offset: Any = 0
) -> None:
    """Set the poses of props, and their velocities where the features have them."""
    poses = zip(props, features["prop_positions"], features["prop_quaternions"], strict=True)
    for prop, position, quaternion in poses:
        prop.set_pose(physics, position + z_offset, quaternion)


def get_features(
    physics: Any, walker: Any, props: Sequence[Any] | None = None
) -> dict[str, np.ndarray]:
    """Features of a walker that rewards and observations compare with its reference."""
    root, joints = physics.bind(walker.root_body), physics.bind(walker.mocap_joints)
    bodies = physics.bind(walker.mocap_tracking_bodies)
    linear, angular = walker.get_velocity(physics)

    def places(names: str) -> np.ndarray:
        observables = getattr(walker.observables, names)
        return np.array(observables(physics)).reshape(-1, 3)

    features = {
        "position": np.array(root.xpos),
        "quaternion": np.array(root.xquat),
        "joints": np.array(joints.qpos),
        "center_of_mass": np.array(root.subtree_com),
        "end_effectors": places("end_effectors_pos"),
        "appendages": places("appendages_pos"),
        "body_positions": np.array(bodies.xpos),
        "body_quaternions": np.array(bodies.xquat),
        "velocity": linear,
        "angular_velocity": angular,
        "joints_velocity": np.array(joints.qvel),
    }
    if props:
        poses = [prop.get_pose(physics) for prop in props]
        features["prop_positions"], features["prop_quaternions"] = map(
            np.array, zip(*poses, strict=True)
        )
    return features
