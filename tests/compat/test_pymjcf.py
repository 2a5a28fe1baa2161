"""PyMJCF's interface: models as trees, attached to each other, compiled, and bound to numbers."""

import copy
import io
import math
import zipfile

import mujoco
import numpy as np
import pytest

from mjgym_compat.dm_control import mjcf


def leg(length=0.3, rgba=(1, 0, 0, 1)):
    """A leg of two segments, as in the paper on dm_control (Tunyasuvunakool et al., 2020)."""
    model = mjcf.RootElement()
    model.default.joint.damping = 2
    model.default.joint.type = "hinge"
    model.default.geom.type = "capsule"
    model.default.geom.rgba = rgba
    thigh = model.worldbody.add("body")
    hip = thigh.add("joint", axis=[0, 0, 1])
    thigh.add("geom", fromto=[0, 0, 0, length, 0, 0], size=[length / 4])
    shin = thigh.add("body", pos=[length, 0, 0])
    knee = shin.add("joint", axis=[0, 1, 0])
    shin.add("geom", fromto=[0, 0, 0, 0, 0, -length], size=[length / 5])
    model.actuator.add("position", joint=hip, kp=10)
    model.actuator.add("position", joint=knee, kp=10)
    return model


def creature(legs):
    model = mjcf.RootElement()
    model.compiler.angle = "radian"
    torso = model.worldbody.add("geom", name="torso", type="ellipsoid", size=[0.1, 0.1, 0.05])
    for i in range(legs):
        theta = 2 * math.pi * i / legs
        place = 0.1 * np.array([math.cos(theta), math.sin(theta), 0])
        site = model.worldbody.add("site", pos=place, euler=[0, 0, theta])
        site.attach(leg())
    assert torso.name == "torso"
    return model


