"""Adding, changing, naming and finding elements: words, handles, names, mistakes."""

import mujoco
import numpy as np
import pytest

from helpers.mjcf_models import arena, differences, walker
from mjgym import mjcf
from mjgym.mjcf import add, assign, find, find_all, name_unnamed, rename, word
from mjgym.mjcf.elements import KINDS, REFERENCES, samples


def leg(spec):
    """A body with two hinges, a site and a geom."""
    body = add(spec.worldbody, "body", name="leg", pos=[0, 0, 1])
    hip = add(body, "joint", name="hip", type="hinge", axis=[0, 1, 0])
    knee = add(body, "joint", name="knee", type="slide", axis=[0, 0, 1])
    foot = add(body, "geom", name="foot", type="sphere", size=0.1)
    tip = add(body, "site", name="tip", pos=[0, 0, -0.1])
    return body, hip, knee, foot, tip


class TestWords:
    def test_every_enumerated_attribute_takes_and_gives_words(self):
        tested = 0
        for kind in KINDS:
            element = samples()[kind]
            for attribute in dir(element):
                value = getattr(element, attribute, None)
                if not hasattr(type(value), "__members__"):
                    continue
                said = word(element, attribute)
                assert said == said.lower() or said in ("sRGB",)
                spec = mujoco.MjSpec()
                parent = spec.worldbody if hasattr(spec.worldbody, f"add_{kind}") else spec
                if (kind, attribute) != ("actuator", "type"):  # which takes parameters
                    made = add(parent, kind, **{attribute: said})
                    assert getattr(made, attribute) == value, (kind, attribute)
                tested += 1
        assert tested > 30

    @pytest.mark.parametrize(
        ("kind", "attribute", "said", "member"),
        [
            ("joint", "limited", "true", mujoco.mjtLimited.mjLIMITED_TRUE),
            ("mesh", "inertia", "shell", mujoco.mjtMeshInertia.mjMESH_INERTIA_SHELL),
            ("texture", "colorspace", "sRGB", mujoco.mjtColorSpace.mjCOLORSPACE_SRGB),
            ("texture", "type", "2d", mujoco.mjtTexture.mjTEXTURE_2D),
            ("sensor", "type", "distance", mujoco.mjtSensor.mjSENS_GEOMDIST),
            ("sensor", "type", "potential", mujoco.mjtSensor.mjSENS_E_POTENTIAL),
            ("body", "sleep", "never", mujoco.mjtSleepPolicy.mjSLEEP_NEVER),
        ],
    )
    def test_words_are_those_of_mjcf(self, kind, attribute, said, member):
        spec = mujoco.MjSpec()
        parent = spec.worldbody if hasattr(spec.worldbody, f"add_{kind}") else spec
        made = add(parent, kind, **{attribute: said})
        assert getattr(made, attribute) == member
        assert word(made, attribute) == said

    def test_settings_have_words_too(self):
        spec = mujoco.MjSpec()
        assign(spec.option, integrator="implicitfast", cone="elliptic", timestep=0.01)
        assign(spec.compiler, conflict="merge", degree=False)
        model = spec.compile()
        assert model.opt.integrator == mujoco.mjtIntegrator.mjINT_IMPLICITFAST
        assert model.opt.cone == mujoco.mjtCone.mjCONE_ELLIPTIC
        assert model.opt.timestep == 0.01
        assert word(spec.option, "integrator") == "implicitfast"
        assert word(spec.compiler, "conflict") == "merge"
        assign(spec.option, integrator="RK4")
        assert word(spec.option, "integrator") == "RK4"


