"""Arena, bricks, pedestals and boxes against recorded numbers, and bricks under real forces."""

import functools
import itertools
import re
from dataclasses import dataclass
from typing import ClassVar

import mujoco
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from helpers.lanes import mostly_slow
from helpers.manipulation_records import (
    NAMES,
    OURS,
    ROBOT,
    STACKS,
    Record,
    paid,
    scenes,
    task,
    tasks,
)
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.resets import place_bodies, put, settle
from mjgym.rotations import about_z
from mjgym.sim import Single
from mjgym.task import Task
from mjgym.tasks.manipulation.arena import arena
from mjgym.tasks.manipulation.bricks import (
    COLOURS,
    HEIGHT,
    HINT_POS,
    HINT_QUAT,
    PARKED,
    Bricks,
    brick_name,
    click,
    close,
    free_name,
    hint_name,
    pair_distance,
    random_turns,
    stack_poses,
)
from mjgym.tasks.manipulation.place import PEDESTAL, TARGET, add_pedestal
from mjgym.tasks.manipulation.props import LARGE_BOX, lowest_corner

SPHERE = int(mujoco.mjtGeom.mjGEOM_SPHERE)
RANDOM_ORDER = [name for name in NAMES if "random" in name]
TOLERANCE = 1e-9  # relative to max(1, |recorded|); the records hold 12 digits
VARIES = ("body_pos", "body_quat")
COSMETIC = re.compile(r"_rgba|_matid|light_(ambient|diffuse|specular)")
LINKS = {"body_parentid": "body", "jnt_bodyid": "body", "geom_bodyid": "body",
         "site_bodyid": "body", "cam_bodyid": "body", "light_bodyid": "body"}  # fmt: skip
ADDRESSES = ("jnt_qposadr", "jnt_dofadr", "sensor_adr", "sensor_objid", "sensor_refid")
NAMED = {"body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "camera": "ncam",
         "light": "nlight", "sensor": "nsensor"}  # fmt: skip


def scene(name, *, robot=False):
    """The scene of a published task, with its robot or without, compiled."""
    if robot:
        return task(name).model().compile()
    spec = arena()
    task(name).mark(spec)
    task(name).furnish(spec)
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


def is_hint(name):
    return name.partition("/")[0] in {hint_name(i) for i in range(len(COLOURS))}


class Comparison:
    """A compiled model of ours and the record of a published one, but for its robot.

    Args:
        model: ours.
        record: the recorded numbers.
        renamed: our name of a recorded element.
        parked: how names of ours begin that are of bodies that are not in use.
    """

    def __init__(self, model, record, renamed=lambda name: OURS.get(name, name), parked=()):
        self.model, self.record, self.renamed, self.parked = model, record, renamed, tuple(parked)

    def names(self, kind):
        return [getattr(self.model, kind)(i).name for i in range(getattr(self.model, NAMED[kind]))]

    def rows(self, kind):
        """Which of our elements are recorded, and where they are in the record."""
        recorded = self.record.get(kind, {"name": ["world"] if kind == "body" else []})["name"]
        rows = [i for i, name in enumerate(recorded) if ROBOT not in name]
        names = [self.renamed(recorded[i]) for i in rows]
        ours = self.names(kind)
        used = [x for x in ours if ROBOT not in x and not x.startswith(self.parked)]
        for hints in (False, True):  # which touch nothing: only their own order is recorded
            both = [[x for x in known if is_hint(x) == hints] for known in (used, names)]
            assert both[0] == both[1], kind
        return [ours.index(name) for name in names], rows

    def check(self, skip=()):
        for option, value in self.record["opt"].items():
            np.testing.assert_array_equal(getattr(self.model.opt, option), value, err_msg=option)
        for kind in NAMED:
            own, rows = self.rows(kind)
            for field, values in self.record.get(kind, {}).items():
                if field in ("name", *ADDRESSES, *skip) or COSMETIC.search(field):
                    continue
                ours, recorded = getattr(self.model, field)[own], [values[i] for i in rows]
                if field in LINKS:
                    bodies = self.record["body"]["name"]
                    linked = [self.renamed(bodies[i]) for i in recorded]
                    assert [self.model.body(i).name for i in ours] == linked, field
                elif field == "site_size":  # a sphere has but one
                    used = np.where(self.model.site_type[own, None] == SPHERE, (1, 0, 0), 1)
                    equal(ours * used, np.array(recorded) * used, field)
                else:
                    equal(ours, recorded, field)
        self.check_sensed()
        self.check_derived(skip)

    def check_sensed(self):
        """What each sensor is on."""
        sensors = self.record.get("sensor")
        for i, row in zip(*self.rows("sensor"), strict=True):
            kind = {5: "geom", 6: "site"}[sensors["sensor_objtype"][row]]
            name = getattr(self.model, kind)(int(self.model.sensor_objid[i])).name
            recorded = self.record[kind]["name"][sensors["sensor_objid"][row]]
            assert name == self.renamed(recorded)

    def check_derived(self, skip):
        """What the engine derives: bounds, and masses as the solver sees them."""
        arrays, rows = self.record["arrays"], {k: self.rows(k) for k in ("geom", "body")}
        rows["body"] = tuple(numbers[1:] for numbers in rows["body"])  # the world carries the robot
        both = zip(
            self.rows("joint"), (self.model.dof_jntid, arrays.get("dof_jntid", ())), strict=True
        )
        rows["dof"] = tuple(np.flatnonzero(np.isin(of, joints)) for joints, of in both)
        for field, values in arrays.items():
            of = field.split("_")[0]
            if of in rows and field not in (*skip, "dof_bodyid", "dof_jntid"):
                own, theirs = rows[of]
                equal(getattr(self.model, field)[own], [values[i] for i in theirs], field)


