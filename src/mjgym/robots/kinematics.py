"""Vectorised forward and inverse kinematics of an arm, from the constants of its model.

Unlike `inverse_kinematics`, which searches in a simulation, these are formulae on arrays of joint
positions with any leading shape.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mjgym.actions import Model
from mjgym.controllers.linear_algebra import gram, solve, times
from mjgym.rotations import (
    compose,
    cross,
    from_rotation_vector,
    quaternion_to_rotation_vector,
    to_rotation_vector,
    to_world,
    transposed,
)

DAMPING = 0.01  # m/rad, least-squares damping: trades accuracy for stability near singularities
ARM = 0.05  # m/rad, weight of rotation error relative to position error
LONGEST_STEP = 0.5  # rad, largest change of a joint in one step of the search
WEIGHTS = np.array([1.0, 1.0, 1.0, ARM, ARM, ARM])


@dataclass(frozen=True)
class Link:
    """A body of the chain, relative to its parent's frame."""

    position: np.ndarray  # (3,) m
    rotation: np.ndarray  # (9,)
    joint: int | None = None  # index of the joint that turns it, or None
    axis: np.ndarray | None = None  # joint axis, (3,), in the body frame
    anchor: np.ndarray | None = None  # a point on that axis, (3,) m, in the body frame


class Kinematics:
    """Chain of hinges from the world to a site.

    Args:
        joints: names of the hinges that move the site, from the world outwards.

    Raises:
        ValueError: another joint moves the site, or one of these does not.
    """

    def __init__(self, model: Model, joints: Sequence[str], site: str) -> None:
        ids = [int(model.joint(name).id) for name in joints]
        at = model.site(site)
        links = [Link(np.array(at.pos), _matrix(at.quat))]
        numbers = []
        body = int(at.bodyid[0])
        while body:
            first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
            place = np.array(model.body_pos[body]), _matrix(model.body_quat[body])
            if count == 1 and first in ids:
                number = ids.index(first)
                numbers.append(number)
                axis, anchor = np.array(model.jnt_axis[first]), np.array(model.jnt_pos[first])
                links.append(Link(*place, number, axis, anchor))
            elif count == 0:
                links.append(Link(*place))
            else:
                raise ValueError(f"site {site!r}: joints other than {', '.join(joints)} move it")
            body = int(model.body_parentid[body])
        if numbers[::-1] != list(range(len(joints))):
            raise ValueError(
                f"site {site!r}: not all of {', '.join(joints)} move it, in this order"
            )
        self._links = tuple(reversed(links))

    def pose(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Compute the site's position (..., 3) m, rotation (..., 9), and Jacobian (..., 6, n):
        velocity, then angular velocity, in world axes.
        """
        lead = q.shape[:-1]
        position = np.zeros((*lead, 3))
        rotation = np.broadcast_to(np.eye(3).reshape(9), (*lead, 9))
        anchors, axes = [], []
        for link in self._links:
            position = position + to_world(rotation, link.position)
            rotation = compose(rotation, np.broadcast_to(link.rotation, (*lead, 9)))
            if link.joint is None or link.axis is None or link.anchor is None:
                continue
            anchor, axis = position + to_world(rotation, link.anchor), to_world(rotation, link.axis)
            anchors.append(anchor)
            axes.append(axis)
            turn = from_rotation_vector(q[..., link.joint : link.joint + 1] * link.axis)
            rotation = compose(rotation, turn)
            position = anchor - to_world(rotation, link.anchor)
        columns = [
            np.concatenate([cross(axis, position - anchor), axis], axis=-1)
            for anchor, axis in zip(anchors, axes, strict=True)
        ]
        return position, rotation, np.stack(columns, axis=-1)

    def solve(
        self, q: np.ndarray, position: np.ndarray, rotation: np.ndarray, steps: int = 6
    ) -> np.ndarray:
        """Solve for joint positions (..., n) rad of a pose, by damped least squares from `q`.

        The pose is the site's position (..., 3) m and rotation (..., 9); a step is half a radian at
        most.
        """
        for _ in range(steps):
            here, turned, jacobian = self.pose(q)
            turn = to_rotation_vector(compose(rotation, transposed(turned)))
            error = np.concatenate([position - here, ARM * turn], axis=-1)
            jacobian = jacobian * WEIGHTS[:, None]
            step = times(jacobian.mT, solve(gram(jacobian, DAMPING**2), error))
            largest = np.abs(step).max(axis=-1, keepdims=True)
            q = q + step * np.minimum(1.0, LONGEST_STEP / np.maximum(largest, LONGEST_STEP))
        return q


def _matrix(quaternion: np.ndarray) -> np.ndarray:
    return np.asarray(from_rotation_vector(quaternion_to_rotation_vector(np.array(quaternion))))