class TestAssign:
    def test_numbers_words_and_handles(self):
        spec = arena()
        body, hip, _, foot, tip = leg(spec)
        assign(hip, axis=[1, 0, 0], damping=2, range=[-30, 30], limited="true", type="hinge")
        assign(foot, type="box", size=[0.1, 0.2, 0.3], material=spec.material("skin"))
        assign(body, euler=[0, 0, 90])
        assign(tip, size=0.05)
        model = spec.compile()
        assert model.joint("hip").axis.tolist() == [1, 0, 0]
        assert model.dof_damping[model.joint("hip").dofadr[0]] == 2
        np.testing.assert_allclose(model.joint("hip").range, [-np.pi / 6, np.pi / 6])
        assert model.geom("foot").type == mujoco.mjtGeom.mjGEOM_BOX
        assert model.geom("foot").size.tolist() == [0.1, 0.2, 0.3]
        assert model.geom("foot").matid[0] == model.mat("skin").id
        np.testing.assert_allclose(model.body("leg").quat, [0.5**0.5, 0, 0, 0.5**0.5], atol=1e-12)
        assert model.site("tip").size[0] == 0.05

    def test_equals_adding_with_the_same_attributes(self):
        given = {
            "geom": {"type": "ellipsoid", "size": [0.1, 0.2, 0.3], "friction": [0.5], "condim": 4},
            "camera": {"mode": "track", "fovy": 30, "xyaxes": [1, 0, 0, 0, 0, 1]},
            "site": {"type": "capsule", "fromto": [0, 0, 0, 1, 0, 0], "size": 0.1},
            "joint": {"type": "ball", "damping": [1, 2], "stiffness": 3},
            "light": {"type": "point", "dir": [1, 0, 0], "castshadow": False},
            "body": {"pos": [1, 2, 3], "gravcomp": 0.5},
        }
        for kind, attributes in given.items():
            one, two = mujoco.MjSpec(), mujoco.MjSpec()
            for spec in (one, two):
                body = spec.worldbody.add_body(name="b", mass=1, inertia=[1, 1, 1])
                made = add(body, kind, **(attributes if spec is one else {}))
            assign(made, **attributes)
            assert differences(one.compile(), two.compile(), but=("signature",)) == [], kind

    def test_the_textures_of_a_material(self):
        spec = arena()
        red = add(spec, "texture", name="red", type="2d", builtin="flat", width=1, height=1)
        before = spec.compile().mat("skin").texid
        assert before.tolist() == [-1, 0, *[-1] * 8]
        assign(spec.material("skin"), textures=red)
        assert spec.compile().mat("skin").texid.tolist() == [-1, 1, *[-1] * 8]
        new = add(spec, "material", name="new", textures=["", "skin", red])
        assert spec.compile().mat("new").texid.tolist() == [-1, 0, 1, *[-1] * 7]
        assert list(new.textures)[:3] == ["", "skin", "red"]

    def test_rows_of_numbers_can_be_given_in_part(self):
        spec = mujoco.MjSpec()
        body, hip, _, foot, _ = leg(spec)
        thin = add(spec, "default", name="thin")
        assign(thin.geom, friction=[0.5, 0.06, 0.07])
        own = add(body, "geom", name="own", size=1, default=thin, friction=0.9)
        assert own.friction.tolist() == [0.9, 0.06, 0.07]
        assign(own, friction=[0.1, 0.2], solimp=[0.8])
        assert own.friction.tolist() == [0.1, 0.2, 0.07]
        assert own.solimp.tolist() == [0.8, *foot.solimp[1:]]
        motor = add(spec, "actuator", name="m", type="motor", target=hip, gear=3)
        assert motor.gear.tolist() == [3, 0, 0, 0, 0, 0]
        weld = add(spec, "equality", name="w", type="joint", name1=hip, data=[0.5])
        assert weld.data[0] == 0.5
        assert weld.data[1:].tolist() == samples()["equality"].data[1:].tolist()

    def test_default_classes(self):
        spec = mujoco.MjSpec()
        thin = add(spec, "default", name="thin")
        thinner = add(spec, "default", name="thinner", default=thin)
        assign(thin.geom, size=0.01, rgba=[1, 0, 0, 1])
        assign(thinner.geom, size=0.001)
        body = add(spec.worldbody, "body", childclass=thin)
        add(body, "geom", name="one", default=thin)
        add(body, "geom", name="two", default=thinner)
        add(body, "geom", name="three", default=thin, size=0.5)
        model = spec.compile()
        assert [model.geom(n).size[0] for n in ("one", "two", "three")] == [0.01, 0.001, 0.5]
        np.testing.assert_allclose(model.geom("one").rgba, [1, 0, 0, 1])
        assert find(spec, "default", "thin") is thin

    def test_mistakes_change_nothing(self):
        spec = arena()
        _, hip, _, foot, _ = leg(spec)
        before = spec.compile()
        for element, wrong, error, message in (
            (hip, {"axis": [1, 0, 0], "axes": 1}, TypeError, "'axes'; did you mean axis"),
            (hip, {"axis": [1, 0, 0], "type": "hing"}, ValueError, "'hing'; did you mean hinge"),
            (hip, {"axis": [1, 0, 0], "range": [1]}, ValueError, "range"),
            (hip, {"axis": [1, 0, 0], "damping": "much"}, TypeError, "damping"),
            (foot, {"size": 9, "pos": "here"}, TypeError, "pos='here'"),
            (foot, {"size": 9, "material": hip}, TypeError, "expected a material, got joint 'hip'"),
            (foot, {"size": 9, "name": "hand"}, TypeError, "geom 'foot': rename"),
            (spec.option, {"timestep": 1, "integrtor": 1}, TypeError, "did you mean integrator"),
            (spec.option, {"timestep": 1, "cone": "round"}, ValueError, "pyramidal, elliptic"),
            (spec.option, {"timestep": 1, "gravity": "down"}, TypeError, "gravity='down'"),
            (spec.default, {"size": 1}, TypeError, "assign to one of its parts.*geom"),
            (before, {"nq": 1}, TypeError, "a part of a MjSpec, got MjModel"),
            (foot, {"size": 9, "friction": [1, 2, 3, 4]}, ValueError, "friction"),
            (foot, {"size": 9, "friction": "low"}, TypeError, "friction='low'"),
            (17, {"size": 1}, TypeError, "expected an element or a part of a MjSpec, got int"),
        ):
            with pytest.raises(error, match=message):
                assign(element, **wrong)
        assert differences(spec.compile(), before) == []


