"""Mirror images of observations and actions of a robot with a left and a right side."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

OTHER_SIDE = {"left": "right", "l": "r", "L": "R", "FL": "FR", "RL": "RR"}
OTHER_SIDE |= {right: left for left, right in OTHER_SIDE.items()}
POLAR = {"x": 1, "y": -1, "z": 1}  # a velocity, a force
AXIAL = {"x": -1, "y": 1, "z": -1}  # an angular velocity, a torque
COMMAND = {"forward": 1, "left": -1, "turn": -1}
HINGE, SLIDE = int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)
PARALLEL = 1e-3  # largest deviation of a joint's axis from the image of its counterpart's


@dataclass(frozen=True)
class Mirror:
    """The image of a vector: number i is sign[i] times number order[i] of the original."""

    order: Any
    sign: Any

    def __call__(self, values: Any) -> Any:
        """Images of vectors, (..., n), of the same library."""
        return values[..., self.order] * self.sign


def mirrors(described: Mapping[str, Any], model: mujoco.MjModel) -> tuple[Mirror, Mirror]:
    """Images of flat observations and of actions in the plane of x and z.

    Names tell left from right. What changes its sign follows from the axes of the joints in the
    model's reference pose, and from the units of vectors.
    """
    joints = joint_images(model)
    elements = {*model.names.decode().split("\0")} - {
        model.joint(i).name for i in range(model.njnt)
    }

    def mirror(rows: Sequence[Mapping[str, Any]]) -> Mirror:
        places = {(row.get("entry"), row["name"]): i for i, row in enumerate(rows)}
        order, signs = [], []
        for row in rows:
            entry, name = row.get("entry"), row["name"]
            what, _, part = name.rpartition(" ")
            other, sign = _other_side(name), None
            if row.get("source") == "memory command":
                other, sign = name, COMMAND.get(name)
            elif point := re.fullmatch(r"(-?\d+\.\d+) (-?)(\d+\.\d+)", name):  # of a height scan
                flipped = f"{point[1]} {'' if point[2] else '-'}{point[3]}"
                other, sign = flipped if float(point[3]) else name, 1
            elif turned := re.fullmatch("(?:.* )?([xyz]) of ([xyz])", name):
                sign = POLAR[turned[1]] * POLAR[turned[2]]
            elif part in POLAR and row.get("frame") == _other_side(row.get("frame", "")):
                axial = "rad" in row["unit"] or "N m" in row["unit"]
                sign = (AXIAL if axial else POLAR)[part]
            elif joint := {name, what} & joints.keys():
                sign = joints[joint.pop()][1]
            elif name in elements:  # a number without direction, such as a height
                sign = 1
            if sign is None or (entry, other) not in places:
                where = f"{entry} {name}" if entry else name
                raise ValueError(f"{where}: its image on the other side is unknown")
            order.append(places[entry, other])
            signs.append(sign)
        return Mirror(np.array(order), np.array(signs, np.float32))

    return mirror(described["observation"]), mirror(described["action"])


def _other_side(name: str) -> str:
    return re.sub("[A-Za-z]+", lambda word: OTHER_SIDE.get(word[0], word[0]), name)


def joint_images(model: mujoco.MjModel) -> dict[str, tuple[str, int]]:
    """The counterpart of each hinge or slide by its name, and the sign of its coordinate there."""
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    images = {}
    for i in range(model.njnt):
        name = model.joint(i).name
        other = _other_side(name)
        place = mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_JOINT, other)
        rule = {HINGE: AXIAL, SLIDE: POLAR}.get(int(model.jnt_type[i]))
        if place < 0 or rule is None:
            continue
        along = float(data.xaxis[i] * list(rule.values()) @ data.xaxis[place])
        if abs(abs(along) - 1) > PARALLEL:
            raise ValueError(f"{name} and {other}: their axes do not mirror each other")
        images[name] = other, 1 if along > 0 else -1
    return images
