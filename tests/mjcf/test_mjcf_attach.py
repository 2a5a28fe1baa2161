"""Putting models into one another: places, names, handles, clashes, keyframes, files."""

import gc

import mujoco
import numpy as np
import pytest

from helpers.mjcf_models import (
    NAMES,
    arena,
    differences,
    names,
    picture,
    rock_files,
    tetrahedron,
    walker,
)
from helpers.small_process import run_small
from mjgym.mjcf import add, assign, attach, find, load, rename

# What the engine's named access gives of an element and what refers to other elements, or to
# places in arrays, by number.
NUMBERS = (
    "id",
    "adr",
    "colind",
    "num",
    "sameframe",
    "simple",
    "aabb",
    "history",
    "trnid",
    "ctrl",
    "act",
)

KINDS = {
    "body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "actuator": "nu",
    "sensor": "nsensor", "tendon": "ntendon", "mat": "nmat", "light": "nlight",
}  # fmt: skip


def same(whole, alone, prefix):
    """That all elements of a model are in another one, with a prefix, as they are alone."""
    compared = 0
    for kind, count in KINDS.items():
        for name in names(alone, kind, getattr(alone, count)):
            if not name or (kind, name) == ("body", "world"):
                continue
            ours, own = getattr(whole, kind)(prefix + name), getattr(alone, kind)(name)
            for field in dir(own):
                value = getattr(own, field)
                if field.startswith("_") or not isinstance(value, np.ndarray):
                    continue
                if field.endswith(NUMBERS) or (field in ("pos", "quat") and kind == "body"):
                    continue
                if field in ("invweight0", "acc0", "subtreemass", "M0", "length", "lengthrange"):
                    continue  # they depend on what an element hangs on
                np.testing.assert_array_equal(getattr(ours, field), value, f"{kind} {name} {field}")
                compared += 1
    return compared


class TestPlaces:
    @pytest.mark.parametrize("form", [{"name": "w"}, {"prefix": "w/"}])
    @pytest.mark.parametrize(
        ("kind", "place", "body", "position", "turn"),
        [
            ("site", "east", "world", (2, 0, 1), (0.5**0.5, 0, 0, 0.5**0.5)),
            ("frame", "west", "world", (-2, 0, 1), (0, 0, 0, 1)),
            ("body", "table", "table", (0, 2, 0.5), (1, 0, 0, 0)),
            ("site", "on_table", "table", (0, 2, 0.8), (1, 0, 0, 0)),
            (None, None, "world", (0, 0, 0), (1, 0, 0, 0)),
        ],
    )
    def test_where_the_child_comes_to_be(self, form, kind, place, body, position, turn):
        spec, child = arena(), walker()
        at = None if kind is None else find(spec, kind, place)
        attach(spec, child, at, **form)
        model, alone = spec.compile(), walker().compile()
        data, own = mujoco.MjData(model), mujoco.MjData(alone)
        mujoco.mj_forward(model, data)
        mujoco.mj_forward(alone, own)
        rotation = np.zeros(9)
        mujoco.mju_quat2Mat(rotation, np.array(turn, float))
        for name in names(alone, "body", alone.nbody)[1:]:
            expected = np.array(position) + rotation.reshape(3, 3) @ own.body(name).xpos
            np.testing.assert_allclose(data.body(f"w/{name}").xpos, expected, atol=1e-12)
            expected = rotation.reshape(3, 3) @ own.body(name).xmat.reshape(3, 3)
            np.testing.assert_allclose(
                data.body(f"w/{name}").xmat.reshape(3, 3), expected, atol=1e-12
            )
        above = model.body("w/torso").parentid[0]
        if "name" in form:
            assert model.body(above).name == "w/"
            above = model.body("w/").parentid[0]
        assert model.body(above).name == body

    def test_a_site_in_a_frame_and_in_an_attached_model(self):
        """Whatever the site is in, and in whatever units its orientation is written."""
        inner = mujoco.MjSpec.from_string(
            """<mujoco model="inner"><compiler angle="radian" eulerseq="zyx"/><worldbody>
            <frame pos="0 0 1" euler="0 0 1.5"><body name="arm" pos="1 0 0"><geom size=".1"/>
            <frame pos="0 1 0"><site name="hand" pos="0 0 .5" euler=".1 .2 .3"/></frame>
            </body></frame></worldbody></mujoco>"""
        )
        spec = mujoco.MjSpec()
        spec.compiler.eulerseq = list("xyz")
        hand = inner.site("hand")
        attach(spec, inner, prefix="inner/")
        tool = mujoco.MjSpec()
        add(add(tool.worldbody, "body", name="tool"), "geom", name="tip", size=0.1)
        for form in ({"name": "tool"}, {"prefix": "bare/"}):
            attach(spec, tool, at=hand, copy=True, **form)
        model = spec.compile()
        data = mujoco.MjData(model)
        mujoco.mj_forward(model, data)
        for name in ("tool/tip", "bare/tip"):
            np.testing.assert_allclose(data.geom(name).xpos, data.site("inner/hand").xpos)
            np.testing.assert_allclose(data.geom(name).xmat, data.site("inner/hand").xmat)

    def test_free(self):
        spec, child = arena(), walker()
        body = attach(spec, child, at=spec.site("east"), free=True)
        model = spec.compile()
        joint = model.joint("walker/")
        assert joint.type == mujoco.mjtJoint.mjJNT_FREE
        assert model.body(joint.bodyid[0]).name == "walker/" == body.name
        np.testing.assert_allclose(joint.qpos0, [2, 0, 1, 0.5**0.5, 0, 0, 0.5**0.5], atol=1e-12)
        assert model.nq == 1 + 7 + 2
        assert body.joints[0].name == "walker/"


