"""A walker with six legs, each with a hip and a knee that servos hold."""

from dataclasses import dataclass

from mjgym.mjcf import Spec
from mjgym.tasks.locomotion.walkers import Walker, register_walker

LEG = """
<frame euler="0 0 {angle}">
  <body name="thigh_{i}" pos=".15 0 0">
    <joint name="hip_{i}" axis="0 0 1" range="-40 40"/>
    <geom fromto="0 0 0 .15 0 .05" size=".025"/>
    <body name="shin_{i}" pos=".15 0 .05">
      <joint name="knee_{i}" axis="0 1 0" range="-50 50"/>
      <geom fromto="0 0 0 .08 0 -.3" size=".02"/>
    </body>
  </body>
</frame>
"""
SERVOS = """
<position joint="hip_{i}" kp="20" dampratio="1" inheritrange="1"/>
<position joint="knee_{i}" kp="20" dampratio="1" inheritrange="1"/>
"""
MODEL = """
<mujoco>
  <default><geom type="capsule" density="500" rgba=".8 .4 .2 1"/></default>
  <worldbody>
    <body name="torso">
      <geom type="ellipsoid" size=".18 .14 .06"/>
      <site name="middle"/>
      <camera name="egocentric" pos=".2 0 .05" xyaxes="0 -1 0 0 0 1" fovy="80"/>
      {legs}
    </body>
  </worldbody>
  <actuator>{servos}</actuator>
  <sensor>
    <gyro name="gyro" site="middle"/>
    <velocimeter name="velocity" site="middle"/>
  </sensor>
</mujoco>
"""


@register_walker("hexapod")
@dataclass(frozen=True)
class Hexapod(Walker):
    """A hexapod that stands by itself."""

    root: str = "torso"
    end_effectors: tuple[str, ...] = tuple(f"shin_{i}" for i in range(6))
    feet: tuple[str, ...] = tuple(f"shin_{i}" for i in range(6))
    height: float = 0.28  # m
    gyro: str = "gyro"
    velocimeter: str = "velocity"

    def model(self) -> Spec:
        legs = "".join(LEG.format(i=i, angle=60 * i + 30) for i in range(6))
        servos = "".join(SERVOS.format(i=i) for i in range(6))
        return Spec.from_string(MODEL.format(legs=legs, servos=servos))
