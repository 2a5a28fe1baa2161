"""Recorded scenes and transitions of the published locomotion tasks, for the tests."""

import copy
import functools
import json
from typing import Any

import gymnasium
import mujoco
import numpy as np

from helpers.places import DATA
from mjgym.sim.single import SingleView
from mjgym.tasks.locomotion.arenas import corridors, mazes
from mjgym.tasks.locomotion.arenas.mazes import OpenMaze, RandomMaze
from mjgym.tasks.locomotion.floor_plans import Maze

FOLDER = DATA / "locomotion"
NAMES = (
    "cmu_humanoid_run_walls",
    "cmu_humanoid_run_gaps",
    "cmu_humanoid_go_to_target",
    "cmu_humanoid_maze_forage",
    "cmu_humanoid_heterogeneous_forage",
    "rodent_escape_bowl",
    "rodent_run_gaps",
    "rodent_maze_forage",
    "rodent_two_touch",
)
CORRIDORS = tuple(name for name in NAMES if "run_" in name)
MAZES = tuple(name for name in NAMES if name.endswith("_forage"))
CAMERA = "walker/egocentric_camera"


def id_of(name: str) -> str:
    """The id of a record: "locomotion/<walker>-<task>-v0"."""
    walker = "rodent" if name.startswith("rodent") else "cmu_humanoid"
    return f"locomotion/{walker}-{name.removeprefix(walker + '_')}-v0"


@functools.cache
def scene(name: str) -> dict[str, Any]:
    """Numbers of the recorded scenes: `opt`, `episodes`, `parameters`, `observation`, ..."""
    return json.loads((FOLDER / "scenes" / f"{name}.json").read_text())


@functools.cache
def transitions(name: str) -> dict[str, np.ndarray]:
    """12 recorded control steps (`before_*`, `action`, `after_*`, `obs_*`, ...) and starts."""
    with np.load(FOLDER / "transitions" / f"{name}.npz") as file:
        return dict(file)


def make(name: str) -> Any:
    """The environment of a record, started."""
    env = gymnasium.make(id_of(name), dtype="float64", observation="dict").unwrapped
    env.reset(seed=0)
    return env


def make_vec(name: str, num_envs: int) -> Any:
    """As many of them, started."""
    envs = gymnasium.make_vec(
        id_of(name), num_envs=num_envs, dtype="float64", observation="dict", threads=2
    )
    envs.reset(seed=0)
    return envs


def table(columns: dict[str, Any]) -> dict[str, dict[str, np.ndarray]]:
    """The fields of recorded elements, by name of the element; {"all": value} is for each."""
    rows: dict[str, dict[str, np.ndarray]] = {name: {} for name in columns["name"]}
    for field, values in columns.items():
        if field == "name":
            continue
        each = [values["all"]] * len(rows) if isinstance(values, dict) else values
        for name, value in zip(rows, each, strict=True):
            rows[name][field] = np.array(value)
    return rows


# The recorded names of an arena's geoms that have others here.
_WALLS_PLANES, _GAPS_PLANES = 25, 0  # number of the first of the five planes without names
_PLANES = ("ground", "left", "right", "near", "far")
_RENAMED = {
    "groundplane": "ground",
    "target_0_0/geom": "target_0",
    **{f"//unnamed_geom_{_WALLS_PLANES + i}": plane for i, plane in enumerate(_PLANES)},
    **{f"//unnamed_geom_{_GAPS_PLANES + i}": plane for i, plane in enumerate(_PLANES)},
}


def arena_geoms(name: str, episode: int) -> dict[str, dict[str, np.ndarray]]:
    """Fields of the colliding geoms of a recorded arena by the names that they have here."""
    recorded = table(scene(name)["episodes"][episode]["geom"])
    targets = [known for known in recorded if known.startswith("target_")]
    orb = name == "rodent_two_touch"
    ours = {known: "orb" if orb else f"target_{i}" for i, known in enumerate(targets)}
    return {
        ours.get(known) or _RENAMED.get(known) or known.replace("wall*", "wall"): fields
        for known, fields in recorded.items()
    }


def placed(env: Any, name: str, episode: int) -> dict[str, np.ndarray]:
    """The model fields of a recorded episode's arena, for `set_state`; what it lacks is parked."""
    if name not in CORRIDORS + MAZES:
        return {}
    model = copy.copy(env.unwrapped.model)
    view = SingleView(model, mujoco.MjData(model))
    place = env.unwrapped.task.surroundings
    if name in MAZES:
        ours = (*place.wall_names(), *place.target_names())
        parked = (0.0, 0.0, mazes.PARKED)
    else:
        ours = place.names()
        parked = (place.corridor_length + corridors.PADDING, 0.0, corridors.PARKED)
    recorded = arena_geoms(name, episode)
    for part in ours:
        if part in recorded:
            view.geom(part).size = recorded[part]["geom_size"]
            view.geom(part).pos = recorded[part]["geom_pos"]
        else:
            view.geom(part).pos = parked
    view.refit(ours)
    fields = [field for field in env.unwrapped.task.varies if field.startswith(("geom_", "bvh_"))]
    return {field: np.array(getattr(model, field)) for field in fields}


def remembered(env: Any, name: str) -> dict[str, np.ndarray]:
    """What the task remembers before each recorded step, for `set_state`."""
    rows = scene(name).get("memory", [])
    if name in MAZES:
        return _remembered_targets(env, rows)
    if name == "rodent_two_touch":
        return _remembered_touches(rows)
    return {}


