"""Arena, bricks, pedestals and boxes against recorded numbers, and bricks under real forces."""

import functools
import itertools
import re
from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import array_api_strict
import mujoco
import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from helpers.lanes import mostly_slow
from helpers.manipulation_records import (
    NAMES,
    OURS,
    ROBOT,
    ROBOT_JOINTS,
    STACKS,
    Record,
    paid,
    parts,
    scenes,
    task,
    tasks,
)
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.mjcf import load
from mjgym.resets import place_bodies, put, settle
from mjgym.rewards import tolerance
from mjgym.rotations import about_z
from mjgym.sim import Batched, Single
from mjgym.task import Task
from mjgym.tasks.manipulation.arena import add_part, arena
from mjgym.tasks.manipulation.bricks import (
    COLOURS,
    HEIGHT,
    HINT_POS,
    HINT_QUAT,
    PARKED,
    Bricks,
    brick,
    brick_name,
    click,
    close,
    free_name,
    hint_name,
    pair_distance,
    random_turns,
    stack_poses,
)
from mjgym.tasks.manipulation.pedestals import PEDESTAL, TARGET, add_pedestal
from mjgym.tasks.manipulation.props import LARGE_BOX, add_large_box, lowest_corner, prop_observation

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


def write(single, record, row, when):
    """Put a recorded state into a simulation, without the robot where there is none."""
    state = record.state(row, when)
    fields = record.fields(row, single.model)
    for field in VARIES:
        getattr(single.model, field)[...] = fields[field]
    first = first_joint(single)
    single.data.qpos[:] = state["qpos"][first:]
    single.data.qvel[:] = state["qvel"][first:]
    single.data.userdata[:] = state.get("userdata", ())
    single.view.forward()
    if when == "before":
        single.data.qacc_warmstart[:] = state["qacc_warmstart"][first:]


def first_joint(single):
    """Of those recorded that are in the model: the robot's nine are the first."""
    return 0 if single.model.nu else ROBOT_JOINTS


def prop(name):
    return LARGE_BOX if name == "lift_large_box" else "duplo2x4"


def seen(view, name):
    """What the recorded observation says of bricks and boxes."""
    if name in STACKS:
        return Record(name).bricks().observation(view)
    observation = {} if name == "reach_site" else prop_observation(view, prop(name))
    if name.startswith("place"):
        observation["pedestal/position"] = view.site(TARGET).xpos
    return observation


@pytest.mark.parametrize("name", [name for name in NAMES if name != "reach_site"])
def test_bricks_and_boxes_are_seen_as_recorded(name):
    record, single = Record(name), simulation(name)
    for row in range(len(record)):
        write(single, record, row, "after")
        recorded = {k: x for k, x in record.observation(row).items() if "jaco" not in k}
        order = recorded.pop("desired_order", None)
        observation = seen(single.view, name)
        assert list(observation) == list(recorded)
        for key, value in observation.items():
            np.testing.assert_allclose(value, recorded[key], rtol=0, atol=1e-12, err_msg=key)
        if order is not None:
            np.testing.assert_array_equal(record.bricks().wanted(single.view), order)


@pytest.mark.parametrize("name", STACKS)
def test_stacks_are_paid_as_recorded(name):
    record, single = Record(name), simulation(name)
    weight = 0.0 if name.startswith("reassemble") else 0.1
    for row in range(len(record)):
        write(single, record, row, "after")
        reward = paid(record.bricks().distances(single.view), weight)
        assert reward == pytest.approx(record.arrays["reward"][row], abs=1e-12)