class TestAttaching:
    def test_a_creature_compiles(self):
        physics = mjcf.Physics.from_mjcf_model(creature(6))
        assert (physics.model.njnt, physics.model.nu, physics.model.ngeom) == (12, 12, 13)
        assert set(physics.model.ptr.dof_damping) == {2.0}  # each leg's own default class
        assert set(physics.model.ptr.actuator_gainprm[:, 0]) == {10.0}

    def test_names_have_the_prefixes_of_models(self):
        inner, middle, outer = (mjcf.RootElement(model=name) for name in ("c", "b", "a"))
        geom = inner.worldbody.add("geom", name="ball", size=[1])
        middle.attach(inner)
        outer.attach(middle)
        assert geom.full_identifier == "b/c/ball"
        assert geom.prefixed_identifier(middle.namescope) == "c/ball"
        assert outer.find("geom", "b/c/ball") is geom
        assert middle.find("geom", "c/ball") is geom
        assert outer.find("geom", "ball") is None
        assert [m.model for m in outer.all_models()] == ["a", "b", "c"]
        inner.model = "d"
        assert geom.full_identifier == "b/d/ball"

    def test_an_attached_model_stays_alive(self):
        outer, inner = mjcf.RootElement(model="outer"), mjcf.RootElement(model="inner")
        outer.attach(inner)
        body = inner.worldbody.add("body", name="late")
        body.add("geom", size=[0.1])
        model = mujoco.MjModel.from_xml_string(outer.to_xml_string())
        assert model.body("inner/late").id > 0
        inner.detach()
        assert "late" not in outer.to_xml_string()
        assert body.full_identifier == "late"

    def test_joints_of_a_frame(self):
        outer, inner = mjcf.RootElement(model="outer"), mjcf.RootElement(model="inner")
        inner.worldbody.add("geom", size=[0.1])
        frame = outer.attach(inner)
        slide = frame.add("joint", name="x", type="slide", axis=[1, 0, 0])
        outer.actuator.add("motor", name="push", joint=slide)
        model = mujoco.MjModel.from_xml_string(outer.to_xml_string())
        assert model.joint("inner/x/").type == mujoco.mjtJoint.mjJNT_SLIDE
        assert outer.find("joint", "inner/x/") is slide
        assert mjcf.get_frame_joints(inner) == [slide]
        assert mjcf.get_attachment_frame(inner) is frame
        assert mjcf.get_frame_freejoint(inner) is None
        nested = mjcf.RootElement(model="nested")
        with pytest.raises(AttributeError, match="not a valid child"):
            inner.worldbody.add("body").attach(nested).add("freejoint")

    @pytest.mark.parametrize(
        ("section", "name"), [("option", "density"), ("compiler", "boundmass")]
    )
    def test_conflicting_options_are_refused_before_anything_is_attached(self, section, name):
        outer, inner = mjcf.RootElement(model="outer"), mjcf.RootElement(model="inner")
        for model, value in ((outer, 1), (inner, 2)):
            setattr(getattr(model, section), name, value)
        with pytest.raises(ValueError, match=f"Conflicting values for attribute `{name}`"):
            outer.attach(inner)
        assert inner.parent_model is None
        assert not outer.attached_models
        assert outer.worldbody.all_children() == []

    def test_options_are_shared(self):
        outer, inner = mjcf.RootElement(model="outer"), mjcf.RootElement(model="inner")
        inner.option.timestep = 0.01
        outer.attach(inner)
        assert outer.option.timestep == 0.01
        inner.option.timestep = 0.02
        assert outer.option.timestep == 0.02

    def test_what_cannot_be_attached(self):
        outer, inner = mjcf.RootElement(model="outer"), mjcf.RootElement(model="inner")
        outer.attach(inner)
        with pytest.raises(ValueError, match="already attached elsewhere"):
            mjcf.RootElement(model="third").attach(inner)
        with pytest.raises(ValueError, match="to itself"):
            outer.attach(outer)
        with pytest.raises(ValueError, match="to itself"):
            inner.attach(outer)
        with pytest.raises(ValueError, match=r"Expected a mjcf.RootElement"):
            outer.attach(inner.worldbody)

    def test_a_model_of_a_name_that_is_taken_is_numbered(self):
        arena, robots = mjcf.RootElement(model="arena"), []
        for i in range(3):
            robots.append(mjcf.RootElement(model="robot"))
            robots[i].worldbody.add("body", name="b").add("geom", size=[0.1])
            arena.worldbody.add("site", name=f"s{i}").attach(robots[i])
        assert [robot.model for robot in robots] == ["robot", "robot_1", "robot_2"]
        assert robots[2].find("body", "b").full_identifier == "robot_2/b"
        unnamed = [mjcf.RootElement() for _ in range(3)]
        for model in unnamed:
            arena.attach(model)
        assert unnamed[2].model == "unnamed_model_2"

    def test_a_frame_follows_its_site_and_what_is_attached_there(self):
        arena = mjcf.RootElement(model="arena")
        kids = [mjcf.RootElement(model=f"kid{i}") for i in range(2)]
        for kid in kids:
            kid.worldbody.add("body", name="b").add("geom", size=[0.1])
        arena.worldbody.add("body", name="first").add("geom", size=[0.1])
        site = arena.worldbody.add("site", name="mount")
        arena.worldbody.add("body", name="last").add("geom", size=[0.1])
        for kid in kids:
            site.attach(kid)
        model = mjcf.Physics.from_mjcf_model(arena).model
        names = [model.id2name(i, "body") for i in range(1, model.nbody)]
        assert names == ["first", "kid0/", "kid0/b", "kid1/", "kid1/b", "last"]

    def test_controls_are_in_the_order_of_the_document(self):
        def actuated(name):
            model = mjcf.RootElement(model=name)
            body = model.worldbody.add("body")
            body.add("geom", size=[0.1])
            joint = body.add("joint")
            for kind in ("intvelocity", "motor", "cylinder", "position"):
                options = {"actrange": [-1, 1]} if kind == "intvelocity" else {}
                model.actuator.add(kind, name=kind, joint=joint, **options)
            return model

        outer = actuated("outer")
        outer.attach(actuated("inner"))
        model = mjcf.Physics.from_mjcf_model(outer).model
        own = ["intvelocity", "motor", "cylinder", "position"]
        names = [model.id2name(i, "actuator") for i in range(model.nu)]
        assert names == [*own, *(f"inner/{name}" for name in own)]


