"""The walker's mechanics against OpenSim's, number by number."""

import functools

import mujoco
import numpy as np
import pytest

from helpers import body_records
from helpers.body_records import AXES, EPISODES, Walker, episodes, poses
from helpers.lanes import lane, mostly_slow
from mjgym.tasks.l2m import skeleton
from mjgym.tasks.l2m.musculoskeletal import ACTION_TO_MODEL, COORDINATES, MUSCLES, Musculoskeletal

SIDES = "rl"
SHORT = [name for name in EPISODES if name != "planar"]


def worst(found, expected):
    return float(np.abs(np.asarray(found) - expected).max())


def relative(found, expected):
    """Of the largest."""
    return worst(found, expected) / float(np.abs(expected).max())


@pytest.fixture(scope="module")
def walker():
    """All coordinates move, also those that OpenSim locks."""
    return Walker(Musculoskeletal(held=False))


@functools.cache
def in_poses():
    """What is measured in the recorded poses, a row for each, of a walker that nothing holds."""
    walker, rows = Walker(Musculoskeletal(held=False)), []
    body, v = walker.body, walker.v
    for q, u in zip(poses()["q"], poses()["u"], strict=True):
        walker.put(q, u)
        row = {
            "body_pos": v.take("xpos", skeleton.BODIES),
            "body_mat": v.take("xmat", skeleton.BODIES),
            "com": v.subtree_com[1],
            "length": body.muscles(v).length,
            "moment_arm": by_coordinate(body.moment_arms(v)),
            "limit_torque": body.limit_torques(v),
            "equations": equations(walker),
        }
        rows.append({name: np.array(value) for name, value in row.items()})
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def equations(walker):
    """Mass matrix and, in a last column, bias."""
    coordinates, v = walker.body._laws.coordinates, walker.v
    u = coordinates.taken(v.qvel)
    found = coordinates.equations(v, coordinates.knees(coordinates.taken(v.qpos)), u)
    order = [coordinates.free.index(name) for name in COORDINATES]
    return np.column_stack([found.inertia[np.ix_(order, order)], found.bias[order]])


def by_coordinate(of_legs):
    """Numbers of each leg's muscles and coordinates, (2, c, 11), as (22, 17)."""
    found = np.zeros((len(MUSCLES), len(COORDINATES)))
    for i, side in enumerate(SIDES):
        for j, name in enumerate(skeleton.leg_coordinates(COORDINATES)):
            found[11 * i : 11 * i + 11, COORDINATES.index(f"{name}_{side}")] = of_legs[i, j]
    return found


class TestSkeleton:
    def test_names(self):
        assert list(poses()["coordinates"]) == list(COORDINATES)
        assert list(poses()["bodies"]) == list(skeleton.BODIES)
        assert list(poses()["muscles"]) == list(MUSCLES)

    def test_how_many_coordinates_move(self):
        assert len(skeleton.free_coordinates()) == 14
        assert len(skeleton.free_coordinates(planar=True)) == 9

    @lane(2, 3)
    def test_bodies_are_where_they_are(self):
        assert worst(in_poses()["body_pos"], poses()["body_pos"] @ AXES.T) < 1e-9

    @pytest.mark.slow
    def test_bodies_are_turned_as_they_are(self):
        found = in_poses()["body_mat"]
        matrices = AXES @ poses()["body_mat"].reshape(*found.shape[:2], 3, 3) @ AXES.T
        assert worst(found.reshape(matrices.shape), matrices) < 1e-9

    def test_centre_of_mass(self):
        assert worst(in_poses()["com"], poses()["com"] @ AXES.T) < 1e-9

    def test_locked_coordinates_are_held(self):
        q = np.zeros(len(COORDINATES))
        q[COORDINATES.index("pelvis_ty")] = 0.94
        free, held = Walker(Musculoskeletal(held=False)), Walker(Musculoskeletal())
        held.put(q, 0 * q)
        lumbar = COORDINATES.index("lumbar_extension")
        q[lumbar] = -0.0872665
        free.put(q, 0 * q)
        names = skeleton.BODIES
        assert worst(held.v.take("xpos", names), free.v.take("xpos", names)) < 1e-12
        assert held.body.positions(held.v)[lumbar] == q[lumbar]
        assert worst(held.body.positions(held.v), q) < 1e-12


