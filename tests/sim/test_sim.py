"""Simulations, one and many: the view of their arrays, and the verbs that move them."""

import gc
import itertools
import threading
import weakref

import gymnasium
import mujoco
import mujoco.batch
import numpy as np
import pytest

from helpers import suite
from helpers.lanes import mostly_nightly
from mjgym.sim import Batched, Single
from mjgym.sim.engine import STATE_FIELDS, quiet
from mjgym.sim.single import UNLOGGED

# Something of everything: contacts, limits, activations, terrain, tendons, sensors of all stages.
MJCF = """
<mujoco model="everything">
  <option timestep="0.004" integrator="{integrator}">{flags}</option>
  <size nuserdata="2"/>
  <asset><hfield name="hills" nrow="5" ncol="6" size="2 2 0.4 0.1"/></asset>
  <worldbody>
    <light name="lamp" pos="0 0 3"/>
    <camera name="eye" pos="0 -3 2" fovy="50"/>
    <geom name="ground" type="hfield" hfield="hills"/>
    <geom name="bump" type="box" size="0.2 0.2 0.2" pos="0.8 0 0.3"/>
    <body name="hand" mocap="true" pos="0 1.5 1"><site name="palm"/></body>
    <body name="ball" pos="0.3 0 0.7">
      <freejoint name="fly"/>
      <geom name="ball" size="0.1" density="300"/>
      <site name="top" pos="0 0 0.1"/>
    </body>
    <body name="upper" pos="-0.5 0 1.2">
      <joint name="shoulder" axis="0 1 0" damping="0.1"/>
      <geom name="upper" type="capsule" fromto="0 0 0 0.4 0 0" size="0.05"/>
      <body name="lower" pos="0.4 0 0">
        <joint name="elbow" axis="0 1 0" range="-150 150" damping="0.1"/>
        <geom name="lower" type="capsule" fromto="0 0 0 0.4 0 0" size="0.05"/>
        <site name="tip" pos="0.4 0 0" size="0.06"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="both"><joint joint="shoulder" coef="1"/><joint joint="elbow" coef="0.5"/></fixed>
  </tendon>
  <actuator>
    <motor name="shoulder" joint="shoulder" gear="20" ctrlrange="-1 1"/>
    <general name="elbow" joint="elbow" dyntype="filter" dynprm="0.05" gear="10" ctrlrange="-1 1"/>
  </actuator>
  <sensor>
    <touch name="touch" site="tip"/>
    <accelerometer name="accelerometer" site="tip"/>
    <gyro name="gyro" site="tip"/>
    <framepos name="place" objtype="body" objname="ball"/>
    <jointpos name="angle" joint="elbow"/>
  </sensor>
</mujoco>
"""
INTEGRATORS = ("Euler", "implicitfast", "RK4")
VARIES = ((), ("geom_pos",), ("geom_pos", "hfield_data"))
N = 3  # simulations in a batch
EVERYONE = np.arange(N)


def only(i):
    """A mask of one simulation."""
    return np.arange(N) == i


def everything(integrator="Euler", flags=""):
    return mujoco.MjModel.from_xml_string(MJCF.format(integrator=integrator, flags=flags))


def draw(v, varies, rng):
    """A start in motion, with the arm's activation on and the varying fields drawn."""
    v.qvel[:] = rng.normal(0, 0.3, size=v.nv)
    v.qpos[-2:] = rng.uniform(-1, 1, size=2)
    v.act[:] = rng.uniform(-1, 1, size=v.na)
    if "geom_pos" in varies:
        v.geom("bump").pos[:2] = rng.uniform(-0.6, 0.6, size=2)
    if "hfield_data" in varies:
        v.hfield_data[:] = rng.uniform(0, 1, size=v.hfield_data.shape)


def starts(make_model, varies, initialize, threads=2, n=N):
    """A batch, and as many single simulations, with the same starts."""
    batch = Batched(make_model(), n, threads, varies)
    for name in STATE_FIELDS:  # what is first bound later would be zero until the next step
        getattr(batch.view, name)
    rng = np.random.default_rng(0)
    suite.begin(batch, initialize, lambda i: rng)
    rng = np.random.default_rng(0)
    singles = [Single(make_model(), varies) for _ in range(n)]
    for single in singles:
        suite.begin(single, initialize, lambda i: rng)
    return batch, singles


def begin_drawn(simulation, varies, seed, where=None):
    """Begin an episode with a start drawn from a seed."""
    rng = np.random.default_rng(seed)
    suite.begin(simulation, lambda v, rng: draw(v, varies, rng), lambda i: rng, where)


def of_everything(varies=(), integrator="Euler", threads=2):
    return starts(
        lambda: everything(integrator), varies, lambda v, rng: draw(v, varies, rng), threads
    )


def at_defaults(model, varies=()):
    """A simulation at the model's defaults, and all that follows from them."""
    single = Single(model, varies)
    single.restore_defaults()
    single.forward()
    return single


