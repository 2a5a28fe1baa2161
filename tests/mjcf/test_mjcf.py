"""Finding, loading, extending and cutting models."""

from pathlib import Path

import mujoco
import pytest

from helpers.lanes import mostly_nightly
from helpers.mjcf_models import differences
from helpers.places import ASSETS
from helpers.small_process import run_small
from mjgym import mjcf
from mjgym.mjcf import add, asset_path, load, remove, without_textures

NAMES = sorted(p.relative_to(ASSETS).as_posix() for p in ASSETS.glob("*/*.xml"))

MJCF = """
<mujoco>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 .1"/>
    <body name="upper">
      <joint name="shoulder"/>
      <geom name="upper" size=".1"/>
      <body name="lower" pos="0 0 .5">
        <joint name="elbow"/>
        <geom name="lower" size=".1"/>
        <site name="tip"/>
        <camera name="wrist"/>
      </body>
    </body>
    <body name="other" pos="2 0 0"><freejoint/><geom name="other" size=".1"/><site name="o"/></body>
  </worldbody>
  <tendon><spatial name="string"><site site="tip"/><site site="o"/></spatial></tendon>
  <actuator>
    <motor name="shoulder" joint="shoulder"/>
    <motor name="elbow" joint="elbow"/>
    <motor name="string" tendon="string"/>
  </actuator>
  <sensor>
    <jointpos name="elbow" joint="elbow"/>
    <touch name="tip" site="tip"/>
    <framepos name="other" objtype="body" objname="other"/>
  </sensor>
  <contact>
    <exclude name="arm" body1="upper" body2="lower"/>
    <pair name="touching" geom1="lower" geom2="other"/>
  </contact>
  <equality><weld name="grasp" body1="lower" body2="other"/></equality>
</mujoco>
"""


def arm():
    return mujoco.MjSpec.from_string(MJCF)


def counts(spec):
    """How many elements of each kind a spec has."""
    kinds = "bodies joints geoms sites cameras tendons actuators sensors excludes pairs equalities"
    return {kind: len(getattr(spec, kind)) for kind in kinds.split()}


class TestAssets:
    def test_a_name_is_relative_to_the_assets_folder(self):
        path = asset_path("dmc/walker.xml")
        assert path.is_file()
        assert path.samefile(ASSETS / "dmc" / "walker.xml")
        assert asset_path("dmc/common/visual.xml").is_file()

    @pytest.mark.parametrize("finder", [asset_path, load])
    def test_an_unknown_name_names_the_nearest(self, finder):
        with pytest.raises(FileNotFoundError, match=r"'dmc/walkr\.xml'.*dmc/walker\.xml"):
            finder("dmc/walkr.xml")
        with pytest.raises(FileNotFoundError, match=r"no asset 'qqq' in .*assets"):
            finder("qqq")
        with pytest.raises(FileNotFoundError, match="'dmc'"):  # a folder is not an asset
            finder("dmc")

    def test_the_working_directory_does_not_matter(self, tmp_path, monkeypatch):
        before = asset_path("dmc/walker.xml")
        monkeypatch.chdir(tmp_path)
        assert asset_path("dmc/walker.xml") == before
        assert load("dmc/walker.xml").body("torso") is not None


class TestLoad:
    def test_any_file(self, tmp_path, monkeypatch):
        path = tmp_path / "mine.xml"
        path.write_text("<mujoco model='mine'/>")
        monkeypatch.chdir(tmp_path)
        for name in (path, str(path), "mine.xml", Path("mine.xml")):
            assert load(name).modelname == "mine"

    def test_each_call_gives_a_spec_of_its_own(self):
        first, second = load("dmc/pendulum.xml"), load("dmc/pendulum.xml")
        first.delete(first.bodies[1])
        assert len(second.bodies) > len(first.bodies)