class TestElements:
    def test_a_wrong_attribute_names_the_nearest_and_adds_nothing(self):
        model = mjcf.RootElement()
        with pytest.raises(AttributeError, match=r"'masss'.*did you mean mass"):
            model.worldbody.add("geom", name="a", masss=1)
        with pytest.raises(ValueError, match="no more than 3 entries"):
            model.worldbody.add("body", name="a", pos=[1, 2, 3, 4])
        with pytest.raises(ValueError, match=r"'sphre'.*did you mean sphere"):
            model.worldbody.add("geom", type="sphre")
        with pytest.raises(AttributeError, match=r"<bdy> is not a valid child.*body"):
            model.worldbody.add("bdy")
        assert model.worldbody.all_children() == []
        assert model.find("body", "a") is None

    def test_names_are_unique_among_their_kind(self):
        model = mjcf.RootElement()
        first = model.worldbody.add("body", name="a")
        model.worldbody.add("geom", name="a")
        with pytest.raises(ValueError, match=r"Duplicated identifier 'a' in namespace <body>"):
            model.worldbody.add("body", name="a")
        with pytest.raises(ValueError, match="reserved for scoping"):
            model.worldbody.add("body", name="a/b")
        first.remove()
        assert first.is_removed
        assert model.worldbody.add("body", name="a") is not first

    def test_references_follow_renaming_and_removal(self):
        model = mjcf.RootElement()
        body = model.worldbody.add("body", name="a")
        joint = body.add("joint", name="old")
        motor = model.actuator.add("motor", joint=joint)
        joint.name = "new"
        assert 'joint="new"' in motor.to_xml_string()
        joint.remove()
        assert motor.joint is None

    def test_lists_by_index_and_by_name(self):
        model = mjcf.RootElement()
        body = model.worldbody.add("body", name="a")
        spheres = [body.add("geom", name=f"s{i}", size=[0.1]) for i in range(3)]
        assert body.geom == spheres
        assert body.geom["s1"] is spheres[1]
        assert "s2" in body.geom
        with pytest.raises(KeyError, match="s3"):
            body.geom["s3"]
        front = body.insert("geom", 0, name="front", size=[0.1])
        assert body.geom[0] is front

    def test_defaults_are_written_into_elements(self):
        model = mjcf.RootElement()
        model.default.geom.rgba = [1, 0, 0, 1]
        heavy = model.default.add("default", dclass="heavy")
        heavy.geom.density = 5000
        geom = model.worldbody.add("body", childclass=heavy).add("geom", size=[1])
        mjcf.commit_defaults(geom)
        assert geom.density == 5000
        np.testing.assert_array_equal(geom.rgba, [1, 0, 0, 1])

    def test_a_copy_is_the_same_but_another(self):
        model = leg()
        copied = copy.deepcopy(model)
        assert copied.is_same_as(model)
        assert copied is not model
        assert copied.actuator.position[0].joint is copied.find_all("joint")[0]
        copied.find_all("geom")[0].size = [1]
        assert not copied.is_same_as(model)
        assert mjcf.Physics.from_mjcf_model(copied).model.njnt == 2

    def test_sections_of_attached_models_are_cleared_together_or_not_at_all(self):
        outer, inner = mjcf.RootElement(model="outer"), mjcf.RootElement(model="inner")
        outer.attach(inner)
        inner.option.flag.gravity = "disable"
        with pytest.raises(ValueError, match="affect_attachments=True"):
            del outer.option
        outer.option.remove(affect_attachments=True)
        assert inner.option.flag.gravity is None


