"""Small models, and how two compiled ones are compared, for the tests of composition."""

import mujoco
import numpy as np
from PIL import Image

ARENA = """
<mujoco model="arena">
  <option timestep="0.004"/>
  <default>
    <geom rgba="0.5 0.5 0.5 1"/>
    <default class="leg"><geom rgba="0 0 1 1"/></default>
  </default>
  <asset>
    <texture name="skin" type="2d" builtin="flat" rgb1="0 0 1" width="4" height="4"/>
    <material name="skin" texture="skin"/>
  </asset>
  <worldbody>
    <geom name="floor" type="plane" size="5 5 .1" material="skin"/>
    <site name="east" pos="2 0 1" euler="0 0 90"/>
    <frame name="west" pos="-2 0 1" quat="0 0 0 1"><geom name="post" size=".1"/></frame>
    <body name="table" pos="0 2 .5">
      <joint name="hinge"/>
      <geom name="top" size=".2" class="leg"/>
      <site name="on_table" pos="0 0 .3"/>
    </body>
  </worldbody>
  <actuator><motor name="hinge" joint="hinge"/></actuator>
  <keyframe><key name="ready" qpos=".4" ctrl=".1"/></keyframe>
</mujoco>
"""

WALKER = """
<mujoco model="walker">
  <compiler angle="radian" eulerseq="zyx"/>
  <default>
    <geom rgba="1 0 0 1"/>
    <default class="leg"><geom rgba="0 1 0 1" size=".05"/><joint damping="3"/></default>
  </default>
  <asset>
    <texture name="skin" type="2d" builtin="flat" rgb1="1 0 0" width="4" height="4"/>
    <material name="skin" texture="skin"/>
  </asset>
  <worldbody>
    <light pos="0 0 3"/>
    <body name="torso" pos="0 0 .5" euler=".1 .2 .3">
      <geom name="torso" size=".2" material="skin"/>
      <site name="head" pos="0 0 .25"/>
      <body name="leg" pos="0 0 -.3" childclass="leg">
        <joint name="hip" axis="0 1 0" range="-1 1"/>
        <geom fromto="0 0 0 0 0 -.2" type="capsule"/>
        <geom name="foot" pos="0 0 -.2"/>
        <joint name="twist" axis="0 0 1"/>
      </body>
    </body>
  </worldbody>
  <tendon>
    <fixed name="both"><joint joint="hip" coef="2"/><joint joint="twist" coef="1"/></fixed>
  </tendon>
  <actuator>
    <position name="hip" joint="hip" kp="5"/>
    <motor name="both" tendon="both"/>
  </actuator>
  <sensor><jointpos name="hip" joint="hip"/><gyro name="gyro" site="head"/></sensor>
  <keyframe><key name="ready" qpos=".3 .2" ctrl=".7 0"/></keyframe>
</mujoco>
"""


def swinging(body: str, box: str, sphere: str, world: str = "", rest: str = "") -> str:
    """The first model of dm_control's paper, with names: a box and a sphere on a hinge.

    Args:
        body: name of the body.
        box: name of the box.
        sphere: name of the sphere.
        world: other elements of the world, before the body.
        rest: other sections.
    """
    return f"""<mujoco>
  <worldbody>
    {world}
    <body name="{body}" euler="0 0 -30">
      <joint name="swing" type="hinge" axis="1 -1 0" pos="-.2 -.2 -.2"/>
      <geom name="{box}" type="box" size=".2 .2 .2" rgba="1 0 0 1"/>
      <geom name="{sphere}" pos=".2 .2 .2" size=".1" rgba="0 1 0 1"/>
    </body>
  </worldbody>
  {rest}
</mujoco>"""


def arena():
    return mujoco.MjSpec.from_string(ARENA)


def walker():
    return mujoco.MjSpec.from_string(WALKER)


def names(model, kind, count):
    """The names of a kind of elements of a compiled model, in id order."""
    return [getattr(model, kind)(i).name for i in range(count)]


def differences(ours, other, but=()):
    """Names of the numbers, arrays and settings of two models that are not equal."""
    found = []
    for name in dir(ours):
        a, b = getattr(ours, name), getattr(other, name)
        if name.startswith(("_", *but)) or callable(a):
            continue
        if name in ("opt", "stat"):
            found += [f"{name}.{n}" for n in differences(a, b)]
        elif isinstance(a, bytes | int | float | np.ndarray) and not np.array_equal(a, b):
            found.append(name)
    return found


# What says where files lay, or follows from it.
PATHS = ("signature", "paths", "npaths", "mesh_pathadr", "tex_pathadr", "hfield_pathadr", "nbuffer")
# What holds names, or counts their bytes.
NAMES = ("signature", "name", "nname", "nbuffer")


def tetrahedron(size):
    """A mesh in the OBJ format."""
    vertices = [(0, 0, 0), (size, 0, 0), (0, size, 0), (0, 0, size)]
    faces = [(1, 3, 2), (1, 2, 4), (1, 4, 3), (2, 3, 4)]
    lines = ["v {} {} {}".format(*v) for v in vertices] + ["f {} {} {}".format(*f) for f in faces]
    return ("\n".join(lines) + "\n").encode()


def picture(path, values):
    """A picture file of some grey values, (height, width)."""
    Image.fromarray(np.asarray(values, np.uint8)).save(path)
    return path.read_bytes()


ROCK = """
<mujoco model="{name}">
  <compiler meshdir="{meshes}" texturedir="{textures}"/>
  <asset>
    <mesh name="rock" file="rock.obj"/>
    <hfield name="ground" file="ground.png" size="1 1 {size} .1"/>
    <texture name="skin" type="2d" file="skin.png"/>
    <texture name="sky" type="skybox" fileright="skin.png" fileup="skin.png"/>
    <material name="skin" texture="skin"/>
  </asset>
  <worldbody>
    <geom name="ground" type="hfield" hfield="ground"/>
    <body name="rock"><geom name="rock" type="mesh" mesh="rock" material="skin"/></body>
  </worldbody>
</mujoco>
"""


def rock_files(folder, name, size):
    """A model of assets whose files are called as any other rock's, with other contents.

    Returns the path of its XML, and the contents of its files by their paths below its folder.
    """
    own = folder / name
    (own / "shapes").mkdir(parents=True)
    (own / "pictures").mkdir()
    (own / "shapes" / "rock.obj").write_bytes(tetrahedron(size))
    heights = np.arange(16).reshape(4, 4) * 10
    files = {
        "shapes/rock.obj": tetrahedron(size),
        "shapes/ground.png": picture(
            own / "shapes" / "ground.png", heights if size == 1 else heights.T[::-1]
        ),
        "pictures/skin.png": picture(own / "pictures" / "skin.png", np.full((4, 4), 50 * size)),
    }
    text = ROCK.format(name=name, size=size, meshes="shapes", textures="pictures")
    (own / f"{name}.xml").write_text(text)
    return own / f"{name}.xml", files