@pytest.mark.parametrize("name", mostly_slow(NAMES, 3))
def test_a_scene_has_the_recorded_numbers(name):
    record, model = Record(name), scene(name, robot=True)
    for field, values in record.fields(0, model).items():
        getattr(model, field)[...] = values
    parked = []
    if name in RANDOM_ORDER:
        lowest = record.order(0)[0]
        parked = [f"{brick_name(i)}/" for i in range(record.bricks().count) if i != lowest]
    renamed = functools.partial(record.ours, episode=0)
    Comparison(model, scenes()[name], renamed, parked).check()
    for body in parked:
        np.testing.assert_array_equal(model.body(body).pos, PARKED)


# Recorded states: what is seen, what is paid, and what happens next.


def simulation(name, *, robot=False):
    return begun(Single(scene(name, robot=robot), VARIES))


def begun(single):
    """A simulation at its model's defaults."""
    single.restore_defaults()
    single.forward()
    return single


def prop(name):
    return LARGE_BOX if name == "lift_large_box" else "duplo2x4"


# Starts.


@pytest.mark.parametrize(
    ("name", "height", "recorded"),
    [
        ("stack_2_bricks", 1e-6, -3.64824805624e-06),  # of the frame, see tasks.json
        ("reach_duplo", 0.001, -3.73852911458e-06),
        ("lift_large_box", 0.09, 0.0899728938),
    ],
)
def test_what_falls_comes_to_rest_where_it_was_recorded(name, height, recorded):
    single, body = simulation(name), prop(name)
    body = brick_name(1) if name in STACKS else body
    v = single.view
    for yaw in (0, 0.7, -2.5):
        put(v, f"{body}/", (0.05, 0.03, height), about_z(yaw))
        settle(v, [f"{body}/"])
        assert v.body(f"{body}/").xpos[2] == pytest.approx(recorded, abs=2e-10)
        assert v.time == 0
        assert np.abs(v.joint(f"{body}/").qvel).max() < 1e-3


@pytest.mark.parametrize("name", ["lift_brick", "lift_large_box"])
def test_the_lowest_corner_at_the_start_is_as_recorded(name):
    v, body = simulation(name).view, prop(name)
    put(v, f"{body}/", (0.02, -0.03, 0.09 if body == LARGE_BOX else 0), about_z(0.3))
    settle(v, [f"{body}/"])
    heights = {memory["target_height"] for memory in tasks()[name]["inner"]}
    for target in heights:
        assert lowest_corner(v, body) + 0.3 == pytest.approx(target, abs=1e-9)