class TestText:
    def test_it_is_read_as_it_was_written(self):
        model = leg()
        again = mjcf.from_xml_string(
            model.to_xml_string(),
        )
        assert again.is_same_as(model)
        first, second = (mujoco.MjModel.from_xml_string(m.to_xml_string()) for m in (model, again))
        for field in ("body_pos", "geom_size", "jnt_axis", "dof_damping", "actuator_gainprm"):
            np.testing.assert_array_equal(getattr(first, field), getattr(second, field))

    def test_numbers_survive(self):
        model = mjcf.RootElement()
        values = np.random.default_rng(0).normal(size=3)
        model.worldbody.add("body", name="a", pos=values)
        again = mjcf.from_xml_string(model.to_xml_string())
        np.testing.assert_array_equal(again.find("body", "a").pos, values)
        assert 'pos="0.13 -0.13 0.64"' in model.to_xml_string(precision=2)

    @pytest.mark.parametrize("text", ["<mujoco", "<model/>", "<mujoco><wordbody/></mujoco>"])
    def test_what_is_no_model(self, text):
        with pytest.raises((ValueError, AttributeError)) as caught:
            mjcf.from_xml_string(text)
        assert any(word in str(caught.value) for word in ("XML", "model", "wordbody"))

    def test_entities_are_refused(self):
        bomb = '<!DOCTYPE x [<!ENTITY a "aaaa">]><mujoco model="&a;"/>'
        with pytest.raises(ValueError, match="declares an entity"):
            mjcf.from_xml_string(bomb)
        with pytest.raises(ValueError, match="document type"):
            mjcf.from_xml_string("<!DOCTYPE mujoco><mujoco/>")


