"""Where an arm's numbers are in a model, and its state in a simulation or in many."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.actions import Model
from mjgym.arrays import Array, namespace
from mjgym.controllers.controller import State
from mjgym.controllers.linear_algebra import times
from mjgym.sim.dynamics import (
    chain_mask,
    dense_inertia,
    inertia_index,
    places,
    point_jacobian,
    point_velocity,
    taken,
)
from mjgym.suggestions import did_you_mean

SLIDE, HINGE = 2, 3  # mjtJoint


@dataclass(frozen=True)
class Point:
    """A site, and where what moves it is.

    Args:
        site: its number.
        body: that it is on.
        root: of the body's tree, whose `subtree_com` motions are about.
        moves: whether any joint moves it.
    """

    site: int
    body: int
    root: int
    moves: bool

    @classmethod
    def of(cls, model: Model, name: str) -> "Point":
        """The site of a name.

        Raises:
            KeyError: there is none; the message names the nearest ones.
        """
        site = _find(model, "site", name)
        body = int(model.site_bodyid[site])
        moves = int(model.body_weldid[body]) != 0
        return cls(site, body, int(model.body_rootid[body]), moves)

    def offset(self, v: Any) -> Array:
        """From the centre of mass of its tree, (..., 3), m."""
        return v.site_xpos[..., self.site, :] - v.subtree_com[..., self.root, :]

    def velocity(self, v: Any) -> Array:
        """Its velocity and angular velocity, (..., 6), m/s and rad/s, in world axes."""
        return point_velocity(v.cvel[..., self.body, :], self.offset(v))


class Chain:
    """An arm's joints and tool in a model, and the readings of its state.

    Args:
        model: the compiled model.
        joints: of the arm, each with one degree of freedom, in their order from the base.
        actuators: one motor for each joint, in the same order.
        tool: the site whose pose is controlled.
        origin: the site that actions are given in the axes of.

    Raises:
        KeyError: the model has no element of a name; the message names the nearest ones.
        ValueError: a joint has several degrees of freedom, or joints and actuators do not match.
    """

    def __init__(
        self,
        model: Model,
        joints: Sequence[str],
        actuators: Sequence[str],
        tool: str,
        origin: str,
    ) -> None:
        if len(joints) != len(actuators):
            raise ValueError(f"{len(actuators)} actuators for {len(joints)} joints")
        ids = [_find(model, "joint", name) for name in joints]
        for i in ids:
            if int(model.jnt_type[i]) not in (SLIDE, HINGE):
                raise ValueError(f"joint {model.joint(i).name!r} has several degrees of freedom")
        self.joints = tuple(joints)
        dofs = np.array([int(model.jnt_dofadr[i]) for i in ids])
        motors = np.array([_find(model, "actuator", name) for name in actuators])
        self.dofs, self.ctrl = places(dofs), places(motors)
        self.qpos = places(np.array([int(model.jnt_qposadr[i]) for i in ids]))
        limits = np.where(
            model.actuator_ctrllimited[motors, None],
            model.actuator_ctrlrange[motors],
            [-np.inf, np.inf],
        )
        self.torque_low, self.torque_high = limits[:, 0].copy(), limits[:, 1].copy()
        self.tool, self.origin = Point.of(model, tool), Point.of(model, origin)
        mask = chain_mask(model, self.tool.body, dofs)
        self._mask = None if mask.all() else mask
        index, there = inertia_index(model, dofs)
        self._inertia = index, None if there.all() else there
        # Whether nothing else moves the tool.
        every = chain_mask(model, self.tool.body, np.arange(model.nv))
        self._alone = bool(every.sum() == mask.sum())

    def state(self, v: Any) -> State:
        """What a controller sees of the arm now.

        Args:
            v: a view, or MjData itself.

        Returns:
            The state; its readings are copies, taken when a law first looks at them, so it is to be
            used before the simulation moves on.
        """

        tool, origin = self.tool, self.origin

        def velocity(state: State) -> Array:
            if self._alone:
                return times(state.jacobian, state.qvel)
            return tool.velocity(v)

        return State(
            position=lambda _: v.site_xpos[..., tool.site, :] + 0.0,
            rotation=lambda _: v.site_xmat[..., tool.site, :] + 0.0,
            velocity=velocity,
            origin_position=lambda _: v.site_xpos[..., origin.site, :] + 0.0,
            origin_rotation=lambda _: v.site_xmat[..., origin.site, :] + 0.0,
            origin_velocity=(lambda _: origin.velocity(v)) if origin.moves else 0.0,
            jacobian=lambda _: point_jacobian(
                taken(v.cdof, self.dofs, -2), tool.offset(v), self._mask
            ),
            inertia=lambda _: dense_inertia(v.M, *self._inertia),
            bias=lambda _: taken(v.qfrc_bias, self.dofs) + 0.0,
            qpos=lambda _: taken(v.qpos, self.qpos) + 0.0,
            qvel=lambda _: taken(v.qvel, self.dofs) + 0.0,
            torque_low=lambda state: namespace(state.qpos).asarray(self.torque_low),
            torque_high=lambda state: namespace(state.qpos).asarray(self.torque_high),
        )


def _find(model: Model, kind: str, name: str) -> int:
    count = {"site": model.nsite, "joint": model.njnt, "actuator": model.nu}[kind]
    known = [getattr(model, kind)(i).name for i in range(count)]
    if name not in known:
        raise KeyError(f"the model has no {kind} {name!r}{did_you_mean(name, known)}")
    return known.index(name)
