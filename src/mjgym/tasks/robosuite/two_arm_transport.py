"""Carry a hammer from a closed bin to another, which has to be emptied of trash."""

from dataclasses import dataclass
from math import pi
from typing import Any, ClassVar

from mjgym import mjcf
from mjgym.mjcf import Spec, add
from mjgym.placements import Extent, Placement, Several, Uniform, Within
from mjgym.robots import Arm
from mjgym.robots.staged_policy import SideBySide
from mjgym.sim import SingleView, View
from mjgym.task import Array, Arrays, Viewpoint, register
from mjgym.tasks.robosuite import hammers, tabletop
from mjgym.tasks.robosuite.scripted_policies import transporting
from mjgym.tasks.robosuite.tabletop import FRICTION as TABLE_FRICTION

TABLE_SIZE = (0.8, 0.3, 0.05)  # m
TABLE_TOPS = ((0.0, -0.45, 0.8), (0.0, 0.45, 0.8))  # m, the first arm's table and the second's
SHOULDERS: dict[str, tabletop.Pose] = {
    "shouldercamera0": (
        (0.443009606, -1.069739974, 1.363995012),
        (0.804057244, 0.553166511, 0.112863064, 0.186442182),
    ),
    "shouldercamera1": (
        (-0.40900714, 0.961372257, 1.308407295),
        (0.154841996, 0.120772103, -0.547685879, -0.813313121),
    ),
}

START, TARGET, TRASH_BIN, LID = (
    f"transport_{name}" for name in ("start_bin", "target_bin", "trash_bin", "start_bin_lid")
)
COLOURS = {
    START: (0.35, 0.42, 0.48, 1.0),
    TARGET: (0.16, 0.52, 0.27, 1.0),
    TRASH_BIN: (0.75, 0.13, 0.11, 1.0),
}
BODIES = {name: f"{name}_root" for name in ("payload", START, TARGET, TRASH_BIN, LID)}
BODIES["trash"] = "trash_main"
TRASH_HALF, TRASH_DENSITY = 0.02, 1000.0  # m, kg/m^3
TRASH_COLOUR = (0.55, 0.16, 0.13, 1.0)
EXTENTS = {
    "trash": Extent.of_box((TRASH_HALF, TRASH_HALF, TRASH_HALF)),
    **dict.fromkeys(COLOURS, Extent(0.212132034, -0.075, 0.075)),
    LID: Extent(0.212132034, -0.02, 0.02),
}

# Positions of the bins from the centre of their tables, m, and rotations of their contents, rad.
LEFT, RIGHT, ALONG = (-0.205, -0.195), (0.195, 0.205), (-0.005, 0.005)
DROP = 0.001  # m, drop of the bins at the start
BIN_FLOOR, BIN_RIM = -0.065, 0.075  # m, relative to a bin's centre
PAYLOAD_TURNED, TRASH_TURNED = (5 * pi / 6, 7 * pi / 6), (-0.3 * pi, 0.3 * pi)

# The payload: a hammer with a head drawn per episode.
RADIUS, LENGTH, DENSITY, FRICTION = 0.015, 0.2, 150.0, 4.0  # m, m, kg/m^3
HEAD_SIZE = (1.0, 1.2)  # of the handle's thickness: range of the head's height
HEAD_DENSITY = 1.5  # ratio of the head's density to the handle's

DONE = 1.0  # the reward of success


@dataclass(frozen=True)
class _InBin(hammers.EitherSide, Within):
    """Anywhere in a bin, on either arm's side of the tables."""


