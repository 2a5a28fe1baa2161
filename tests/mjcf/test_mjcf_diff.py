"""Two models are compared element by element, and only what differs is said."""

import json
from dataclasses import asdict

import mujoco
import numpy as np
import pytest

from helpers.lanes import mostly_nightly
from helpers.places import ASSETS, DATA
from mjgym import mjcf
from mjgym.mjcf.lint.comparing import Difference, diff, shown

FOLDER = DATA / "mjcf"

MODEL = """\
<mujoco>
  <compiler discardvisual="false" inertiafromgeom="false" angle="radian"/>
  <option timestep=".01"/>
  <statistic extent="1" center="0 0 0" meanmass="1" meansize="1"/>
  <asset>
    <mesh name="prism" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
    <mesh name="tower" vertex="0 0 0 1 0 0 0 1 0 0 0 3"/>
    <hfield name="hills" nrow="3" ncol="4" size="1 1 1 .1"
            elevation="0 0 0 0 0 .5 .5 0 0 0 0 1"/>
    <texture name="grid" type="2d" builtin="checker" width="8" height="8" rgb1="1 0 0"/>
    <texture name="plain" type="2d" builtin="flat" width="8" height="8" rgb1="1 0 0"/>
    <material name="paint" texture="grid" shininess=".3"/>
    <material name="rust" rgba=".5 .2 .1 1"/>
  </asset>
  <worldbody>
    <light name="lamp" pos="0 0 3"/>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <geom name="ground" type="hfield" hfield="hills"/>
    <body name="upper" pos="0 0 1">
      <inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/>
      <joint name="shoulder" damping=".1"/>
      <geom name="upper" type="capsule" size=".1 .2" material="paint"/>
      <geom size=".1"/>
      <geom size=".2"/>
      <body name="lower" pos=".4 0 0">
        <inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/>
        <joint name="elbow" type="hinge" axis="0 1 0" range="-1 1"/>
        <geom name="lower" type="mesh" mesh="prism"/>
        <site name="tip"/>
        <site name="side" pos=".1 0 0"/>
        <camera name="eye" mode="targetbody" target="upper"/>
      </body>
    </body>
    <body name="ball" pos="2 0 0">
      <freejoint name="ball"/>
      <inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/>
      <geom name="ball" size=".1"/>
    </body>
  </worldbody>
  <tendon>
    <fixed name="both"><joint joint="shoulder" coef="1"/><joint joint="elbow" coef="-1"/></fixed>
    <spatial name="string"><site site="tip"/><geom geom="ball" sidesite="side"/><site site="tip"/>
    </spatial>
  </tendon>
  <actuator>
    <motor name="shoulder" joint="shoulder" gear="10"/>
    <motor name="pull" tendon="both"/>
    <motor joint="elbow"/>
  </actuator>
  <sensor>
    <touch name="touch" site="tip"/>
    <framepos name="place" objtype="body" objname="lower" reftype="site" refname="side"/>
  </sensor>
  <equality>
    <weld name="held" body1="lower" body2="ball" active="false" relpose="0 0 0 1 0 0 0"/>
    <joint name="linked" joint1="shoulder" joint2="elbow"/>
  </equality>
  <contact>
    <exclude name="apart" body1="upper" body2="lower"/>
    <pair name="touching" geom1="upper" geom2="ball"/>
  </contact>
  <custom>
    <numeric name="gains" data="1 2 3"/>
    <text name="author" data="nobody"/>
    <tuple name="things"><element objtype="body" objname="upper"/>
      <element objtype="site" objname="tip" prm="2"/></tuple>
  </custom>
  <keyframe><key name="home" qpos="0 0 2 0 0 1 0 0 0"/></keyframe>
</mujoco>
"""


def spec(good="", bad=""):
    """The model with something else in it."""
    assert not good or MODEL.count(good) == 1, good
    return mujoco.MjSpec.from_string(MODEL.replace(good, bad))


def said(good, bad, **options):
    """What differs, as (kind, name, field, shown a, shown b)."""
    found = settled(diff(spec(), spec(good, bad), **options))
    return [(d.kind, d.name, d.field, shown(d.a), shown(d.b)) for d in found]


def settled(found):
    """Differences without the one statistic that a model can no longer set, which follows."""
    return [d for d in found if d.field != "meaninertia"]


