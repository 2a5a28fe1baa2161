"""Random tool positions at the start of an episode."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mjgym.arrays import Array
from mjgym.robots.inverse_kinematics import ranges, solve
from mjgym.sim.single import SingleView

FREE = 0  # mjtJoint
Contacts = list[tuple[str, str]]


def place_tool(
    view: SingleView,
    rng: Any,
    site: str,
    joints: Sequence[str],
    low: Array,
    high: Array,
    orientation: Array,
    *,
    contacts: Callable[[SingleView], Contacts] = lambda view: [],
    draws: int = 10,
    attempts: int = 10,
) -> None:
    """Move a tool to a position drawn uniformly from a box.

    Inverse kinematics starts from the current joint positions, then from positions drawn uniformly
    from the joint ranges ([0, 2 pi) for unlimited hinges). Positions out of reach or in contact are
    redrawn.

    Args:
        view: the scratch simulation. On success the tool is in place and contacts are computed;
            otherwise the state is restored.
        low: corner of the box in the world, (3,) m; equal corners give a single place.
        orientation: target quaternion (4,) of the site in the world.
        contacts: returns contacts that rule a place out, e.g. `robot_contacts`.
        draws: positions to try before giving up.
        attempts: attempts at one position before drawing another.

    Raises:
        RuntimeError: no position fits; the message says where, and why the last one failed.
    """
    rows = view.rows("qpos", joints)
    first = view.qpos[rows].copy()
    limits = [np.where(np.isfinite(end), end, first) for end in ranges(view, joints)]
    unreached, touching = 0, []
    for _ in range(draws):
        view.qpos[rows] = first
        position = rng.uniform(low, high)
        for attempt in range(attempts):
            if attempt:
                view.qpos[rows] = rng.uniform(*limits)
            if solve(view, site, position, orientation, joints).success:
                break
        else:
            unreached += 1
            continue
        view.detect_contacts()
        pairs = contacts(view)
        if not pairs:
            return
        touching.append(" and ".join(pairs[0]))
    view.qpos[rows] = first
    view.detect_contacts()
    reasons = [f"{unreached} could not be reached"] if unreached else []
    reasons += [f"{touching.count(pair)} had {pair} touching" for pair in dict.fromkeys(touching)]
    raise RuntimeError(
        f"no place for {site!r} between {np.asarray(low).tolist()} and {np.asarray(high).tolist()}:"
        f" of {draws} drawn, {', '.join(reasons)}"
    )


def robot_contacts(view: SingleView, arm: str, hand: str) -> Contacts:
    """Contacts that a robot must not have at the start of an episode, as geom names.

    They are contacts of the arm with itself or its hand, and of either with anything but free
    objects; the hand may touch itself. `arm` and `hand` are prefixes of bodies, e.g. "jaco_arm/".
    """
    if not view.ncon:
        return []
    bodies, geoms = view.names("body"), view.names("geom")
    pairs = []
    for pair, distance in zip(view.contact.geom, view.contact.dist, strict=True):
        if distance > 0:
            continue
        parts = sorted(_part(view, bodies, view.geom_bodyid[geom], arm, hand) for geom in pair)
        if parts in (["arm", "arm"], ["arm", "hand"], ["arm", "fixed"], ["fixed", "hand"]):
            pairs.append((geoms[pair[0]], geoms[pair[1]]))
    return pairs


def _part(view: SingleView, bodies: Sequence[str], body: int, arm: str, hand: str) -> str:
    if bodies[body].startswith(hand):
        return "hand"
    if bodies[body].startswith(arm):
        return "arm"
    root = view.body_rootid[body]
    joint = view.body_jntadr[root]
    return "free" if joint >= 0 and view.jnt_type[joint] == FREE else "fixed"
