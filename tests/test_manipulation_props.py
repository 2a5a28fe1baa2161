"""Arena, bricks, pedestals and boxes against recorded numbers, and bricks under real forces."""

import re

import array_api_strict
import mujoco
import numpy as np
import pytest
from manipulation_records import (
    NAMES,
    OURS,
    ROBOT,
    ROBOT_JOINTS,
    STACKS,
    Record,
    parts,
    scenes,
    tasks,
)

from mjgym.mjcf import add, load
from mjgym.resets import place_bodies, put, settle
from mjgym.rotations import about_z
from mjgym.sim import Batched, Single
from mjgym.tasks.manipulation.arena import add_part, add_spawn_area, arena
from mjgym.tasks.manipulation.bricks import (
    COLOURS,
    HEIGHT,
    HINT_POS,
    HINT_QUAT,
    add_bricks,
    brick,
    brick_colours,
    brick_name,
    bricks_observation,
    click,
    close,
    hint_name,
    pair_distance,
    pair_distances,
    put_stack,
    want,
    wanted,
    places,
    random_turns,
    show_goal,
    snapped,
    stack_poses,
)
from mjgym.tasks.manipulation.pedestals import add_pedestal
from mjgym.tasks.manipulation.props import LARGE_BOX, add_large_box, lowest_corner, prop_observation

SPHERE = int(mujoco.mjtGeom.mjGEOM_SPHERE)
TOLERANCE = 1e-9  # relative to max(1, |recorded|); the records hold 12 digits
VARIES = ("body_pos", "body_quat")
COSMETIC = re.compile(r"_rgba|_matid|light_(ambient|diffuse|specular)")
LINKS = {"body_parentid": "body", "jnt_bodyid": "body", "geom_bodyid": "body",
         "site_bodyid": "body", "cam_bodyid": "body", "light_bodyid": "body"}  # fmt: skip
ADDRESSES = ("jnt_qposadr", "jnt_dofadr", "sensor_adr", "sensor_objid", "sensor_refid")
NAMED = {"body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "camera": "ncam",
         "light": "nlight", "sensor": "nsensor"}  # fmt: skip


def box(parameters, name):
    return tuple(parameters[name]["lower"]), tuple(parameters[name]["upper"])


def add_stack(spec, name):
    record = Record(name)
    height = len(record.order(0))
    add_bricks(spec, record.bricks(), height, free_base="moveable" in name)


def scene(name):
    """The scene of a published task without its robot, compiled."""
    spec, parameters = arena(), tasks()[name]["parameters"]
    if name == "reach_site":
        add(spec.worldbody, "site", name="target_site", size=(0.05, 0, 0))
    elif name.startswith("lift"):
        add(
            spec.worldbody, "site", name="target_height", type="box", size=(1, 1, 1e-6), group=3
        )  # fmt: skip
    add_spawn_area(spec, "tcp_spawn_area", box(parameters, "tcp_box"), (0, 1, 0, 0.3))
    of = "target" if name.startswith("reach") else "prop"
    key = "target_box" if name.startswith("reach") else "prop_box"
    if key in parameters:
        add_spawn_area(spec, f"{of}_spawn_area", box(parameters, key), (0, 0, 1, 0.3))
    if name.startswith("place"):
        add_spawn_area(spec, "pedestal_spawn_area", box(parameters, "target_box"), (0, 1, 1, 0.3))
    if name in STACKS:
        add_stack(spec, name)
    elif name == "lift_large_box":
        add_large_box(spec)
    elif name != "reach_site":
        part = brick(corners=name == "lift_brick")
        if name == "reach_duplo":
            add(part.worldbody, "site", name="target_site", size=(0.05, 0, 0), group=3)
        add_part(spec, part, "duplo2x4", free=True)
    if name.startswith("place"):
        add_pedestal(spec, name.removeprefix("place_"))
    return spec.compile()


def alone(name):
    """An entity by itself in an empty world, compiled."""
    spec = load("manipulation/options.xml")
    if name == "large_box":
        add_large_box(spec)
    elif name.startswith("pedestal"):
        add_pedestal(spec, "brick" if name.endswith("duplo") else "cradle")
    else:
        add_part(spec, brick(corners=name.endswith("sites")), "duplo2x4", free=True)
    return spec.compile()


