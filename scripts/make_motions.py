"""Make the motions of the tracking ids from key poses: legged robots that exercise on the spot.

python scripts/make_motions.py    writes assets/legged/motions and prints how sound each motion is

The root, the waist and the arms move from key to key; feet stay where they are, so inverse
kinematics gives the legs. The centre of pressure, which follows from the motion of all masses,
must stay between the feet: it is printed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import mujoco
import numpy as np

from mjgym.mocap import velocities
from mjgym.robots.inverse_kinematics import solve
from mjgym.robots.legged_robots import LEGS, SIDES, LeggedRobot, legged_robots
from mjgym.rotations import about, product
from mjgym.sim.single import SingleView
from mjgym.util import atomic
from mjgym.util.packaged import assets

TIMESTEP = 0.02  # s
GRAVITY = 9.81  # m/s^2
DIGITS = 6  # decimals of what is stored, in m and rad

# Root: way along x, y, z in m, and roll, pitch, yaw in rad, from the usual pose.
AXES = ("x", "y", "z", "roll", "pitch", "yaw")

Pose = Mapping[str, float]
"""Changes from the usual pose of the root's axes and of joints; what is not named is unchanged."""

STAND: Pose = {}
FORWARD = {"shoulder_pitch": -1.7, "elbow": 0.7}  # arms
UP = {"shoulder_roll": 1.2, "shoulder_yaw": 1.4, "elbow": -0.9}  # to the side, the hand up
WIDE = {"shoulder_roll": 1.1, "elbow": 0.6}


def arms(change: Pose, sides: Sequence[str] = SIDES) -> dict[str, float]:
    """The change of both arms, mirrored."""
    mirrored = ("roll", "yaw")
    return {
        f"{side}_{joint}_joint": -value if side == "right" and joint.endswith(mirrored) else value
        for side in sides
        for joint, value in change.items()
    }


# Seconds and poses; a robot passes each at rest.
G1_KEYS: tuple[tuple[float, Pose], ...] = (
    (0.0, STAND),
    (0.4, STAND),
    # Two squats, the arms forward.
    (1.4, {"x": -0.04, "z": -0.14, "pitch": 0.1, "waist_pitch_joint": 0.25, **arms(FORWARD)}),
    (2.3, {"z": 0.0}),
    (3.2, {"x": -0.06, "z": -0.18, "pitch": 0.15, "waist_pitch_joint": 0.3, **arms(FORWARD)}),
    (4.2, arms(WIDE)),
    # Sways to each side.
    (5.1, {"y": 0.06, "z": -0.03, "roll": 0.03, "waist_roll_joint": -0.15, **arms(WIDE)}),
    (6.2, {"y": -0.06, "z": -0.03, "roll": -0.03, "waist_roll_joint": 0.15, **arms(WIDE)}),
    (7.0, {"waist_yaw_joint": 0.35}),
    # Waves with the right arm.
    (7.8, arms(UP, ("right",))),
    (8.15, arms({**UP, "elbow": -0.1}, ("right",))),
    (8.5, arms(UP, ("right",))),
    (8.85, arms({**UP, "elbow": -0.1}, ("right",))),
    (9.6, STAND),
    (10.0, STAND),
)
QUADRUPED_KEYS: tuple[tuple[float, Pose], ...] = (
    (0.0, STAND),
    (0.4, STAND),
    (1.2, {"z": -0.08}),
    (2.0, {"z": 0.02}),
    (2.8, {"x": -0.02, "z": -0.04, "pitch": 0.3}),  # bows
    (3.6, {"x": -0.02, "z": -0.04, "pitch": 0.3}),
    (4.5, {"x": 0.01, "z": -0.02, "pitch": -0.25}),
    (5.4, {"y": 0.03, "roll": -0.2}),
    (6.3, {"y": -0.03, "roll": 0.2}),
    (7.2, {"yaw": 0.25}),
    (8.2, {"yaw": -0.25}),
    (9.0, {"z": -0.06}),
    (9.6, STAND),
    (10.0, STAND),
)


@dataclass(frozen=True)
class Plan:
    """Key poses of a robot, and its legs: a site with fixed place, and the joints that keep it.

    Args:
        keys: seconds and poses.
        legs: by site.
        turns: whether the feet are flat, and keep their orientations as well.
    """

    keys: tuple[tuple[float, Pose], ...]
    legs: Mapping[str, tuple[str, ...]]
    turns: bool


G1_LEG = ("hip_pitch", "hip_roll", "hip_yaw", "knee", "ankle_pitch", "ankle_roll")
QUADRUPED = Plan(
    QUADRUPED_KEYS,
    {leg: tuple(f"{leg}_{part}_joint" for part in ("hip", "thigh", "calf")) for leg in LEGS},
    turns=False,
)
PLANS = {
    "g1": Plan(
        G1_KEYS,
        {f"{side}_ankle": tuple(f"{side}_{part}_joint" for part in G1_LEG) for side in SIDES},
        turns=True,
    ),
    "go1": QUADRUPED,
    "go2": QUADRUPED,
}