class TestEquals:
    def test_alone_in_an_empty_model(self):
        """Nothing of the child is lost or changed: classes, units, tendons, keyframes, ..."""
        spec = mujoco.MjSpec()
        attach(spec, walker(), prefix="w/")
        assert differences(spec.compile(), walker().compile(), but=NAMES) == []

    def test_an_entity_equals_the_same_written_down(self):
        """A frame body of another name around everything."""
        text = mujoco.MjSpec.from_string(
            """<mujoco><compiler angle="radian"/>
            <worldbody><body name="ball/" pos="1 2 3"><freejoint name="ball/"/>
            <geom name="ball/skin" size=".3" rgba="1 0 0 1"/>
            <body name="ball/core"><joint name="ball/spin"/><geom name="ball/core" size=".1"/>
            </body></body></worldbody>
            <actuator><motor name="ball/spin" joint="ball/spin"/></actuator></mujoco>"""
        )
        child = mujoco.MjSpec()
        child.modelname = "ball"
        add(child.worldbody, "geom", name="skin", size=0.3, rgba=[1, 0, 0, 1])
        core = add(child.worldbody, "body", name="core")
        spin = add(core, "joint", name="spin")
        add(core, "geom", name="core", size=0.1)
        add(child, "actuator", name="spin", type="motor", target=spin)
        spec = mujoco.MjSpec()
        attach(spec, child, at=add(spec.worldbody, "site", pos=[1, 2, 3]), free=True)
        spec.delete(spec.sites[0])
        assert differences(spec.compile(), text.compile(), but=("signature",)) == []

    def test_options_are_the_parents(self):
        spec, child = arena(), walker()
        assign(child.option, gravity=[0, 0, -1])
        attach(spec, child)
        with pytest.warns(UserWarning, match="gravity.*keeping parent value"):
            model = spec.compile()
        assert (model.opt.timestep, model.opt.gravity[2]) == (0.004, -9.81)

    def test_or_are_merged(self):
        spec = mujoco.MjSpec()
        child = mujoco.MjSpec.from_string(
            "<mujoco model='c'><option timestep='.007' integrator='RK4'/></mujoco>"
        )
        assign(spec.compiler, conflict="merge")
        attach(spec, child)
        with pytest.warns(UserWarning, match="timestep.*adopting child value"):
            model = spec.compile()
        assert model.opt.timestep == 0.007
        assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_RK4

    def test_or_the_clash_is_an_error_and_nothing_is_attached(self):
        spec = mujoco.MjSpec.from_string("<mujoco><option timestep='.01'/></mujoco>")
        child = mujoco.MjSpec.from_string(
            "<mujoco model='c'><option timestep='.007'/>"
            "<worldbody><body name='b'/></worldbody></mujoco>"
        )
        assign(spec.compiler, conflict="error")
        for form in ({}, {"prefix": "c/"}):
            with pytest.raises(ValueError, match=r"(?s)conflict.*timestep"):
                attach(spec, child, **form)
            assert (len(spec.bodies), len(spec.frames), child.parent) == (1, 0, None)
        child.compile()


