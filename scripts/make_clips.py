"""Make the bundled clips of motion capture from sinusoids, as AMC files.

python scripts/make_clips.py assets/locomotion/clips
"""

import sys
from pathlib import Path

import mujoco
import numpy as np

from mjgym import mjcf
from mjgym.mocap import CHANNELS, METRES_PER_UNIT, Clip, to_qpos
from mjgym.util import atomic

RATE = 120.0  # Hz
HEADER = "#!OML:ASF made for the tests\n:FULLY-SPECIFIED\n:DEGREES\n"


def amc(bones, decimals=6):
    """The text of an AMC file that holds these bones."""
    lines = []
    for frame in range(len(bones["root"])):
        lines.append(str(frame + 1))
        for bone, values in bones.items():
            numbers = (f"{x:.{decimals}f}".rstrip("0").rstrip(".") for x in values[frame])
            lines.append(" ".join([bone, *("0" if x == "-0" else x for x in numbers)]))
    return HEADER + "\n".join(lines) + "\n"


def phase(seconds, turns):
    """An angle that makes whole or half turns over a clip, at each frame."""
    return np.linspace(0.0, 2 * np.pi * turns, round(seconds * RATE) + 1)


def columns(*values):
    return np.stack(np.broadcast_arrays(*values), axis=-1).astype(float)


def leg(side, forward, knee):
    """A leg that points `forward` by an angle (degrees) from hip to ankle, with its sole level."""
    outwards = 20 if side == "l" else -20  # of the resting thigh, which stands straight so
    return {
        f"{side}femur": columns(-forward - knee / 2, 0, -outwards),
        f"{side}tibia": columns(knee),
        f"{side}foot": columns(forward - knee / 2, 0),
    }


def arm(side, forward, elbow):
    """An arm that hangs down, `forward` by an angle (degrees)."""
    down = 80 if side == "l" else -80
    return {
        f"{side}humerus": columns(forward - 30, 0, down),
        f"{side}radius": columns(elbow),
    }


def walk():
    """One stride of a walk straight on, in 1 s."""
    p = phase(1.0, 1)
    bones = {"lowerback": columns(2, 4 * np.cos(p), 0)}
    for side, q in (("l", p), ("r", p + np.pi)):
        bones |= leg(side, 18 * np.cos(q), 5 + 50 * np.maximum(0, -np.sin(q)) ** 2)
        bones |= arm(side, -20 * np.cos(q), 20 - 8 * np.cos(q))
    return bones, np.zeros_like(p), "stance"


def squat():
    """Down and up again in 1 s, with the arms out to the front."""
    p = phase(1.0, 1)
    depth = (1 - np.cos(p)) / 2
    bones = {"lowerback": columns(10 * depth, 0, 0)}
    for side in "lr":
        bones |= leg(side, 0, 5 + 75 * depth) | arm(side, 85 * depth, 10)
    return bones, np.zeros_like(p), "stance"


def pivot():
    """A turn on the spot by a right angle in 1 s, through the end of the file's angles."""
    p = phase(1.0, 0.5)
    bones = {}
    for side, sign in (("l", 1), ("r", -1)):
        bones |= leg(side, 4 * np.sin(2 * p), 8 + 4 * sign * np.sin(2 * p))
        bones |= arm(side, 15 * sign * np.sin(p), 15)
    return bones, 180 - 45 * np.cos(p), "spot"


def reach():
    """Both hands go up and the head looks after them, in 0.5 s; with every bone of the skeleton."""
    p = phase(0.5, 0.5)
    lift = (1 - np.cos(p)) / 2
    bones = {name: columns(*np.zeros((len(c), len(p)))) for name, c in CHANNELS.items()}
    del bones["root"]
    for side, sign in (("l", 1), ("r", -1)):
        bones |= leg(side, 0, 3) | arm(side, 100 * lift, 10)
        bones[f"{side}clavicle"] = columns(0, sign * 12 * lift)
        bones[f"{side}fingers"] = columns(20 * lift)
    bones["thorax"] = columns(-6 * lift, 0, 0)
    bones["head"] = columns(-12 * lift, 0, 0)
    return bones, np.zeros_like(p), "stance"


MOTIONS = {"walk": walk, "squat": squat, "pivot": pivot, "reach": reach}


def soles(model, data):
    """The lowest point of each geom of the left and of the right foot, m."""
    lowest = {"l": [], "r": []}
    for i in range(model.ngeom):
        name = model.geom(i).name
        if name[1:].startswith(("foot", "toes")):
            axis = data.geom_xmat[i].reshape(3, 3)[2, 2]
            capsule = model.geom_type[i] == mujoco.mjtGeom.mjGEOM_CAPSULE
            half = abs(axis) * model.geom_size[i, 1] if capsule else 0.0
            lowest[name[0]].append(data.geom_xpos[i, 2] - model.geom_size[i, 0] - half)
    return {side: min(points) for side, points in lowest.items()}


def made(name):
    """The bones of a clip: its root stands on the lower foot, which does not slide in a stance."""
    model = mjcf.load("dmc/humanoid_CMU.xml").compile()
    data = mujoco.MjData(model)
    bones, heading, kind = MOTIONS[name]()
    frames = len(heading)
    bones = {name: np.broadcast_to(v, (frames, v.shape[-1])) for name, v in bones.items()}
    root = np.zeros((frames, 6))
    root[:, 4] = (heading + 180) % 360 - 180
    qpos = to_qpos(Clip({"root": root, **bones}, RATE))
    place, feet = np.zeros((frames, 3)), {}
    for i in range(frames):
        data.qpos = qpos[i]
        mujoco.mj_kinematics(model, data)
        low = soles(model, data)
        stance = min(low, key=low.get)
        before, feet = feet, {side: data.body(f"{side}foot").xpos.copy() for side in "lr"}
        if i and kind == "stance":
            place[i] = place[i - 1] + before[stance] - feet[stance]
        place[i, 2] = 0.001 - low[stance]
    root[:, :3] = place[:, (0, 2, 1)] * (1, 1, -1) / METRES_PER_UNIT
    return {"root": root, **bones}


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in MOTIONS:
        atomic.write_text(folder / f"{name}.amc", amc(made(name), decimals=3))
