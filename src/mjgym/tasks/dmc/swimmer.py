"""Swim to a target by bending a chain of links in a plane of dense fluid."""

from dataclasses import dataclass
from typing import Any

from mjgym import mjcf
from mjgym.resets import random_joints
from mjgym.rewards import tolerance
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Task, register_variants, variant
from mjgym.util.values import whole_number

TARGET_RADIUS = 0.1  # m
DISTANCE_MARGIN = 5 * TARGET_RADIUS  # m, from the target's surface

NEAR_PROBABILITY = 0.2  # of a target near the swimmer at the start
NEAR, FAR = 0.3, 2.0  # m, half sides of the squares in which the target starts

LINK_LENGTH = 0.1  # m
CIRCLE = 360.0  # deg; limits joint angles so that the chain cannot close
CAMERA_LINKS = 6  # links for which the file's tracking cameras are placed

# Sensor layout: four vectors of three, the nose, the target, the head's x axis and its y axis, all
# in world axes; then per link, from head to tail, a velocimeter's and a gyro's three readings, in
# the link's axes. Out-of-plane components are zero and not read.
NOSE, TARGET = slice(0, 2), slice(3, 5)  # x and y
AXES_X, AXES_Y = slice(6, 12, 3), slice(7, 12, 3)  # the x of both axes, and the y of both
MOST_LINKS = 100
LINKS = 12  # start of the links
PER_LINK = 6


@register_variants(
    "dmc/swimmer-swimmer{}-v0",
    ("benchmarking", "reward_viz"),
    **{
        str(links): variant(
            f"Bring the nose of a swimmer of {links} links to the target.", links=links
        )
        for links in (6, 15)
    },
)
@dataclass(frozen=True)
class Swimmer(Task):
    """Bring the nose of an n-link swimmer to the target (Coulom, 2002).

    Reward: 1 while the nose is inside the target, of radius 0.1 m; outside it falls with a long
    tail, to 0.1 at 0.5 m from the target's surface.

    Start: any heading, every joint uniform in its range, at rest; the target uniform in a square
    around the origin, of half side 0.3 m in one episode of five and 2 m in the others.

    Observation: `joints`, the angles from head to tail (rad); `to_target`, from the nose to the
    target along the head's x and y axes (m); `body_velocities`, for each link from head to tail
    its velocity along its own x and y axes (m/s) and its angular velocity (rad/s).
    """

    links: int = 3  # the head among them

    time_limit = 30.0  # s
    control_timestep = 0.03  # s
    varies = ("geom_pos", "light_pos")  # the target and the light above it

    def __post_init__(self) -> None:
        whole_number("links", self.links, least=3, most=MOST_LINKS)

    def model(self) -> mjcf.Spec:
        spec = mjcf.load("dmc/swimmer.xml")
        segment = spec.find_default("segment")  # its body's joint and site use these defaults
        visual, inertial = spec.find_default("visual"), spec.find_default("inertial")
        bend = CIRCLE / self.links
        link = spec.body("head")
        for i in range(self.links - 1):
            link = mjcf.add(
                link, "body", name=f"segment_{i}", pos=[0, LINK_LENGTH, 0], default=segment
            )
            mjcf.add(link, "geom", name=f"visual_{i}", default=visual)
            mjcf.add(link, "geom", name=f"inertial_{i}", default=inertial)
            mjcf.add(link, "joint", name=f"joint_{i}", range=[-bend, bend])
            mjcf.add(link, "site", name=f"site_{i}")
            mjcf.add(
                spec, "actuator", name=f"motor_{i}", target=f"joint_{i}", trntype="joint",
                default=segment,
            )  # fmt: skip
            for sensor in ("velocimeter", "gyro"):
                mjcf.add(
                    spec, "sensor", name=f"{sensor}_{i}", type=sensor, objtype="site",
                    objname=f"site_{i}",
                )  # fmt: skip
        for camera in ("tracking1", "tracking2"):
            spec.camera(camera).pos *= self.links / CAMERA_LINKS
        return spec

    def initialize(self, v: SingleView, rng: Any) -> None:
        random_joints(v, rng)
        half_side = NEAR if rng.uniform() < NEAR_PROBABILITY else FAR
        place = rng.uniform(-half_side, half_side, size=2)
        v.geom("target").pos[:2] = place
        v.light("target_light").pos[:2] = place

    def observation(self, v: View) -> Arrays:
        sensors = v.sensordata
        offset = sensors[..., TARGET] - sensors[..., NOSE]
        links = v.xp.reshape(sensors[..., LINKS:], (*v.lead, self.links, PER_LINK))
        planar = v.xp.concat([links[..., :2], links[..., 5:]], axis=-1)  # along x, y and about z
        return {
            "joints": v.qpos[..., 3:],
            "to_target": sensors[..., AXES_X] * offset[..., :1]
            + sensors[..., AXES_Y] * offset[..., 1:],
            "body_velocities": v.xp.reshape(planar, (*v.lead, -1)),
        }

    def terms(self, v: View) -> Arrays:
        near = tolerance(_distance(v), (0, TARGET_RADIUS), DISTANCE_MARGIN, "long_tail")
        return {"near_target": near}

    def success(self, v: View) -> Array:
        return _distance(v) <= TARGET_RADIUS


def _distance(v: View) -> Array:
    offset = v.sensordata[..., TARGET] - v.sensordata[..., NOSE]
    return v.xp.hypot(offset[..., 0], offset[..., 1])
