"""osim-rl's "Learn to Move" environment in another interpreter's process, driven line by line.

    python opensim_process.py <difficulty> <2D or 3D> <seed>

It answers as `subjects.in_process` requires.
"""

import itertools
import sys

from answering import serve  # first, as it redirects the output

# isort: split

import numpy as np
import opensim
from osim.env import L2M2019Env

ACTIONS = 1000  # different ones
MUSCLES = 22


def _control_by_name() -> None:
    """Let osim-rl, which passes the number of the actuator just added, pass its name instead."""
    controller = opensim.PrescribedController
    add, prescribe = controller.addActuator, controller.prescribeControlForActuator
    names = []

    def remember(self, actuator):
        names.append(actuator.getAbsolutePathString())
        return add(self, actuator)

    def by_name(self, number, function):
        return prescribe(self, names[-1], function)

    controller.addActuator, controller.prescribeControlForActuator = remember, by_name


def main() -> None:
    """Build the environment, then answer until the input ends."""
    difficulty, mode, seed = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    _control_by_name()
    env = L2M2019Env(visualize=False, difficulty=difficulty)
    env.change_model(model=mode, difficulty=difficulty, seed=seed)

    def reset() -> None:
        env.reset(project=True, seed=seed, obs_as_dict=False)

    rng = np.random.default_rng(seed)
    actions = itertools.cycle(list(rng.uniform(0, 1, (ACTIONS, MUSCLES))))
    reset()
    serve(lambda: env.step(next(actions), project=True, obs_as_dict=False)[2], reset)


if __name__ == "__main__":
    main()
