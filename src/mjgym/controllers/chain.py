"""Joint indices of an arm in a model, and its state in one simulation or a batch."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mjgym.actions import Model
from mjgym.arrays import Array, namespace
from mjgym.controllers.controller import State
from mjgym.sim.dynamics import (
    chain_mask,
    dense_inertia,
    inertia_index,
    places,
    point_jacobian,
    point_velocity,
    taker,
)
from mjgym.sim.fields import rows
from mjgym.util.suggestions import did_you_mean

SLIDE, HINGE = 2, 3  # mjtJoint
LIMITS = ("qpos_low", "qpos_high", "torque_low", "torque_high")


@dataclass(frozen=True)
class Point:
    """A site, and the indices of the joints that move it."""

    site: int
    body: int
    root: int  # root of the body's tree, the reference of `subtree_com` motions
    moves: bool  # whether each joint moves it

    @classmethod
    def named(cls, model: Model, name: str) -> "Point":
        """Look up a site by name; a KeyError names the nearest ones."""
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
        joints: joints of one degree of freedom, from the base outwards.
        actuators: one motor per joint, in the same order.
        origin: the site that defines the axes of actions.

    Raises:
        KeyError: an element does not exist; the message names the nearest ones.
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
        motors = rows(model, "nu", np.array([_find(model, "actuator", a) for a in actuators]))
        if len(motors) != len(joints):
            raise ValueError(f"{len(motors)} controls for {len(joints)} joints: use motors")
        # Indices of joint velocities (and of rows of `cdof`), motor controls and joint positions.
        self.dofs, self.ctrl = places(dofs), places(motors)
        self.qpos = places(np.array([int(model.jnt_qposadr[i]) for i in ids]))
        # Limits of motors, N m, and joints, rad, (n,); infinite without one.
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
        self.mask = None if mask.all() else mask  # of the joints that move the tool; None: all
        index, there = inertia_index(model, dofs)
        self.inertia = index, None if there.all() else there  # for `dense_inertia`
        self.moving = chain_mask(model, self.tool.body, np.arange(model.nv))  # of all degrees
        self.alone = bool(self.moving.sum() == mask.sum())  # no other joint moves the tool
        self.take_qpos, self.take_dofs = taker(self.qpos), taker(self.dofs)
        self.take_axes = taker(self.dofs, -2)
        self._known: dict[str, Any] = {"arm": self, "origin_moves": self.origin.moves}
        if not self.origin.moves:
            self._known["origin_velocity"] = 0.0
        self._limits = {name: getattr(self, name) for name in LIMITS}

    def state(self, v: Any) -> State:
        """The arm's current state in a view or MjData, for a controller.

        Readings are copied when a law first accesses them: use it before the simulation steps.
        """
        state = _ArmState.__new__(_ArmState)  # one is made in each physics step
        if isinstance(v.qpos, np.ndarray):
            state.__dict__.update(self._known, **self._limits, v=v, xp=np)
        else:
            state.__dict__.update(self._known, v=v, xp=namespace(v.qpos))
        return state


class _ArmState(State):
    """State of an arm in a view; each reading is computed when a law first accesses it."""

    arm: Chain
    v: Any

    def __getattr__(self, name: str) -> Array:
        arm, v, readings = self.arm, self.v, self.__dict__
        match name:
            # Copies; those that most laws read together cost less than calls.
            case "position" | "rotation" | "qpos" | "qvel" | "bias":
                readings["position"] = v.site_xpos[..., arm.tool.site, :] + 0.0
                readings["rotation"] = v.site_xmat[..., arm.tool.site, :] + 0.0
                readings["qpos"] = arm.take_qpos(v.qpos) + 0.0
                readings["qvel"] = arm.take_dofs(v.qvel) + 0.0
                readings["bias"] = arm.take_dofs(v.qfrc_bias) + 0.0
            case "origin_position" | "origin_rotation":
                readings["origin_position"] = v.site_xpos[..., arm.origin.site, :] + 0.0
                readings["origin_rotation"] = v.site_xmat[..., arm.origin.site, :] + 0.0
            case "origin_velocity":
                readings[name] = arm.origin.velocity(v)
            case "jacobian" | "velocity":
                tool = arm.tool
                offset = v.site_xpos[..., tool.site, :] - v.subtree_com[..., tool.root, :]
                jacobian = point_jacobian(arm.take_axes(v.cdof), offset, arm.mask, self.xp)
                readings["jacobian"] = jacobian
                if arm.alone:
                    readings["velocity"] = (jacobian @ self.qvel[..., None])[..., 0]
                else:
                    readings["velocity"] = point_velocity(v.cvel[..., tool.body, :], offset)
            case "inertia":
                readings[name] = dense_inertia(v.M, *arm.inertia)
            case _ if name in LIMITS:
                readings[name] = self.xp.asarray(getattr(arm, name))
            case _:
                raise AttributeError(f"this state has no {name!r}")
        return readings[name]

    def jacobian_by(self, part: State) -> Array:
        if part is self or not isinstance(part, _ArmState):
            return super().jacobian_by(part)
        joints, mask = part.arm, self.arm.moving[part.arm.dofs]
        return point_jacobian(
            joints.take_axes(self.v.cdof), self.arm.tool.offset(self.v), mask, self.xp
        )


def _find(model: Model, kind: str, name: str) -> int:
    count = {"site": model.nsite, "joint": model.njnt, "actuator": model.nactuator}[kind]
    names = [getattr(model, kind)(i).name for i in range(count)]
    if name not in names:
        raise KeyError(f"the model has no {kind} {name!r}{did_you_mean(name, names)}")
    return names.index(name)
