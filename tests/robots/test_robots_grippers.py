"""The grippers of the tabletop family: their numbers, their widths, and what they hold."""

import json

import mujoco
import numpy as np
import pytest

from helpers.grippers_bench import PREFIX, Bench, scene
from helpers.lanes import mostly_nightly
from helpers.places import DATA
from mjgym.controllers.gripper import GripperLaw
from mjgym.robots import grasped, hands, watch_grasp

FACTS = json.loads((DATA / "robosuite" / "grippers.json").read_text())
MODELLED = {name: facts for name, facts in FACTS.items() if "bodies" in facts}
FIVE_FINGERS = [
    f"{kind}{side}Hand" for kind in ("Fourier", "Inspire") for side in ("Left", "Right")
]
# The jaws of Spot's gripper meet at the tip, where a cube slips a centimetre before it rests.
GRASPING = [
    name
    for name in hands.names()
    if name in FACTS and hands.find(name).fingers and name not in (*FIVE_FINGERS, "BDGripper")
]
EXACT = {"rtol": 0, "atol": 1e-9}
LINKAGES = ("Robotiq85Gripper", "Robotiq140Gripper")
DRIVEN = ("finger_joint", "right_outer_knuckle_joint")
# What the linkages have instead of the joints' published zeros: without it they ring.
CALM = {"damping": 0.1, "armature": 0.005}


def published(name):
    """Our name of a published gripper."""
    return "none" if name == "None" else name


def stroke(name):
    """Control steps after which a gripper has closed or opened and come to rest."""
    return max(20, round(2 / hands.find(name).law.speed))


@pytest.fixture(params=MODELLED)
def facts(request):
    return MODELLED[request.param]


@pytest.fixture
def model(request, facts):
    name = next(n for n, f in MODELLED.items() if f is facts)
    return hands.find(published(name)).model().compile()


def same_rotation(ours, recorded):
    return min(abs(ours - recorded).max(), abs(ours + recorded).max()) < 1e-9