class TestAssets:
    PLANE = (
        b"# a triangle\nv 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 3 4\nf 2 3 4\n"
    )

    def model(self, folder):
        (folder / "meshes").mkdir()
        (folder / "meshes" / "corner.obj").write_bytes(self.PLANE)
        path = folder / "model.xml"
        path.write_text(
            '<mujoco model="m"><compiler meshdir="meshes"/>'
            '<asset><mesh file="corner.obj"/></asset>'
            '<worldbody><body><geom type="mesh" mesh="corner"/></body></worldbody></mujoco>'
        )
        return mjcf.from_path(path)

    def test_files_are_found_by_contents(self, tmp_path):
        model = self.model(tmp_path)
        (name,) = model.get_assets()
        assert name.startswith("corner-")
        assert name.endswith(".obj")
        assert model.get_assets() == {name: self.PLANE}
        assert model.find("mesh", "corner").file.contents == self.PLANE
        assert mjcf.Physics.from_mjcf_model(model).model.nmesh == 1

    def test_the_same_file_is_kept_once(self, tmp_path):
        outer = mjcf.RootElement(model="outer")
        model = self.model(tmp_path)
        second = copy.copy(model)
        second.model = "n"
        outer.attach(model)
        outer.attach(second)
        assert len(outer.get_assets()) == 1
        assert mjcf.Physics.from_mjcf_model(outer).model.nmesh == 2

    def test_a_missing_file_is_named(self):
        with pytest.raises(OSError, match=r"nothing\.obj"):
            mjcf.from_xml_string('<mujoco><asset><mesh file="nothing.obj"/></asset></mujoco>')

    @pytest.mark.parametrize("archive", [False, True])
    def test_exports_compile_where_they_are(self, tmp_path, archive):
        model = self.model(tmp_path)
        out = tmp_path / "out"
        if archive:
            mjcf.export_with_assets_as_zip(model, out)
            with zipfile.ZipFile(out / "m.zip") as packed:
                packed.extractall(out)
            (contents,) = mjcf.from_zip(str(out / "m.zip")).get_assets().values()
            assert contents == self.PLANE
        else:
            mjcf.export_with_assets(model, out / "m")
        assert mujoco.MjModel.from_xml_path(str(out / "m" / "m.xml")).nmesh == 1

    def test_an_archive_may_have_two_files_of_a_name(self):
        text = """<mujoco model="two"><asset><mesh name="l" file="left/part.obj"/>
          <mesh name="r" file="right/part.obj"/></asset><worldbody><geom type="mesh" mesh="l"/>
          <geom type="mesh" mesh="r"/></worldbody></mujoco>"""
        larger = self.PLANE.replace(b"v 1", b"v 2")

        def packed(**files):
            made = io.BytesIO()
            with zipfile.ZipFile(made, "w") as archive:
                for name, contents in files.items():
                    archive.writestr(name, contents)
            return made.getvalue()

        meshes = {"left/part.obj": self.PLANE, "right/part.obj": larger}
        for top in ("", "two/"):
            files = {"two.xml": text, **meshes}
            model = mjcf.from_zip(packed(**{top + name: data for name, data in files.items()}))
            found = [model.find("mesh", name).file.contents for name in "lr"]
            assert found == [self.PLANE, larger]
        part = '<mujoco><worldbody><geom name="g" size=".1"/></worldbody></mujoco>'
        outer = '<mujoco><include file="parts/part.xml"/></mujoco>'
        files = {"parts/part.xml": part, "model.xml": outer}
        assert mjcf.from_zip(packed(**files)).find("geom", "g") is not None
        with pytest.raises(ValueError, match=r"no 'arm\.xml'"):
            mjcf.from_zip(packed(**files), model_file="arm.xml")
        with pytest.raises(ValueError, match="no ZIP archive"):
            mjcf.from_zip(b"<mujoco/>")

    def test_names_of_files_without_their_hash(self, tmp_path):
        model = self.model(tmp_path)
        assert 'file="corner.obj"' in model.to_xml_string(filename_with_hash=False)
        assert 'file="corner-' in model.to_xml_string()

    def test_what_is_included_follows_the_document(self, tmp_path):
        (tmp_path / "part.xml").write_text(
            '<mujoco><worldbody><geom name="late" size="1"/></worldbody></mujoco>'
        )
        text = """<mujoco><include file="part.xml"/>
          <worldbody><geom name="early" size="1"/></worldbody></mujoco>"""
        for model in (
            mjcf.from_xml_string(text, model_dir=str(tmp_path)),
            mjcf.from_file(io.StringIO(text), model_dir=str(tmp_path)),
        ):
            assert [geom.name for geom in model.find_all("geom")] == ["early", "late"]
        (tmp_path / "part.xml").write_text('<mujoco><include file="part.xml"/></mujoco>')
        with pytest.raises(ValueError, match=r"part\.xml includes itself"):
            mjcf.from_xml_string(text, model_dir=str(tmp_path))