def advance(batch, singles, control, n):
    batch.step(control, n)
    for single, row in zip(singles, control, strict=True):
        with quiet():
            single.step(row, n)


def assert_equal(batch, singles, names=("qpos", "qvel", "act", "sensordata", "xpos", "time")):
    for name in names:
        many = getattr(batch.view, name)
        for i, single in enumerate(singles):
            np.testing.assert_array_equal(many[i], getattr(single.view, name), f"{name} of {i}")


class TestView:
    @pytest.fixture(params=VARIES, ids=["no varies", "geom_pos", "geom_pos and hfield_data"])
    def moved(self, request):
        """A batch and single simulations some steps after their starts, everything bound."""
        varies = request.param
        batch, singles = of_everything(varies)
        for name in mujoco.batch.DATA_FIELDS:
            getattr(batch.view, name)
        batch.forward()
        rng = np.random.default_rng(1)
        for _ in range(60):
            advance(batch, singles, rng.uniform(-1, 1, size=(N, 2)), 3)
        assert any(single.view.ncon for single in singles)
        return batch, singles

    def test_every_field_of_the_data_has_the_same_values(self, moved):
        batch, singles = moved
        statistics = {"solver_nnz"}  # of the solver's work, not of the physics
        fields = sorted(mujoco.batch.DATA_FIELDS - statistics)
        assert {"qpos", "qvel", "xpos", "xmat", "sensordata", "cvel", "ncon"} < set(fields)
        for name in fields:
            assert getattr(batch.view, name).shape[:1] == (N,), name
        assert_equal(batch, singles, fields)

    def test_every_field_of_the_model_has_the_leading_shape(self, moved):
        batch, singles = moved
        names = [
            name
            for name in dir(batch.model)
            if isinstance(getattr(batch.model, name), np.ndarray | int | float)
            and not hasattr(batch.model.opt, name)
            and not hasattr(singles[0].data, name)
            and name != "signature"
        ]
        assert {"geom_size", "geom_pos", "hfield_data", "jnt_range", "nq"} < set(names)
        for name in names:
            many = getattr(batch.view, name)
            one = [getattr(single.view, name) for single in singles]
            np.testing.assert_array_equal(many, np.array(one), name)

    def test_every_attribute_of_every_named_element_has_the_same_values(self, moved):
        batch, singles = moved
        kinds = ("body", "joint", "geom", "site", "sensor", "actuator", "tendon", "camera", "light")
        seen = set()
        for kind in kinds:
            for name in batch.view.names(kind):
                if name == "world":
                    continue
                sources = (batch.model, singles[0].data)
                elements = [getattr(s, kind)(name) for s in sources if hasattr(s, kind)]
                attributes = {a for e in elements for a in dir(e) if not a.startswith("_")}
                for attribute in attributes - {"id", "name", "moment"}:
                    many = getattr(getattr(batch.view, kind)(name), attribute)
                    one = [getattr(getattr(s.view, kind)(name), attribute) for s in singles]
                    assert many.shape == (N, *one[0].shape), (kind, name, attribute)
                    np.testing.assert_array_equal(many, one, f"{kind} {name} {attribute}")
                    seen.add((kind, attribute))
        assert len(seen) > 150
        assert {("body", "xpos"), ("joint", "qpos"), ("geom", "pos"), ("site", "xmat")} < seen
        assert {("sensor", "data"), ("actuator", "force"), ("tendon", "length")} < seen
        assert {("camera", "fovy"), ("light", "xpos"), ("joint", "range")} < seen

    def test_names_are_in_the_models_order(self):
        batch, (single, *_) = of_everything()
        for v in (single.view, batch.view):
            assert v.names("body") == ("world", "hand", "ball", "upper", "lower")
            assert v.names("joint") == ("fly", "shoulder", "elbow")
            assert v.names("actuator") == ("shoulder", "elbow")
            assert v.names("tendon") == ("both",)

    @pytest.mark.parametrize("many", [False, True], ids=["single", "batched"])
    def test_arrays_are_live(self, many):
        batch, singles = of_everything(("geom_pos",))
        simulation = batch if many else singles[0]
        v = simulation.view
        held = {
            "qpos": v.qpos,
            "xpos": v.xpos,
            "ball": v.body("ball").xpos,
            "angle": v.joint("elbow").qpos,
            "touch": v.sensor("accelerometer").data,
        }
        before = {name: array.copy() for name, array in held.items()}
        time, ncon = np.copy(v.time), np.copy(v.ncon)
        advance(batch, singles, np.zeros((N, 2)), 150)
        for name, array in held.items():
            assert (array != before[name]).any(), name
        np.testing.assert_array_equal(held["ball"], v.xpos[..., 2, :])
        np.testing.assert_array_equal(held["angle"][..., 0], v.qpos[..., -1])
        assert np.all(v.time > time)  # numbers too
        assert np.any(v.ncon != ncon)

    def test_what_changes_its_size_is_looked_up_each_time(self):
        """The rows of the constraints lie elsewhere, and are others, after each computation."""
        v = at_defaults(everything()).view
        v.qpos[2] = 0.05  # the ball in the ground
        v.forward()
        assert v.efc_force.size == v.nefc > 0
        v.qpos[2] = 5
        v.forward()
        assert v.efc_force.size == v.nefc == 0
        assert v.contact is not None
        assert len(v.contact) == 0

    @pytest.mark.parametrize("varies", VARIES[1:])
    def test_named_fields_of_the_episode_are_live(self, varies):
        batch, singles = of_everything(varies)
        bump = batch.view.geom("bump")
        assert bump.pos.tolist() == [s.view.geom("bump").pos.tolist() for s in singles]

        def move(v, rng):
            v.geom("bump").pos = 5, 6, 7

        suite.begin(batch, move, lambda i: None, only(1))
        assert bump.pos[1].tolist() == bump.xpos[1].tolist() == [5, 6, 7]
        assert batch.view.geom_pos[1, 1].tolist() == [5, 6, 7]
        assert bump.pos[2].tolist() == singles[2].view.geom("bump").pos.tolist()

    def test_assignment_writes_into_the_simulation(self):
        batch, (single, *_) = of_everything(("geom_pos",))
        v = single.view
        v.qpos = np.arange(9)
        v.qvel = 0
        v.time = 2.5
        v.joint("elbow").qpos = 0.25
        v.geom("bump").pos = 1, 2, 3
        assert single.data.qpos.tolist() == [*range(8), 0.25]
        assert not single.data.qvel.any()
        assert single.data.time == v.time == 2.5
        assert single.model.geom("bump").pos.tolist() == [1, 2, 3]
        many = batch.view
        many.qpos = np.arange(9 * N).reshape(N, 9)
        many.joint("elbow").qpos = 0.25
        assert batch.batch.bind("qpos")[1].tolist() == [*range(9, 17), 0.25]

    def test_a_wrong_shape_is_not_written(self):
        _, (single, *_) = of_everything()
        with pytest.raises(ValueError, match="broadcast"):
            single.view.qpos = np.zeros(4)

    @pytest.mark.parametrize("many", [False, True], ids=["single", "batched"])
    def test_unknown_names_name_the_nearest(self, many):
        batch, singles = of_everything()
        v = batch.view if many else singles[0].view
        for wrong, near in [("qpso", "qpos"), ("sensor_data", "sensordata"), ("geom_sise", "size")]:
            with pytest.raises(AttributeError, match=f"{wrong}.*{near}"):
                getattr(v, wrong)
        for wrong, near in [("xpoz", "xpos"), ("masss", "mass")]:
            with pytest.raises(AttributeError, match=f"{wrong}.*{near}"):
                getattr(v.body("ball"), wrong)
        for kind, wrong, near in [
            ("body", "bal", "ball"),
            ("joint", "elbo", "elbow"),
            ("sensor", "giro", "gyro"),
        ]:
            with pytest.raises(KeyError, match=f"{wrong}.*{near}"):
                getattr(v, kind)(wrong)
        with pytest.raises((AttributeError, TypeError, ValueError)):
            v.qpso = 0
        with pytest.raises(KeyError, match=r"bodi.*body"):
            v.names("bodi")

    @pytest.mark.parametrize("name", ["contact", "opt", "stat", "efc_force", "bind"])
    def test_a_batch_refuses_what_it_cannot_give(self, name):
        with pytest.raises(AttributeError, match=name):
            getattr(Batched(everything(), 2, 1).view, name)

    def test_a_batch_shares_model_fields_that_do_not_vary(self):
        v = Batched(everything(), 2, 1).view
        with pytest.raises(ValueError, match="read-only"):
            v.geom_size[0] = 1