class TestActuators:
    """An actuator's type takes its parameters, and what it acts on says what it acts by."""

    @pytest.mark.parametrize(
        ("written", "given"),
        [
            ('<motor joint="hip" gear="3"/>', {"type": "motor", "gear": [3]}),
            ('<position joint="hip" kp="4" kv="1"/>', {"type": "position", "kp": 4, "kv": 1}),
            (
                '<position joint="hip" kp="4" dampratio="1" ctrlrange="-1 1" forcerange="-2 2"/>',
                {
                    "type": "position",
                    "kp": 4,
                    "dampratio": 1,
                    "ctrlrange": [-1, 1],
                    "forcerange": [-2, 2],
                },
            ),
            ('<velocity joint="hip" kv="2"/>', {"type": "velocity", "kv": 2}),
            ('<damper joint="hip" kv="2" ctrlrange="0 1"/>',
             {"type": "damper", "kv": 2, "ctrlrange": [0, 1]}),
            ('<intvelocity joint="hip" kp="2" actrange="-1 1"/>',
             {"type": "intvelocity", "kp": 2, "actrange": [-1, 1]}),
            ('<general joint="hip" gainprm="3" biastype="affine" biasprm="0 -3 -1"/>',
             {
                "gainprm": [3, *[0] * 9], "biastype": "affine",
                "biasprm": [0, -3, -1, *[0] * 7],
             }),
        ],
    )  # fmt: skip
    def test_equals_the_same_in_mjcf(self, written, given):
        text = f"""<mujoco><worldbody><body name="leg" pos="0 0 1">
            <joint name="hip" axis="0 1 0"/><joint name="knee" type="slide"/>
            <geom name="foot" size=".1"/><site name="tip" pos="0 0 -.1"/></body></worldbody>
            <actuator>{written}</actuator></mujoco>"""
        spec = mujoco.MjSpec()
        _, hip, *_ = leg(spec)
        add(spec, "actuator", target=hip, **given)
        assert differences(spec.compile(), mujoco.MjModel.from_xml_string(text)) == []

    @pytest.mark.parametrize(
        ("given", "message"),
        [
            (
                {"type": "position"},
                "'position' cannot be made of nothing; its parameters are kp, k",
            ),
            ({"type": "position", "kp": "stiff"}, "made of kp='stiff'; its parameters are kp"),
            ({"type": "motor", "kp": 3}, "add_actuator: no attribute 'kp'"),
            ({"type": "position", "kp": 3, "kq": 1}, "no attribute 'kq'; there are .*kp, kv"),
        ],
    )
    def test_wrong_parameters_add_nothing(self, given, message):
        spec = mujoco.MjSpec()
        _, hip, *_ = leg(spec)
        with pytest.raises(TypeError, match=message):
            add(spec, "actuator", name="servo", target=hip, **given)
        assert spec.actuators == []