class TestBinding:
    @pytest.fixture
    def arm(self):
        model = creature(3)
        return model, mjcf.Physics.from_mjcf_model(model)

    def test_numbers_are_found_and_written(self, arm):
        model, physics = arm
        joints = model.find_all("joint")
        values = np.arange(6) / 10
        physics.bind(joints).qpos = values
        np.testing.assert_array_equal(physics.data.qpos, values)
        np.testing.assert_array_equal(physics.bind(joints[::-1]).qpos, values[::-1])
        physics.bind(joints[2]).qpos = 0.7
        assert physics.data.qpos[2] == 0.7
        physics.bind(joints).qpos[1:3] += 1
        np.testing.assert_allclose(physics.data.qpos[1:3], [1.1, 1.7])

    def test_what_depends_on_them_is_computed_when_it_is_read(self, arm):
        model, physics = arm
        geoms = model.find_all("geom")
        before = physics.bind(geoms).xpos.copy()
        physics.bind(model.find_all("joint")).qpos = 0.5
        assert physics.is_dirty
        np.testing.assert_array_equal(physics.data.geom_xpos, before)
        after = physics.bind(geoms).xpos
        assert not physics.is_dirty
        assert (after != before).any()

    def test_one_joint_has_a_row_and_one_servo_a_number(self, arm):
        model, physics = arm
        joint, servo = model.find_all("joint")[0], model.find_all("actuator")[0]
        assert physics.bind(joint).qpos.shape == physics.bind(joint).qvel.shape == (1,)
        assert physics.bind(servo).ctrl.shape == physics.bind(joint).range[0].shape == ()

    def test_columns(self, arm):
        model, physics = arm
        geom = model.find_all("geom")[0]
        physics.bind(geom)["pos", ["x", "z"]] = 3, 4
        assert list(physics.bind(geom).pos[[0, 2]]) == [3, 4]
        assert physics.bind(geom)["pos", "z"] == 4
        assert physics.bind(geom).xpos[2] == 4  # it no longer lies in its body's frame

    def test_bodies_of_attached_models_and_frames(self, arm):
        model, physics = arm
        frames = [x for x in model.find_all("body") if x.full_identifier.endswith("/")]
        assert physics.bind(frames).xpos.shape == (3, 3)
        assert physics.bind(frames[0]).element_id == 1
        assert physics.bind(model.worldbody).element_id == 0

    def test_mistakes(self, arm):
        model, physics = arm
        with pytest.raises(ValueError, match="multiple element types"):
            physics.bind([model.find_all("joint")[0], model.find_all("geom")[0]])
        with pytest.raises(AttributeError, match=r"does not have attribute 'xpoz'.*xpos"):
            _ = physics.bind(model.find_all("geom")).xpoz
        with pytest.raises(ValueError, match="empty binding"):
            physics.bind([]).xpos = 3
        with pytest.raises(ValueError, match="cannot be bound"):
            physics.bind(model.default)
        assert physics.bind([]).xpos.shape == (0,)


def attached():
    world, part, tool = (mjcf.RootElement(model=name) for name in ("world", "part", "tool"))
    body = part.worldbody.add("body", name="b")
    body.add("geom", name="g", type="sphere", size=[0.1])
    tool.worldbody.add("geom", name="g", type="sphere", size=[0.1])
    frame = world.worldbody.add("site", name="s").attach(part)
    body.add("site", name="tip").attach(tool)
    return world, part, frame


def test_frames_of_attached_models_are_bodies():
    """As dm_control 1.0.50 lists them."""
    world, part, frame = attached()

    def names(root, **options):
        return [each.full_identifier for each in root.find_all("body", **options)]

    assert names(world) == ["part/", "part/b", "part/tool/"]
    assert names(part) == names(frame) == ["part/b", "part/tool/"]
    assert names(world, exclude_attachments=True) == ["part/"]
    assert names(part, exclude_attachments=True) == ["part/b", "part/tool/"]
    assert world.find_all("attachment_frame") == []
    assert world.find("attachment_frame", "part") is frame


def test_parts_of_attached_models_are_only_removed_on_request():
    for holder in ("frame", "world"):
        world, part, frame = attached()
        element = frame if holder == "frame" else world.worldbody
        with pytest.raises(ValueError, match=r"attached models.*affect_attachments=True"):
            element.remove()
        assert len(world.find_all("body")) == 3
        assert part.parent_model is world
        element.remove(affect_attachments=True)
        assert world.find_all("body") == part.find_all("body") == []
    world, part, frame = attached()
    frame.pos = [1, 2, 3]
    part.detach()
    assert (frame.is_removed, frame.pos) == (True, None)
    assert len(part.find_all("body")) == 2  # it keeps its own
    assert world.worldbody.attach(part).full_identifier == "part/"


def test_elements_of_a_list_are_deleted_from_the_model():
    model = mjcf.RootElement()
    for i in range(4):
        model.worldbody.add("geom", name=f"g{i}", size=[0.1])
    geoms = model.worldbody.geom
    del geoms["g1"], geoms[0]
    assert [geom.name for geom in model.find_all("geom")] == ["g2", "g3"]
    with pytest.raises(KeyError, match="no <geom> 'g9'"):
        del geoms["g9"]
    geoms.clear()
    assert model.find_all("geom") == []