def _remembered_targets(env: Any, rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    task = env.unwrapped.task
    most = task.surroundings.most_targets
    touched = np.zeros((len(rows), most))
    userdata = np.zeros((len(rows), env.unwrapped.model.nuserdata))
    for i, row in enumerate(rows):
        count = len(row["before"])
        touched[i, :count] = row["before"]
        worth = zip(row["kinds"], (task.value, task.other_value), strict=False)
        userdata[i, :count] = np.concatenate([np.full(n, value) for n, value in worth])
        userdata[i, most : most + count] = 1
    return {"memory.touched": touched, "memory.counted": touched, "userdata": userdata}


def _remembered_touches(rows: list[dict[str, Any]]) -> dict[str, np.ndarray]:
    before = [row["before"] for row in rows]
    touches = np.array([sum(row["target_touched"]) for row in before], dtype=float)
    first = np.array([row["first_touch_time"] or 0.0 for row in before])
    return {
        "memory.state": np.array([row["state"] for row in before], dtype=float),
        "memory.first": first,
        "memory.second": np.array([row["second_touch_time"] or 0.0 for row in before]),
        "memory.paused": np.array([row["time_out"] for row in before], dtype=float),
        "memory.touches": touches,
        "memory.touches_before": touches,
        # The record gives the end of the control step of the touch, and no recorded step comes
        # near the 0.2 s after it that matter.
        "memory.touch_time": first,
    }


def states(env: Any, name: str) -> dict[str, np.ndarray]:
    """The states before all recorded steps, as arguments of `set_state` with a leading axis."""
    record = transitions(name)
    episodes = record["episode"]
    rows = {k.removeprefix("before_"): v for k, v in record.items() if k.startswith("before_")}
    rows = {field: values for field, values in rows.items() if values.size}
    arenas = [placed(env, name, e) for e in range(len(scene(name)["episodes"]))]
    for field in arenas[0]:
        rows[field] = np.stack([arenas[e][field] for e in episodes])
    if "hfield_data" in record:
        rows["hfield_data"] = record["hfield_data"][episodes]
    if "target_pos" in record:
        rows["site_pos"] = np.tile(env.unwrapped.model.site_pos, (len(episodes), 1, 1))
        rows["site_pos"][:, env.unwrapped.model.site("target").id] = record["target_pos"]
    if "orb_pos" in record:
        rows["mocap_pos"] = record["orb_pos"][:, None, :]
    return rows | remembered(env, name)


def recorded_maze(name: str, episode: int) -> Maze:
    """The maze of a recorded episode, without its rooms."""
    return Maze(tuple(row for row in scene(name)["episodes"][episode]["maze"]["rows"] if row))


def use_recorded_maze(monkeypatch: Any, name: str, episode: int) -> Maze:
    """Let the arenas draw the maze of a recorded episode."""
    maze = recorded_maze(name, episode)
    for place in (RandomMaze, OpenMaze):
        monkeypatch.setattr(place, "maze", lambda self, rng: maze)
    return maze


DIGITS = 5e-13  # relative error of a number that has been rounded to 12 digits, at most
ROUNDED = (
    "body_mass", "body_inertia", "body_pos", "body_quat", "body_ipos", "body_iquat", "geom_pos",
    "geom_quat", "geom_size", "jnt_pos", "jnt_axis", "jnt_stiffness", "dof_damping",
    "dof_armature", "actuator_gainprm", "actuator_biasprm",
)  # fmt: skip


def other_digits(exact: mujoco.MjModel, model: mujoco.MjModel, rng: Any) -> None:
    """Change a model's numbers behind the 12th digit, which is all that the records have of them.

    Args:
        exact: where the numbers are taken from.
        model: where they are written to.
        rng: draws the changes.
    """
    for field in ROUNDED:
        values = getattr(exact, field)
        factor = 1 + DIGITS * rng.uniform(-1, 1, values.shape)
        getattr(model, field)[...] = values * factor


class Scripted:
    """A generator whose draws are given, each once and in their order; shuffling moves nothing."""

    def __init__(self, **draws: Any) -> None:
        self._draws = {method: list(values) for method, values in draws.items()}

    def _next(self, method: str, low: Any, high: Any, size: Any) -> Any:
        value = self._draws[method].pop(0)
        assert np.shape(value) == (() if size is None else np.empty(size).shape)
        slack = 1e-11  # the records have 12 digits
        assert np.all(np.asarray(value) >= low - slack), (method, value, low)
        assert np.all(np.asarray(value) <= high + slack), (method, value, high)
        return value

    def uniform(self, low: float = 0.0, high: float = 1.0, size: Any = None) -> Any:
        return self._next("uniform", low, high, size)

    def normal(self, size: Any = None) -> Any:
        return self._next("normal", -np.inf, np.inf, size)

    def integers(self, high: int) -> Any:
        return self._next("integers", 0, high - 1, None)

    def shuffle(self, values: Any) -> None:
        """Leave the order as it is."""

    def assert_used_up(self) -> None:
        """All draws have been asked for."""
        assert not any(self._draws.values()), self._draws


STATISTIC = 1.95
"""What `spread` is below in 999 of 1000 samples of a uniform distribution (Smirnov 1948)."""


def spread(values: Any, low: float, high: float) -> float:
    """How far a sample is from a uniform distribution: the statistic of Kolmogorov and Smirnov,
    the largest difference of the two distribution functions, times sqrt(n)."""
    values = np.sort(np.ravel(values))
    expected = (values - low) / (high - low)
    n = len(values)
    steps = np.arange(n + 1) / n
    return float(np.sqrt(n) * max(np.max(steps[1:] - expected), np.max(expected - steps[:-1])))
