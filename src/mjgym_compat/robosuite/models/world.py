"""The empty world that scenes are merged into."""

import io

from mjgym_compat.robosuite import macros
from mjgym_compat.robosuite.models.base import MujocoXML

# Elliptic friction cones and air; inertias of collision geoms alone.
BASE = f"""
<mujoco model="base">
  <compiler angle="radian" autolimits="true" inertiagrouprange="0 0"/>
  <option timestep="{macros.SIMULATION_TIMESTEP}" cone="elliptic" impratio="20" density="1.2"
          viscosity="2e-5"/>
  <statistic center="0 0 .9" extent="1.6"/>
  <visual>
    <map znear=".005"/>
    <global offwidth="1280" offheight="960"/>
  </visual>
</mujoco>
"""


class MujocoWorldBase(MujocoXML):
    """An empty world with the physics of robosuite."""

    def __init__(self) -> None:
        super().__init__(io.StringIO(BASE))