class TestHandles:
    def test_a_handle_stands_for_a_name_and_says_its_kind(self):
        spec = arena()
        body, hip, knee, foot, tip = leg(spec)
        tendon = add(spec, "tendon", name="string")
        add(tendon, "joint", joint=hip, coef=2)
        add(tendon, "joint", joint="knee")
        targets = {
            "joint": hip, "tendon": tendon, "site": tip, "body": body,
        }  # fmt: skip
        for what, target in targets.items():
            made = add(spec, "actuator", name=f"on {what}", target=target)
            assert (made.target, word(made, "trntype")) == (target.name, what)
        sensor = add(spec, "sensor", name="where", type="framepos", objname=tip, refname=foot)
        assert (sensor.objname, word(sensor, "objtype")) == ("tip", "site")
        assert (sensor.refname, word(sensor, "reftype")) == ("foot", "geom")
        add(spec, "equality", name="same", type="joint", name1=hip, name2=knee)
        add(spec, "pair", name="pair", geomname1=foot, geomname2=spec.geom("floor"))
        add(spec, "exclude", name="exclude", bodyname1=body, bodyname2="table")
        add(spec, "tuple", name="some", objname=[hip, body], objprm=[1, 2])
        add(spec.worldbody, "camera", name="watch", mode="targetbody", targetbody=body)
        add(spec.worldbody, "geom", name="m", size=1, material=spec.material("skin"))
        model = spec.compile()
        assert model.actuator("on body").trnid[0] == model.body("leg").id
        assert model.sensor("where").objid[0] == model.site("tip").id
        assert model.sensor("where").refid[0] == model.geom("foot").id
        assert model.eq("same").obj2id[0] == model.joint("knee").id
        assert model.cam("watch").targetbodyid[0] == model.body("leg").id
        assert model.tuple("some").objid.tolist() == [model.joint("hip").id, model.body("leg").id]
        assert model.wrap_prm.tolist() == [2, 1]

    def test_a_spatial_tendon(self):
        spec = mujoco.MjSpec()
        _, _, _, foot, tip = leg(spec)
        far = add(spec.worldbody, "site", name="far", pos=[2, 0, 2])
        last = add(spec.worldbody, "site", name="last", pos=[3, 0, 2])
        string = add(spec, "tendon", name="string", width=0.01)
        add(string, "site", site=tip)
        add(string, "geom", geom=foot, sidesite=far)
        add(string, "site", site=far)
        add(string, "pulley", divisor=2)
        add(string, "site", site=far)
        add(string, "site", site="last")
        written = mujoco.MjModel.from_xml_string(
            """<mujoco><worldbody><site name="far" pos="2 0 2"/><site name="last" pos="3 0 2"/>
            <body name="leg" pos="0 0 1"><joint name="hip" axis="0 1 0"/>
            <joint name="knee" type="slide"/><geom name="foot" size=".1"/>
            <site name="tip" pos="0 0 -.1"/></body></worldbody>
            <tendon><spatial name="string" width=".01"><site site="tip"/>
            <geom geom="foot" sidesite="far"/><site site="far"/><pulley divisor="2"/>
            <site site="far"/><site site="last"/></spatial></tendon></mujoco>"""
        )
        assert last.name == "last"
        assert differences(spec.compile(), written) == []

    def test_handles_without_names_get_them(self):
        spec = mujoco.MjSpec()
        body = add(spec.worldbody, "body", name="unnamed_joint_0")  # of another kind
        joints = [add(body, "joint", axis=axis) for axis in np.eye(3)]
        add(body, "geom", size=1)
        add(spec, "actuator", type="motor", target=joints[1])
        add(spec, "actuator", type="motor", target=joints[0])
        assert [joint.name for joint in joints] == ["unnamed_joint_1", "unnamed_joint_0", ""]
        model = spec.compile()
        assert model.actuator_trnid[:, 0].tolist() == [1, 0]
        watch = add(spec.worldbody, "camera", mode="targetbody", targetbody=add(body, "body"))
        assert watch.targetbody == "unnamed_body_0"

    @pytest.mark.parametrize(
        ("kind", "given", "message"),
        [
            ("actuator", {"target": "geom"}, "actuator target: cannot be geom 'foot'"),
            (
                "actuator",
                {"target": "site", "trntype": "joint"},
                "expected a joint, got site 'tip'",
            ),
            ("actuator", {"refsite": "geom"}, "expected a site, got geom 'foot'"),
            ("sensor", {"objname": "body", "type": "framepos"}, "objtype='xbody' .its own frame"),
            ("pair", {"geomname1": "site"}, "expected a geom, got site"),
            ("equality", {"name1": "joint", "objtype": "body"}, "expected a body, got joint 'hip'"),
            ("sensor", {"cutoff": "joint"}, "sensor cutoff: takes no handle, got joint 'hip'"),
            ("tuple", {"objname": ["joint"], "objtype": ["geom"]}, "expected a geom, got joint"),
            ("actuator", {"default": "joint"}, "expected a handle .MjsDefault"),
        ],
    )
    def test_handles_of_wrong_kinds(self, kind, given, message):
        spec = mujoco.MjSpec()
        body, hip, _, foot, tip = leg(spec)
        handles = {"body": body, "joint": hip, "geom": foot, "site": tip}
        words = ("trntype", "objtype", "type")

        def handle(value):
            return [handles[v] for v in value] if isinstance(value, list) else handles[value]

        resolved = {k: v if k in words else handle(v) for k, v in given.items()}
        with pytest.raises(TypeError, match=message):
            add(spec, kind, name="wrong", **resolved)
        assert getattr(spec, "equalities" if kind == "equality" else f"{kind}s") == []


