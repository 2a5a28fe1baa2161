"""judo's controller on a model of ours, in another interpreter's process, driven line by line.

    python judo_process.py <task> <model.xml> <optimizer> <rollouts> <horizon> <knots>

It plans from the model's initial state, and answers a number with "going" after as many
improvements of the plan.
"""

import sys

from answering import serve  # first, as it redirects the output

# isort: split

import mujoco
import numpy as np
from judo.controller.controller import Controller, ControllerConfig
from judo.optimizers import get_registered_optimizers
from judo.tasks.base import Task, TaskConfig


def cartpole(states: np.ndarray, sensors: np.ndarray, controls: np.ndarray) -> np.ndarray:
    """Upright, centred, slow and with little effort, (n,)."""
    upright = (1 + np.cos(states[..., 1])) / 2
    centred = np.exp(-((states[..., 0] / 2) ** 2))
    slow = np.exp(-((states[..., 3] / 5) ** 2))
    effort = (4 + np.exp(-(controls[..., 0] ** 2))) / 5
    return (upright * centred * slow * effort).sum(-1)


def walker(states: np.ndarray, sensors: np.ndarray, controls: np.ndarray) -> np.ndarray:
    """Tall, upright and at 1 m/s, (n,)."""
    tall = np.clip(1 + states[..., 0] / 0.6, 0, 1)
    upright = (1 + np.cos(states[..., 2])) / 2
    return (tall * upright * (1 + 5 * np.clip(sensors[..., 0], 0, 1)) / 6).sum(-1)


REWARDS = {"dmc/cartpole-swingup-v0": cartpole, "dmc/walker-walk-v0": walker}


class FromFile(Task):
    """A task of a model file; judo's own constructor loads meshes from the network."""

    def __init__(self, file: str, reward: object) -> None:
        self.config, self._reward = TaskConfig(), reward
        self.model = mujoco.MjModel.from_xml_path(file)
        self.data = mujoco.MjData(self.model)

    def reward(self, states, sensors, controls, system_metadata=None):  # type: ignore[no-untyped-def]
        """See `REWARDS`."""
        return self._reward(states, sensors, controls)


def main() -> None:
    """Build the controller, then answer until the input ends."""
    id, file, name, rollouts, horizon, knots = sys.argv[1:]
    task = FromFile(file, REWARDS[id])
    optimizer, configuration = get_registered_optimizers()[name]
    config = configuration(num_rollouts=int(rollouts), num_nodes=int(knots))
    controller = Controller(
        ControllerConfig(horizon=float(horizon)), task, optimizer(config, task.nu)
    )
    controller.update_action()

    def improve() -> None:
        controller.update_action()

    serve(improve)


if __name__ == "__main__":
    main()