class TestForward:
    def test_of_the_start_leaves_the_actuators_out(self):
        batch, singles = of_everything()
        assert (np.abs(batch.view.act) > 0.01).all()
        assert not batch.view.qfrc_actuator.any()
        expected = everything()
        expected.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_ACTUATION
        for single in singles:
            assert not single.view.qfrc_actuator.any()
            data = mujoco.MjData(expected)
            data.qpos, data.qvel, data.act = single.data.qpos, single.data.qvel, single.data.act
            mujoco.mj_forward(expected, data)
            assert single.data.sensordata.tolist() == data.sensordata.tolist()
            assert single.model.opt.disableflags == everything().opt.disableflags
        assert_equal(batch, singles)
        advance(batch, singles, np.zeros((N, 2)), 1)
        for v in (batch.view, *(s.view for s in singles)):
            assert (v.qfrc_actuator[..., -1] != 0).all()  # they are on again

    def test_of_the_rest_keeps_them(self):
        batch, (single, *_) = of_everything()
        simulations = [(batch, EVERYONE), (single, np.array([0]))]
        for simulation, rows in simulations:
            assert not simulation.view.qfrc_actuator.any()
            simulation.set_state(simulation.get_state(rows), rows)
            assert (simulation.view.qfrc_actuator[..., -1] != 0).all()
            simulation.forward()
            assert not simulation.view.qfrc_actuator.any()
            simulation.update_forces()
            assert (simulation.view.qfrc_actuator[..., -1] != 0).all()

    def test_the_models_own_flags_stay(self):
        off = '<flag actuation="disable"/>'
        batch, singles = starts(
            lambda: everything(flags=off), (), lambda v, rng: draw(v, (), rng), threads=1
        )
        for _ in range(5):
            advance(batch, singles, np.ones((N, 2)), 1)
        assert not batch.view.qfrc_actuator.any()
        assert_equal(batch, singles)

    @pytest.mark.parametrize("varies", VARIES)
    def test_beginning_some_leaves_the_others_alone(self, varies):
        batch, singles = of_everything(varies)
        advance(batch, singles, np.ones((N, 2)), 5)
        singles[1] = Single(everything(), varies)
        for simulation, where in ((batch, only(1)), (singles[1], None)):
            begin_drawn(simulation, varies, 9, where)
        assert_equal(batch, singles, ("qpos", "qvel", "sensordata", "xpos", "qacc", "geom_pos"))
        for _ in range(20):
            advance(batch, singles, np.ones((N, 2)), 3)
        assert_equal(batch, singles)

    def test_detect_contacts_finds_the_same_places_and_contacts_and_nothing_else(self):
        single = at_defaults(everything())
        rng = np.random.default_rng(0)
        found = set()
        for _ in range(50):
            single.view.qpos[:3] = rng.uniform(-0.5, 0.5, size=3)
            single.view.qpos[-2:] = rng.uniform(-3, 3, size=2)
            before = single.data.sensordata.copy(), single.data.qacc.copy()
            single.view.detect_contacts()
            assert single.data.sensordata.tolist() == before[0].tolist()
            assert single.data.qacc.tolist() == before[1].tolist()
            names = ("xpos", "xmat", "xipos", "geom_xpos", "site_xpos", "site_xmat", "qpos")
            placed = {name: getattr(single.data, name).copy() for name in names}
            contacts = [tuple(c.geom) for c in single.data.contact]
            single.view.forward()
            for name, array in placed.items():
                np.testing.assert_array_equal(array, getattr(single.data, name), name)
            assert contacts == [tuple(c.geom) for c in single.data.contact]
            found.add(len(contacts))
        assert 0 in found
        assert len(found) > 2