@pytest.mark.parametrize("name", ["lift_brick", "lift_large_box"])
def test_a_lift_is_paid_as_recorded(name):
    record, single = Record(name), simulation(name)
    for row in range(len(record)):
        write(single, record, row, "after")
        memory = tasks()[name]["inner"][row]
        lowest = lowest_corner(single.view, prop(name))
        target = memory["target_height"]
        reward = tolerance(
            lowest, (target, np.inf), margin=0.3, sigmoid="linear", value_at_margin=0
        )
        assert reward == pytest.approx(record.arrays["reward"][row], abs=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_a_control_step_ends_as_recorded(name):
    record, single = Record(name), simulation(name, robot=True)
    for row in range(len(record)):
        write(single, record, row, "before")
        single.data.ctrl[:] = record.state(row)["ctrl"]
        mujoco.mj_step(single.model, single.data, 20)
        mujoco.mj_step1(single.model, single.data)
        after = record.state(row, "after")
        np.testing.assert_allclose(single.data.qpos, after["qpos"], rtol=0, atol=1e-12)
        np.testing.assert_allclose(single.data.qvel, after["qvel"], rtol=0, atol=1e-10)
        assert single.data.ncon == record.arrays["after_ncon"][row]


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


@pytest.mark.parametrize("name", mostly_slow(STACKS, 4))
def test_bricks_start_as_their_rules_say(name):
    record, single = Record(name), simulation(name)
    v, bricks = single.view, record.bricks()
    count = bricks.count
    box = (-0.1, -0.1, 1e-6), (0.1, 0.1, 1e-6)
    free = bricks.free_joints
    assert free == v.names("joint")
    rng = np.random.default_rng(0)
    positions, yaws = [], []
    for _ in range(100 if count < 5 else 20):
        begun(single)
        bricks.want(v, rng.permutation(count)[: bricks.height])
        bricks.place(v, rng, box, attempts=50)
        bodies = bricks.bodies(v, range(count))
        assert v.ncon == 0 or v.contact.dist.min() > 0
        positions += [v.body(body).xpos.copy() for body in bodies]
        yaws += [2 * np.arctan2(q[3], q[0]) for q in (v.body(body).xquat for body in bodies)]
    positions = np.array(positions)
    assert (np.abs(positions[:, :2]) < 0.1).all()
    np.testing.assert_allclose(positions[:, 2], 1e-6, atol=1e-15)
    assert np.abs(positions[:, :2].mean(axis=0)).max() < 4 * 0.2 / np.sqrt(12 * len(positions))
    turns = np.mod(yaws, 2 * np.pi)
    assert np.histogram(turns, 4, (0, 2 * np.pi))[0].min() > len(turns) / 8
    settle(v, free)
    for body in bodies:
        resting = body in free
        assert v.body(body).xpos[2] == pytest.approx(-3.648e-6 if resting else 1e-6, abs=1e-9)
    if bricks.base == "any":  # the others lie far below
        heights = np.array([v.body(f"{name}/").xpos[2] for name in bricks.entities])
        assert (heights == PARKED[2]).sum() == count - 1


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
    with pytest.raises(ValueError, match="'brick' or 'cradle', got 'table'"):
        add_pedestal(arena(), "table")


@pytest.mark.parametrize(("count", "height"), [(1, 1), (2, 3), (6, 2), (3, 1)])
def test_a_wrong_number_of_bricks_is_refused(count, height):
    with pytest.raises(ValueError, match=f"got height {height} of {count} bricks"):
        Bricks(count, height)


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


def test_a_batch_sees_and_pays_as_single_simulations_do():
    name = "stack_3_bricks_random_order"
    record = Record(name)
    n, bricks = len(record), record.bricks()
    expected = []

    def start(row, scratch):
        write(scratch, record, row, "after")
        v = scratch.view
        expected.append((bricks.observation(v), bricks.distances(v), bricks.colours(v)))

    batch = Batched(scene(name), n, 1, VARIES)
    batch.reset(start)
    observation, distances = bricks.observation(batch.view), bricks.distances(batch.view)
    colours = bricks.colours(batch.view)
    for row, (one, apart, painted) in enumerate(expected):
        for key, value in one.items():
            np.testing.assert_array_equal(observation[key][row], value)
        np.testing.assert_array_equal(distances[row], apart)
        assert paid(distances)[row] == paid(apart)
        for key, value in painted.items():
            np.testing.assert_array_equal(colours[key][row], value)


def test_a_batch_steps_as_single_simulations_do_wherever_the_fixed_bricks_are():
    name = "stack_3_bricks_random_order"
    record, model = Record(name), scene(name, robot=True)
    n = len(record)
    controls = np.array([record.state(row)["ctrl"] for row in range(n)])
    batch = Batched(model, n, 2, VARIES)
    batch.reset(lambda row, scratch: write(scratch, record, row, "before"))
    batch.step(controls, 20)
    single = simulation(name, robot=True)
    for row in range(n):
        single.reset(lambda _, scratch, row=row: write(scratch, record, row, "before"))
        single.step(controls[row], 20)
        np.testing.assert_array_equal(batch.view.qpos[row], single.data.qpos)
        np.testing.assert_array_equal(batch.view.xpos[row], single.data.xpos)


class Foreign:
    """A batch's view in arrays that have nothing but what the array standard demands."""

    def __init__(self, view):
        self._view, self.xp, self.lead = view, array_api_strict, view.lead

    def __getattr__(self, field):
        return self.xp.asarray(np.array(getattr(self._view, field)))

    def rows(self, field, names):
        return self._view.rows(field, names)

    def site(self, name):
        return SimpleNamespace(xpos=self.xp.asarray(np.array(self._view.site(name).xpos)))


def test_other_array_libraries_will_do():
    name = "stack_2_of_3_bricks_random_order"
    record = Record(name)
    batch = Batched(scene(name), 2, 1, VARIES)
    batch.reset(lambda i, scratch: write(scratch, record, 4, "after"))
    foreign = Foreign(batch.view)
    bricks = record.bricks()
    ours = bricks.observation(batch.view)
    for key, value in bricks.observation(foreign).items():
        np.testing.assert_array_equal(np.asarray(value), ours[key])
    distances = bricks.distances(foreign)
    np.testing.assert_array_equal(np.asarray(distances), bricks.distances(batch.view))
    reward = np.asarray(paid(distances))
    np.testing.assert_allclose(reward, record.arrays["reward"][4], atol=1e-12)
    lifted = Batched(scene("lift_brick"), 2, 1)
    lifted.forward()
    np.testing.assert_array_equal(
        np.asarray(lowest_corner(Foreign(lifted.view), "duplo2x4")),
        lowest_corner(lifted.view, "duplo2x4"),
    )


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