CHANGES = {
    "option": ('timestep=".01"', 'timestep=".02"', ("option", "", "timestep", "0.01", "0.02")),
    "flag": (
        *('timestep=".01"/>', 'timestep=".01"><flag contact="disable" energy="enable"/></option>'),
        ("option", "", "disableflags", "-", "contact"),
        ("option", "", "enableflags", "-", "energy"),
    ),
    "visual": (
        *("<asset>", '<visual><map znear=".5"/></visual><asset>'),
        ("visual", "", "map.znear", "0.01", "0.5"),
        ("camera", "eye", "intrinsic", "0.01 0.01 0 0", "0.5 0.5 0 0"),
    ),
    "body": (
        *('name="upper" pos="0 0 1"', 'name="upper" pos="0 0 2"'),
        ("body", "upper", "pos", "0 0 1", "0 0 2"),
    ),
    "joint": ('damping=".1"', 'damping=".2"', ("joint", "shoulder", "damping", "0.1", "0.2")),
    "joint's start": (
        *('range="-1 1"', 'range="-1 1" springref=".5"'),
        ("joint", "elbow", "qpos_spring", "0", "0.5"),
        ("tendon", "both", "lengthspring", "0 0", "-0.5 -0.5"),
    ),
    "geom": (
        *('size=".1 .2"', 'size=".1 .3" rgba="1 0 0 1"'),
        ("geom", "upper", "rgba", "0.5 0.5 0.5 1", "1 0 0 1"),
        ("geom", "upper", "size", "0.1 0.2 0", "0.1 0.3 0"),
    ),
    "geom's material": (
        *('material="paint"', 'material="rust"'),
        ("geom", "upper", "matid", "paint", "rust"),
    ),
    "unnamed geom": (
        *('<geom size=".2"/>', '<geom size=".3"/>'),
        ("geom", "upper/geom[1]", "size", "0.2 0 0", "0.3 0 0"),
    ),
    "camera": (
        *('target="upper"', 'target="ball"'),
        ("camera", "eye", "targetbodyid", "upper", "ball"),
    ),
    "texture": (
        *('"2d" builtin="checker"', '"2d" builtin="flat"'),
        ("texture", "grid", "data", "192 numbers", "96 of them differ, by up to 128"),
    ),
    "height field": (
        *("0 0 .5 .5 0", "0 0 .5 .8 0"),
        ("hfield", "hills", "data", "12 numbers", "1 of them differ, by up to 0.3"),
    ),
    "tendon's path": (
        *('joint="elbow" coef="-1"', 'joint="elbow" coef="-2"'),
        (*("tendon", "both", "path"), "joint shoulder 1 joint elbow -1",
         "joint shoulder 1 joint elbow -2"),
    ),
    "actuator's target": (
        *('joint="shoulder" gear', 'joint="elbow" gear'),
        ("actuator", "shoulder", "trnid", "shoulder -", "elbow -"),
    ),
    "actuator's transmission": (
        *('tendon="both"', 'joint="elbow"'),
        ("actuator", "pull", "trnid", "both -", "elbow -"),
        ("actuator", "pull", "trntype", "tendon", "joint"),
    ),
    "sensor's object": (
        *('objname="lower"', 'objname="upper"'),
        ("sensor", "place", "objid", "lower", "upper"),
    ),
    "sensor's kind of object": (
        *('objtype="body" objname="lower"', 'objtype="geom" objname="lower"'),
        ("sensor", "place", "objtype", "body", "geom"),
    ),
    "equality": (
        *('active="false"', 'active="true"'),
        ("equality", "held", "active0", "False", "True"),
    ),
    "excluded bodies": (
        *('body1="upper" body2="lower"', 'body1="upper" body2="ball"'),
        ("exclude", "apart", "signature", "upper lower", "upper ball"),
    ),
    "pair": ('geom2="ball"', 'geom2="floor"', ("pair", "touching", "geom1", "upper", "floor"),
             ("pair", "touching", "geom2", "ball", "upper")),
    "numeric": ('data="1 2 3"', 'data="1 2 4"', ("numeric", "gains", "data", "1 2 3", "1 2 4")),
    "text": ('data="nobody"', 'data="me"', ("text", "author", "data", "nobody", "me")),
    "tuple": (
        *('objname="tip" prm', 'objname="side" prm'),
        ("tuple", "things", "objid", "upper tip", "upper side"),
    ),
    "keyframe": (
        *('qpos="0 0 2', 'qpos="0 1 2'),
        ("key", "home", "qpos", "0 0 2 0 0 1 0 0 0", "0 1 2 0 0 1 0 0 0"),
    ),
}  # fmt: skip