@dataclass(frozen=True)
class Crowded(Task):
    """Three bricks in a square."""

    half: float = 0.1  # m, half a side of the square

    time_limit: float = 1.0
    control_timestep: float = 0.04
    varies = VARIES

    bricks: ClassVar[Bricks] = Bricks(3, 3)

    def model(self):
        spec = arena()
        self.bricks.add_to(spec)
        return spec

    def initialize(self, v, rng):
        self.bricks.want(v, [0, 1, 2])
        square = (-self.half, -self.half, 1e-6), (self.half, self.half, 1e-6)
        self.bricks.place(v, rng, square)

    def observation(self, v):
        return self.bricks.observation(v)

    def terms(self, v):
        return {"snapped": paid(self.bricks.distances(v))}


def test_an_episode_without_room_for_its_bricks_does_not_begin():
    env = Env(Crowded())
    env.reset(seed=0)
    env.step(env.action_space.sample())
    env.close()
    message = "no place for 'duplo2x4_2' without contacts in 20 attempts"
    for env in (Env(Crowded(half=0.001)), VectorEnv(Crowded(half=0.001), 2)):
        with pytest.raises(RuntimeError, match=message):
            env.reset(seed=0)
        with pytest.raises(ResetNeeded):
            env.step(env.action_space.sample())
        env.close()


@pytest.mark.parametrize("top", ["brick", "cradle"])
def test_a_pedestal_is_moved_as_a_whole_and_stops_what_falls(top):
    single = simulation(f"place_{top}")
    v = single.view
    rng = np.random.default_rng(1)
    box = (-0.1, -0.1, 0.07), (0.1, 0.1, 0.17)
    place_bodies(v, rng, [f"{PEDESTAL}/"], box, turned=False, ignored=["duplo2x4/"])
    target = v.site(TARGET).xpos.copy()
    np.testing.assert_array_equal(target, v.body(f"{PEDESTAL}/").pos)
    assert 0.07 <= target[2] <= 0.17
    put(v, "duplo2x4/", target + np.array([0, 0, 0.03]), about_z(0.1))
    settle(v, ["duplo2x4/"])
    height = v.body("duplo2x4/").xpos[2] - target[2]
    assert (0.02 if top == "brick" else -0.02) < height < 0.03  # on the studs, or between the balls


def test_an_unknown_top_is_refused():
    with pytest.raises(ValueError, match="'table' is none of brick, cradle"):
        add_pedestal(arena(), "table")


# Stacks and hints.


def test_holes_are_on_studs_in_a_stack():
    name = "reassemble_5_bricks_random_order"
    v, bricks = simulation(name).view, Record(name).bricks()
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(5)
        bricks.want(v, order)
        poses = stack_poses(
            (*rng.uniform(-0.1, 0.1, 2), 1e-6), about_z(1.0), random_turns(rng, 5)
        )  # fmt: skip
        bricks.put_stack(v, order, poses)
        v.forward()
        np.testing.assert_allclose(bricks.distances(v), 0, atol=1e-15)
        assert paid(bricks.distances(v)) == 1
        heights = [v.body(body).xpos[2] for body in bricks.bodies(v, order)]
        np.testing.assert_allclose(heights, 1e-6 + HEIGHT * np.arange(5), atol=1e-15)


def test_bricks_of_a_stack_are_turned_half_of_the_time():
    turns = np.array([random_turns(np.random.default_rng(seed), 5) for seed in range(500)])
    assert turns.shape == (500, 4)
    assert np.abs(turns.mean(axis=0) - 0.5).max() < 4 * 0.5 / np.sqrt(500)


