"""Legged robots of MuJoCo Menagerie: "menagerie:unitree_h1"; see `mjgym.robots.menagerie`."""

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from mjgym.mjcf import Spec
from mjgym.robots.legged_robots import LeggedRobot, legged_robots
from mjgym.robots.menagerie import HOME, read, torque_ranges

ABOVE = 0.05  # m, above the lowest body's shapes, within which a last body is a foot
STANDING, MOVING = 0.05, 0.3  # rad, tolerated deviations of all joints from the pose
_SITE = "mjgym_{}"  # of sites that are added


@dataclass(frozen=True)
class MenagerieLegged(LeggedRobot):
    """A legged robot of MuJoCo Menagerie."""

    menagerie: str = ""  # its name there
    entry: str = ""  # its model; empty for the usual one

    def model(self) -> Spec:
        """Build the published robot without actuators, sensors and keyframes."""
        spec = read(self.menagerie, self.entry)
        for name, limit in torques(spec).items():
            joint = spec.joint(name)
            joint.actfrclimited, joint.actfrcrange = mujoco.mjtLimited.mjLIMITED_TRUE, limit
        if spec.site(self.imu) is None:
            spec.body(self.root).add_site(name=self.imu)
        model = spec.compile()
        for sole in self.soles:
            body = spec.body(sole)
            body.add_site(name=_SITE.format(sole), pos=model.body(sole).ipos)
            for i, geom in enumerate(g for g in body.geoms if g.contype or g.conaffinity):
                geom.name = f"{sole}_foot{i}"
        for part in (*spec.actuators, *spec.sensors, *spec.keys):
            spec.delete(part)
        return spec


def torques(spec: Any) -> dict[str, tuple[float, float]]:
    """Torque limits of the joints that have actuators, N m."""
    by_joint = {}
    for actuator in spec.actuators:
        joint = spec.joint(actuator.target)
        if actuator.trntype != mujoco.mjtTrn.mjTRN_JOINT or joint is None:
            continue
        of_actuator, of_joint, of_control = torque_ranges(actuator, joint)
        if span := of_joint or of_actuator or of_control:
            by_joint[joint.name] = span
    return by_joint


def menagerie_legged(name: str) -> MenagerieLegged:
    """Build a legged robot of Menagerie; names and pose come from its model."""
    menagerie, _, entry = name.partition("/")
    spec = read(menagerie, entry)
    model = spec.compile()
    free = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_FREE)
    if len(free) != 1:
        raise _refused(name, f"it has {len(free)} free joints, not one")
    hinges = np.flatnonzero(model.jnt_type == mujoco.mjtJoint.mjJNT_HINGE)
    if len(hinges) != model.njnt - 1 or not len(hinges):
        raise _refused(name, "its other joints are not all hinges")
    limited = torques(spec)
    for i in hinges.tolist():
        joint = model.joint(i)
        if joint.name not in limited:
            raise _refused(name, f"{joint.name!r} has no torque limit")
        if not model.dof_armature[model.jnt_dofadr[i]] > 0:
            raise _refused(name, f"{joint.name!r} has no rotor inertia, from which gains follow")
        if not model.jnt_limited[i]:
            raise _refused(name, f"{joint.name!r} has no range")
    key = next((key for key in spec.keys if key.name == HOME), next(iter(spec.keys), None))
    qpos = np.array(model.qpos0 if key is None else key.qpos)
    root = model.body(model.jnt_bodyid[free[0]]).name
    feet, lowest = _feet(model, qpos)
    if len(feet) < 2:
        raise _refused(name, f"it has {len(feet)} feet, not two or more")
    first = int(model.jnt_qposadr[free[0]])
    imu = next((site.name for site in spec.sites if "imu" in site.name), _SITE.format("imu"))
    sites = tuple(_SITE.format(foot) for foot in feet)
    count = len(hinges)
    return MenagerieLegged(
        root=root,
        trunk=root,
        imu=imu,
        feet=sites,
        ankles=sites,
        soles=feet,
        sole_kind="xbody",
        tips=feet,
        height=float(qpos[first + 2] - lowest),
        pose=tuple(float(qpos[model.jnt_qposadr[i]]) for i in hinges),
        standing=(STANDING,) * count,
        walking=(MOVING,) * count,
        running=(MOVING,) * count,
        menagerie=menagerie,
        entry=entry,
    )


def _feet(model: mujoco.MjModel, qpos: np.ndarray) -> tuple[tuple[str, ...], float]:
    """List the names of the bodies that stand on the ground in a pose, and its height, m."""
    data = mujoco.MjData(model)
    data.qpos[:] = qpos
    mujoco.mj_forward(model, data)
    touching = (model.geom_contype | model.geom_conaffinity) > 0
    bodies = model.geom_bodyid
    bottoms = {}
    for body in set(bodies[touching & (bodies > 0)].tolist()):
        if (model.body_parentid[1:] == body).any():
            continue  # only last bodies of a chain are feet
        boxes = np.flatnonzero(touching & (bodies == body)).tolist()
        bottoms[body] = min(_bottom(model, data, geom) for geom in boxes)
    lowest = min(bottoms.values(), default=0.0)
    feet = sorted(body for body, bottom in bottoms.items() if bottom < lowest + ABOVE)
    return tuple(model.body(body).name for body in feet), lowest


def _bottom(model: mujoco.MjModel, data: mujoco.MjData, geom: int) -> float:
    centre, half = model.geom_aabb[geom, :3], model.geom_aabb[geom, 3:]
    up = data.geom_xmat[geom].reshape(3, 3)[2]
    return float(data.geom_xpos[geom, 2] + up @ centre - np.abs(up) @ half)


def _refused(name: str, reason: str) -> ValueError:
    return ValueError(f"robot: menagerie:{name} is no legged robot that the tasks know: {reason}")


legged_robots.add_source("menagerie", menagerie_legged)