def between(keys: Sequence[tuple[float, Pose]], time: float) -> dict[str, float]:
    """The pose at a time: between two keys, of minimum jerk (Flash and Hogan, 1985)."""
    times = [key for key, _ in keys]
    i = int(np.clip(np.searchsorted(times, time, side="right") - 1, 0, len(keys) - 2))
    u = (time - times[i]) / (times[i + 1] - times[i])
    share = u**3 * (10 - 15 * u + 6 * u**2)
    before, after = keys[i][1], keys[i + 1][1]
    names = dict.fromkeys((*before, *after))
    return {n: (1 - share) * before.get(n, 0.0) + share * after.get(n, 0.0) for n in names}


def motion(robot: LeggedRobot, plan: Plan) -> tuple[mujoco.MjModel, np.ndarray]:
    """The robot's model and its positions, one row per timestep."""
    model = robot.model().compile()
    view = SingleView(model, mujoco.MjData(model))
    view.qpos[2] = robot.height
    view.qpos[3] = 1.0
    view.qpos[7:] = robot.pose
    view.kinematics()
    view.qpos[2] -= lowest(view)
    view.kinematics()
    start = view.qpos.copy()
    sites = {site: view.site(site).xpos.copy() for site in plan.legs}
    level = min(place[2] for place in sites.values())
    for place in sites.values():
        place[2] = level  # all feet on the ground
    turns = {site: view.body(_body(model, site)).xquat.copy() for site in plan.legs}
    held = {joint for joints in plan.legs.values() for joint in joints}
    rows = []
    for i in range(round(plan.keys[-1][0] / TIMESTEP) + 1):
        pose = between(plan.keys, i * TIMESTEP)
        view.qpos[:3] = start[:3] + [pose.get(axis, 0.0) for axis in AXES[:3]]
        turn = start[3:7]
        for axis, direction in zip(AXES[3:], np.eye(3), strict=True):
            turn = product(about(direction, np.array(pose.get(axis, 0.0))), turn)
        view.qpos[3:7] = turn
        for place, joint in enumerate(robot.joints, 7):
            if joint not in held:
                view.qpos[place] = start[place] + pose.get(joint, 0.0)
        for site, joints in plan.legs.items():
            found = solve(view, site, sites[site], turns[site] if plan.turns else None, joints)
            if not found.success:
                raise SystemExit(f"{site} cannot stay at {i * TIMESTEP:.2f} s: {found}")
        rows.append(view.qpos.copy())
    return model, np.stack(rows)


def _body(model: mujoco.MjModel, site: str) -> str:
    return str(model.body(model.site(site).bodyid[0]).name)


def lowest(view: SingleView) -> float:
    """Height of the feet's lowest point, m: of spheres and of level capsules."""
    names = [name for name in view.names("geom") if "_foot" in name]
    rows = view.rows("geom_size", names)
    ends = abs(view.geom_xmat[rows][:, 8]) * view.geom_size[rows][:, 1]
    return float((view.geom_xpos[rows][:, 2] - view.geom_size[rows][:, 0] - ends).min())


def pressure(model: mujoco.MjModel, qpos: np.ndarray) -> np.ndarray:
    """Centres of pressure on the ground, (rows, 2) m.

    About this point, the masses' momentum changes without a horizontal torque (Vukobratovic).
    """
    data = mujoco.MjData(model)
    qvel = velocities(qpos, TIMESTEP)
    momenta = []
    root = 1
    for position, velocity in zip(qpos, qvel, strict=True):
        data.qpos[:], data.qvel[:] = position, velocity
        mujoco.mj_forward(model, data)
        mujoco.mj_subtreeVel(model, data)
        momenta.append(
            (data.subtree_com[root].copy(), data.subtree_linvel[root].copy(),
             data.subtree_angmom[root].copy())
        )  # fmt: skip
    place, linear, angular = (np.stack(part) for part in zip(*momenta, strict=True))
    mass = model.body_subtreemass[root]
    force = mass * (np.gradient(linear, TIMESTEP, axis=0) + np.array([0, 0, GRAVITY]))
    torque = np.gradient(angular, TIMESTEP, axis=0)
    # Ground forces act at a point p of height 0: (p - place) x force = torque, in x and y.
    x = place[:, 0] - (force[:, 0] * place[:, 2] + torque[:, 1]) / force[:, 2]
    y = place[:, 1] - (force[:, 1] * place[:, 2] - torque[:, 0]) / force[:, 2]
    return np.stack([x, y], axis=-1)


def main() -> None:
    """Write all motions."""
    folder = assets() / "legged" / "motions"
    for name, plan in PLANS.items():
        robot = legged_robots.find(name)
        model, qpos = motion(robot, plan)
        qpos = np.round(qpos, DIGITS)
        qpos[:, 3:7] /= np.linalg.norm(qpos[:, 3:7], axis=-1, keepdims=True)
        with atomic.replacing(folder / f"{name}.npz") as part, part.open("wb") as file:
            np.savez_compressed(
                file, qpos=qpos, timestep=np.array(TIMESTEP), joints=np.array(robot.joints)
            )
        centre = pressure(model, qpos)
        speed = np.abs(velocities(qpos, TIMESTEP)[:, 6:]).max()
        size = (folder / f"{name}.npz").stat().st_size
        print(
            f"{name}: {len(qpos)} rows, {size:,} bytes; centre of pressure"
            f" x {centre[:, 0].min():.3f} to {centre[:, 0].max():.3f},"
            f" y {centre[:, 1].min():.3f} to {centre[:, 1].max():.3f} m;"
            f" fastest joint {speed:.1f} rad/s"
        )


if __name__ == "__main__":
    main()
