"""Live arrays over elements: shapes, order, what is live, one simulation and many."""

from types import SimpleNamespace

import gymnasium
import mujoco
import numpy as np
import pytest

import mjgym  # noqa: F401  (registers the ids)
from helpers.mjcf_models import arena, walker
from mjgym.mjcf import Bound, add, attach, bind, find, find_all, load, without_textures
from mjgym.sim import Batched, Single

N = 3


def scene():
    """Two walkers, free, in an arena with a hinge; and what else has arrays."""
    spec, child = arena(), walker()
    for name in ("a", "b"):
        attach(spec, child, name=name, at=spec.site("east"), free=True, copy=True)
    ball = add(spec.worldbody, "body", name="ball", pos=[0, 0, 5])
    add(ball, "joint", name="ball", type="ball")
    add(ball, "geom", name="ball", size=0.1)
    add(spec.worldbody, "body", name="aim", mocap=True)
    add(spec.worldbody, "body", name="goal", mocap=True)
    add(spec, "equality", name="weld", type="weld", name1="ball", name2="aim", objtype="body")
    add(spec, "actuator", name="filtered", target=find(spec, "joint", "hinge"), dyntype="filter",
        dynprm=[0.1], gainprm=[1])  # fmt: skip
    spec.option.gravity = [0, 0, -1]
    return spec


@pytest.fixture
def spec():
    return scene()


@pytest.fixture
def single(spec):
    return Single(spec.compile())


@pytest.fixture
def batched(spec):
    return Batched(spec.compile(), N, threads=1, varies=("geom_rgba", "site_pos"))


JOINTS = ("a/hip", "b/hip", "hinge", "b/twist")
GEOMS = ("floor", "b/foot", "ball", "a/torso")


def handles(spec, kind, names):
    return [find(spec, kind, name) for name in names]