class TestInertia:
    def test_mass_matrix_and_bias(self):
        found = in_poses()["equations"]
        assert relative(found[:, :, :-1], poses()["mass_matrix"]) < 1e-9
        assert relative(found[:, :, -1], poses()["bias"]) < 1e-9


class TestPaths:
    def test_lengths(self):
        assert worst(in_poses()["length"], poses()["length"]) < 1e-9

    def test_moment_arms(self):
        found = in_poses()["moment_arm"].copy()
        # OpenSim gives none about coordinates that are locked.
        found[:, :, [COORDINATES.index(f"hip_rotation_{side}") for side in SIDES]] = 0
        assert worst(found, poses()["moment_arm"]) < 1e-6

    @lane(0, 3)
    def test_moment_arms_are_slopes_of_lengths(self, walker):
        """About the locked coordinates, too."""
        step = 1e-6
        for q in poses()["q"][:20]:
            walker.put(q, 0 * q)
            arms = by_coordinate(walker.body.moment_arms(walker.v))
            present = walker.body._pose(walker.v).paths.present.copy()
            for i in range(6, 16):
                lengths = []
                for sign in (-1, 1):
                    moved = q.copy()
                    moved[i] += sign * step
                    walker.put(moved, 0 * q)
                    same = (walker.body._pose(walker.v).paths.present == present).all()
                    lengths.append(walker.body.muscles(walker.v).length)
                low, high = skeleton.entry(COORDINATES[i])["range"]
                if same and low < q[i] < high:
                    slope = (lengths[1] - lengths[0]) / (2 * step)
                    assert worst(-slope, arms[:, i]) < 1e-8


class TestForces:
    def test_static(self, walker):
        """In equilibrium at the recorded activations."""
        law = walker.body._laws.law
        strength = walker.body.strength
        lengths = poses()["length"].reshape(-1, 2, 11)
        activation = poses()["activation"].reshape(-1, 2, 11)
        fibre = law.equilibrium(activation, lengths)
        tendon = law.stretched(lengths, fibre)
        force = (tendon.force * law.force).reshape(-1, 22)
        assert (np.abs(force - poses()["tendon_force"]) / strength).max() < 1e-5
        passive = (law.passive_force(fibre) * tendon.cos * law.force).reshape(-1, 22)
        assert (np.abs(passive - poses()["passive_force"]) / strength).max() < 1e-5

    def test_limits(self):
        of = {"Hip": "hip_flexion", "Knee": "knee_angle", "Ankle": "ankle_angle"}
        of["HipAdd"] = "hip_adduction"
        names = skeleton.leg_coordinates(COORDINATES)
        places = [
            (SIDES.index(name[-1]), names.index(of[name.removesuffix("Limit" + name[-2:])]))
            for name in poses()["limits"]
        ]
        found = in_poses()["limit_torque"][:, *np.transpose(places)]
        assert worst(found, poses()["limit_force"]) < 1e-9


@functools.cache
def states_of(name):
    """What follows of each recorded state of an episode, a row for each."""
    walker, rows = Walker.from_record(name), []
    body, v = walker.body, walker.v
    for row in range(len(episodes()[name]["q"])):
        walker.put_at(name, row)
        measured = {"reaction": body.reaction_wrenches(v), "acceleration": body.accelerations(v)}
        rows.append({**body.muscles(v)._asdict(), **measured})
    return {key: np.array([row[key] for row in rows]) for key in rows[0]}


@pytest.mark.parametrize("name", mostly_slow(EPISODES, ["reflex", "rest"]))
class TestRecordedStates:
    """From the states of whole episodes."""

    def test_paths(self, name):
        record, found = episodes()[name], states_of(name)
        assert worst(found["length"], record["length"]) < 1e-9
        assert worst(found["lengthening"], record["lengthening"]) < 1e-9

    def test_muscles(self, name):
        record, found, body = episodes()[name], states_of(name), Musculoskeletal()
        speed = np.abs(found["fibre_velocity"] - record["fiber_velocity"]) / body.fastest
        assert speed.max() < 1e-6
        for own, theirs in (("tendon_force", "tendon_force"), ("fibre_force", "fiber_force")):
            assert (np.abs(found[own] - record[theirs]) / body.strength).max() < 1e-9

    def test_reactions(self, name):
        """Force and moment; what is recorded is on the ground."""
        found = states_of(name)["reaction"]
        for i, side in enumerate(SIDES):
            record = episodes()[name][f"foot_{side}"]
            assert worst(found[:, i, :3], -record[:, :3] @ AXES.T) < 1e-6
            assert worst(found[:, i, 3:], -record[:, 3:] @ AXES.T) < 1e-6

    def test_accelerations(self, name):
        assert relative(states_of(name)["acceleration"], episodes()[name]["udot"]) < 1e-6


