"""Ghosts of bodies."""

import mujoco
import numpy as np

from mjgym.mjcf.ghosts import add_ghost

XML = """
<mujoco>
  <asset>
    <mesh name="wedge" vertex="0 0 0  .3 0 0  0 .2 0  0 0 .1"/>
    <texture name="grid" type="2d" builtin="checker" width="8" height="8"/>
    <material name="grid" texture="grid"/>
  </asset>
  <worldbody>
    <body name="robot/arm" pos="1 2 3">
      <freejoint/>
      <geom type="mesh" mesh="wedge" pos=".1 .2 .3" quat=".8 .6 0 0" contype="0" conaffinity="0"/>
      <geom type="capsule" fromto="0 0 0 .1 .2 .3" size=".02" material="grid"/>
      <geom type="box" size=".1 .1 .1" group="3"/>
      <geom type="sphere" size=".1" rgba="1 0 0 0"/>
      <body name="robot/hand"><geom size=".05"/></body>
    </body>
  </worldbody>
</mujoco>
"""


def test_a_ghost_has_the_visible_shapes_of_its_bodies_and_touches_nothing():
    spec = mujoco.MjSpec.from_string(XML)
    add_ghost(spec, ("robot/arm", "robot/hand"))
    model = spec.compile()
    arm, ghost = model.body("robot/arm"), model.body("ghost/arm")
    assert (arm.geomnum[0], ghost.geomnum[0]) == (4, 2)  # not the hidden ones
    for k in range(2):
        ours, theirs = model.geom(ghost.geomadr[0] + k), model.geom(arm.geomadr[0] + k)
        for field in ("type", "size", "pos", "quat", "dataid"):
            assert np.allclose(getattr(ours, field), getattr(theirs, field)), field
        assert ours.contype[0] == ours.conaffinity[0] == 0
        assert ours.rgba[3] < 1
    assert model.body("ghost/hand").geomnum[0] == 1
    assert model.nmocap == 2
    assert model.nq == 7  # the ghost has no joints