class TestNothingIsAddedByMistake:
    @pytest.mark.parametrize(
        ("kind", "given", "error", "message"),
        [
            ("geom", {"dclass": "x"}, TypeError, "no attribute 'dclass'; it is 'default' here"),
            ("geom", {"sise": 1}, TypeError, "add_geom: no attribute 'sise'; did you mean size"),
            ("geom", {"size": [1, 2, 3, 4]}, ValueError, "geom: size should be"),
            ("geom", {"size": "big"}, TypeError, "geom.*size"),
            ("geom", {"name": "foot"}, ValueError, "geom: the name 'foot' is taken"),
            ("geom", {"name": "floor"}, ValueError, "geom: the name 'floor' is taken"),
            ("geom", {"name": 3}, TypeError, "geom name: expected a string, got 3"),
            ("body", {"name": "leg"}, ValueError, "body: the name 'leg' is taken"),
            ("body", {"name": "world"}, ValueError, "body: the name 'world' is taken"),
            ("body", {"pos": [1, 2]}, ValueError, "body: pos"),
            ("freejoint", {"name": "hip"}, ValueError, "joint: the name 'hip' is taken"),
            ("freejoint", {"damping": 3}, TypeError, "add_freejoint: no attribute 'damping'"),
            ("site", {"name": "on_table"}, ValueError, "site: the name 'on_table' is taken"),
            ("frame", {"name": "west"}, ValueError, "frame: the name 'west' is taken"),
        ],
    )
    def test_in_bodies_and_frames(self, kind, given, error, message):
        for within in ("body", "new body", "frame"):
            spec = arena()
            body, *_ = leg(spec)
            parent = {
                "body": lambda body=body: body,
                "new body": lambda spec=spec: add(spec.worldbody, "body"),
                "frame": lambda body=body: add(body, "frame", name="f"),
            }[within]()
            if kind == "freejoint" and within == "frame":
                continue
            before = {kind: len(getattr(spec, plural)) for kind, plural in PLURALS.items()}
            with pytest.raises(error, match=message):
                add(parent, kind, **given)
            assert {k: len(getattr(spec, plural)) for k, plural in PLURALS.items()} == before
            spec.compile()

    @pytest.mark.parametrize(
        ("kind", "given", "error", "message"),
        [
            ("sensor", {"interval": [1]}, ValueError, "sensor: interval"),
            ("sensor", {"typ": "gyro"}, TypeError, "'typ'; did you mean type"),
            ("actuator", {"name": "hinge"}, ValueError, "actuator: the name 'hinge' is taken"),
            ("material", {"name": "skin"}, ValueError, "material: the name 'skin' is taken"),
            ("key", {"name": "ready"}, ValueError, "key: the name 'ready' is taken"),
            ("default", {"name": "leg"}, ValueError, "default: the name 'leg' is taken"),
            ("default", {"name": ""}, TypeError, "name: expected a string"),
            ("default", {"name": "x", "size": 1}, TypeError, "no attribute 'size'"),
            ("actuator", {"joint": "x"}, TypeError, "no attribute 'joint'; it is 'target' here"),
            ("material", {"texture": "x"}, TypeError, "'texture'; it is 'textures' here"),
        ],
    )
    def test_in_the_spec(self, kind, given, error, message):
        spec = arena()
        before = spec.to_xml()
        with pytest.raises(error, match=message):
            add(spec, kind, **given)
        assert spec.to_xml() == before

    def test_names_far_apart_in_the_tree_clash(self):
        spec = mujoco.MjSpec()
        left, right = (add(spec.worldbody, "body", name=side) for side in ("left", "right"))
        deep = left
        for _ in range(4):
            deep = add(deep, "body")
        joint = add(deep, "joint", name="hinge")
        with pytest.raises(ValueError, match="joint: the name 'hinge' is taken"):
            add(right, "joint", name="hinge")
        assert right.joints == []
        add(right, "joint", name="other")
        assert (joint.name, right.joints[0].name) == ("hinge", "other")