@pytest.mark.parametrize("name", mostly_slow(EPISODES, ["rest"]))
class TestReplay:
    def test_for_a_fifth_of_a_second(self, name):
        """From the recorded start, with the recorded actions."""
        record, walker = episodes()[name], Walker.from_record(name)
        walker.put_at(name, 0)
        for row in range(1, 21):
            walker.step(record["action"][row])
            off = np.abs(walker.body.positions(walker.v) - record["q"][row])
            slid = np.array(["_t" in c and "tilt" not in c for c in COORDINATES])
            if row == 20:
                assert off[slid].max() < 1e-3
                assert off[~slid].max() < 0.005

    @pytest.mark.slow
    def test_order_of_the_action(self, name):
        """The numbers of the action go to the muscles that their names say, all the time."""
        record, walker = episodes()[name], Walker.from_record(name)
        activation = record["a"][0].copy()
        law = walker.body._laws.activation
        for row in range(1, min(len(record["a"]), 101)):
            for _ in range(100):
                activation = law.after(activation, record["action"][row][ACTION_TO_MODEL], 1e-4)
            assert worst(law.value(activation), record["a"][row]) < 1e-3


@lane(0, 3)
@pytest.mark.parametrize("name", [name for name in EPISODES if name == "planar"])
def test_a_walk_that_is_replayed_without_looking(name):
    """A stride and a half goes by before it is 5 cm off: then small differences have grown."""
    record, walker = episodes()[name], Walker.from_record(name)
    walker.put_at(name, 0)
    tx = list(record["coordinates"]).index("pelvis_tx")
    for row in range(1, 111):
        walker.step(record["action"][row])
        assert abs(walker.body.positions(walker.v)[tx] - record["q"][row, tx]) < 0.05


class TestSteps:
    @lane(1, 3)
    def test_the_tibias_stay_in_their_places(self):
        """The slides follow the knees' angles all the time."""
        name = EPISODES[-1]
        record, walker = episodes()[name], Walker.from_record(name)
        walker.put_at(name, 0)
        coordinates = walker.body._laws.coordinates
        for row in range(1, 31):
            walker.step(record["action"][row])
            q = coordinates.taken(walker.v.qpos)
            at, _ = coordinates.placed(q, 0 * q)
            assert worst(coordinates.slides(walker.v.qpos), at) < 1e-8

    @lane(2, 3)
    def test_they_converge(self):
        """Of a quarter of the step, a fraction of the error is left; measured by finer steps."""
        name = EPISODES[0]
        record, ends = episodes()[name], {}
        for substeps in (10, 40, 160):
            walker = Walker.from_record(name, substeps)
            walker.put_at(name, 0)
            for row in range(1, 11):
                walker.step(record["action"][row])
            ends[substeps] = walker.body.positions(walker.v)
        coarse, fine = (worst(ends[n], ends[160]) for n in (10, 40))
        assert fine < coarse / 3
        assert fine < 1e-4

    def test_velocities_are_of_the_same_instant(self):
        """After a control step: free fall without muscles would tell half a step's difference."""
        walker = Walker(Musculoskeletal())
        q = np.zeros(len(COORDINATES))
        q[COORDINATES.index("pelvis_ty")] = 2.0
        walker.put(q, 0 * q)
        for _ in range(5):
            walker.step(np.zeros(22))
        momentum = mujoco.mj_getTotalmass(walker.sim.model) * -9.80665 * 0.05
        mujoco.mj_subtreeVel(walker.sim.model, walker.sim.data)
        mass = mujoco.mj_getTotalmass(walker.sim.model)
        assert walker.sim.data.subtree_linvel[1, 2] * mass == pytest.approx(momentum, rel=1e-3)


def test_records_have_the_form_that_is_read():
    assert set(EPISODES) >= {"rest", "planar"}
    assert body_records.planar("planar")
    assert not body_records.planar("rest")
