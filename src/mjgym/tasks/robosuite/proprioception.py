"""Proprioception of robots, under the published names and in the published order."""

from collections.abc import Sequence

from mjgym.rotations import compose, conjugate, norm, product, to_local, to_quaternion, transposed
from mjgym.sim.views import View
from mjgym.task import Array, Arrays, Signal
from mjgym.tasks.robosuite.team import Manipulator, Robot


def xyzw(quaternion: Array, v: View) -> Array:
    """Reorder the engine's quaternion (w, x, y, z) to that of observations (x, y, z, w)."""
    return v.xp.concat([quaternion[..., 1:4], quaternion[..., 0:1]], axis=-1)


def upright(quaternion: Array, v: View) -> Array:
    """Flip the sign of a quaternion (w, x, y, z) so that w >= 0."""
    return v.xp.where(quaternion[..., 0:1] < 0, -quaternion, quaternion)


def tool_position(v: View, manipulator: Manipulator) -> Array:
    """Position of the centre between the fingers, (..., 3) m."""
    return v.site(manipulator.tool).xpos


def pose_in_hand(v: View, manipulator: Manipulator, body: str) -> tuple[Array, Array]:
    """Pose of a body in the hand's frame: (..., 3) m and a quaternion x, y, z, w (..., 4).

    The hand's frame is at the tool, with the axes of the link that carries the hand.
    """
    link, target = v.body(manipulator.link), v.body(body)
    ahead = to_local(link.xmat, target.xpos - tool_position(v, manipulator))
    return ahead, xyzw(upright(product(conjugate(link.xquat), target.xquat), v), v)


def nearest(v: View, manipulators: Sequence[Manipulator], point: Array) -> Array:
    """Distance of the nearest tool to a point (..., 3), m."""
    xp = v.xp
    distances = [norm(tool_position(v, each) - point) for each in manipulators]
    if len(distances) == 1:
        return xp.asarray(distances[0])
    return xp.min(xp.stack([xp.asarray(d) for d in distances], axis=-1), axis=-1)


MEANINGS = {
    "joint_pos": "angle of each joint",
    "joint_pos_cos": "cosine of the angle of each joint",
    "joint_pos_sin": "sine of the angle of each joint",
    "joint_vel": "velocity of each joint",
    "joint_acc": "acceleration of each joint",
    "eef_pos": "place of the point between the fingers",
    "eef_quat": "orientation of the link that carries the hand",
    "eef_quat_site": "orientation of the tool",
    "gripper_qpos": "position of each joint of the fingers",
    "gripper_qvel": "velocity of each joint of the fingers",
}
BASE = {
    "base_pos": "place of the base's centre",
    "base_quat": "orientation of the base",
    "eef_pos": "place of the point between the fingers, from the base",
    "eef_quat": "orientation of the link that carries the hand, from the base",
    "eef_quat_site": "orientation of the tool, from the base",
}
"""Meanings of a robot's entries, by the end of their names."""


def proprioception(v: View, robot: Robot) -> Arrays:
    """Entries of a robot, with names that begin with "robot<n>_".

    `joint_pos` (rad), `joint_pos_cos`, `joint_pos_sin`, `joint_vel` (rad/s) and `joint_acc`
    (rad/s^2) of all arms; then of each arm `eef_pos`, the centre between the fingers (m);
    `eef_quat`, the orientation of the link that carries the hand, and `eef_quat_site`, that of the
    tool's site, x, y, z, w; `gripper_qpos` and `gripper_qvel` (m or rad, per s). With two arms
    these names go on with "right_" or "left_". Of a robot on a base that moves there follow
    `base_pos`, `base_quat`, and of each arm `base_to_eef_pos`, `base_to_eef_quat` and
    `base_to_eef_quat_site`, in the axes of the base.
    """
    prefix = f"robot{robot.number}_"
    qpos = v.qpos[..., v.rows("qpos", robot.joints)]
    dofs = v.rows("qvel", robot.joints)
    entries = {
        f"{prefix}joint_pos": qpos,
        f"{prefix}joint_pos_cos": v.xp.cos(qpos),
        f"{prefix}joint_pos_sin": v.xp.sin(qpos),
        f"{prefix}joint_vel": v.qvel[..., dofs],
        f"{prefix}joint_acc": v.qacc[..., dofs],
    }
    for each in robot.manipulators:
        entries[f"{each.label}eef_pos"] = tool_position(v, each)
        entries[f"{each.label}eef_quat"] = xyzw(v.body(each.link).xquat, v)
        entries[f"{each.label}eef_quat_site"] = xyzw(to_quaternion(v.site(each.tool).xmat), v)
        fingers = each.finger_joints
        if fingers:
            entries[f"{each.label}gripper_qpos"] = v.qpos[..., v.rows("qpos", fingers)]
            entries[f"{each.label}gripper_qvel"] = v.qvel[..., v.rows("qvel", fingers)]
    if robot.centre:
        entries |= _from_base(v, robot)
    return entries


def _from_base(v: View, robot: Robot) -> Arrays:
    base = v.site(robot.centre)
    prefix = f"robot{robot.number}_"
    inverse = transposed(base.xmat)
    entries = {
        f"{prefix}base_pos": base.xpos,
        f"{prefix}base_quat": xyzw(to_quaternion(base.xmat), v),
    }
    for each in robot.manipulators:
        label = each.label.replace(prefix, f"{prefix}base_to_", 1)
        place = to_local(base.xmat, tool_position(v, each) - base.xpos)
        link, tool = v.body(each.link).xmat, v.site(each.tool).xmat
        entries[f"{label}eef_pos"] = place
        entries[f"{label}eef_quat"] = xyzw(to_quaternion(compose(inverse, link)), v)
        entries[f"{label}eef_quat_site"] = xyzw(to_quaternion(compose(inverse, tool)), v)
    return entries


def labels(robot: Robot) -> dict[str, Signal]:
    """Labels of the entries of `proprioception`."""
    prefix = f"robot{robot.number}_"
    of_joints, of_tools = list(MEANINGS)[:5], list(MEANINGS)[5:]
    signals = {f"{prefix}{name}": Signal(MEANINGS[name]) for name in of_joints}
    for each in robot.manipulators:
        for name in of_tools:
            if each.finger_joints or not name.startswith("gripper"):
                signals[f"{each.label}{name}"] = Signal(MEANINGS[name])
        signals[f"{each.label}eef_quat_site"] = Signal(
            MEANINGS["eef_quat_site"], tuple(f"{each.tool} quaternion {part}" for part in "xyzw")
        )
    if robot.centre:
        names = ("x", "y", "z"), tuple("xyzw")
        signals[f"{prefix}base_pos"] = Signal(BASE["base_pos"])
        signals[f"{prefix}base_quat"] = Signal(BASE["base_quat"], names[1])
        for each in robot.manipulators:
            label = each.label.replace(prefix, f"{prefix}base_to_", 1)
            for name in list(BASE)[2:]:
                parts = names[0] if name == "eef_pos" else names[1]
                signals[f"{label}{name}"] = Signal(BASE[name], parts)
    return signals