class TestReset:
    def test_brings_back_the_models_defaults(self):
        varies = ("geom_pos", "hfield_data")
        single, fresh = Single(everything(), varies), at_defaults(everything(), varies)
        draw(single.view, varies, np.random.default_rng(0))
        single.step(np.zeros(2), 10)
        single.restore_defaults()
        single.forward()
        for name, value in fresh.get_state().items():
            np.testing.assert_array_equal(single.get_state()[name], value, name)
        assert single.data.xpos.tolist() == fresh.data.xpos.tolist()
        assert single.model.geom_pos.tolist() == everything().geom_pos.tolist()
        assert not single.model.hfield_data.any()

    def test_of_one_that_a_mask_leaves_out_does_nothing(self):
        _, (single, *_) = of_everything()
        no, before = np.array(False), single.get_state()
        single.reset(lambda i, scratch: scratch.restore_defaults(), no)
        single.write({"qpos": np.zeros(9)}, no)
        single.step(np.ones(2), 3, no)
        for name, value in single.get_state().items():
            np.testing.assert_array_equal(value, before[name], name)

    @pytest.mark.parametrize("varies", VARIES)
    def test_starts_are_asked_for_in_ascending_order_with_one_scratch(self, varies):
        batch, _ = of_everything(varies)
        asked, scratches = [], set()

        def start(i, scratch):
            asked.append(i)
            scratches.add(id(scratch))
            scratch.restore_defaults()
            scratch.view.qpos[-1] = i

        before = batch.get_state(np.array([1]))
        batch.reset(start, np.array([True, False, True]))
        assert asked == [0, 2]
        assert len(scratches) == 1
        assert batch.view.qpos[[0, 2], -1].tolist() == [0, 2]
        assert batch.view.time.tolist() == [0, 0, 0]
        for name, value in batch.get_state(np.array([1])).items():
            np.testing.assert_array_equal(value, before[name], name)