class TestNumbers:
    def test_bodies(self, facts, model):
        assert [model.body(i).name for i in range(1, model.nbody)] == list(facts["bodies"])
        for name, body in facts["bodies"].items():
            ours = model.body(name)
            parent = model.body(ours.parentid[0]).name
            assert parent == (body["parent"] or "world")
            for field in ("pos", "mass", "ipos", "inertia"):
                np.testing.assert_allclose(getattr(ours, field), body[field], **EXACT)
            assert same_rotation(ours.quat, np.array(body["quat"]))
            # Without mass there are no axes.
            assert not body["mass"] or same_rotation(ours.iquat, np.array(body["iquat"]))

    def test_joints(self, facts, model):
        assert [model.joint(i).name for i in range(model.njnt)] == list(facts["joints"])
        for name, joint in facts["joints"].items():
            ours, number = model.joint(name), model.joint(name).id
            expected = dict(joint)
            if expected["damping"] == expected["armature"] == 0 and name in DRIVEN:
                expected |= CALM
            assert model.body(ours.bodyid[0]).name == expected["body"]
            kinds = {"hinge": mujoco.mjtJoint.mjJNT_HINGE, "slide": mujoco.mjtJoint.mjJNT_SLIDE}
            assert model.jnt_type[number] == int(kinds[expected["type"]])
            np.testing.assert_allclose(ours.qpos0, expected["ref"], **EXACT)
            np.testing.assert_allclose(ours.qpos_spring, expected["springref"], **EXACT)
            for field in ("axis", "range", "stiffness", "damping", "armature", "frictionloss"):
                np.testing.assert_allclose(getattr(ours, field), expected[field], **EXACT)
            np.testing.assert_allclose(model.jnt_solref[number], expected["solref_limit"], **EXACT)
            assert ours.limited == (expected["range"] != [0.0, 0.0])

    def test_actuators(self, facts, model):
        assert [model.actuator(i).name for i in range(model.nu)] == list(facts["actuators"])
        for name, actuator in facts["actuators"].items():
            ours = model.actuator(name)
            targets = {
                int(mujoco.mjtTrn.mjTRN_JOINT): model.joint,
                int(mujoco.mjtTrn.mjTRN_TENDON): model.tendon,
            }
            assert targets[int(ours.trntype[0])](ours.trnid[0]).name == actuator["target"]
            np.testing.assert_allclose(ours.ctrlrange, actuator["ctrlrange"], **EXACT)
            np.testing.assert_allclose(ours.gainprm[:3], actuator["gain"], **EXACT)
            np.testing.assert_allclose(ours.biasprm[:3], actuator["bias"], **EXACT)
            np.testing.assert_allclose(ours.gear, [1, 0, 0, 0, 0, 0], **EXACT)
            limited = actuator["forcerange"] is not None
            assert bool(model.actuator_forcelimited[ours.id]) == limited
            if limited:
                np.testing.assert_allclose(ours.forcerange, actuator["forcerange"], **EXACT)

    def test_sites_and_sensors(self, facts, model):
        for name, site in facts["sites"].items():
            ours = model.site(name)
            assert model.body(ours.bodyid[0]).name == site["body"]
            np.testing.assert_allclose(ours.pos, site["pos"], **EXACT)
            assert same_rotation(ours.quat, np.array(site["quat"]))
        kinds = {0: "touch", 4: "force", 5: "torque"}
        ours = {
            model.sensor(i).name: (
                mujoco.mjtSensor(int(model.sensor_type[i])).name,
                model.site(model.sensor_objid[i]).name,
            )
            for i in range(model.nsensor)
        }
        assert ours == {
            name: (f"mjSENS_{kinds[kind].upper()}", site)
            for name, (kind, site) in facts["sensors"].items()
        }

    def test_primitive_shapes(self, facts, model):
        """Pads and all other shapes that were no meshes."""
        for name, geom in facts["geoms"].items():
            ours = model.geom(name)
            assert model.body(ours.bodyid[0]).name == geom["body"]
            kind = mujoco.mjtGeom(int(ours.type[0])).name
            assert kind == f"mjGEOM_{geom['type'].upper()}"
            half_turn = np.abs(geom["quat"]).tolist() == [0, 0, 0, 1]  # leaves a box as it is
            assert half_turn or same_rotation(ours.quat, np.array(geom["quat"]))
            for field in ("contype", "conaffinity", "condim", "priority"):
                assert getattr(ours, field) == geom[field]
            for field in ("size", "pos", "friction", "solref", "solimp"):
                np.testing.assert_allclose(getattr(ours, field), geom[field], **EXACT)

    @pytest.mark.parametrize("name", [n for n in MODELLED if n not in LINKAGES])
    def test_couplings(self, name):
        facts, model = MODELLED[name], hands.find(published(name)).model().compile()
        self._check_tendons(facts, model)
        assert model.neq == len(facts["equality"])
        for i, equality in enumerate(facts["equality"]):
            accessor = {"tendon": model.tendon, "joint": model.joint, "connect": model.body}
            of = accessor[equality["type"]]
            assert of(model.eq_obj1id[i]).name == equality["a"]
            if equality["b"]:
                assert of(model.eq_obj2id[i]).name == equality["b"]
            kind = mujoco.mjtEq(int(model.eq_type[i])).name
            assert kind == f"mjEQ_{equality['type'].upper()}"
            count = {"tendon": 5, "joint": 5, "connect": 6}[equality["type"]]
            np.testing.assert_allclose(model.eq_data[i][:count], equality["data"][:count], **EXACT)
            np.testing.assert_allclose(model.eq_solref[i], equality["solref"], **EXACT)

    def test_springs_of_the_smaller_linkage(self):
        facts = MODELLED["Robotiq85Gripper"]
        self._check_tendons(facts, hands.find("Robotiq85Gripper").model().compile())

    @staticmethod
    def _check_tendons(facts, model):
        assert [model.tendon(i).name for i in range(model.ntendon)] == list(facts["tendons"])
        for name, tendon in facts["tendons"].items():
            i = model.tendon(name).id
            first, count = model.tendon_adr[i], model.tendon_num[i]
            path = slice(first, first + count)
            wrapped = [model.joint(j).name for j in model.wrap_objid[path]]
            assert wrapped == [joint for joint, _ in tendon["fixed"]]
            coefficients = [coefficient for _, coefficient in tendon["fixed"]]
            np.testing.assert_allclose(model.wrap_prm[path], coefficients, **EXACT)
            for field in ("stiffness", "damping", "frictionloss", "range"):
                ours = np.ravel(getattr(model, f"tendon_{field}")[i])
                np.testing.assert_allclose(
                    ours[: np.size(tendon[field])], np.ravel(tendon[field]), **EXACT
                )
            np.testing.assert_allclose(
                model.tendon_lengthspring[i], tendon["springlength"], **EXACT
            )

    def test_start(self, facts):
        name = next(n for n, f in MODELLED.items() if f is facts)
        hand = hands.find(published(name))
        assert list(hand.start or (0.0,) * len(hand.joints)) == facts["start"]
        assert list(hand.joints) == list(facts["joints"])
        assert list(hand.actuators) == list(facts["actuators"])


