"""PyMJCF's types of attributes, and skins."""

import re
import struct

import numpy as np
import pytest

from mjgym_compat.dm_control import mjcf
from mjgym_compat.dm_control.mjcf import element, skin


def test_an_open_reference_takes_its_kind_from_the_element():
    model = mjcf.RootElement()
    body = model.worldbody.add("body", name="b")
    site = body.add("site", name="s")
    sensor = model.sensor.add("framepos", objtype="site", objname=site)
    with pytest.raises(ValueError, match="reference to a <site>, got a <body>"):
        sensor.objname = body


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


@pytest.mark.parametrize(
    "text",
    [
        '<sensor><jointpos joint="x"/></sensor>',
        '<tendon><fixed><joint joint="x" coef="1"/></fixed></tendon>',
        '<equality><joint joint1="x"/></equality>',
    ],
)
def test_what_refers_to_nothing_does_not_vanish(text):
    with pytest.raises(ValueError, match="x"):
        mjcf.Physics.from_xml_string(f"<mujoco>{text}</mujoco>")


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