class TestAdd:
    @pytest.mark.parametrize(
        ("name", "kind"), [("both", "joint"), ("ball", "body"), ("tip", "site"), ("later", "joint")]
    )
    def test_name_of_an_actuators_target_says_what_it_is(self, name, kind):
        spec = mujoco.MjSpec()
        both = add(spec.worldbody, "body", name="both")
        add(both, "joint", name="both")
        add(both, "geom", type="sphere", size=[0.1, 0, 0])
        ball = add(both, "body", name="ball")
        add(ball, "geom", type="sphere", size=[0.1, 0, 0])
        add(ball, "site", name="tip")
        add(spec, "actuator", name="motor", target=name, type="motor")
        add(ball, "joint", name="later")
        model = spec.compile()
        moved = getattr(mujoco.mjtTrn, f"mjTRN_{kind.upper()}")
        assert model.actuator("motor").trntype == moved
        assert model.actuator("motor").trnid[0] == getattr(model, kind)(name).id

    def test_equals_the_same_model_in_mjcf(self):
        written = """
          <mujoco><worldbody>
            <geom type="plane" size="1 1 .1"/>
            <body name="b" pos="0 0 1">
              <joint name="j" type="ball" damping=".1"/>
              <geom type="ellipsoid" size=".1 .2 .3"/>
              <site name="s" type="sphere" size=".1 0 0"/>
            </body>
          </worldbody><sensor><gyro name="g" site="s"/></sensor></mujoco>"""
        spec = mujoco.MjSpec()
        add(spec.worldbody, "geom", type="plane", size=[1, 1, 0.1])
        body = add(spec.worldbody, "body", name="b", pos=[0, 0, 1])
        add(body, "joint", name="j", type="ball", damping=0.1)
        add(body, "geom", type="ellipsoid", size=[0.1, 0.2, 0.3])
        add(body, "site", name="s", type="sphere", size=[0.1, 0, 0])
        add(spec, "sensor", name="g", type="gyro", objtype="site", objname="s")
        assert differences(spec.compile(), mujoco.MjModel.from_xml_string(written)) == []

    @pytest.mark.parametrize(
        ("kind", "attribute", "wrong", "near"),
        [
            ("geom", "type", "capsul", "capsule"),
            ("joint", "type", "hing", "hinge"),
            ("camera", "mode", "trakcom", "trackcom"),
        ],
    )
    def test_a_wrong_word_names_the_nearest_and_adds_nothing(self, kind, attribute, wrong, near):
        spec = arm()
        before = counts(spec)
        with pytest.raises(ValueError, match=f"{kind} {attribute}.*'{wrong}'.*{near}"):
            add(spec.body("lower"), kind, **{attribute: wrong})
        assert counts(spec) == before

    def test_an_unknown_kind_names_the_nearest(self):
        with pytest.raises(ValueError, match=r"'gom'.*geom"):
            add(arm().body("lower"), "gom")
        with pytest.raises(ValueError, match=r"'sensor'.*body.*joint"):
            add(arm().body("lower"), "sensor")  # of the spec, not of a body


