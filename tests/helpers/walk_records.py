"""The recorded episodes of "Learn to Move", and tasks in their states."""

import functools
import math
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from mjgym.sim import Single
from mjgym.task.models import compile_model
from mjgym.tasks.l2m.target_field import TargetField
from mjgym.tasks.l2m.walk import OpenSimWalk

DATA = Path(__file__).parents[1] / "data/learn_to_move"


@functools.cache
def episodes() -> dict[str, dict[str, np.ndarray]]:
    """By name, the arrays of each: a row for each instant."""
    found: dict[str, dict[str, np.ndarray]] = {}
    with np.load(DATA / "episodes.npz") as file:
        for key in file.files:
            episode, _, name = key.partition("/")
            found.setdefault(episode, {})[name] = file[key]
    return found


NAMES = tuple(episodes())


def task(name: str) -> OpenSimWalk:
    """The task that an episode was recorded of."""
    difficulty = int(episodes()[name]["difficulty"])
    limit = 25.0 if difficulty == 3 else 10.0  # s
    return OpenSimWalk(difficulty=difficulty, planar=name == "planar", time_limit=limit)


def field_state(name: str) -> dict[str, np.ndarray]:
    """The target field's state at the start of an episode, none of whose sinks was achieved.

    Its phase was not recorded: the field is linear in the phase's sine and cosine.
    """
    recorded = episodes()[name]
    sink = recorded["target"][0]
    law = TargetField(int(recorded["difficulty"]))
    zero, one = np.zeros(()), np.ones(())
    state = {
        "map_centre": np.zeros(2),
        "sink": sink,
        "sink_distance": np.linalg.norm(sink),
        "path_heading": np.arctan2(sink[1], sink[0]),
        "phase": zero,
        "stay": 3 * one,  # s; nobody comes near
        "stayed": zero,
        "sinks_achieved": zero,
    }
    axis = np.arange(81) * 0.5 - 20
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1).reshape(-1, 2)

    def velocity(phase: float) -> np.ndarray:
        return law.velocity({**state, "phase": np.array(phase)}, points).T.ravel()

    middle = (velocity(0.0) + velocity(math.pi)) / 2
    parts = np.stack([velocity(math.pi / 2) - middle, velocity(0.0) - middle], axis=-1)
    wanted = recorded["v_map"].ravel() - middle
    (sine, cosine), *_ = np.linalg.lstsq(parts, wanted, rcond=None)
    return {**state, "phase": np.array(math.atan2(sine, cosine))}


def states(name: str, rows: Any = slice(None)) -> dict[str, np.ndarray]:
    """Entries for `set_state` of some instants of an episode, (rows, ...) each."""
    recorded = episodes()[name]
    own = task(name)
    scratch = Single(compile_model(own))
    poses = []
    for q, u in zip(recorded["q"][rows], recorded["u"][rows], strict=True):
        own.body.place(scratch.view, q, u)
        poses.append((scratch.view.qpos.copy(), scratch.view.qvel.copy()))
    qpos, qvel = map(np.array, zip(*poses, strict=True))
    field = {f"memory.{k}": np.stack([x] * len(qpos)) for k, x in field_state(name).items()}
    return {
        "qpos": qpos,
        "qvel": qvel,
        "memory.muscle_activation": recorded["a"][rows],
        "memory.muscle_fibre_length": recorded["fiber_length"][rows],
        **field,
    }


def environments(name: str, num_envs: int) -> Any:
    """As many sub-environments of an episode's task."""
    own = task(name)
    id = "l2m/walk_planar-v0" if own.planar else "l2m/walk_around-v0"
    fields = {"difficulty": own.difficulty, "time_limit": own.time_limit}
    return gymnasium.make_vec(id, num_envs, dtype="float64", threads=1, **fields)