class TestOneChange:
    """One change in a model is one difference, or what the compiler makes of it."""

    @pytest.mark.parametrize("change", mostly_nightly(CHANGES, quick=3))
    def test_it_and_nothing_else_is_said(self, change):
        good, bad, *expected = CHANGES[change]
        assert said(good, bad) == expected

    @pytest.mark.parametrize("change", mostly_nightly(CHANGES, quick=8))
    def test_it_is_the_same_the_other_way_round(self, change):
        good, bad, *expected = CHANGES[change]
        found = settled(diff(spec(good, bad), spec()))
        other = {(d.kind, d.name, d.field): (shown(d.b), shown(d.a)) for d in found}
        there = {tuple(e[:3]): tuple(e[3:]) for e in expected}
        if change in ("height field", "texture"):  # sentences about the second model
            assert other.keys() == there.keys()
        else:
            assert other == there

    def test_no_change(self):
        assert diff(spec(), spec()) == []
        assert diff(spec(), spec(), derived=True) == []


class TestAddedAndRemoved:
    BODY = '<body name="new" pos="5 0 0"><geom name="new" size=".1"/><inertial mass="1" pos="0 0 0"'
    BODY += ' diaginertia="1 1 1"/><freejoint name="new"/></body><body name="upper"'

    def test_a_body_in_front_changes_no_others(self):
        """All ids and addresses are other ones then."""
        a = spec()
        a.delete(a.key("home"))  # it has the size of the positions
        b = spec('<body name="upper"', self.BODY)
        b.delete(b.key("home"))
        found = settled(diff(a, b))
        assert [(d.kind, d.name, d.field, d.a, d.b) for d in found] == [
            ("body", "new", "", None, "world"),
            ("joint", "new", "", None, "new"),
            ("geom", "new", "", None, "new"),
        ]
        assert [(d.kind, d.name, d.a, d.b) for d in settled(diff(b, a))] == [
            ("body", "new", "world", None),
            ("joint", "new", "new", None),
            ("geom", "new", "new", None),
        ]
        assert str(found[0]) == "body 'new': added"
        assert str(settled(diff(b, a))[0]) == "body 'new': removed"

    def test_elements_without_names_by_their_place_in_the_body(self):
        found = diff(spec(), spec('<geom size=".2"/>', '<geom size=".2"/><geom size=".3"/>'))
        assert found == [Difference("geom", "upper/geom[2]", "", None, "upper")]
        found = diff(spec(), spec('<geom size=".1"/>\n', ""))
        assert [(d.name, d.field, d.b) for d in found] == [
            ("upper/geom[0]", "size", [0.2, 0.0, 0.0]),
            ("upper/geom[1]", "", None),
        ]


class TestTolerance:
    @pytest.mark.parametrize("value", ["1.001", "1001", "-1001"])
    def test_it_is_relative_above_one(self, value):
        """The difference of joint positions that is 1e-3 of the larger number."""
        other = float(value) * (1 - 1e-3)
        a = spec('name="ball" pos="2 0 0"', f'name="ball" pos="{value} 0 0"')
        b = spec('name="ball" pos="2 0 0"', f'name="ball" pos="{other!r} 0 0"')
        for s in (a, b):  # a keyframe and a start do not follow
            s.delete(s.key("home"))
        assert [d for d in diff(a, b, 1.01e-3) if d.kind == "body"] == []
        assert [d.field for d in diff(a, b, 0.99e-3) if d.kind == "body"] == ["pos"]

    def test_it_is_absolute_below_one(self):
        changed = ('damping=".1"', 'damping=".1000001"')
        assert said(*changed, tolerance=1e-6) == []
        assert len(said(*changed, tolerance=1e-8)) == 1

    def test_none_below_zero(self):
        with pytest.raises(ValueError, match="tolerance must be 0 or more, got -1"):
            diff(spec(), spec(), -1)
        with pytest.raises(ValueError, match="got nan"):
            diff(spec(), spec(), float("nan"))