class TestRemove:
    def test_a_body_goes_with_all_in_it_and_all_that_refers_to_it(self):
        spec = arm()
        remove(spec, "body", "lower")
        model = spec.compile()
        for count, expected in {
            "nbody": 3,
            "njnt": 2,
            "ngeom": 3,
            "nsite": 1,
            "ncam": 0,
            "ntendon": 0,
            "nexclude": 0,
            "npair": 0,
            "neq": 0,
        }.items():
            assert getattr(model, count) == expected, count
        assert [model.actuator(i).name for i in range(model.nu)] == ["shoulder"]
        assert [model.sensor(i).name for i in range(model.nsensor)] == ["other"]
        assert model.joint("shoulder").id == 0

    def test_several_at_once(self):
        spec = arm()
        remove(spec, "actuator", "string", "elbow")
        remove(spec, "sensor", "tip", "elbow", "other")
        model = spec.compile()
        assert [model.actuator(i).name for i in range(model.nu)] == ["shoulder"]
        assert model.nsensor == 0
        assert model.njnt == 3

    @pytest.mark.parametrize(
        ("kind", "name", "count"),
        [
            ("geom", "floor", "ngeom"),
            ("camera", "wrist", "ncam"),
            ("equality", "grasp", "neq"),
            ("exclude", "arm", "nexclude"),
            ("pair", "touching", "npair"),
            ("actuator", "elbow", "nu"),
        ],
    )
    def test_every_kind(self, kind, name, count):
        before = getattr(arm().compile(), count)
        spec = arm()
        remove(spec, kind, name)
        assert getattr(spec.compile(), count) == before - 1

    @pytest.mark.parametrize(
        ("kind", "wrong", "near"),
        [
            ("body", "lwer", "lower"),
            ("joint", "elbw", "elbow"),
            ("equality", "grsp", "grasp"),
            ("camera", "zzz", "wrist"),  # like none of them: all are listed
        ],
    )
    def test_an_unknown_name_names_the_nearest_and_deletes_nothing(self, kind, wrong, near):
        spec = arm()
        known = {"body": "other", "joint": "shoulder", "equality": "grasp", "camera": "wrist"}[kind]
        with pytest.raises(ValueError, match=f"no {kind} '{wrong}'.*{near}"):
            remove(spec, kind, known, wrong)
        assert counts(spec) == counts(arm())
        assert spec.compile().nbody == 4

    @pytest.mark.parametrize(
        ("names", "left"),
        [
            ("'lower', 'upper'", 2),
            ("'upper', 'lower'", 2),  # the second is gone when its turn comes
            ("'other', 'other'", 3),
        ],
    )
    def test_names_that_go_together(self, names, left):
        # In a process of its own: the engine crashes when it deletes an element twice.
        program = (
            "import mujoco, sys\n"
            "from mjgym import mjcf\n"
            "spec = mujoco.MjSpec.from_string(sys.argv[1])\n"
            f"mjcf.remove(spec, 'body', {names})\n"
            "print(spec.compile().nbody)"
        )
        assert run_small(program, MJCF).strip() == str(left)

    def test_the_world_stays(self):
        program = (
            "import mujoco, sys\n"
            "from mjgym import mjcf\n"
            "spec = mujoco.MjSpec.from_string(sys.argv[1])\n"
            "try:\n    mjcf.remove(spec, 'body', 'world')\n"
            "except ValueError as error:\n    print('refused', spec.compile().nbody)"
        )
        assert run_small(program, MJCF) == "refused 4\n"


class TestWithoutTextures:
    # What holds textures and names, or counts the bytes of them, or depends on the counts.
    PICTURES = (
        "signature",
        "tex_",
        "ntex",
        "mat_texid",
        "name",
        "nname",
        "path",
        "npath",
        "nbuffer",
        "nmat_tex",
    )

    @pytest.mark.parametrize("name", mostly_nightly(NAMES, quick=4))
    def test_everything_but_the_pictures_is_equal(self, name):
        spec = load(name)
        full, bare = spec.compile(), without_textures(spec).compile()
        assert bare.ntex == 0
        assert (bare.mat_texid == -1).all()
        assert differences(full, bare, but=self.PICTURES) == []
        for kind, count in [("body", "nbody"), ("joint", "njnt"), ("sensor", "nsensor")]:
            for i in range(getattr(full, count)):
                assert getattr(full, kind)(i).name == getattr(bare, kind)(i).name

    def test_the_spec_itself_keeps_its_textures(self):
        spec = load("dmc/walker.xml")
        before = spec.compile()
        without_textures(spec)
        assert len(spec.textures) == before.ntex > 0
        assert differences(before, spec.compile()) == []


def test_loading_a_wrong_file_says_what_is_wrong_and_where(tmp_path):
    (tmp_path / "parts.xml").write_text(
        '<mujoco><worldbody>\n<geom tpye="box" size="1"/>\n</worldbody></mujoco>'
    )
    main = tmp_path / "main.xml"
    main.write_text('<mujoco>\n<include file="parts.xml"/>\n</mujoco>')
    with pytest.raises(ValueError, match=r"parts\.xml:2: geom has no attribute 'tpye'.* type\?"):
        mjcf.load(main)
