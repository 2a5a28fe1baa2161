"""The recorded facts of the published suite, for the tests."""

import json
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
from gymnasium.utils.env_checker import check_env

from helpers.places import DATA
from helpers.registered import registered_task
from helpers.toys import Room
from mjgym.sim import Simulation, Single, SingleView
from mjgym.task import Task
from mjgym.task.models import compile_model

FOLDER = DATA / "dmc"
TASKS: dict[str, dict[str, Any]] = json.loads((FOLDER / "tasks.json").read_text())
IDS = [f"dmc/{name}-v0" for name in TASKS]
# The first of each domain, whose ids share a model or a class.
OF_DOMAINS = [*{id.partition("-")[0]: id for id in reversed(IDS)}.values()]

# The recorder's seed, and the episodes that it started before the ones it counted.
SEED, UNCOUNTED, COUNTED = 7, 25, 200


def task(name: str) -> Task:
    """The task registered for "<domain>-<task>", or that of the "room"."""
    if name == "room":
        return Room(time_limit=10.0, control_timestep=0.02)  # s
    found: Task = registered_task(f"dmc/{name}-v0")
    return found


def begin(
    simulation: Simulation,
    initialize: Callable[[SingleView, Any], None],
    generator: Callable[[int], Any],
    where: np.ndarray | None = None,
) -> None:
    """Begin episodes with what initialize(view, generator(i)) writes at the model's defaults."""

    def start(i: int, scratch: Single) -> None:
        scratch.restore_defaults()
        initialize(scratch.view, generator(i))

    simulation.reset(start, where)


def started(name: str, seed: int = 0) -> tuple[Task, Single]:
    """A task by its name, and a simulation at the start of an episode."""
    described = task(name)
    simulation = Single(compile_model(described), described.varies)
    begin(simulation, described.initialize, lambda i: np.random.default_rng(seed))
    return described, simulation


def shown(simulation: Simulation, i: int = 0) -> dict[str, np.ndarray]:
    """What a picture of simulation i depends on."""
    return {name: value[0] for name, value in simulation.rendered_state(np.array([i])).items()}


def transitions(name: str, kind: str) -> dict[str, np.ndarray]:
    """Recorded transitions: kind "random" (actions) or "goal" (states that cover the reward)."""
    suffix = ".goal" if kind == "goal" else ""
    with np.load(FOLDER / "transitions" / f"{name}{suffix}.npz") as file:
        return dict(file)


def relative_errors(ours: Any, recorded: Any) -> np.ndarray:
    """Largest difference in each row, relative to max(1, |recorded|).

    A dict's entries have at least one axis, where the records have plain numbers.
    """
    a, b = np.asarray(ours, dtype=float), np.asarray(recorded, dtype=float)
    if a.shape == (*b.shape, 1):
        a = a[..., 0]
    assert a.shape == b.shape
    errors = np.abs(a - b) / np.maximum(1.0, np.abs(b))
    return errors.reshape(len(a), -1).max(axis=1, initial=0.0)


def relative_error(ours: Any, recorded: Any) -> float:
    """Largest difference relative to max(1, |recorded|)."""
    return float(relative_errors(np.expand_dims(ours, 0), np.expand_dims(recorded, 0))[0])


class LegacyGenerator:
    """The methods of numpy.random.Generator that tasks use, on the generator of the recorder."""

    def __init__(self, seed: int) -> None:
        self._state = np.random.RandomState(seed)
        self.uniform = self._state.uniform
        self.normal = self._state.normal
        self.standard_normal = self._state.standard_normal
        self.random = self._state.random_sample
        self.integers = self._state.randint


# The one piece of Gymnasium's advice that the suite cannot follow: observations are unbounded, and
# the published action ranges of quadruped and lqr are not [-1, 1].
ADVICE = "|".join(
    (
        "A Box observation space (minimum|maximum) value is -?infinity",
        "we recommend using a symmetric and normalized space",
    )
)


def gymnasium_checker(env: gymnasium.Env[Any, Any]) -> None:
    """Gymnasium's checker, its warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", f".*({ADVICE})")
        check_env(env.unwrapped, skip_render_check=True)  # a machine may have no OpenGL


def within(info, group):
    """The entries of a group of an `info`, "terms" or "variation", by name; masks begin with _."""
    mine, masks = f"{group}/", f"_{group}/"
    return {
        name.replace(masks, "_", 1) if name.startswith(masks) else name.removeprefix(mine): value
        for name, value in info.items()
        if name.startswith((mine, masks))
    }


# The chains of lqr are random; these are the seeds of the recorded ones.
ARGUMENTS = {
    ("lqr-lqr_2_1", "random"): {"stiffness_seed": 7},
    ("lqr-lqr_6_2", "random"): {"stiffness_seed": 7},
    ("lqr-lqr_2_1", "goal"): {"stiffness_seed": 11},
    ("lqr-lqr_6_2", "goal"): {"stiffness_seed": 11},
}


def recorded_states(env, record):
    """The recorded states before each step, as arguments of set_state."""
    states = {k.removeprefix("before_"): v for k, v in record.items() if k.startswith("before_")}
    for key in [k for k in record if k.startswith("model_")]:
        field = key.removeprefix("model_")
        if field in env.unwrapped.task.varies:
            states[field] = record[key]
        else:  # constant for the task: then it is in the model
            model = getattr(env.unwrapped.model, field)
            assert (record[key] == model.ravel().reshape(record[key].shape[1:])).all(), field
    for field, rows in states.items():
        if field in env.unwrapped.task.varies:
            states[field] = rows.reshape(len(rows), *getattr(env.unwrapped.model, field).shape)
    return {name: rows for name, rows in states.items() if rows.size}