class TestStep:
    @staticmethod
    def reference(model, data, n):
        """The published order of the engine's calls."""
        if model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4:
            mujoco.mj_step(model, data, n)
        else:
            mujoco.mj_step2(model, data)
            for _ in range(n - 1):
                mujoco.mj_step(model, data)
        mujoco.mj_step1(model, data)

    @pytest.mark.parametrize("n", mostly_nightly([2, 1, 5], quick=3))
    @pytest.mark.parametrize("integrator", mostly_nightly(INTEGRATORS, quick=3))
    def test_has_the_published_order(self, integrator, n):
        batch, singles = of_everything((), integrator)
        _ = batch.view.xpos  # a field is filled by the calls after it was first read
        references = []
        for single in singles:
            data = mujoco.MjData(single.model)
            data.qpos, data.qvel, data.act = single.data.qpos, single.data.qvel, single.data.act
            flags = single.model.opt.disableflags
            single.model.opt.disableflags = flags | mujoco.mjtDisableBit.mjDSBL_ACTUATION
            mujoco.mj_forward(single.model, data)
            single.model.opt.disableflags = flags
            references.append(data)
        rng = np.random.default_rng(0)
        touched = False
        for _ in range(150):
            control = rng.uniform(-1.2, 1.2, size=(N, 2))
            for single, data, row in zip(singles, references, control, strict=True):
                data.ctrl[:] = row
                self.reference(single.model, data, n)
                touched |= data.ncon > 0
            advance(batch, singles, control, n)
            for i, (single, data) in enumerate(zip(singles, references, strict=True)):
                for name in ("qpos", "qvel", "act", "sensordata", "xpos", "qacc_warmstart", "time"):
                    expected = getattr(data, name)
                    np.testing.assert_array_equal(getattr(single.view, name), expected, name)
                    np.testing.assert_array_equal(getattr(batch.view, name)[i], expected, name)
        assert touched

    @pytest.mark.parametrize("integrator", INTEGRATORS)
    def test_positions_are_of_the_new_state(self, integrator):
        """And so are their sensors, unlike after the engine's own whole step."""
        _, (single, *_) = of_everything((), integrator)
        single.step(np.ones(2), 3)
        v = single.view
        place, angle = v.sensor("place").data.copy(), v.sensor("angle").data.copy()
        whole = mujoco.MjData(single.model)
        whole.qpos, whole.qvel = single.data.qpos, single.data.qvel
        mujoco.mj_fwdPosition(single.model, whole)
        np.testing.assert_array_equal(v.xpos, whole.xpos)
        assert place.tolist() == v.qpos[:3].tolist()
        assert angle == v.joint("elbow").qpos

    @pytest.mark.parametrize("integrator", ["Euler", "implicitfast"])
    def test_of_a_start_goes_on_from_what_was_computed_last(self, integrator):
        """As the published starts do that write positions and step without a forward pass."""
        single, computed = (at_defaults(everything(integrator)) for _ in range(2))
        data = mujoco.MjData(everything(integrator))
        mujoco.mj_forward(single.model, data)
        for simulation in (single, computed):
            simulation.view.qpos[-2:] = 0.5, -1.0
        data.qpos[-2:] = 0.5, -1.0
        computed.view.forward()
        for simulation in (single, computed):
            simulation.view.step(3)
        self.reference(single.model, data, 3)
        assert single.data.qpos.tolist() == data.qpos.tolist()
        assert single.data.qpos.tolist() != computed.data.qpos.tolist()

    @pytest.mark.parametrize("threads", mostly_nightly([2, 1, 5], quick=3))
    @pytest.mark.parametrize("varies", VARIES)
    def test_of_a_batch_equals_that_of_single_simulations(self, varies, threads):
        batch, singles = of_everything(varies, threads=threads)
        names = (*batch.state_fields, *varies, "sensordata", "xpos", "geom_xpos", "ncon")
        assert_equal(batch, singles, names)
        rng = np.random.default_rng(2)
        touched = np.zeros(N, dtype=bool)
        for _ in range(200):
            advance(batch, singles, rng.uniform(-1.2, 1.2, size=(N, 2)), 2)
            assert_equal(batch, singles, names)
            touched |= batch.view.ncon > 0
        assert touched.all()
        assert len({single.data.qpos.tobytes() for single in singles}) == N

    @pytest.mark.parametrize("varies", VARIES)
    def test_of_some_leaves_the_others_alone(self, varies):
        batch, singles = of_everything(varies)
        control = np.random.default_rng(0).uniform(-1, 1, size=(N, 2))
        advance(batch, singles, control, 5)
        for i in (2, 0, 2):
            batch.step(-control, 3, only(i))
            singles[i].step(-control[i], 3)
            assert_equal(batch, singles, ("qpos", "qvel", "ctrl", "sensordata", "xpos", "qacc"))
        advance(batch, singles, control, 5)
        assert_equal(batch, singles)

    def test_a_model_without_actuators(self):
        xml = "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>"
        batch, singles = starts(
            lambda: mujoco.MjModel.from_xml_string(xml), (), lambda v, rng: None, threads=1
        )
        advance(batch, singles, np.zeros((N, 0)), 4)
        assert_equal(batch, singles, ("qpos", "qvel"))
        assert batch.view.qpos[0, 2] < 0

    @pytest.mark.parametrize("integrator", INTEGRATORS)
    def test_forces_of_the_new_state_on_demand(self, integrator):
        """With the step or after it, for all or for some, in a batch as in one."""
        names = ("qpos", "qvel", "qacc", "qfrc_actuator", "sensordata")
        batch, singles = of_everything((), integrator)
        whole, _ = of_everything((), integrator)
        for simulation in (batch, whole):  # a field is filled by the calls after it was first read
            for name in (*names, "xpos"):
                getattr(simulation.view, name)
        control = np.random.default_rng(4).uniform(-1, 1, size=(N, 2))
        advance(batch, singles, control, 7)
        whole.step(control, 7, forces=True)
        before = batch.view.sensordata.copy()
        where = np.array([True, False, True])
        batch.update_forces(where)
        for single, each in zip(singles, where, strict=True):
            single.update_forces(each)
        assert_equal(batch, singles, names)
        assert batch.view.sensordata[1].tolist() == before[1].tolist()
        felt = batch.view.sensor("accelerometer").data[[0, 2]]
        assert (felt != before[[0, 2], 1:4])[:, ::2].all()  # the arm swings in a plane
        batch.update_forces()
        singles[1].update_forces()
        assert_equal(batch, singles, names)
        assert_equal(whole, singles, names)
        for single in singles:
            data = mujoco.MjData(single.model)
            data.qpos, data.qvel, data.act = single.data.qpos, single.data.qvel, single.data.act
            data.ctrl = single.data.ctrl
            mujoco.mj_forward(single.model, data)
            np.testing.assert_allclose(single.data.qacc, data.qacc, rtol=1e-6, atol=1e-6)

    @pytest.mark.parametrize("varies", VARIES)
    def test_what_is_written_moves_with_it(self, varies):
        batch, singles = of_everything(varies)
        advance(batch, singles, np.ones((N, 2)), 3)
        before = batch.view.qpos.copy()
        where = np.array([False, True, True])
        fields = {
            "mocap_pos": np.arange(3.0 * N).reshape(N, 1, 3),
            "qpos": before + 0.05,
            "xfrc_applied": np.full((N, 5, 6), 0.2),
        }
        batch.write(fields, where)
        for i, single in enumerate(singles):
            single.write({name: value[i] for name, value in fields.items()}, where[i])
        assert batch.view.mocap_pos[:, 0, 0].tolist() == [0, 3, 6]
        assert batch.view.qpos[0].tolist() == before[0].tolist()
        assert (batch.view.qpos[1:] == before[1:] + 0.05).all()
        for _ in range(20):
            advance(batch, singles, np.ones((N, 2)), 3)
            assert_equal(batch, singles, ("qpos", "qvel", "act", "sensordata", "xpos"))
        assert batch.view.site("palm").xpos.tolist() == [[0, 1.5, 1], [3, 4, 5], [6, 7, 8]]

    def test_takes_controls_as_they_are(self):
        batch, singles = of_everything()
        advance(batch, singles, np.full((N, 2), 7.5), 1)
        assert (batch.view.ctrl == 7.5).all()
        assert (singles[0].view.ctrl == 7.5).all()