@register("robosuite/TwoArmTransport-v0", tags=("tabletop", "two-arm"))
@dataclass(frozen=True)
class TwoArmTransport(tabletop.TwoArms):
    """Carry a hammer, the payload, from the first arm's bin into the second arm's.

    The first arm has to take the lid off the start bin, and the second to move the trash, a cube,
    from the target bin to the trash bin.

    Start: the arms near their published poses; on the first arm's table the start bin with the
    hammer under its lid, on the second's the target bin with the trash, and the trash bin. The
    positions of the bins, the angles of their contents and the size of the hammer's head are drawn
    for each episode.

    Observation: the robots' entries (see `Tabletop`), then `payload_pos` (m), `payload_quat` (x, y,
    z, w), `trash_pos`, `trash_quat`, `lid_handle_pos`, `lid_handle_quat`, `target_bin_pos` and
    `trash_bin_pos` of the bins' floors, `payload_in_target_bin` and `trash_in_trash_bin`, 1 if
    so, and from the tools (m), in world axes, `gripper0_to_payload`,
    `gripper0_to_lid_handle`, `gripper1_to_payload` and `gripper1_to_trash`.

    Reward: 1 for success, nothing on the way. Success: the payload touches the floor of the target
    bin and the trash that of the trash bin.
    """

    reward_type: str = "sparse"
    table_friction: tuple[float, float, float] = TABLE_FRICTION  # of both

    viewpoint = Viewpoint(azimuth=150, elevation=-25, distance=2.6, lookat=(0.0, 0.0, 1.05))
    agentview = tabletop.SIDE_TABLES
    apart: ClassVar = tabletop.FAR_APART
    varies = hammers.VARIES
    most = DONE
    object_names = (START, LID, "payload", TARGET, "trash", TRASH_BIN)
    bodies: ClassVar = BODIES
    reward_types = ("sparse",)

    @property
    def default_placement(self) -> Placement:
        def bin_at(name: str, x_range: tuple[float, float], table: int) -> Uniform:
            return Uniform(
                (name,), x_range, ALONG, 0.0,
                clear=False, reference=TABLE_TOPS[table], z_offset=DROP,
            )  # fmt: skip

        def within(name: str, container: str, height: float, turned: Any) -> Within:
            kind = _InBin if name == "payload" else Within
            return kind((name,), rotation=turned, clear=False, z_offset=height, container=container)

        return Several(
            (
                bin_at(START, RIGHT, 0),
                within(LID, START, BIN_RIM, 0.0),
                within("payload", START, BIN_FLOOR, PAYLOAD_TURNED),
                bin_at(TARGET, LEFT, 1),
                within("trash", TARGET, BIN_FLOOR, TRASH_TURNED),
                bin_at(TRASH_BIN, RIGHT, 1),
            )
        )

    def robot_place(self, arm: Arm) -> tuple[float, float]:
        return -arm.table_distance - TABLE_SIZE[0] / 2, 0.0

    def furnish(self, scene: Spec) -> None:
        for name, (pos, quat) in SHOULDERS.items():
            add(scene.worldbody, "camera", name=name, pos=pos, quat=quat, fovy=45)
        for i, top in enumerate(TABLE_TOPS):
            tabletop.add_table(
                scene, TABLE_SIZE, top, friction=self.table_friction, name=f"table{i}"
            )
        hammers.add_hammer(scene, "payload")
        half = (TRASH_HALF, TRASH_HALF, TRASH_HALF)
        tabletop.add_box(scene, "trash", half, TRASH_DENSITY, TRASH_COLOUR)
        for name, colour in COLOURS.items():
            part = mjcf.load("robosuite/bin.xml")
            part.material("paint").rgba = colour
            scene.attach(part, prefix=f"{name}_", frame=scene.worldbody.add_frame())
        lid = mjcf.load("robosuite/lid.xml")
        scene.attach(lid, prefix=f"{LID}_", frame=scene.worldbody.add_frame())
        tabletop.watch_contact(scene, BODIES["payload"], f"{TARGET}_base")
        tabletop.watch_contact(scene, BODIES["trash"], f"{TRASH_BIN}_base")

    def place(self, v: SingleView, rng: Any) -> None:
        head = RADIUS * rng.uniform(*HEAD_SIZE)
        hammer = hammers.Hammer(RADIUS, LENGTH, DENSITY, FRICTION, head, DENSITY * HEAD_DENSITY)
        hammers.resize_hammer(v, "payload", hammer)
        super().place(v, rng)

    def extents(self, v: SingleView) -> dict[str, Extent]:
        return {"payload": hammers.extent_of_hammer(v, "payload"), **EXTENTS}

    def carried(self, v: View) -> Array:
        return tabletop.in_contact(v, BODIES["payload"], f"{TARGET}_base")

    def tidied(self, v: View) -> Array:
        return tabletop.in_contact(v, BODIES["trash"], f"{TRASH_BIN}_base")

    def objects(self, v: View) -> Arrays:
        payload, trash = v.body(BODIES["payload"]), v.body(BODIES["trash"])
        lid, handle = v.body(BODIES[LID]), v.geom(f"{LID}_handle").xpos
        entries = {
            "payload_pos": payload.xpos,
            "payload_quat": tabletop.xyzw(tabletop.upright(payload.xquat, v), v),
            "trash_pos": trash.xpos,
            "trash_quat": tabletop.xyzw(tabletop.upright(trash.xquat, v), v),
            "lid_handle_pos": handle,
            "lid_handle_quat": tabletop.xyzw(tabletop.upright(lid.xquat, v), v),
            "target_bin_pos": v.geom(f"{TARGET}_base").xpos,
            "trash_bin_pos": v.geom(f"{TRASH_BIN}_base").xpos,
            "payload_in_target_bin": tabletop.reward_if(v, self.carried(v), 1.0),
            "trash_in_trash_bin": tabletop.reward_if(v, self.tidied(v), 1.0),
        }
        from_tools = {
            "gripper0_to_payload": self.from_tool(v, 0, payload.xpos),
            "gripper0_to_lid_handle": self.from_tool(v, 0, handle),
            "gripper1_to_payload": self.from_tool(v, 1, payload.xpos),
            "gripper1_to_trash": self.from_tool(v, 1, trash.xpos),
        }
        if len(self.robots) == 1:  # the published order for one robot with two arms
            from_tools = {
                name: from_tools[name]
                for name in sorted(from_tools, key=lambda name: "payload" not in name)
            }
        return {**entries, **from_tools}

    def terms(self, v: View) -> Arrays:
        return {"transport": tabletop.reward_if(v, self.success(v), DONE)}

    def success(self, v: View) -> Array:
        return self.carried(v) & self.tidied(v)

    def scripted_policy(self) -> SideBySide:
        return transporting.transport(self)
