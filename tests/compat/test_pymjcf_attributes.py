"""PyMJCF's types of attributes, schema files, debug mode and skins."""

import re
import struct
import subprocess
import sys

import numpy as np
import pytest

from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.mjcf import debugging, element, schema, skin

SCHEMA = """<element name="mujoco">
  <attributes><attribute name="model" type="string"/></attributes>
  <children>
    <element name="sizes">
      <attributes>
        <attribute name="count" type="int" conflict_allowed="true" conflict_behavior="max"/>
        <attribute name="step" type="float"/>
        <attribute name="kind" type="keyword" valid_values="thing place"/>
        <attribute name="which" type="reference" reference_namespace="attrib:kind"/>
        <attribute name="folder" type="basepath" path_namespace="notes"/>
      </attributes>
    </element>
    <element name="worldbody">
      <children>
        <element name="thing" recursive="true" repeated="true">
          <attributes>
            <attribute name="name" type="identifier" required="true"/>
            <attribute name="note" type="file" path_namespace="notes"/>
            <attribute name="twin" type="reference" reference_namespace="thing"/>
          </attributes>
        </element>
        <element name="place" repeated="true">
          <attributes><attribute name="name" type="identifier"/></attributes>
        </element>
      </children>
    </element>
  </children>
</element>"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "schema.xml"
    path.write_text(SCHEMA)
    schema.override_schema(path)
    yield mjcf.RootElement(model="m", model_dir=str(tmp_path))
    schema.override_schema(None)


class TestSchemaFiles:
    def test_a_model_has_its_elements_and_recursion(self, model):
        inner = model.worldbody.add("thing", name="a").add("thing", name="b")
        assert model.find("thing", "b") is inner
        assert schema.collect_namespaces(model.spec) >= {"thing", "place"}
        with pytest.raises(AttributeError, match="<geom> is not a valid child"):
            model.worldbody.add("geom")

    def test_a_required_attribute_stays(self, model):
        with pytest.raises(AttributeError, match="'name' of <thing> is required"):
            model.worldbody.add("thing")
        thing = model.worldbody.add("thing", name="a")
        with pytest.raises(AttributeError, match="'name' of <thing> is required"):
            del thing.name
        assert thing.name == "a"

    def test_files_lie_in_the_folder_of_their_kind(self, model, tmp_path):
        (tmp_path / "texts").mkdir()
        (tmp_path / "texts" / "x.txt").write_text("hello")
        model.sizes.folder = "texts"
        thing = model.worldbody.add("thing", name="a", note="x.txt")
        assert thing.note.contents == b"hello"
        assert model.sizes.get_attribute_xml_string("folder") is None
        with pytest.raises(ValueError, match="either a string or `Asset`"):
            thing.note = 3

    def test_an_open_reference_takes_its_kind_from_the_element(self, model):
        place = model.worldbody.add("place", name="p")
        thing = model.worldbody.add("thing", name="t")
        model.sizes.which = place
        assert model.sizes.kind == "place"
        with pytest.raises(ValueError, match="reference to a <place>, got a <thing>"):
            model.sizes.which = thing
        place.remove()
        assert model.sizes.which is None
        assert model.sizes.kind is None
        with pytest.raises(ValueError, match="reference to a <thing>, got a <3>"):
            thing.twin = 3

    def test_the_engines_schema_comes_back(self, model):
        assert "geom" not in model.worldbody.spec.children
        schema.override_schema(None)
        assert "geom" in mjcf.RootElement().worldbody.spec.children


@pytest.mark.parametrize(
    ("section", "name", "values", "kept"),
    [
        ("option", "timestep", (0.002, 0.005), 0.002),
        ("option", "iterations", (10, 50), 50),
        ("size", "memory", ("2K", "1M"), str(1024**2)),
    ],
)
def test_models_that_differ_agree_by_the_published_rule(section, name, values, kept):
    outer, inner = mjcf.RootElement(model="a"), mjcf.RootElement(model="b")
    for each, value in zip((outer, inner), values, strict=True):
        setattr(getattr(each, section), name, value)
    outer.attach(inner)
    assert getattr(getattr(outer, section), name) == kept
    assert getattr(getattr(inner, section), name) == kept


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"condim": 2.5}, "Expect an integer value"),
        ({"margin": "wide"}, "Expect a float value"),
        ({"pos": [[0, 0, 0]]}, "one-dimensional array"),
        ({"type": "cube"}, re.escape("['plane', 'hfield', 'sphere'")),
        ({"name": 3}, "Expect a string value"),
        ({"material": 3}, "reference to a <material>"),
    ],
)
def test_a_value_of_another_type_changes_nothing(attributes, message):
    geom = mjcf.RootElement().worldbody.add("geom", name="g", size=[1])
    with pytest.raises(ValueError, match=message):
        geom.set_attributes(**{"gap": 1.0} | attributes)
    assert geom.get_attributes().keys() == {"name", "size"}


def test_the_world_keeps_its_name():
    with pytest.raises(ValueError, match="cannot be named 'world'"):
        mjcf.RootElement().worldbody.add("body", name="world")


def test_a_property_that_fails_says_why():
    class Broken(element.RootElement):
        @property
        def half(self):
            return self.missing

    with pytest.raises(AttributeError, match="'missing'"):
        _ = Broken().half


class TestDebugMode:
    @pytest.fixture(autouse=True)
    def _mode(self):
        yield
        debugging.disable_debug_mode()
        debugging.set_full_dump_dir("")

    @staticmethod
    def broken():
        model = mjcf.RootElement()
        body = model.worldbody.add("body")
        body.add("geom", size=[0.1])
        model.actuator.add("motor", name="push", joint="nothing")
        return model

    def test_an_error_names_the_line_that_made_the_element(self):
        debugging.enable_debug_mode()
        with pytest.raises(ValueError, match="nothing") as caught:
            mjcf.Physics.from_mjcf_model(self.broken())
        first = self.broken.__code__.co_firstlineno
        assert f"{__file__}:{first + 5}" in str(caught.value)
        assert debugging.get_current_stack_trace()[-1].text.startswith("assert debugging")

    def test_it_is_off_by_default_and_the_error_says_how_to_turn_it_on(self):
        debugging.disable_debug_mode()
        model = self.broken()
        assert model.get_init_stack() == []
        with pytest.raises(ValueError, match="--pymjcf_debug"):
            mjcf.Physics.from_mjcf_model(model)

    def test_arguments_of_a_program_turn_it_on(self, tmp_path):
        program = (
            "from mjgym_compat.dm_control.mjcf import debugging;"
            "print(debugging.debug_mode(), debugging.get_full_dump_dir())"
        )
        words = ["--pymjcf_debug", f"--pymjcf_debug_full_dump_dir={tmp_path}"]
        done = subprocess.run(
            [sys.executable, "-c", program, *words], capture_output=True, text=True, check=True
        )
        assert done.stdout.split() == ["True", str(tmp_path)]

    def test_a_dump_has_each_element_with_its_lines(self, tmp_path):
        debugging.enable_debug_mode()
        debugging.set_full_dump_dir(str(tmp_path))
        with pytest.raises(ValueError, match="nothing"):
            mjcf.Physics.from_mjcf_model(self.broken())
        (line,) = (x for x in (tmp_path / "model.xml").read_text().splitlines() if "<motor" in x)
        number = re.search(r"pymjcfdebug:(\d+)", line)[1]
        assert __file__ in (tmp_path / f"{number}.dump").read_text()


@pytest.mark.parametrize("kind", ["sensor", "tendon", "equality"])
def test_what_refers_to_nothing_does_not_vanish(kind):
    elements = {
        "sensor": '<jointpos joint="x"/>',
        "tendon": '<fixed><joint joint="x" coef="1"/></fixed>',
        "equality": '<joint joint1="x"/>',
    }
    text = f"<mujoco><{kind}>{elements[kind]}</{kind}></mujoco>"
    with pytest.raises(ValueError, match="x"):
        mjcf.Physics.from_xml_string(text)


class TestSkins:
    @staticmethod
    def contents(bones=("left", "right")):
        parts = [struct.pack("<4i", 4, 0, 2, len(bones))]
        parts.append(np.eye(4, 3, dtype="<f4").tobytes())
        parts.append(np.array([[0, 1, 2], [0, 2, 3]], "<i4").tobytes())
        for name in bones:
            parts.append(name.encode().ljust(40, b"\0"))
            parts.append(np.array([0, 0, 0, 1, 0, 0, 0], "<f4").tobytes())
            parts.append(struct.pack("<i", 4) + np.arange(4, dtype="<i4").tobytes())
            parts.append(np.full(4, 0.5, "<f4").tobytes())
        return b"".join(parts)

    def model(self):
        model = mjcf.RootElement(model="inner", assets={"s.skn": self.contents()})
        for name in ("left", "right"):
            model.worldbody.add("body", name=name).add("geom", size=[0.1])
        model.asset.add("skin", name="s", file="s.skn")
        return model

    def test_bones_follow_bodies_into_other_models(self):
        outer = mjcf.RootElement(model="outer")
        outer.attach(self.model())
        (contents,) = outer.get_assets().values()
        bones = skin.parse(contents, str).bones
        assert [bone.body for bone in bones] == ["inner/left", "inner/right"]
        assert mjcf.Physics.from_mjcf_model(outer).model.nskinbone == 2

    def test_a_damaged_file_is_refused(self):
        with pytest.raises(ValueError, match="no skin file"):
            skin.parse(self.contents()[:-1], str)
        with pytest.raises(ValueError, match="no skin file"):
            skin.parse(struct.pack("<4i", -1, 0, 0, 0), str)