class TestDerived:
    def test_a_mass_changes_one_field_and_many_derived_ones(self):
        mass = (
            '<inertial mass="1" pos="0 0 0" diaginertia=".1 .1 .1"/>\n      <geom name="ball"',
            '<inertial mass="2" pos="0 0 0" diaginertia=".1 .1 .1"/>\n      <geom name="ball"',
        )
        assert said(*mass) == [("body", "ball", "mass", "1", "2")]
        found = {(d.kind, d.name, d.field) for d in diff(spec(), spec(*mass), derived=True)}
        assert found > {
            ("body", "ball", "mass"),
            ("body", "ball", "subtreemass"),
            ("body", "world", "subtreemass"),
            ("body", "ball", "invweight0"),
            ("joint", "ball", "invweight0"),
        }


class TestSources:
    def test_files_specs_and_models(self, tmp_path):
        (tmp_path / "a.xml").write_text(MODEL)
        (tmp_path / "b.xml").write_text(MODEL.replace('damping=".1"', 'damping=".2"'))
        model = spec('damping=".1"', 'damping=".2"').compile()
        mujoco.mj_saveModel(model, str(tmp_path / "b.mjb"), None)
        expected = [Difference("joint", "shoulder", "damping", [0.1], [0.2])]
        for b in (tmp_path / "b.xml", str(tmp_path / "b.mjb"), model):
            for a in (tmp_path / "a.xml", spec(), spec().compile()):
                assert diff(a, b) == expected
        json.dumps([asdict(d) for d in expected])

    def test_a_spec_that_does_not_compile(self):
        """A copy of it would: in that is nothing that refers to nothing."""
        own = spec()
        own.delete(own.geom("ball"))
        with pytest.raises(ValueError, match="geom 'ball' not found"):
            diff(spec(), own)

    def test_urdf(self, tmp_path):
        text = (FOLDER / "slewer" / "slewer.urdf").read_text()
        other = tmp_path / "other.urdf"
        other.write_text(
            text.replace('upper="2"', 'upper="3"').replace(
                'meshdir="meshes"', f'meshdir="{FOLDER / "slewer" / "meshes"}"'
            )
        )
        found = diff(FOLDER / "slewer" / "slewer.urdf", other)
        assert found == [Difference("joint", "slew", "range", [-2.0, 2.0], [-2.0, 3.0])]

    def test_what_is_no_file_or_no_model(self, tmp_path):
        with pytest.raises(FileNotFoundError, match=r"no file .*none\.xml"):
            diff(tmp_path / "none.xml", spec())
        wrong = tmp_path / "wrong.xml"
        wrong.write_text("<mujoco>\n<worldbody><geom sise='1'/></worldbody></mujoco>")
        with pytest.raises(
            ValueError, match=r"wrong.xml:2: geom has no attribute 'sise'; did you mean size"
        ):
            diff(spec(), wrong)

    def test_a_binary_model_promises_more_than_it_has(self, tmp_path):
        """Which the engine would make room for: 12 GiB for a file of 9 kB."""
        path, header = tmp_path / "a.mjb", 20
        mujoco.mj_saveModel(spec().compile(), str(path))
        whole = path.read_bytes()
        for place, size in ((header + 8 * 6, 10**8), (header, -(10**8)), (8, 0), (4, 4)):
            damaged = bytearray(whole)
            damaged[place : place + 8] = size.to_bytes(8, "little", signed=True)
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match=r"a\.mjb: "):
                diff(path, spec())
        for content in (b"", whole[:10], whole[: len(whole) // 2]):
            path.write_bytes(content)
            with pytest.raises(ValueError, match=r"a\.mjb: "):
                diff(spec(), path)

    @pytest.mark.weekly
    @pytest.mark.parametrize("name", ["humanoid", "dog", "manipulator"])
    def test_models_of_this_package(self, name):
        path = ASSETS / "dmc" / f"{name}.xml"
        assert diff(path, mjcf.load(path), derived=True) == []
        changed = mjcf.load(path)
        body = next(b for b in changed.bodies if b.name and b.name != "world")
        before, after = np.array(body.pos), np.array(body.pos) + 0.5
        body.pos = after
        expected = Difference("body", body.name, "pos", before.tolist(), after.tolist())
        assert expected in diff(path, changed)