def test_a_copy_that_has_a_name_twice_is_refused_before_anything_is_copied():
    target, other = mjcf.RootElement(model="a"), mjcf.RootElement(model="b")
    target.worldbody.add("body", name="arm").add("geom", name="g", size=[0.1])
    other.worldbody.add("site", name="new")
    other.worldbody.add("body", name="hand").add("geom", name="g", size=[0.2])
    with pytest.raises(ValueError, match="Duplicated identifier 'g' in namespace <geom>"):
        target.include_copy(other)
    assert target.find("site", "new") is None
    other.find("geom", "g").name = "h"
    target.include_copy(other)
    assert target.find("geom", "h").parent is target.find("body", "hand")
    again = mjcf.RootElement(model="c")
    again.worldbody.add("body", name="arm").pos = [1, 0, 0]
    target.include_copy(again, override_attributes=True)
    assert target.find("body", "arm").pos[0] == 1
    again.worldbody.add("body", name="outer").add("geom", name="g", size=[0.3])
    with pytest.raises(ValueError, match="child of another element"):
        target.include_copy(again, override_attributes=True)


def test_references_to_what_was_removed_vanish_or_are_named_at_every_export():
    model = mjcf.from_xml_string(
        """<mujoco><asset><material name="red"/></asset><worldbody><body><joint name="j"/>
        <geom name="g" material="red" size=".1" rgba="1 0 0 1"/></body></worldbody>
        <sensor><jointpos name="s" joint="j"/></sensor></mujoco>"""
    )
    model.find("material", "red").remove()
    for _ in range(2):
        assert "material=" not in model.to_xml_string()
    model.find("joint", "j").remove()
    for _ in range(2):
        with pytest.raises(AttributeError, match="'joint' of <jointpos> is required"):
            model.to_xml_string()
    model.find("sensor", "s").remove()
    assert mjcf.Physics.from_mjcf_model(model).model.njnt == 0


def test_what_has_no_name_is_numbered_among_all_of_its_kind():
    model = mjcf.RootElement(model="m")
    named = model.worldbody.add("geom", name="g", size=[0.1])
    last = model.worldbody.add("body").add("geom", size=[0.1])
    assert last.full_identifier == "//unnamed_geom_1"
    named.remove()
    assert last.full_identifier == "//unnamed_geom_0"
    late = model.worldbody.add("body")
    site = model.worldbody.insert("site", 0)
    assert late.full_identifier == "//unnamed_body_1"
    frame = site.attach(mjcf.RootElement(model="inner"))  # which is a body, before both
    assert late.full_identifier == "//unnamed_body_2"
    joint = late.add("joint")
    assert joint.full_identifier == "//unnamed_joint_0"
    frame.add("joint")
    assert joint.full_identifier == "//unnamed_joint_1"
    frame.attachment.detach()
    assert (late.full_identifier, joint.full_identifier) == (
        "//unnamed_body_1",
        "//unnamed_joint_0",
    )


def test_separators_are_escaped_on_request():
    outer, inner = mjcf.RootElement(model="outer"), mjcf.RootElement(model="inner")
    inner.worldbody.add("body", name="b").add("geom", size=[0.1])
    outer.attach(inner)
    text = outer.to_xml_string()
    assert mjcf.from_xml_string(text, True).find("body", "inner\\b") is not None
    again = mjcf.from_xml_string(mjcf.from_xml_string(text, True).to_xml_string(), True)
    assert again.find("body", "inner\\\\b") is not None
    with pytest.raises(ValueError, match="reserved for scoping"):
        mjcf.from_xml_string(text)


def test_one_number_of_an_element_is_a_number():
    model = mjcf.RootElement()
    field = model.asset.add("hfield", name="h", nrow=3, ncol=4, size=[1, 1, 1, 1])
    physics = mjcf.Physics.from_mjcf_model(model)
    assert isinstance(physics.bind(field).nrow, np.integer)
    assert np.ogrid[-1 : 1 : physics.bind(field).ncol * 1j].shape == (4,)
    with pytest.raises(ValueError, match="is None"):
        physics.bind(None)
