"""Recorded matches of the published framework, for the tests."""

import copy
import functools
import gzip
import json
from typing import Any

import mujoco
import numpy as np

from helpers.places import DATA
from helpers.registered import registered_task
from mjgym.sim.single import SingleView

FOLDER = DATA / "soccer"
NAMES = ("boxhead_1v1", "boxhead_2v2", "ant_1v1", "ant_2v2", "humanoid_1v1", "humanoid_2v2")
WALLS = ("wall_right", "wall_left", "wall_home", "wall_away")


def task(name: str, **fields: Any) -> Any:
    """The task of a record, all of its players acting."""
    return registered_task(f"soccer/{name.replace('_', '-')}-v0", **fields)


@functools.cache
def record(name: str) -> dict[str, np.ndarray]:
    """12 control steps (`before_*`, `action`, `after_*`, `obs_<player>:<entry>`, ...) and starts;
    `pitch` has the half-lengths, `scored`, `out` and `hit` what was so at the end of each step."""
    with np.load(FOLDER / f"{name}.npz") as file:
        return dict(file)


@functools.cache
def facts(name: str) -> dict[str, Any]:
    """The numbers of the first recorded scene, without what is only drawn."""
    with gzip.open(FOLDER / "models.json.gz", "rt") as file:
        return json.load(file)[name]


def ours(recorded: str) -> str:
    """The name that a recorded element has here."""
    if recorded.startswith("//unnamed_geom_"):
        return WALLS[int(recorded.removeprefix("//unnamed_geom_")) - 1]
    if recorded.startswith("soccer_ball/"):
        return "ball"
    for team in ("home", "away"):
        recorded = recorded.replace(f"{team}_goal/", f"{team}_goal_")
        for i in range(2):
            recorded = recorded.replace(f"{team}{i}/", f"{team}_{i}/")
    return recorded


def sized(model: mujoco.MjModel, of: Any, half: Any) -> mujoco.MjModel:
    """A copy of a task's model with a pitch of these half-lengths."""
    sized = copy.copy(model)
    of.ground.place(SingleView(sized, mujoco.MjData(sized)), np.asarray(half))
    return sized


def states(of: Any, model: mujoco.MjModel, name: str) -> dict[str, np.ndarray]:
    """The states before all recorded steps, as arguments of `set_state` with a leading axis."""
    z = record(name)
    rows = {field: z[f"before_{field}"] for field in ("qpos", "qvel", "qacc_warmstart")}
    models = [sized(model, of, half) for half in z["pitch"]]
    for field in of.varies:
        values = np.stack([getattr(m, field) for m in models])
        count = int(model.body_bvhnum.sum())  # bounding volumes of meshes come behind the bodies'
        rows[field] = values[:, :count] if field == "bvh_aabb" else values
    return rows