def equal(ours, recorded, label):
    ours, recorded = np.asarray(ours, dtype=float), np.asarray(recorded, dtype=float)
    assert ours.size == recorded.size, label
    ours = ours.reshape(recorded.shape)
    if label.endswith("quat"):  # q and -q are one rotation
        ours = ours * np.where((ours * recorded).sum(-1, keepdims=True) < 0, -1, 1)
    scale = np.maximum(1, np.abs(recorded))
    np.testing.assert_allclose(
        ours / scale, recorded / scale, rtol=0, atol=TOLERANCE, err_msg=label
    )


class Comparison:
    """A compiled model of ours and the record of a published one, but for its robot.

    Args:
        model: ours.
        record: the recorded numbers.
        renamed: our name of a recorded element.
    """

    def __init__(self, model, record, renamed=lambda name: OURS.get(name, name)):
        self.model, self.record, self.renamed = model, record, renamed

    def names(self, kind):
        return [getattr(self.model, kind)(i).name for i in range(getattr(self.model, NAMED[kind]))]

    def rows(self, kind):
        """Where our elements are in the record."""
        recorded = self.record.get(kind, {"name": ["world"] if kind == "body" else []})["name"]
        at = {self.renamed(name): i for i, name in enumerate(recorded) if ROBOT not in name}
        names = self.names(kind)
        assert sorted(names) == sorted(at), kind
        if kind != "joint":  # the published free joint may be another brick's
            own = [OURS.get(name, name) for name in recorded if ROBOT not in name]
            assert names == own, kind
        return [at[name] for name in names]

    def check(self, skip=()):
        for option, value in self.record["opt"].items():
            np.testing.assert_array_equal(getattr(self.model.opt, option), value, err_msg=option)
        for kind in NAMED:
            rows = self.rows(kind)
            for field, values in self.record.get(kind, {}).items():
                if field in ("name", *ADDRESSES, *skip) or COSMETIC.search(field):
                    continue
                ours, recorded = getattr(self.model, field), [values[i] for i in rows]
                if field in LINKS:
                    bodies = self.record["body"]["name"]
                    linked = [self.renamed(bodies[i]) for i in recorded]
                    assert [self.model.body(i).name for i in ours] == linked, field
                elif field == "site_size":  # a sphere has but one
                    used = np.where(self.model.site_type[:, None] == SPHERE, (1, 0, 0), 1)
                    equal(ours * used, np.array(recorded) * used, field)
                else:
                    equal(ours, recorded, field)
        self.check_sensed()
        self.check_derived(skip)

    def check_sensed(self):
        """What each sensor is on."""
        sensors = self.record.get("sensor")
        for i, row in enumerate(self.rows("sensor")):
            kind = {5: "geom", 6: "site"}[sensors["sensor_objtype"][row]]
            name = getattr(self.model, kind)(int(self.model.sensor_objid[i])).name
            recorded = self.record[kind]["name"][sensors["sensor_objid"][row]]
            assert name == self.renamed(recorded)

    def check_derived(self, skip):
        """What the engine derives: bounds, and masses as the solver sees them."""
        arrays, rows = self.record["arrays"], {k: self.rows(k) for k in ("geom", "body", "joint")}
        rows["dof"] = [
            i
            for joint in rows["joint"]
            for i in np.flatnonzero(np.equal(arrays["dof_jntid"], joint))
        ]
        rows["body"] = rows["body"][1:]  # the world carries the robot
        for field, values in arrays.items():
            of = field.split("_")[0]
            if of in ("geom", "body", "dof") and field not in (*skip, "dof_bodyid", "dof_jntid"):
                ours = getattr(self.model, field)
                equal(ours[1:] if of == "body" else ours, [values[i] for i in rows[of]], field)


# This record was made with studs as they are before an episode's draw, of 4.7 mm: masses follow.
OTHER_STUDS = (
    "geom_size", "geom_rbound", "geom_aabb", "body_mass", "body_inertia", "body_ipos",
    "body_subtreemass", "body_invweight0", "dof_invweight0",
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(parts()))
def test_a_part_alone_has_the_recorded_numbers(name):
    skip = OTHER_STUDS if name == "duplo_with_vertex_sites" else ()
    Comparison(alone(name), parts()[name]).check(skip)


@pytest.mark.parametrize("name", NAMES)
def test_a_scene_has_the_recorded_numbers(name):
    record, model = Record(name), scene(name)
    for field, values in record.fields(0, model).items():
        getattr(model, field)[...] = values
    Comparison(model, scenes()[name], lambda recorded: record.ours(recorded, 0)).check()