class TestSnapshot:
    CONTROLS = np.random.default_rng(3).uniform(-1, 1, size=(30, N, 2))

    def run(self, batch, singles, names=("qpos", "qvel", "act", "sensordata", "xpos")):
        """Go on for 30 control steps; what the simulations went through."""
        passed = []
        for control in self.CONTROLS:
            advance(batch, singles, control, 3)
            passed.append([np.array(getattr(batch.view, n)) for n in names])
            passed.append([np.array([getattr(s.view, n) for s in singles]) for n in names])
        return passed

    @pytest.mark.parametrize(
        ("varies", "integrator"), mostly_nightly(itertools.product(VARIES, INTEGRATORS), quick=4)
    )
    def test_going_on_from_one_repeats_every_bit(self, varies, integrator):
        batch, singles = of_everything(varies, integrator)
        self.run(batch, singles)
        self.run(batch, singles)  # a field is filled by the calls after it was first read
        kept, keeps = batch.get_state(EVERYONE), [s.get_state() for s in singles]
        assert set(kept) == set(keeps[0]) >= {"qpos", "act", "qacc_warmstart", "time", *varies}
        first = self.run(batch, singles)
        others = (Batched(everything(integrator), N, 1, varies), batch)
        for other in others:  # a fresh one, and one that is elsewhere
            fresh = [Single(everything(integrator), varies) for _ in singles]
            _ = other.view.xpos
            other.set_state(kept, EVERYONE)
            for single, state in zip(fresh, keeps, strict=True):
                single.set_state(state)
            for name, value in other.get_state(EVERYONE).items():
                np.testing.assert_array_equal(value, kept[name], name)
            again = self.run(other, fresh)
            for before, after in zip(first, again, strict=True):
                for a, b in zip(before, after, strict=True):
                    np.testing.assert_array_equal(a, b)

    @pytest.mark.parametrize("varies", VARIES)
    def test_one_and_many_exchange_them(self, varies):
        batch, singles = of_everything(varies)
        self.run(batch, singles)
        rows = batch.get_state(np.array([2, 0]))
        for i, single in enumerate(singles[:2]):
            single.set_state({name: value[[i]] for name, value in rows.items()})
        singles[2].set_state({name: value[[1]] for name, value in rows.items()})
        batch.set_state({n: v[[0, 1, 1]] for n, v in rows.items()}, EVERYONE)
        self.run(batch, singles)
        assert_equal(batch, singles, (*batch.state_fields, "sensordata", "xpos", "geom_pos"))

    def test_they_are_copies(self):
        batch, singles = of_everything(("geom_pos",))
        for state in (batch.get_state(EVERYONE), singles[0].get_state()):
            before = {name: value.copy() for name, value in state.items()}
            advance(batch, singles, np.ones((N, 2)), 10)
            batch.view.geom_pos[...] += 1
            singles[0].model.geom_pos += 1
            for name, value in before.items():
                np.testing.assert_array_equal(state[name], value, name)

    @pytest.mark.parametrize("varies", VARIES)
    def test_restoring_some_leaves_the_others_alone(self, varies):
        batch, singles = of_everything(varies)
        kept = batch.get_state(np.array([1]))
        keeps = singles[1].get_state()
        self.run(batch, singles)
        batch.set_state(kept, np.array([1]))
        singles[1].set_state(keeps)
        assert_equal(batch, singles, (*batch.state_fields, *varies, "sensordata", "xpos"))
        self.run(batch, singles)
        assert_equal(batch, singles)

    @pytest.mark.parametrize("varies", VARIES)
    def test_parts_keep_the_rest(self, varies):
        batch, singles = of_everything(varies)
        self.run(batch, singles)
        before = batch.get_state(EVERYONE)
        part = {"qpos": before["qpos"] + 0.01}
        if varies:
            part["geom_pos"] = before["geom_pos"] + 0.5
        batch.set_state(part, EVERYONE)
        for i, single in enumerate(singles):
            single.set_state({name: value[[i]] for name, value in part.items()})
        after = batch.get_state(EVERYONE)
        for name in set(before) - set(part) - {"sensordata"}:
            np.testing.assert_array_equal(after[name], before[name], name)
        for name, value in part.items():
            # The engine normalises the quaternion of the free joint.
            np.testing.assert_allclose(after[name], value, rtol=0.02)
        np.testing.assert_array_equal(after["sensordata"], [s.data.sensordata for s in singles])
        self.run(batch, singles)
        assert_equal(batch, singles)


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    """A working directory in which the engine would leave its log."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def log_config():
    config = mujoco.MjLogConfig.get()
    return config.logto_console, config.logto_file, config.logfile, config.topics


WAYS = {
    "position": ("qpos", np.nan),
    "velocity": ("qvel", np.inf),
    "acceleration": ("xfrc_applied", 1e300),
}


class TestDivergence:
    @staticmethod
    def spoil(data_or_view, name, value, rows=...):
        array = getattr(data_or_view, name)
        array[rows] = value

    @pytest.mark.parametrize("id", ["dmc/cartpole-swingup-v0", "robosuite/Lift-v0"])
    def test_of_an_environment_is_silent(self, id, empty_folder, capfd):
        env = gymnasium.make(id, disable_env_checker=True).unwrapped
        config = log_config()
        env.reset(seed=0)
        env.data.qvel[0] = np.nan
        *_, truncated, info = env.step(np.zeros(env.action_space.shape))
        assert truncated
        assert info["diverged"]
        assert list(empty_folder.iterdir()) == []
        assert capfd.readouterr() == ("", "")
        assert log_config() == config

    @pytest.mark.parametrize("integrator", INTEGRATORS)
    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("varies", VARIES)
    def test_is_seen_in_the_right_simulation(self, varies, way, integrator, empty_folder, capfd):
        name, value = WAYS[way]
        batch, singles = of_everything(varies, integrator)
        config = log_config()
        advance(batch, singles, np.ones((N, 2)), 3)
        assert batch.diverged() is None
        assert all(single.diverged() is None for single in singles)
        self.spoil(batch.view, name, value, 1)
        self.spoil(singles[1].view, name, value)
        for _ in range(5):
            advance(batch, singles, np.ones((N, 2)), 3)
            assert batch.diverged().tolist() == [False, True, False]
            assert [s.diverged() for s in singles] == [None, True, None]
        assert np.isfinite(batch.view.qpos).all()  # the engine has reset it by itself
        del singles[1]
        for i, single in zip((0, 2), singles, strict=True):
            for field in ("qpos", "qvel", "act", "sensordata"):
                np.testing.assert_array_equal(
                    getattr(batch.view, field)[i], getattr(single.view, field), field
                )
        assert list(empty_folder.iterdir()) == []
        assert capfd.readouterr() == ("", "")
        assert log_config() == config

    @pytest.mark.parametrize("varies", VARIES)
    def test_is_forgotten_at_the_next_start(self, varies, empty_folder):
        batch, singles = of_everything(varies)
        single = singles[1]
        healthy, healthy_single = batch.get_state(np.array([1])), single.get_state()
        self.spoil(batch.view, "qvel", np.nan, 1)
        self.spoil(single.view, "qvel", np.nan)
        advance(batch, singles, np.ones((N, 2)), 3)
        assert batch.diverged().tolist() == [False, True, False]
        for simulation, where in ((batch, only(1)), (single, None)):
            begin_drawn(simulation, varies, 5, where)
        assert batch.diverged() is None
        assert single.diverged() is None
        for _ in range(20):
            advance(batch, singles, np.ones((N, 2)), 3)
        assert_equal(batch, singles)
        self.spoil(batch.view, "qvel", np.nan, 1)
        self.spoil(single.view, "qvel", np.nan)
        advance(batch, singles, np.ones((N, 2)), 3)
        batch.set_state(healthy, np.array([1]))
        single.set_state(healthy_single)
        assert batch.diverged() is None
        assert single.diverged() is None

    def test_several_at_once(self, empty_folder):
        batch, singles = of_everything()
        self.spoil(batch.view, "qpos", np.nan, [0, 2])
        batch.step(np.zeros((N, 2)), 2)
        assert batch.diverged().tolist() == [True, False, True]
        batch.set_state(batch.get_state(np.array([0])), np.array([0]))
        assert batch.diverged().tolist() == [False, False, True]
        assert singles[0].diverged() is None


# More contacts than there is memory for: the engine warns in every computation.
CROWD = (
    "<mujoco><size memory='20K'/><worldbody><geom type='plane' size='5 5 .1'/>"
    + "".join(f"<body pos='{x / 7} 0 .05'><freejoint/><geom size='.1'/></body>" for x in range(20))
    + "</worldbody></mujoco>"
)


class TestQuiet:
    def test_says_nothing_whatever_the_engine_warns_of(self, empty_folder, capfd):
        config = log_config()
        single = at_defaults(mujoco.MjModel.from_xml_string(CROWD))
        assert (single.data.warning.number > UNLOGGED).any()
        single.view.forward()
        single.view.detect_contacts()
        single.reset(lambda i, scratch: scratch.restore_defaults())
        single.step(np.zeros(0), 3)
        single.update_forces()
        single.set_state(single.get_state())
        batch = Batched(mujoco.MjModel.from_xml_string(CROWD), 2, 2)
        both = np.arange(2)
        batch.reset(lambda i, scratch: scratch.restore_defaults())
        assert batch.batch.warning[:, :, 1].any()
        batch.forward()
        batch.step(np.zeros((2, 0)), 3)
        batch.update_forces()
        batch.set_state(batch.get_state(both), both)
        assert list(empty_folder.iterdir()) == []
        assert capfd.readouterr() == ("", "")
        assert log_config() == config

    @pytest.fixture
    def own_config(self, empty_folder):
        """Simulations, and then a log configuration of the user's own."""
        made = of_everything()
        before = mujoco.MjLogConfig.get()
        mine = mujoco.MjLogConfig.get()
        mine.logto_console, mine.logto_file, mine.logfile = False, True, "mine.txt"
        mine.set()
        yield made
        before.set()

    def test_the_users_own_log_stays(self, own_config, empty_folder):
        batch, singles = own_config
        config = log_config()
        assert config[2] == "mine.txt"
        singles[0].restore_defaults()
        singles[0].forward()
        assert log_config() == config
        singles[0].set_state(singles[0].get_state())
        assert log_config() == config
        batch.step(np.zeros((N, 2)), 2)
        batch.forward()
        assert log_config() == config
        singles[0].step(np.zeros(2), 1)
        assert log_config() == config
        data = mujoco.MjData(model := everything())
        data.qpos[:] = np.nan
        mujoco.mj_step(model, data)
        assert [p.name for p in empty_folder.iterdir()] == ["mine.txt"]

    def test_threads_that_overlap_leave_the_users_own_log(self, own_config):
        """The last one to leave puts back what the first one to enter has found."""
        config = log_config()
        entered, left = threading.Event(), threading.Event()
        seen = []

        def longer():
            with quiet():
                entered.set()
                assert left.wait(10)
                seen.append(log_config())

        other = threading.Thread(target=longer)
        with quiet():
            other.start()
            assert entered.wait(10)
        left.set()
        other.join()
        assert seen[0][:2] == (False, False)  # though the first one has left
        assert log_config() == config

    def test_an_exception_puts_the_log_back(self):
        config = log_config()
        inside = []

        def fail():
            with quiet():
                inside.append(log_config())
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert inside[0][:2] == (False, False)
        assert log_config() == config


@pytest.mark.parametrize("kind", mostly_nightly(["batch", "data"], quick=2))
def test_memory_and_threads_go_with_the_last_reference(kind):
    """Without the garbage collector, which does not see what the engine holds."""
    batch, singles = of_everything()
    simulation = batch if kind == "batch" else singles.pop()
    batch.view.body("ball").xpos  # noqa: B018  (to have it cached)
    simulation.view.joint("elbow").qpos  # noqa: B018
    gone = weakref.ref(simulation)
    gc.collect()
    gc.disable()
    try:
        del batch, singles, simulation
        assert gone() is None
    finally:
        gc.enable()