class TestHandles:
    def test_they_survive(self):
        spec, child = arena(), walker()
        hip, foot, servo = child.joint("hip"), child.geom("foot"), child.actuator("hip")
        skin, gyro = child.material("skin"), child.sensor("gyro")
        attach(spec, child, name="tom")
        assert [e.name for e in (hip, foot, servo, skin, gyro)] == [
            "tom/hip", "tom/foot", "tom/hip", "tom/skin", "tom/gyro",
        ]  # fmt: skip
        assert servo.target == "tom/hip"
        assert find(spec, "joint", "tom/hip") is hip
        assign(hip, damping=7)
        assign(foot, size=0.06)
        rename(spec, gyro, "balance")
        add(find(spec, "body", "tom/leg"), "geom", name="tom/toe", size=0.01)
        model = spec.compile()
        assert model.joint("tom/hip").damping == [7]
        assert model.geom("tom/foot").size[0] == 0.06
        assert model.sensor("balance").id == gyro.id
        assert model.geom("tom/toe").bodyid[0] == model.body("tom/leg").id
        assert (hip.id, foot.id) == (model.joint("tom/hip").id, model.geom("tom/foot").id)

    def test_a_child_is_searched_by_its_own_names(self):
        outer, middle, inner = arena(), walker(), walker()
        hip, inner_hip = middle.joint("hip"), inner.joint("hip")
        attach(middle, inner, at=middle.site("head"), name="rider")
        attach(outer, middle)
        assert find(middle, "joint", "hip") is hip
        assert find(middle, "joint", "walker/hip") is hip
        assert find(middle, "joint", "rider/hip") is inner_hip
        assert find(inner, "joint", "hip") is inner_hip
        assert find(outer, "joint", "walker/rider/hip") is inner_hip
        merged = find(outer, "key", "walker/ready")
        assert find(middle, "key", "ready") is merged
        assert merged.name == "walker/ready"
        with pytest.raises(ValueError, match=r"no joint 'hop'; did you mean hip"):
            find(middle, "joint", "hop")


class TestSeveralTimes:
    def test_copies(self):
        spec, child = arena(), walker()
        hip = child.joint("hip")
        for number in range(3):
            attach(spec, child, name=f"w{number}", at=spec.site("east"), copy=True, free=True)
            gc.collect(1)  # what has just been dropped
        assert (hip.name, child.parent) == ("hip", None)
        model = spec.compile()
        assert model.njnt == 1 + 3 * 3
        alone = walker().compile()
        for number in range(3):
            assert same(model, alone, f"w{number}/") > 100
        attach(spec, child, name="last")
        assert hip.name == "last/hip"
        assert spec.compile().njnt == 1 + 3 * 3 + 2

    def test_without_a_copy_only_once(self):
        spec, child = arena(), walker()
        attach(spec, child)
        for again in ({"name": "b"}, {"name": "b", "copy": True}):
            with pytest.raises(ValueError, match=r"'walker' is attached to 'arena' already"):
                attach(spec, child, **again)
        assert spec.compile().nbody == 5