class TestLaw:
    @pytest.mark.parametrize("name", [n for n, f in FACTS.items() if "trace" in f])
    def test_controls_are_the_recorded_ones(self, name):
        """15 control steps of +1, then 30 of -1."""
        recorded = np.array(FACTS[name]["trace"]["ctrl"])
        law = hands.find(name).law
        low, high = hands.find(name).model().compile().actuator_ctrlrange.T
        command = law.start(np.zeros(0))
        for k, expected in enumerate(recorded):
            command = law.next(command, np.full(law.dimensions, 1.0 if k < 15 else -1.0))
            control = law.control(command, (low + high) / 2, (high - low) / 2)
            np.testing.assert_allclose(control, expected, rtol=0, atol=5e-6 + 1e-12)

    @pytest.mark.parametrize("name", FACTS)
    def test_action_has_the_published_length(self, name):
        assert hands.find(published(name)).law.dimensions == FACTS[name]["dof"]

    def test_the_sign_alone_counts_and_zero_holds(self):
        law = GripperLaw(directions=(1, -1))
        start = law.start(np.zeros((2, 3, 4)))
        assert start.shape == (2, 3, 2)
        action = np.array([[0.01], [1.0], [7.0]])
        moved = law.next(start, np.broadcast_to(action, (2, 3, 1)))
        np.testing.assert_array_equal(moved, np.broadcast_to([0.2, -0.2], (2, 3, 2)))
        np.testing.assert_array_equal(law.next(moved, np.zeros((2, 3, 1))), moved)

    def test_a_proportional_one_counts_size(self):
        law = GripperLaw(directions=(1, 0), proportional=True, starts=(0, -1))
        command = law.next(law.start(np.zeros(0)), np.array([0.5]))
        np.testing.assert_array_equal(command, [0.1, -1])

    def test_wrong_numbers_are_refused(self):
        law = GripperLaw(directions=(1, -1))
        with pytest.raises(ValueError, match=r"expected 1 numbers .* got 2"):
            law.next(np.zeros(2), np.zeros(2))
        with pytest.raises(ValueError, match=r"inputs: expected one for each of the 2 actuators"):
            GripperLaw(directions=(1, 1), inputs=(0,))


class TestWidths:
    """Between the pads at the start, after closing, and after opening: table of section 4."""

    @pytest.mark.parametrize("name", [n for n in MODELLED if "widths" in MODELLED[n]])
    def test_as_measured(self, name):
        bench = Bench(name)
        start, closed, opened = MODELLED[name]["widths"]
        assert bench.width() == pytest.approx(start, abs=0.002)
        bench.step(1, stroke(name))
        if name == "RobotiqThreeFingerGripper":
            # The published one stays half closed: its fingers wedge one another on their way back.
            assert bench.width() < closed + 0.005
            bench.step(-1, stroke(name))
            assert bench.width() > opened
            return
        assert bench.width() == pytest.approx(closed, abs=0.002)
        bench.step(-1, stroke(name))
        assert bench.width() == pytest.approx(opened, abs=0.002)

    def test_xarm7(self):
        """No widths are on record, as its published pads have no names; the joints' are."""
        bench = Bench("XArm7Gripper")
        bench.step(1, 20)
        assert bench.width() < 0.012
        bench.step(-1, 20)
        assert bench.width() > 0.085

    @pytest.mark.parametrize(
        ("name", "bound"),  # m or rad; of the linkage, whose bars touch one another there
        [("PandaGripper", 1e-6), ("RethinkGripper", 1e-6), ("JacoThreeFingerGripper", 1e-4),
         ("XArm7Gripper", 3e-3), ("BDGripper", 1e-4)],
    )  # fmt: skip
    def test_joints_move_as_recorded(self, name, bound):
        bench = Bench(name)
        for k, recorded in enumerate(FACTS[name]["trace"]["qpos"]):
            bench.step(1 if k < 15 else -1)
            np.testing.assert_allclose(bench.data.qpos, recorded, rtol=0, atol=bound)

    @pytest.mark.parametrize("name", FIVE_FINGERS)
    def test_hands_make_a_fist_and_open(self, name):
        """All joints bend far, and come back. (The published hands' fingers wedge one another.)"""
        bench = Bench(name)
        bench.step(1, 15)
        fingers = [k for k, joint in enumerate(bench.hand.joints) if "thumb" not in joint]
        assert (bench.data.qpos[fingers] > 0.9).all()
        assert bench.data.qpos[0] > 0.9  # the thumb, across the palm
        bench.step(-1, 30)
        assert (np.abs(bench.data.qpos) < 0.15).all()

    @pytest.mark.parametrize("name", FIVE_FINGERS)
    def test_each_number_bends_a_finger(self, name):
        """In the published order: the little finger first, the thumb's turn last."""
        names = ("pinky", "ring", "middle", "index", "thumb", "thumb")
        law, hand = hands.find(name).law, hands.find(name)
        for k, finger in enumerate(names):
            action = -np.ones(6)
            action[k] = 1
            command = law.next(law.start(np.zeros(0)), action)
            moved = [motor for motor, c in zip(hand.actuators, command, strict=True) if c == 1]
            assert moved
            assert all(finger in motor for motor in moved)

    def test_a_command_is_the_action_and_is_clipped(self):
        law = GripperLaw(directions=(1, -1), inputs=(0, 1), incremental=False)
        np.testing.assert_array_equal(law.next(np.zeros(2), np.array([0.25, -3.0])), [0.25, 1])

    @pytest.mark.parametrize("name", [*LINKAGES, "XArm7Gripper"])
    def test_linkages_do_not_jam(self, name):
        """Again and again they close and open as the first time, and no link touches another."""
        bench = Bench(name)
        widths = []
        for k in range(1, 9):
            bench.step(1 if k % 2 else -1, 20)
            widths.append(bench.width())
            fingers = [self._side(name) for name in sum(bench.inner_contacts(), ())]
            assert set(fingers) <= {"left_finger", "right_finger"}
        assert np.ptp(widths[0::2]) < 0.002
        assert np.ptp(widths[1::2]) < 0.002

    @staticmethod
    def _side(body):
        return body.removeprefix(PREFIX).replace("inner_finger", "finger")