class TestOne:
    def test_values_are_those_of_named_access(self, spec, single):
        rng = np.random.default_rng(0)
        single.data.qpos[:] = rng.uniform(-1, 1, single.model.nq)
        single.data.qvel[:] = rng.uniform(-1, 1, single.model.nv)
        single.forward()
        single.step(np.zeros(single.model.nu), 2)
        for kind, names, attributes in (
            ("joint", JOINTS, "qpos qvel qacc qfrc_bias xanchor xaxis range damping armature axis"),
            ("geom", GEOMS, "xpos xmat rgba size friction pos bodyid"),
            (
                "body",
                ("b/torso", "table", "a/leg"),
                "xpos xquat xipos cvel mass inertia subtreemass",
            ),
            ("site", ("b/head", "on_table"), "xpos xmat size rgba"),
            ("actuator", ("b/hip", "hinge", "a/both"), "ctrl force length velocity gainprm"),
            ("sensor", ("b/gyro", "a/hip", "a/gyro"), "data"),
            ("tendon", ("b/both", "a/both"), "length velocity"),
            ("light", ("b/unnamed_light_0", "a/unnamed_light_0"), "xpos xdir diffuse"),
        ):
            bound = bind((single.model, single.data), handles(spec, kind, names))
            for attribute in attributes.split():
                expected = []
                for name in names:
                    for source in (single.data, single.model):
                        view = getattr(source, kind)(name)
                        if hasattr(view, attribute):
                            expected.append(np.atleast_1d(getattr(view, attribute)))
                            break
                assert expected, attribute
                got = getattr(bound, attribute)
                assert got.shape[0] == (len(names) if attribute != "data" else 7), attribute
                np.testing.assert_array_equal(
                    np.ravel(got), np.concatenate([e.ravel() for e in expected]), attribute
                )

    def test_shapes(self, spec, single):
        v = single.view
        geoms = bind(v, handles(spec, "geom", GEOMS))
        assert isinstance(geoms, Bound)
        assert geoms.xpos.shape == (4, 3)
        assert geoms.xmat.shape == (4, 9)
        assert geoms.rgba.shape == (4, 4)
        assert geoms.contype.shape == (4,)
        joints = bind(v, handles(spec, "joint", ("a/", "hinge", "ball")))
        assert joints.qpos.shape == (7 + 1 + 4,)
        assert joints.qvel.shape == (6 + 1 + 3,)
        assert joints.range.shape == (3, 2)
        one = bind(v, spec.geom("floor"))
        assert (one.xpos.shape, one.contype.shape) == ((3,), ())
        assert bind(v, spec.joint("ball")).qpos.shape == (4,)
        assert bind(v, spec.joint("hinge")).qpos.shape == (1,)
        act = bind(v, handles(spec, "actuator", ("hinge", "filtered"))).act
        assert act.shape == (1,)
        assert bind(v, [spec.actuator("hinge")]).act.shape == (0,)

    def test_in_the_order_of_the_handles(self, spec, single):
        single.data.qpos[:] = np.arange(single.model.nq)
        forth = bind(single.view, handles(spec, "joint", JOINTS)).qpos
        back = bind(single.view, handles(spec, "joint", JOINTS[::-1])).qpos
        assert forth.tolist() == back[::-1].tolist()
        assert forth.tolist() == [single.data.joint(name).qpos[0] for name in JOINTS]
        twice = bind(single.view, [spec.joint("hinge")] * 2).qpos
        assert twice.tolist() == [single.data.joint("hinge").qpos[0]] * 2

    def test_neighbours_are_live(self, spec, single):
        joints = bind(single.view, handles(spec, "joint", ("a/hip", "a/twist")))
        qpos = joints.qpos
        assert np.shares_memory(qpos, single.data.qpos)
        single.data.joint("a/twist").qpos[:] = 0.25
        assert qpos.tolist() == [0, 0.25]
        qpos[0] = 0.5
        assert single.data.joint("a/hip").qpos == [0.5]
        assert joints.qpos is qpos
        single.forward()
        foot = bind(single.view, spec.geom("a/foot")).xpos
        before = foot.copy()
        single.data.joint("a/hip").qpos[:] = -0.5
        single.forward()
        assert np.abs(foot - before).max() > 0.01

    def test_the_others_are_read_anew(self, spec, single):
        joints = bind(single.view, handles(spec, "joint", JOINTS))
        before = joints.qpos
        single.data.joint("b/hip").qpos[:] = 2
        assert before[1] == 0
        assert joints.qpos[1] == 2
        with pytest.raises(ValueError, match="read-only"):
            before[0] = 1  # which would be lost

    def test_assignment_writes(self, spec, single):
        joints = bind(single.view, handles(spec, "joint", JOINTS))
        joints.qpos = [1, 2, 3, 4]
        assert [single.data.joint(name).qpos[0] for name in JOINTS] == [1, 2, 3, 4]
        joints.qvel = 7
        assert [single.data.joint(name).qvel[0] for name in JOINTS] == [7] * 4
        geoms = bind(single.view, handles(spec, "geom", GEOMS))
        geoms.rgba = [1, 0, 0, 1]
        assert single.model.geom("ball").rgba.tolist() == [1, 0, 0, 1]
        assert single.model.geom("top").rgba.tolist() == [0, 0, 1, 1]
        bind(single.view, spec.geom("ball")).rgba = [0, 1, 0, 1]
        assert single.model.geom("ball").rgba.tolist() == [0, 1, 0, 1]
        bind(single.view, spec.geom("ball")).contype = 0
        assert single.model.geom("ball").contype == [0]

    def test_mocap_bodies(self, spec, single):
        aims = bind(single.view, handles(spec, "body", ("goal", "aim")))
        aims.mocap_pos = [[1, 2, 3], [4, 5, 6]]
        single.forward()
        assert aims.xpos.tolist() == [[1, 2, 3], [4, 5, 6]]
        assert single.data.body("aim").xpos.tolist() == [4, 5, 6]
        with pytest.raises(AttributeError, match="body 'table' has no mocap_pos: it is no mocap"):
            _ = bind(single.view, handles(spec, "body", ("aim", "table"))).mocap_pos