class TestClashes:
    def test_classes_materials_and_textures_of_the_same_names(self):
        spec, child = arena(), walker()
        attach(spec, child)
        second = mujoco.MjSpec.from_string(
            """<mujoco model="second"><default><geom rgba="0 1 1 1"/><default class="leg">
            <geom rgba="1 1 0 1" size=".3"/></default></default><asset>
            <texture name="skin" type="2d" builtin="flat" rgb1="0 1 0" width="4" height="4"/>
            <material name="skin" texture="skin"/></asset>
            <worldbody><body name="torso"><geom name="torso" class="leg" material="skin"/>
            <geom name="foot" size=".1"/></body></worldbody></mujoco>"""
        )
        alone = second.copy().compile()
        attach(spec, second)
        model = spec.compile()
        assert same(model, arena().compile(), "") > 100
        assert same(model, walker().compile(), "walker/") > 100
        assert same(model, alone, "second/") >= 50
        for prefix, colour in (("", 2), ("walker/", 0), ("second/", 1)):
            pixels = model.tex(f"{prefix}skin").data.reshape(-1, 3)
            assert pixels[0].argmax() == colour
            assert model.tex(model.mat(f"{prefix}skin").texid[1]).name == f"{prefix}skin"
        floor, torso = model.geom("floor"), model.geom("walker/torso")
        assert model.mat(floor.matid[0]).name == "skin"
        assert model.mat(torso.matid[0]).name == "walker/skin"

    @pytest.mark.parametrize("where", ["disk", "memory", "both"])
    @pytest.mark.parametrize("copy", [False, True])
    @pytest.mark.parametrize("order", [(1, 2), (2, 1)])
    def test_files_of_the_same_names(self, tmp_path, where, copy, order):
        """Meshes, height fields and textures from folders of the same names, or from memory."""
        specs, alone = {}, {}
        for size in (1, 2):
            path, files = rock_files(tmp_path, f"rock{size}", size)
            alone[size] = load(path).compile()
            if where == "disk" or (where == "both" and size == 1):
                specs[size] = load(path)
            else:
                specs[size] = mujoco.MjSpec.from_string(path.read_text(), assets=files)
        spec = mujoco.MjSpec()
        for size in order:
            attach(spec, specs[size], copy=copy)
        model = spec.compile()
        for size in (1, 2):
            _same_assets(model, alone[size], f"rock{size}/")

    def test_files_in_memory_that_are_on_the_disk_as_well(self, tmp_path, monkeypatch):
        """A model's own file in memory goes before one on the disk, attached or not."""
        monkeypatch.chdir(tmp_path)
        picture(tmp_path / "ground.png", np.zeros((4, 4)))
        (tmp_path / "shapes").mkdir()
        (tmp_path / "shapes" / "rock.obj").write_bytes(tetrahedron(9))
        path, files = rock_files(tmp_path / "elsewhere", "rock", 1)
        alone = load(path).compile()
        spec = mujoco.MjSpec()
        attach(spec, mujoco.MjSpec.from_string(path.read_text(), assets=files))
        _same_assets(spec.compile(), alone, "rock/")

    def test_names_that_are_taken(self):
        for kind, name in (("body", "w/torso"), ("geom", "w/foot"), ("joint", "w/hip")):
            spec, child = arena(), walker()
            body = add(spec.worldbody, "body", name="w/torso" if kind == "body" else None)
            if kind != "body":
                add(body, kind, name=name)
            with pytest.raises(ValueError, match=f"'arena' has a {kind} '{name}' already"):
                attach(spec, child, name="w")
            assert (child.parent, len(spec.bodies), len(spec.actuators)) == (None, 3, 1)
            assert child.compile().nbody == 3
        spec = arena()
        attach(spec, walker())
        with pytest.raises(ValueError, match="'arena' has a body 'walker/' already"):
            attach(spec, walker())
        with pytest.raises(ValueError, match="'arena' has a body 'walker/leg' already"):
            attach(spec, walker(), prefix="walker/")


def _vertices(model, name):
    mesh = model.mesh(name)
    return model.mesh_vert[mesh.vertadr[0] : mesh.vertadr[0] + mesh.vertnum[0]]


def _same_assets(model, alone, prefix):
    np.testing.assert_array_equal(_vertices(model, f"{prefix}rock"), _vertices(alone, "rock"))
    field, own = model.hfield(f"{prefix}ground"), alone.hfield("ground")
    np.testing.assert_array_equal(field.size, own.size)
    np.testing.assert_array_equal(field.data, own.data)
    for texture in ("skin", "sky"):
        np.testing.assert_array_equal(
            model.tex(f"{prefix}{texture}").data, alone.tex(texture).data, texture
        )


