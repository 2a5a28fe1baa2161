"""A robosuite environment in another interpreter's process, driven line by line.

    python robosuite_process.py <task> <robots, separated by commas> <seed>

Its steps are control steps of random actions; see `answering`.
"""

import itertools
import sys

from answering import serve  # first, as it redirects the output

# isort: split

import numpy as np
import robosuite

ACTIONS = 1000  # different ones


def main() -> None:
    """Build the environment, then answer until the input ends."""
    task, robots, seed = sys.argv[1], sys.argv[2].split(","), int(sys.argv[3])
    env = robosuite.make(
        task,
        robots=robots if len(robots) > 1 else robots[0],
        use_camera_obs=False,
        has_offscreen_renderer=False,
        reward_shaping=True,
        control_freq=20,
        seed=seed,
    )
    low, high = env.action_spec
    rng = np.random.default_rng(seed)
    actions = itertools.cycle(list(rng.uniform(low, high, (ACTIONS, *np.shape(low)))))
    serve(lambda: env.step(next(actions))[2], env.reset)


if __name__ == "__main__":
    main()