class TestMany:
    def test_a_leading_axis(self, spec, batched):
        joints = bind(batched.view, handles(spec, "joint", JOINTS))
        chained = bind(batched.view, handles(spec, "joint", ("a/hip", "a/twist")))
        geoms = bind(batched.view, handles(spec, "geom", GEOMS))
        ball = bind(batched.view, spec.joint("ball"))
        floor = bind(batched.view, spec.geom("floor"))
        gyros = bind(batched.view, handles(spec, "sensor", ("a/gyro", "b/hip")))
        assert joints.qpos.shape == (N, 4)
        assert geoms.xpos.shape == (N, 4, 3)
        assert ball.qpos.shape == (N, 4)
        assert (floor.xpos.shape, floor.contype.shape) == ((N, 3), (N,))
        assert gyros.data.shape == (N, 4)
        assert geoms.size.shape == (N, 4, 3)
        batched.forward()
        live = chained.qpos
        joints.qvel = np.arange(4 * N).reshape(N, 4)
        batched.step(np.zeros((N, batched.model.nu)), 3)
        data = mujoco.MjData(batched.model)
        assert joints.qvel[2].max() > 1
        for i in range(N):
            data = batched.batch.get_data(i, mujoco.MjData(batched.model))
            one = (batched.model, data)
            mujoco.mj_kinematics(*one)
            for bound, kind, names in (
                (joints, "joint", JOINTS), (geoms, "geom", GEOMS),
            ):  # fmt: skip
                alone = bind(one, handles(spec, kind, names))
                for attribute in ("qpos", "qvel") if kind == "joint" else ("xpos", "rgba"):
                    np.testing.assert_allclose(
                        getattr(bound, attribute)[i], getattr(alone, attribute), atol=1e-3
                    )
            np.testing.assert_array_equal(
                live[i], bind(one, handles(spec, "joint", ("a/hip", "a/twist"))).qpos
            )

    def test_fields_of_the_model_are_each_ones_own(self, spec, batched):
        geoms = bind(batched.view, handles(spec, "geom", GEOMS))
        geoms.rgba = np.arange(N)[:, None, None]
        assert geoms.rgba[:, 2, 0].tolist() == [0, 1, 2]
        ball = batched.model.geom("ball").id
        assert batched.episode_fields["geom_rgba"][:, ball, 0].tolist() == [0, 1, 2]

    def test_or_shared_and_then_only_read(self, spec, batched):
        geoms = bind(batched.view, handles(spec, "geom", GEOMS))
        assert geoms.size[1].tolist() == [batched.model.geom(name).size.tolist() for name in GEOMS]
        with pytest.raises(ValueError, match=r"size: geom_size cannot be written.*in `varies`"):
            geoms.size = 1


class TestSimulations:
    def test_an_environment(self):
        env = gymnasium.make("dmc/walker-walk-v0")
        spec = load("dmc/walker.xml")
        env.reset(seed=0)
        hinges = [joint for joint in find_all(spec, "joint") if "hip" in joint.name]
        bound = bind(env, hinges)
        data = env.unwrapped.data
        assert bound.qpos.shape == (2,)
        for _ in range(3):
            env.step(env.action_space.sample())
            assert bound.qpos.tolist() == [data.joint(j.name).qpos[0] for j in hinges]
        env.close()

    def test_an_environment_with_a_view(self, spec, batched):
        env = SimpleNamespace(unwrapped=SimpleNamespace(view=batched.view))
        assert bind(env, handles(spec, "joint", JOINTS)).qpos.shape == (N, 4)
        with pytest.raises(TypeError, match=r"an environment, or a pair.*got SimpleNamespace"):
            bind(SimpleNamespace(view=3), handles(spec, "joint", JOINTS))

    def test_a_model_compiled_from_a_copy(self, spec):
        bare = without_textures(spec).compile()
        data = mujoco.MjData(bare)
        geoms = bind((bare, data), handles(spec, "geom", GEOMS))
        assert geoms.bodyid.tolist() == [bare.geom(name).bodyid[0] for name in GEOMS]

    def test_handles_without_names_in_their_own_model(self):
        spec = arena()
        ball = add(spec.worldbody, "geom", size=0.3)
        model = spec.compile()
        data = mujoco.MjData(model)
        assert bind((model, data), [ball]).size[0, 0] == 0.3
        other = arena().compile()
        with pytest.raises(ValueError, match=r"a geom has no name.*compile with mjcf\.compile"):
            bind((other, mujoco.MjData(other)), [ball])

    def test_mistakes(self, spec, single):
        geoms = handles(spec, "geom", GEOMS)
        for simulation, given, error, message in (
            (single.view, [], TypeError, "there are no handles"),
            (single.view, ["floor"], TypeError, "expected handles of elements, got .'floor'"),
            (single.view, [*geoms, spec.site("east")], TypeError, "several kinds: geom, site"),
            (single.view, [spec.frames[0]], TypeError, "a frame has no arrays; there are body"),
            (single.model, geoms, TypeError, "expected a view, an environment, or a pair"),
            ((single.data, single.model), geoms, TypeError, "a pair .MjModel, MjData., got tuple"),
            (single.view, [walker().geom("foot")], ValueError, "no geom 'foot'; did you mean"),
        ):
            with pytest.raises(error, match=message):
                bind(simulation, given)
        bound = bind(single.view, geoms)
        with pytest.raises(
            AttributeError, match="geoms have no attribute 'xps'; did you mean xpos"
        ):
            _ = bound.xps
        with pytest.raises(AttributeError, match="geoms have no attribute 'qpos'"):
            bound.qpos = 3
        with pytest.raises(ValueError, match=r"xpos: expected an array of shape \(4, 3\), got \(5"):
            bound.xpos = np.zeros((5, 3))
        assert (bound.xpos == 0).all()