class TestStability:
    @pytest.mark.parametrize(
        "name", mostly_nightly([n for n in hands.names() if n in FACTS], quick=3)
    )
    def test_dithering_diverges_nowhere(self, name):
        bench = Bench(name)
        draws = np.random.default_rng(1)
        for _ in range(60):
            bench.step(draws.uniform(-1, 1), draws.integers(1, 4))
        assert np.isfinite(bench.data.qpos).all()
        assert not np.count_nonzero([w.number for w in bench.data.warning])


class TestGrasps:
    @pytest.mark.parametrize(
        "name", mostly_nightly(GRASPING, quick=[n for n in GRASPING if "Three" not in n])
    )
    def test_holds_a_cube(self, name):
        """It closes on a cube of 4 cm and 64 g, carries it for two seconds, and lets it go."""
        bench = self._around_a_cube(name)
        assert not self._holds(bench)
        bench.step(1, stroke(name))
        bench.pinned = None
        before = bench.data.body("cube").xpos.copy()
        bench.step(0, 40)
        assert self._holds(bench)
        assert abs(bench.data.body("cube").xpos[2] - before[2]) < 0.005
        bench.step(-1, stroke(name))
        assert not self._holds(bench)
        assert bench.data.body("cube").xpos[2] < before[2] - 0.5

    def test_one_finger_is_no_grasp(self):
        bench = Bench("PandaGripper", cube=True)
        bench.step(-1, 10)
        pad = bench.data.geom(PREFIX + "finger1_pad_collision").xpos
        towards = bench.middle() - pad
        bench.pinned = pad + towards / np.linalg.norm(towards) * 0.0235
        bench.step(0)
        assert bench.data.ncon
        assert not self._holds(bench)

    def test_geoms_stand_for_an_object(self):
        spec = scene("PandaGripper", cube=True)
        hand = hands.find("PandaGripper")
        watch_grasp(spec, hand, PREFIX, ("cube_g0",))
        model = spec.compile()
        assert model.nsensor == 2 + 2 + 2

    def test_unknown_names_are_refused(self):
        spec = scene("PandaGripper", cube=True)
        count = len(spec.sensors)
        with pytest.raises(ValueError, match="no body 'cub'"):
            watch_grasp(spec, hands.find("PandaGripper"), PREFIX, "cub")
        with pytest.raises(ValueError, match="no geom 'left_finger1_pad_collision'"):
            watch_grasp(spec, hands.find("PandaGripper"), "left_", "cube")
        assert len(spec.sensors) == count

    @staticmethod
    def _holds(bench):
        return bool(grasped(bench.view, bench.hand, PREFIX, "cube"))

    @staticmethod
    def _around_a_cube(name):
        """An open gripper with a cube pinned where its pads will be a cube apart."""
        empty = Bench(name)
        empty.step(-1, stroke(name))
        while empty.width() > 0.055:
            empty.step(1)
        bench = Bench(name, cube=True)
        bench.step(-1, stroke(name))
        bench.pinned = empty.middle()
        bench.step(0)
        return bench
