"""The paths on which a planner's plan would take a body's ends, as viewers draw them."""

from collections.abc import Mapping

import mujoco
import numpy as np

from mjgym.rendering.twin import Twin

DRAWN = 4  # paths, those that go farthest
WIDTH = 0.06  # radius of a path, in mean sizes of the model's bodies
NEAR, FAR = (1.0, 0.6, 0.1, 0.9), (1.0, 0.6, 0.1, 0.2)  # colours now and at the horizon
_CAPSULE = mujoco.mjtGeom.mjGEOM_CAPSULE
_AT = ("qpos", "mocap_pos", "mocap_quat")


def planned(twin: Twin, states: Mapping[str, np.ndarray]) -> list[mujoco.MjvGeom]:
    """Geoms of the paths of the moving bodies without children, from now through some states.

    Args:
        twin: in the present state.
        states: entries of `get_state`, (T, ...) each.
    """
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
    return [
        _segment(path[t, i], path[t + 1, i], width, t / (len(path) - 1))
        for i in np.argsort(-lengths)[:DRAWN]
        for t in range(len(path) - 1)
    ]


def _segment(begin: np.ndarray, end: np.ndarray, width: float, late: float) -> mujoco.MjvGeom:
    geom = mujoco.MjvGeom()
    colour = np.array(NEAR) * (1 - late) + np.array(FAR) * late
    mujoco.mjv_initGeom(
        geom, _CAPSULE, np.zeros(3), np.zeros(3), np.eye(3).ravel(), colour.astype(np.float32)
    )
    mujoco.mjv_connector(geom, _CAPSULE, width, begin, end)
    return geom