class TestKeyframes:
    def test_both_are_merged(self):
        spec = arena()
        attach(spec, walker(), free=True, at=spec.site("east"))
        model = spec.compile()
        assert names(model, "key", model.nkey) == ["ready", "walker/ready"]
        start = [2, 0, 1, 0.5**0.5, 0, 0, 0.5**0.5]
        # In the order of the kinematic tree.
        parts = {
            "hinge": model.joint("hinge").qposadr[0],
            "root": model.joint("walker/").qposadr[0],
            "legs": model.joint("walker/hip").qposadr[0],
        }
        for key, hinge, legs, ctrl in (
            ("ready", 0.4, (0, 0), (0.1, 0, 0)),
            ("walker/ready", 0, (0.3, 0.2), (0, 0.7, 0)),
        ):
            qpos = model.key(key).qpos
            assert qpos[parts["hinge"]] == hinge
            np.testing.assert_allclose(qpos[parts["root"] : parts["root"] + 7], start, atol=1e-12)
            assert tuple(qpos[parts["legs"] : parts["legs"] + 2]) == legs
            assert tuple(model.key(key).ctrl) == ctrl

    @pytest.mark.parametrize("copy", [False, True])
    def test_of_a_child_in_a_child(self, copy):
        spec, middle, inner = arena(), walker(), walker()
        attach(middle, inner, name="rider", at=middle.site("head"), copy=copy)
        attach(spec, middle, copy=copy)
        model = spec.compile()
        assert names(model, "key", model.nkey) == ["ready", "walker/ready", "walker/rider/ready"]
        joints = ("hinge", "walker/hip", "walker/twist", "walker/rider/hip", "walker/rider/twist")
        addresses = [model.joint(joint).qposadr[0] for joint in joints]
        assert model.key_qpos[:, addresses].tolist() == [
            [0.4, 0, 0, 0, 0], [0, 0.3, 0.2, 0, 0], [0, 0, 0, 0.3, 0.2],
        ]  # fmt: skip

    def test_that_cannot_be_put_together(self):
        middle, inner = walker(), walker()
        attach(middle, inner, name="rider", at=middle.site("head"))
        add(middle.body("torso"), "geom", name="zero")
        with pytest.raises(ValueError, match=r"keyframes of model 'walker'.*size 0 must be pos"):
            attach(arena(), middle)
        assert middle.parent is None


class TestMistakes:
    @pytest.mark.parametrize(
        ("given", "error", "message"),
        [
            ({"name": "a", "prefix": "b"}, TypeError, "give a name, for an entity, or a bare pref"),
            ({"prefix": "b/", "free": True}, TypeError, "free needs a name"),
            ({"prefix": ""}, ValueError, "the prefix is empty"),
            ({"name": ""}, ValueError, "the name '' is empty"),
            ({"name": "a/b"}, ValueError, "the name 'a/b' has a /"),
            ({"at": "east"}, TypeError, "expected the handle of a site, frame or body, got str"),
            ({"at": "geom"}, TypeError, "a site, frame or body, got MjsGeom"),
            ({"at": "foreign"}, ValueError, "body 'torso' is not in model 'arena'"),
            ({"at": "table", "free": True}, ValueError, "body 'table' is in body 'table'; only"),
            ({"at": "on_table", "free": True}, ValueError, "site 'on_table' is in body 'table'"),
            ({"at": "ends"}, ValueError, "site 'ends' is given by its ends"),
        ],
    )
    def test_arguments(self, given, error, message):
        spec, child = arena(), walker()
        other = walker()
        add(
            spec.worldbody, "site", name="ends", type="capsule", size=0.1, fromto=[0, 0, 0, 1, 0, 0]
        )
        places = {
            "geom": spec.geom("floor"), "foreign": other.body("torso"), "ends": spec.site("ends"),
            "table": spec.body("table"), "on_table": spec.site("on_table"),
        }  # fmt: skip
        if "at" in given:
            given = {**given, "at": places.get(given["at"], given["at"])}
        before = spec.to_xml()
        with pytest.raises(error, match=message):
            attach(spec, child, **given)
        assert spec.to_xml() == before
        assert child.compile().nbody == 3

    def test_models(self):
        spec, child = arena(), walker()
        with pytest.raises(ValueError, match="'arena' cannot be attached to itself"):
            attach(spec, spec)
        attach(spec, child)
        with pytest.raises(ValueError, match="'walker' is attached to 'arena'; attach to that"):
            attach(child, mujoco.MjSpec(), name="x")
        with pytest.raises(ValueError, match="'walker' is attached to 'arena'; attach to that"):
            attach(child, spec, name="x")  # it would go round in circles
        with pytest.raises(ValueError, match="'walker' is attached to 'arena'; add a sensor to"):
            add(child, "sensor", name="s")
        with pytest.raises(ValueError, match="the child's model has no name"):
            attach(spec, mujoco.MjSpec())

    def test_no_log_file_and_no_lines_on_the_console(self, tmp_path):
        program = (
            "import mujoco\nfrom mjgym.mjcf import attach\n"
            'text = \'<mujoco model="{0}"><option timestep=".{0}"/></mujoco>\'\n'
            "one, two = (mujoco.MjSpec.from_string(text.format(n)) for n in (1, 2))\n"
            "attach(one, two)\n"
        )
        assert run_small(program, folder=tmp_path) == ""
        assert list(tmp_path.iterdir()) == []
