"""Recorded control steps of mjlab and MuJoCo Playground, and tasks in their states."""

import functools
import json
from typing import Any

import mujoco
import numpy as np

from helpers.places import DATA
from mjgym.envs.env import Env
from mjgym.envs.vector import VectorEnv
from mjgym.tasks.legged.legged_task import LeggedTask

FOLDER = DATA / "legged"
PREFIX = "robot/"  # of the names in mjlab's models


@functools.cache
def model_facts(name: str) -> dict[str, Any]:
    """The numbers of a recorded model, with plain names."""
    text = (FOLDER / f"model_{name}.json").read_text()
    return json.loads(text.replace(f'"{PREFIX}', '"'))


class Record:
    """The arrays of a recording: `record["rew/qpos"]`, (steps, environments, ...), float64.

    Args:
        name: of the file.

    Attributes:
        meta: names, weights, timesteps.
        steps: control steps.
        environments: number of environments.
    """

    def __init__(self, name: str) -> None:
        with np.load(FOLDER / f"{name}.npz") as file:
            self._arrays = {key: file[key] for key in file.files}
        self.meta: dict[str, Any] = json.loads(str(self._arrays.pop("meta")))
        self.steps, self.environments = self._arrays["action"].shape[:2]

    def __getitem__(self, key: str) -> np.ndarray:
        array = self._arrays[key]
        return array if array.dtype == bool else array.astype(np.float64)

    def __contains__(self, key: str) -> bool:
        return key in self._arrays

    def rows(self) -> list[tuple[int, int]]:
        """All pairs of step and environment."""
        return [(t, i) for t in range(self.steps) for i in range(self.environments)]

    def sensor(self, readings: np.ndarray, name: str) -> np.ndarray:
        """The numbers of a sensor in recorded readings, (..., dim)."""
        first, dim = self.meta["sensors"][name]
        return readings[..., first : first + dim]


@functools.cache
def record(name: str) -> Record:
    """A recording, read once."""
    return Record(name)


class Placed:
    """A task's simulation in recorded states.

    Args:
        task: the task.
    """

    def __init__(self, task: LeggedTask) -> None:
        self.task = task
        self.env = Env(task, observation="dict", dtype="float64")
        self.env.reset(seed=0)
        self.model, self.data, self.view = self.env.model, self.env.data, self.env.view

    def play(self, states: list[tuple[np.ndarray, np.ndarray]], control: np.ndarray) -> None:
        """Go through the states of a control step, so that sensors keep the readings of each.

        Args:
            states: qpos and qvel before each physics step, then at the end.
            control: of the actuators.
        """
        self.data.ctrl[:] = control
        for qpos, qvel in states[:-1]:
            self.data.qpos[:], self.data.qvel[:] = qpos, qvel
            mujoco.mj_step(self.model, self.data)
        self.stand(*states[-1])

    def stand(self, qpos: np.ndarray, qvel: np.ndarray) -> None:
        """Take a state, and compute everything that depends on it."""
        self.data.qpos[:], self.data.qvel[:] = qpos, qvel
        mujoco.mj_forward(self.model, self.data)

    def overwrite_past(self, name: str, readings: np.ndarray) -> None:
        """Replace the kept readings of a sensor, (steps, dim)."""
        sensor = self.model.sensor(name).id
        count = self.model.sensor_history[sensor, 0]
        first = self.model.sensor_historyadr[sensor] + 2 + count
        self.data.history[first : first + readings.size] = readings.ravel()
        assert np.array_equal(self.view.past((name,))[0], readings)

    def remember(self, **entries: Any) -> None:
        """Overwrite entries of the memory."""
        unknown = entries.keys() - self.view.memory.keys()
        assert not unknown, unknown
        self.view.memory = {
            **self.view.memory,
            **{name: np.array(value, dtype=np.float64) for name, value in entries.items()},
        }

    def forget(self) -> None:
        """Begin the memory as an episode does."""
        self.view.memory = dict(self.task.memory(self.view))


class Errors(dict[str, float]):
    """The largest absolute error of each quantity."""

    def note(self, name: str, ours: Any, recorded: Any) -> None:
        """Take an error into account."""
        ours, recorded = np.asarray(ours, float), np.asarray(recorded, float)
        assert ours.shape == recorded.shape, (name, ours.shape, recorded.shape)
        error = float(np.abs(ours - recorded).max())
        self[name] = max(self.get(name, 0.0), error)

    def beyond(self, bound: float) -> dict[str, float]:
        """Those that are larger than a bound."""
        return {name: error for name, error in self.items() if not error <= bound}


def assert_options(model: mujoco.MjModel, facts: dict[str, Any]) -> None:
    """The engine's options are the recorded ones, but for gravity and flags."""
    options = facts["option"]
    for option in ("timestep", "impratio", "iterations", "ls_iterations", "tolerance"):
        assert getattr(model.opt, option) == options[option], option
    for option, kind in (
        ("integrator", mujoco.mjtIntegrator),
        ("solver", mujoco.mjtSolver),
        ("cone", mujoco.mjtCone),
    ):
        assert getattr(model.opt, option) == getattr(kind, options[option])


def assert_noise(noisy_task: LeggedTask, plain_task: LeggedTask, largest: dict[str, float]) -> None:
    """Entries of an observation differ by at most the largest error, others not at all."""
    noisy = VectorEnv(noisy_task, num_envs=200, observation="dict")
    plain = VectorEnv(plain_task, num_envs=200, observation="dict")
    seen, true = noisy.reset(seed=0)[0], plain.reset(seed=0)[0]
    for name, values in true.items():
        error = np.abs(seen[name] - values).max()
        if name in largest:
            assert 0.95 * largest[name] < error <= 1.001 * largest[name], name
        else:
            assert error == 0, name
    noisy.close()
    plain.close()