PLURALS = {
    k: {"body": "bodies"}.get(k, f"{k}s") for k in ("body", "geom", "joint", "site", "frame")
}


class TestRename:
    def test_everything_follows(self):
        spec = arena()
        body, hip, knee, foot, tip = leg(spec)
        mesh = add(spec, "mesh", name="rock", uservert=np.eye(4, 3).ravel().tolist())
        field = add(spec, "hfield", name="ground", nrow=2, ncol=2, size=[1] * 4, userdata=[0] * 4)
        skin = spec.material("skin")
        geom = add(spec.worldbody, "geom", name="m", type="mesh", meshname=mesh, material=skin)
        hill = add(spec.worldbody, "geom", name="h", type="hfield", hfieldname=field)
        slab = add(spec.worldbody, "site", name="slab", material=skin)
        watch = add(spec.worldbody, "camera", name="c", mode="targetbody", targetbody=body)
        lamp = add(spec.worldbody, "light", name="l", mode="targetbody", targetbody=body)
        string = add(spec, "tendon", name="string", material=skin)
        add(string, "joint", joint=hip)
        pull = add(spec, "actuator", name="pull", type="motor", target=string)
        turn = add(spec, "actuator", name="turn", type="motor", target=knee)
        push = add(spec, "actuator", name="push", type="motor", target=tip, refsite=tip)
        sensor = add(spec, "sensor", name="s", type="framepos", objname=tip, refname=foot)
        length = add(spec, "sensor", name="p", type="tendonpos", objname=string)
        same = add(spec, "equality", name="e", type="joint", name1=knee)
        pair = add(spec, "pair", name="pair", geomname1=foot, geomname2="floor")
        exclude = add(spec, "exclude", name="exclude", bodyname1=body, bodyname2="table")
        some = add(spec, "tuple", name="some", objname=[knee, body, knee], objprm=[1, 2, 3])
        thin = add(spec, "default", name="thin")
        assign(thin.geom, material=skin)
        add(spec.worldbody, "geom", name="thin", default=thin, size=1)
        before = spec.copy().compile()
        for element, new in (
            (body, "LEG"), (knee, "KNEE"), (foot, "FOOT"), (tip, "TIP"), (mesh, "ROCK"),
            (field, "GROUND"), (skin, "SKIN"), (string, "STRING"), (pull, "PULL"),
            (spec.texture("skin"), "BLUE"),
        ):  # fmt: skip
            rename(spec, element, new)
            assert element.name == new
        assert (geom.meshname, geom.material, hill.hfieldname) == ("ROCK", "SKIN", "GROUND")
        assert (slab.material, string.material, thin.geom.material) == ("SKIN", "SKIN", "SKIN")
        assert (watch.targetbody, lamp.targetbody) == ("LEG", "LEG")
        assert (pull.target, turn.target, push.target) == ("STRING", "KNEE", "TIP")
        assert (push.refsite, same.name1, length.objname) == ("TIP", "KNEE", "STRING")
        assert (sensor.objname, sensor.refname) == ("TIP", "FOOT")
        assert (pair.geomname1, pair.geomname2) == ("FOOT", "floor")
        assert (exclude.bodyname1, exclude.bodyname2) == ("LEG", "table")
        assert list(some.objname) == ["KNEE", "LEG", "KNEE"]
        assert list(skin.textures)[1] == "BLUE"
        but = ("signature", "names", "name_", "bind_", "buffer")
        assert differences(spec.compile(), before, but=but) == []

    def test_only_references_of_the_same_kind_follow(self):
        spec = mujoco.MjSpec()
        body = add(spec.worldbody, "body", name="x")
        joint = add(body, "joint", name="x")
        geom = add(body, "geom", name="x", size=1)
        site = add(body, "site", name="x")
        turn = add(spec, "actuator", name="x", target=joint)
        push = add(spec, "actuator", name="y", target=site)
        look = add(spec, "sensor", name="x", type="framepos", objname=geom)
        some = add(spec, "tuple", name="t", objname=[joint, site, body], objprm=[1, 2, 3])
        rename(spec, joint, "j")
        assert (turn.target, push.target, look.objname) == ("j", "x", "x")
        rename(spec, site, "s")
        assert (turn.target, push.target, look.objname) == ("j", "s", "x")
        rename(spec, geom, "g")
        assert (turn.target, push.target, look.objname) == ("j", "s", "g")
        assert list(some.objname) == ["j", "s", "x"]
        assert (body.name, turn.name) == ("x", "x")
        spec.compile()

    def test_every_attribute_with_a_name_is_known(self):
        """The engine says of no attribute that it holds a name; a new one must be found here."""
        no_names = {
            "name", "info", "file", "content_type", "plugin_name", "childclass",
            "cubefiles", "data", "gridlayout",
        }  # fmt: skip
        for kind in KINDS:
            element = samples()[kind]
            texts = {
                name
                for name in dir(element)
                if not name.startswith("_")
                and isinstance(getattr(element, name), str | mujoco._specs.MjStringVec)
            }
            assert texts - no_names == set(REFERENCES.get(kind, {})), kind

    def test_elements_of_other_models_and_paths_of_tendons(self):
        spec = walker()
        with pytest.raises(ValueError, match="geom 'top' is not in model 'walker'"):
            rename(spec, arena().geom("top"), "x")
        with pytest.raises(ValueError, match=r"joint 'hip': the path of tendon 'both' runs over"):
            rename(spec, spec.joint("hip"), "HIP")
        with pytest.raises(TypeError, match="default classes cannot be renamed"):
            rename(spec, spec.default, "x")
        with pytest.raises(TypeError, match="expected an element of a MjSpec, got str"):
            rename(spec, "hip", "x")
        assert spec.joint("hip") is not None
        spec.compile()


