"""Random places of a robot's tool at the start of an episode."""

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

    Inverse kinematics starts from the joints' present positions; where it fails, from positions
    that are drawn uniformly from their ranges, those of hinges without limits from [0, 2 pi). A
    place that cannot be reached, or that is rejected for a contact, is drawn anew.

    Args:
        view: the scratch simulation. It is left with the tool in place and contacts computed, or as
            it was if there is no such place.
        rng: the generator.
        site: name of the tool's.
        joints: names of the arm's.
        low: corner of the box in the world, (3,) m; equal ones give a single place.
        high: the opposite corner, (3,) m.
        orientation: the quaternion (4,) that the site should have in the world.
        contacts: finds the contacts that a place is rejected for, e.g. `robot_contacts`.
        draws: of places, before giving up.
        attempts: at one place, before drawing another.

    Raises:
        RuntimeError: there is no such place; the message says where, and what was wrong with it.
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
        found = contacts(view)
        if not found:
            return
        touching.append(" and ".join(found[0]))
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

    They are those of the arm with itself or with its hand, and of either with anything that is not
    free to move away. The hand may touch itself, and arm and hand may touch free objects.

    Args:
        view: the scratch simulation, after `place`.
        arm: what the names of the arm's bodies begin with, e.g. "jaco_arm/".
        hand: what the names of the hand's bodies begin with, e.g. "jaco_arm/jaco_hand/".
    """
    if not view.ncon:
        return []
    bodies, geoms = view.names("body"), view.names("geom")
    found = []
    for pair, distance in zip(view.contact.geom, view.contact.dist, strict=True):
        if distance > 0:
            continue
        parts = sorted(_part(view, bodies, view.geom_bodyid[geom], arm, hand) for geom in pair)
        if parts in (["arm", "arm"], ["arm", "hand"], ["arm", "fixed"], ["fixed", "hand"]):
            found.append((geoms[pair[0]], geoms[pair[1]]))
    return found


def _part(view: SingleView, bodies: Sequence[str], body: int, arm: str, hand: str) -> str:
    """Whether a body is of the "arm", of the "hand", or "free" or "fixed" in the scene."""
    if bodies[body].startswith(hand):
        return "hand"
    if bodies[body].startswith(arm):
        return "arm"
    root = view.body_rootid[body]
    joint = view.body_jntadr[root]
    return "free" if joint >= 0 and view.jnt_type[joint] == FREE else "fixed"
