"""Geoms that viewers draw besides the model's: a task's arrows, and the paths of a plan."""

from collections.abc import Mapping, Sequence
from typing import Any

import mujoco
import numpy as np

from mjgym.rendering.twin import Twin

SHOWN_PATHS = 4  # paths, those that go farthest
WIDTH = 0.06  # radius of a path, in mean sizes of the model's bodies
NEAR, FAR = (1.0, 0.6, 0.1, 0.9), (1.0, 0.6, 0.1, 0.2)  # colours now and at the horizon
ARROWS = (0.2, 0.8, 0.3, 0.9), (0.25, 0.5, 1.0, 0.9), (0.9, 0.3, 0.3, 0.9)  # colours, in turn
THICK = 0.25  # radius of an arrow's shaft, in mean sizes
_ARROW = mujoco.mjtGeom.mjGEOM_ARROW
_CAPSULE = mujoco.mjtGeom.mjGEOM_CAPSULE
_AT = ("qpos", "mocap_pos", "mocap_quat")


def planned(twin: Twin, states: Mapping[str, np.ndarray]) -> list[mujoco.MjvGeom]:
    """Geoms of the paths of the moving bodies without children, from now through some states."""
    model, data = twin.model, mujoco.MjData(twin.model)
    ends = np.setdiff1d(np.flatnonzero(model.body_weldid), model.body_parentid)
    points = [twin.data.xipos[ends].copy()]
    for t in range(len(states["qpos"])):
        for name in _AT:
            if name in states:
                getattr(data, name)[...] = states[name][t]
        mujoco.mj_kinematics(model, data)
        points.append(data.xipos[ends].copy())
    path = np.stack(points)  # (T + 1, ends, 3)
    lengths = np.linalg.norm(np.diff(path, axis=0), axis=-1).sum(axis=0)
    width = WIDTH * model.stat.meansize
    late = np.linspace(0, 1, len(path))[:, None]
    colours = np.array(NEAR) * (1 - late) + np.array(FAR) * late
    return [
        _connector(_CAPSULE, path[t, i], path[t + 1, i], width, colours[t])
        for i in np.argsort(-lengths)[:SHOWN_PATHS]
        for t in range(len(path) - 1)
    ]


def arrows(twin: Twin, drawn: Sequence[np.ndarray]) -> list[mujoco.MjvGeom]:
    """Geoms of arrows from a point to another, (6,) each."""
    width = THICK * twin.model.stat.meansize
    return [
        _connector(_ARROW, arrow[:3], arrow[3:], width, ARROWS[i % len(ARROWS)])
        for i, arrow in enumerate(drawn)
    ]


def _connector(
    kind: mujoco.mjtGeom, begin: np.ndarray, end: np.ndarray, width: float, colour: Any
) -> mujoco.MjvGeom:
    geom, rgba = mujoco.MjvGeom(), np.array(colour, np.float32)
    mujoco.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), rgba)
    mujoco.mjv_connector(geom, kind, width, begin, end)
    return geom
