"""Joint indices of an arm in a model, and its state in one simulation or a batch."""

from collections.abc import Callable, Sequence
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
from mjgym.util.suggestions import did_you_mean

SLIDE, HINGE = 2, 3  # mjtJoint


@dataclass(frozen=True)
class Point:
    """A site, and the indices of the joints that move it.

    Args:
        site: its index.
        body: body of the site.
        root: root of the body's tree, the reference of `subtree_com` motions.
        moves: whether each joint moves it.
    """

    site: int
    body: int
    root: int
    moves: bool

    @classmethod
    def named(cls, model: Model, name: str) -> "Point":
        """Look up a site by name.

        Raises:
            KeyError: there is no such site; the message names the nearest ones.
        """
        site = _find(model, "site", name)
        body = int(model.site_bodyid[site])
        moves = int(model.body_weldid[body]) != 0
        return cls(site, body, int(model.body_rootid[body]), moves)

    def offset(self, v: Any) -> Array:
        """Position relative to the centre of mass of its tree, (..., 3), m."""
        return v.site_xpos[..., self.site, :] - v.subtree_com[..., self.root, :]

    def velocity(self, v: Any) -> Array:
        """Velocity and angular velocity, (..., 6), m/s and rad/s, in world axes."""
        return point_velocity(v.cvel[..., self.body, :], self.offset(v))


class Chain:
    """An arm's joints and tool in a model, and readings of its state.

    Args:
        model: the compiled model.
        joints: joints of one degree of freedom, from the base outwards.
        actuators: one motor per joint, in the same order.
        tool: the site to control.
        origin: the site that defines the axes of actions.

    Attributes:
        dofs: indices of the joint velocities, and of their rows of `cdof`.
        qpos: indices of the joint positions.
        ctrl: indices of the motor controls.
        qpos_low: lower limit of each joint, (n,), rad; -inf without a limit.
        qpos_high: upper limit of each joint, (n,), rad; inf without a limit.
        torque_low: lower torque limit of each motor, (n,), N m.
        torque_high: upper torque limit of each motor, (n,), N m.
        mask: which of the joints move the tool, (n,) bool; None for all.
        inertia: of `inertia_index`; None instead of a mask that keeps everything.
        alone: whether no other joint moves the tool.

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
        ends = np.where(model.jnt_limited[ids, None], model.jnt_range[ids], [-np.inf, np.inf])
        self.qpos_low, self.qpos_high = ends[:, 0].copy(), ends[:, 1].copy()
        self.tool, self.origin = Point.named(model, tool), Point.named(model, origin)
        mask = chain_mask(model, self.tool.body, dofs)
        self.mask = None if mask.all() else mask
        index, there = inertia_index(model, dofs)
        self.inertia = index, None if there.all() else there
        every = chain_mask(model, self.tool.body, np.arange(model.nv))
        self.alone = bool(every.sum() == mask.sum())

    def state(self, v: Any) -> State:
        """The arm's current state, for a controller.

        Readings are copied when a law first accesses them, so use the state before the simulation
        steps.

        Args:
            v: a view, or MjData itself.
        """
        return _ArmState(self, v)


class _Reading:
    """A state attribute, computed once by a function of the arm and the view."""

    def __init__(self, compute: Callable[["_ArmState", Chain, Any], Array]) -> None:
        self._compute = compute

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, state: "_ArmState", owner: type) -> Array:
        value = self._compute(state, state.arm, state.v)
        state.__dict__[self._name] = value  # takes precedence over this descriptor
        return value


class _ArmState(State):
    """State of an arm in a view; a light class, since one is built at each step."""

    def __init__(self, arm: Chain, v: Any) -> None:
        self.arm, self.v = arm, v

    position = _Reading(lambda _, arm, v: v.site_xpos[..., arm.tool.site, :] + 0.0)
    rotation = _Reading(lambda _, arm, v: v.site_xmat[..., arm.tool.site, :] + 0.0)
    origin_position = _Reading(lambda _, arm, v: v.site_xpos[..., arm.origin.site, :] + 0.0)
    origin_rotation = _Reading(lambda _, arm, v: v.site_xmat[..., arm.origin.site, :] + 0.0)
    bias = _Reading(lambda _, arm, v: taken(v.qfrc_bias, arm.dofs) + 0.0)
    qpos = _Reading(lambda _, arm, v: taken(v.qpos, arm.qpos) + 0.0)
    qvel = _Reading(lambda _, arm, v: taken(v.qvel, arm.dofs) + 0.0)
    inertia = _Reading(lambda _, arm, v: dense_inertia(v.M, *arm.inertia))
    qpos_low = _Reading(lambda state, arm, _: namespace(state.qpos).asarray(arm.qpos_low))
    qpos_high = _Reading(lambda state, arm, _: namespace(state.qpos).asarray(arm.qpos_high))
    torque_low = _Reading(lambda state, arm, _: namespace(state.qpos).asarray(arm.torque_low))
    torque_high = _Reading(lambda state, arm, _: namespace(state.qpos).asarray(arm.torque_high))

    @_Reading
    def jacobian(self, arm: Chain, v: Any) -> Array:
        return point_jacobian(taken(v.cdof, arm.dofs, -2), arm.tool.offset(v), arm.mask)

    @_Reading
    def velocity(self, arm: Chain, v: Any) -> Array:
        return times(self.jacobian, self.qvel) if arm.alone else arm.tool.velocity(v)

    @_Reading
    def origin_velocity(self, arm: Chain, v: Any) -> Array:
        return arm.origin.velocity(v) if arm.origin.moves else 0.0


def _find(model: Model, kind: str, name: str) -> int:
    count = {"site": model.nsite, "joint": model.njnt, "actuator": model.nu}[kind]
    known = [getattr(model, kind)(i).name for i in range(count)]
    if name not in known:
        raise KeyError(f"the model has no {kind} {name!r}{did_you_mean(name, known)}")
    return known.index(name)