class TestNames:
    def test_all_that_is_unnamed_gets_a_name(self):
        spec = walker()
        add(spec.worldbody, "geom", name="unnamed_geom_0", size=1)
        unnamed = [spec.geoms.index(g) for g in spec.geoms if not g.name]
        before = spec.compile()
        name_unnamed(spec)
        assert spec.lights[0].name == "unnamed_light_0"
        assert [spec.geoms[i].name for i in unnamed] == ["unnamed_geom_1"]
        assert all(e.name for e in spec.geoms + spec.lights + spec.joints)
        after = spec.compile()
        assert differences(after, before, but=("signature", "name", "nname", "nbuffer")) == []
        name_unnamed(spec)
        assert spec.lights[0].name == "unnamed_light_0"


class TestFind:
    def test_by_name(self):
        spec = arena()
        assert find(spec, "geom", "top") is spec.geom("top")
        assert find(spec, "body", "world") is spec.worldbody
        assert find(spec, "actuator", "hinge") is spec.actuators[0]
        assert find(spec, "frame", "west") is spec.frames[0]
        assert find(spec, "key", "ready") is spec.keys[0]

    @pytest.mark.parametrize(
        ("kind", "name", "message"),
        [
            ("geom", "flor", "model 'arena' has no geom 'flor'; did you mean floor"),
            ("geom", "zzz", "no geom 'zzz'; there are floor, "),
            ("sensor", "any", "no sensor 'any'; there are none"),
            ("gem", "floor", "no elements called 'gem'; did you mean geom"),
            ("geom", "", "geom: expected a name, got ''"),
            ("default", "arm", "has no default class 'arm'"),
        ],
    )
    def test_mistakes_name_the_nearest(self, kind, name, message):
        with pytest.raises(ValueError, match=message):
            find(arena(), kind, name)

    def test_all_of_a_kind(self):
        spec = walker()
        assert [b.name for b in find_all(spec, "body")] == ["torso", "leg"]
        assert [j.name for j in find_all(spec, "joint")] == ["hip", "twist"]
        assert [a.name for a in find_all(spec, "actuator")] == ["hip", "both"]
        assert [b.name for b in find_all(spec.body("torso"), "body")] == ["leg"]
        assert [g.name for g in find_all(spec.body("leg"), "geom")] == ["", "foot"]
        assert [s.name for s in find_all(spec.worldbody, "site")] == ["head"]
        assert find_all(spec.body("leg"), "camera") == []


class TestAssetsWithoutNames:
    """A handle to a material or a mesh without a name stands for it as any other does."""

    def test_materials_textures_and_meshes(self):
        spec = mujoco.MjSpec()
        corners = [0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1]
        texture = mjcf.add(spec, "texture", type="2d", builtin="flat", width=2, height=2)
        materials = [mjcf.add(spec, "material", textures=texture) for _ in range(2)]
        mesh = mjcf.add(spec, "mesh", uservert=corners)
        geom = mjcf.add(spec.worldbody, "geom", type="mesh", meshname=mesh, material=materials[1])
        assert materials[0].name != materials[1].name
        assert geom.material == materials[1].name
        model = mjcf.compile(spec)
        assert model.geom_matid[0] == 1
