"""Two models are compared element by element, and only what differs is said."""

import json
from dataclasses import asdict
from pathlib import Path

import mujoco
import numpy as np
import pytest

from mjgym import mjcf
from mjgym.mjcf.comparing import Difference, diff, shown

ASSETS = Path(__file__).parents[1] / "assets"
DATA = Path(__file__).parent / "data" / "mjcf"

MODEL = """\
<mujoco>
  <compiler discardvisual="false" inertiafromgeom="false" angle="radian"/>
  <option timestep=".01"/>
  <statistic extent="1" center="0 0 0" meanmass="1" meaninertia="1" meansize="1"/>
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
    found = diff(spec(), spec(good, bad), **options)
    return [(d.kind, d.name, d.field, shown(d.a), shown(d.b)) for d in found]


CHANGES = {
    "option": ('timestep=".01"', 'timestep=".02"', ("option", "", "timestep", "0.01", "0.02")),
    "integrator": (
        *('timestep=".01"', 'timestep=".01" integrator="RK4"'),
        ("option", "", "integrator", "Euler", "RK4"),
    ),
    "flag": (
        *('timestep=".01"/>', 'timestep=".01"><flag contact="disable" energy="enable"/></option>'),
        ("option", "", "disableflags", "-", "contact"),
        ("option", "", "enableflags", "-", "energy"),
    ),
    "gravity": (
        *('timestep=".01"', 'timestep=".01" gravity="0 0 -1"'),
        ("option", "", "gravity", "0 0 -9.81", "0 0 -1"),
    ),
    "statistic": ('extent="1"', 'extent="2"', ("statistic", "", "extent", "1", "2")),
    "visual": (
        *("<asset>", '<visual><map znear=".5"/></visual><asset>'),
        ("visual", "", "map.znear", "0.01", "0.5"),
    ),
    "body": (
        *('name="upper" pos="0 0 1"', 'name="upper" pos="0 0 2"'),
        ("body", "upper", "pos", "0 0 1", "0 0 2"),
    ),
    "joint": ('damping=".1"', 'damping=".2"', ("joint", "shoulder", "damping", "0.1", "0.2")),
    "joint's start": (
        *('range="-1 1"', 'range="-1 1" springref=".5"'),
        ("joint", "elbow", "qpos_spring", "0", "0.5"),
    ),
    "joint's type": (
        *('type="hinge" axis', 'type="slide" axis'),
        ("joint", "elbow", "type", "hinge", "slide"),
    ),
    "geom": (
        *('size=".1 .2"', 'size=".1 .3" rgba="1 0 0 1"'),
        ("geom", "upper", "rgba", "0.5 0.5 0.5 1", "1 0 0 1"),
        ("geom", "upper", "size", "0.1 0.2 0", "0.1 0.3 0"),
    ),
    "geom's material": (
        *('material="paint"', 'material="rust"'),
        ("geom", "upper", "matid", "paint", "rust"),
        ("geom", "upper", "rgba", "0.5 0.5 0.5 1", "0.5 0.2 0.1 1"),
    ),
    "unnamed geom": (
        *('<geom size=".2"/>', '<geom size=".3"/>'),
        ("geom", "upper/geom[1]", "size", "0.2 0 0", "0.3 0 0"),
    ),
    "site": (
        *('<site name="tip"/>', '<site name="tip" size=".1"/>'),
        ("site", "tip", "size", "0.005 0.005 0.005", "0.1 0.005 0.005"),
    ),
    "camera": ('target="upper"', 'target="ball"', ("camera", "eye", "targetbodyid", "upper", "ball")),
    "light": ('"lamp"', '"lamp" castshadow="false"', ("light", "lamp", "castshadow", "True", "False")),
    "material": (
        *('shininess=".3"', 'shininess=".4"'),
        ("material", "paint", "shininess", "0.3", "0.4"),
    ),
    "texture of a material": (
        *('texture="grid"', 'texture="plain"'),
        ("material", "paint", "texid", "- grid - - - - - - - -", "- plain - - - - - - - -"),
    ),
    "texture": (
        *('type="2d" builtin="checker" width="8" height="8"',) * 1,
        'type="2d" builtin="flat" width="8" height="8"',
        ("texture", "grid", "data", "192 numbers", "96 of them differ, by up to 255"),
    ),
    "height field": (
        *("0 0 .5 .5 0", "0 0 .5 .8 0"),
        ("hfield", "hills", "data", "12 numbers", "1 of them differ, by up to 0.3"),
    ),
    "tendon's path": (
        *('joint="elbow" coef="-1"', 'joint="elbow" coef="-2"'),
        ("tendon", "both", "path", "joint shoulder 1 joint elbow -1", "joint shoulder 1 joint elbow -2"),
    ),
    "tendon's side site": (
        *(' sidesite="side"', ""),
        ("tendon", "string", "path", "site tip 0 sphere ball side site tip 0",
         "site tip 0 sphere ball - site tip 0"),
    ),
    "actuator": (
        *('gear="10"', 'gear="20"'),
        ("actuator", "shoulder", "gear", "10 0 0 0 0 0", "20 0 0 0 0 0"),
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
    "unnamed actuator": (
        *('<motor joint="elbow"/>', '<motor joint="elbow" ctrlrange="-1 1"/>'),
        ("actuator", "actuator[0]", "ctrllimited", "false", "true"),
        ("actuator", "actuator[0]", "ctrlrange", "0 0", "-1 1"),
    ),
    "sensor's object": (
        *('objname="lower"', 'objname="upper"'),
        ("sensor", "place", "objid", "lower", "upper"),
    ),
    "sensor's kind of object": (
        *('objtype="body" objname="lower"', 'objtype="geom" objname="lower"'),
        ("sensor", "place", "objtype", "body", "geom"),
    ),
    "sensor's reference": (
        *('refname="side"', 'refname="tip"'),
        ("sensor", "place", "refid", "side", "tip"),
    ),
    "equality": ('active="false"', 'active="true"', ("equality", "held", "active0", "False", "True")),
    "equality's joint": (
        *('joint1="shoulder" joint2="elbow"', 'joint1="elbow" joint2="shoulder"'),
        ("equality", "linked", "obj1id", "shoulder", "elbow"),
        ("equality", "linked", "obj2id", "elbow", "shoulder"),
    ),
    "excluded bodies": (
        *('body1="upper" body2="lower"', 'body1="upper" body2="ball"'),
        ("exclude", "apart", "signature", "upper lower", "upper ball"),
    ),
    "pair": ('geom2="ball"', 'geom2="floor"', ("pair", "touching", "geom1", "upper", "floor"),
             ("pair", "touching", "geom2", "ball", "upper")),
    "numeric": ('data="1 2 3"', 'data="1 2 4"', ("numeric", "gains", "data", "1 2 3", "1 2 4")),
    "text": ('data="nobody"', 'data="me"', ("text", "author", "data", "nobody", "me"),
             ("text", "author", "size", "7", "3")),
    "tuple": (
        *('objname="tip" prm', 'objname="side" prm'),
        ("tuple", "things", "objid", "upper tip", "upper side"),
    ),
    "keyframe": (
        *('qpos="0 0 2', 'qpos="0 1 2'),
        ("key", "home", "qpos", "0 0 2 0 0 1 0 0 0", "0 1 2 0 0 1 0 0 0"),
    ),
}  # fmt: skip
