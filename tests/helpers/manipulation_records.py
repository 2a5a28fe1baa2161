"""Recorded numbers of the published manipulation tasks, in terms of this package's models.

The published tasks compile a model for each episode: the lowest brick of the wanted stack has no
free joint there, whichever it is. Here a brick is a fixed or a free body (`Bricks`); the free
joints that there are follow each other as they do there. `Record` translates: state, model fields
and which body a brick is, of each recorded step and start.
"""

import functools
import gzip
import json
from dataclasses import dataclass
from typing import Any

import gymnasium
import mujoco
import numpy as np

from helpers.places import DATA
from helpers.registered import registered_task
from mjgym.task import Task
from mjgym.tasks.manipulation.bricks import (
    CLOSE_WEIGHT,
    PARKED,
    Bricks,
    brick_name,
    free_name,
    pair_terms,
    pairs_reward,
)

FOLDER = DATA / "manipulation"

ROBOT = "jaco_arm/"  # how the names of the published robot begin
ROBOT_JOINTS = 9  # which come first, one number each

# Elements that have no name in the published models.
OURS = {
    "//unnamed_light_0": "lamp",
    "pedestal//unnamed_geom_0": "pedestal/post",
    "pedestal//unnamed_site_0": "pedestal/target",
    "pedestal//unnamed_site_1": "pedestal/target_sphere",
    **{f"pedestal/cradle//unnamed_geom_{i}": f"pedestal/cradle/ball_{i}" for i in range(3)},
}


@functools.cache
def _read(name: str) -> dict[str, Any]:
    return json.loads(gzip.decompress((FOLDER / f"{name}.json.gz").read_bytes()))


def parts() -> dict[str, Any]:
    """Compiled numbers of each entity alone, by name."""
    return _read("parts")


def scenes() -> dict[str, Any]:
    """Compiled numbers of the first recorded episode of each task, by name."""
    return _read("scenes")


def tasks() -> dict[str, Any]:
    """Parameters, observation, and what the tasks themselves remember, by name."""
    return _read("tasks")


NAMES = tuple(sorted(tasks()))
STACKS = tuple(name for name in NAMES if name.startswith(("stack", "reassemble")))


def id_of(name: str) -> str:
    """The id with features of a published name."""
    return f"manipulation/{name}_features-v0"


def task(name: str) -> Task:
    """The task of a published name, as it is registered."""
    task: Task = registered_task(id_of(name))
    return task


def paid(distances: Any, close_weight: float = CLOSE_WEIGHT) -> Any:
    """The reward for a stack whose bricks are so far from the ones below."""
    return pairs_reward(pair_terms(distances), close_weight)


@dataclass(frozen=True)
class Record:
    """The recorded steps and starts of one task.

    Args:
        name: of the task, "stack_3_bricks".
    """

    name: str

    @functools.cached_property
    def arrays(self) -> dict[str, np.ndarray]:
        """As they were recorded."""
        with np.load(FOLDER / "transitions" / f"{self.name}.npz") as file:
            return dict(file)

    def __len__(self) -> int:
        return len(self.arrays["reward"])

    def episode(self, row: int) -> dict[str, Any]:
        """What the task remembers in the episode of a step."""
        return tasks()[self.name]["episodes"][self.arrays["episode"][row]]

    def bricks(self) -> Bricks | None:
        """The bricks of the scene, where there is something to stack."""
        return task(self.name).pile if self.name in STACKS else None

    def order(self, episode: int) -> list[int]:
        """Numbers of the bricks of the wanted stack, from the bottom."""
        return tasks()[self.name]["episodes"][episode].get("desired_order", [])

    def state(self, row: int, when: str = "before") -> dict[str, np.ndarray]:
        """qpos, qvel and userdata of a step; and "before" it qacc_warmstart and ctrl.

        Joints are where they were recorded: those of the robot, then of the free bricks.
        """
        state = {key: self.arrays[f"{when}_{key}"][row] for key in ("qpos", "qvel")}
        order = self.order(int(self.arrays["episode"][row]))
        if order:
            state["userdata"] = np.array(order, dtype=float)
        if when == "before":
            state["qacc_warmstart"] = self.arrays["before_qacc_warmstart"][row]
            state["ctrl"] = self.arrays["action"][row]
        return state

    def ours(self, name: str, episode: int) -> str:
        """Our name of a recorded element."""
        bricks = self.bricks()
        if bricks is None or bricks.base != "any":
            return OURS.get(name, name)
        entity, slash, rest = name.partition("/")
        lowest = self.order(episode)[0]
        for i in range(bricks.count):
            if entity == brick_name(i) and i != lowest:
                return free_name(i if i < lowest else i - 1) + slash + rest
        return OURS.get(name, name)

    def fields(self, row: int, model: mujoco.MjModel) -> dict[str, np.ndarray]:
        """body_pos, body_quat and site_pos of a step, for a model of ours, but for the robot's."""
        episode = int(self.arrays["episode"][row])
        fields = {}
        for kind, field in (("body", "body_pos"), ("body", "body_quat"), ("site", "site_pos")):
            columns = scenes()[self.name][kind]
            rows = self.arrays.get(f"model_{field}")
            recorded = columns[field] if rows is None else rows[row]
            values = fields[field] = np.array(getattr(model, field))
            if field == "body_pos":
                self._park(values, model)
            for name, value in zip(columns["name"], recorded, strict=True):
                if not name.startswith(ROBOT) and not name.endswith("_spawn_area"):
                    values[getattr(model, kind)(self.ours(name, episode)).id] = value
        return fields

    def _park(self, places: np.ndarray, model: mujoco.MjModel) -> None:
        bricks = self.bricks()
        for i in range(bricks.count if bricks is not None and bricks.base == "any" else 0):
            places[model.body(f"{brick_name(i)}/").id] = PARKED

    def observation(self, row: int, *, start: bool = False) -> dict[str, np.ndarray]:
        """The observation after a step, or the first of the episode number `row`, by its keys."""
        prefix = "reset_obs_" if start else "obs_"
        return {
            key.removeprefix(prefix): values[row]
            for key, values in self.arrays.items()
            if key.startswith(prefix)
        }


def make(name: str, **kwargs: Any) -> Any:
    """The environment of a record, started."""
    env = gymnasium.make(id_of(name), dtype="float64", observation="dict", **kwargs).unwrapped
    env.reset(seed=0)
    return env


def make_vec(name: str, num_envs: int) -> Any:
    """As many of them, started."""
    envs = gymnasium.make_vec(
        id_of(name), num_envs=num_envs, dtype="float64", observation="dict", threads=2
    )
    envs.reset(seed=0)
    return envs


def states(env: Any, record: Record, row: int) -> dict[str, np.ndarray]:
    """The state before a recorded step, for `set_state`."""
    state = record.state(row)
    state["time"] = record.arrays["before_time"][row]
    del state["ctrl"]
    fields = record.fields(row, env.unwrapped.model)
    for field in env.unwrapped.task.varies:
        state[field] = fields[field]
    if record.name.startswith("lift"):
        target = tasks()[record.name]["inner"][row]["target_height"]
        state["site_pos"][env.unwrapped.model.site("target_height").id, 2] = target
    return state