@pytest.mark.parametrize("name", STACKS)
def test_hints_stand_as_recorded(name):
    bricks, single = Record(name).bricks(), simulation(name)
    v = single.view
    for episode in tasks()[name]["episodes"]:
        order = episode["desired_order"]
        quats = np.array(episode["hint_quats"])
        # Whether each is turned, compared with the one below: then the quaternions are orthogonal.
        turns = [abs(quats[a] @ quats[b]) < 0.5 for a, b in itertools.pairwise(order)]
        begun(single)
        bricks.want(v, order)
        bricks.show_goal(v, turns)
        v.forward()
        for i in range(bricks.count):
            hint_body = v.body(f"{hint_name(i)}/")
            equal(hint_body.xpos, episode["hint_positions"][i], "hint pos")
            equal(hint_body.xquat, quats[i], "hint quat")
    assert pytest.approx(1) == HINT_QUAT @ HINT_QUAT


def test_nothing_touches_a_hint():
    single = simulation("stack_3_bricks")
    v = single.view
    bricks = Record("stack_3_bricks").bricks()
    bricks.want(v, [0, 1, 2])
    bricks.show_goal(v, [False, False])
    bricks.put_stack(v, [0, 1, 2], stack_poses(HINT_POS, HINT_QUAT, [False, False]))
    v.detect_contacts()
    names = {v.body(f"{hint_name(k)}/").id for k in range(3)}
    assert v.ncon > 0
    assert names.isdisjoint(v.geom_bodyid[v.contact.geom].ravel())


# Who is who.


@pytest.mark.parametrize("count", [2, 3, 5])
def test_bricks_are_in_the_order_of_their_names_whichever_is_fixed(count):
    bricks = Bricks(count, 2, "any")
    assert len(bricks.entities) == 2 * count - 1
    spec = arena()
    bricks.add_to(spec)
    v = begun(Single(spec.compile(), VARIES)).view
    in_model = [name for name in v.names("body") if name.removesuffix("/") in bricks.entities]
    assert in_model == [f"{name}/" for name in bricks.entities]
    for lowest in range(count):
        bricks.want(v, [lowest, (lowest + 1) % count])
        bodies = bricks.bodies(v, range(count))
        assert bodies == sorted(bodies, key=in_model.index)
        assert bodies[lowest] == f"{brick_name(lowest)}/"
        others = [f"{free_name(i)}/" for i in range(count - 1)]
        assert [body for body in bodies if body != bodies[lowest]] == others
        colours = bricks.colours(v)
        for i, body in enumerate(bodies):
            compiled = v.model.material(f"{body}plastic").rgba
            shown = colours.get(f"material {body}plastic", compiled)
            np.testing.assert_allclose(shown, (*COLOURS[i], 1.0), atol=1e-6)


@pytest.mark.parametrize("base", ["first", "free"])
def test_in_a_fixed_order_bricks_are_what_their_names_say(base):
    bricks = Bricks(3, 3, base)
    assert bricks.entities == ("duplo2x4", "duplo2x4_2", "duplo2x4_4")
    assert len(bricks.free_joints) == (2 if base == "first" else 3)
    spec = arena()
    bricks.add_to(spec)
    v = begun(Single(spec.compile(), VARIES)).view
    bricks.want(v, [0, 2, 1])
    assert bricks.places(v, np.arange(3)).tolist() == [0, 1, 2]
    assert bricks.wanted(v).tolist() == [0, 2, 1]
    assert bricks.colours(v) == {}


# Reward.


def test_a_pair_is_measured_the_nearer_way_round():
    studs = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    holes = studs + np.array([0.0, 0.3, 0.4])
    assert pair_distance(studs, holes) == pytest.approx(1.0)
    assert pair_distance(studs, holes[::-1]) == pytest.approx(1.0)
    many = np.stack([holes, holes[::-1], studs])
    np.testing.assert_allclose(pair_distance(studs, many), [1, 1, 0])


def test_close_and_click():
    assert close(0.01) == 1
    assert close(0.11) == pytest.approx(0.1)
    assert click(0.001) == 1
    assert click(0.002) == pytest.approx(0.1)
    together, apart = np.array([0.0, 0.0]), np.array([0.0, 0.009])
    assert paid(together) == 1
    assert paid(apart) == pytest.approx((1 + 0.1 / 1.1) / 2, abs=1e-6)
    assert paid(apart, 0.0) == pytest.approx(0.5)
