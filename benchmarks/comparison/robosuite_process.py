"""A robosuite environment in another interpreter's process, driven line by line.

    python robosuite_process.py <task> <robots, separated by commas> <seed>

It answers each line of its input: "reset" with "reset" after the reset, a number with "going" after
as many control steps of random actions, or with "ended" if the last of them ended an episode; it
begins the next one only on request.
"""

import itertools
import os
import sys

# Output of the library is not an answer.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import numpy as np  # noqa: E402
import robosuite  # noqa: E402

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
    answers.write("built\n")
    for line in sys.stdin:
        ended = False
        if line.strip() == "reset":
            env.reset()
            answers.write("reset\n")
            continue
        for _ in range(int(line)):
            if ended:
                env.reset()
            ended = env.step(next(actions))[2]
        answers.write("ended\n" if ended else "going\n")


if __name__ == "__main__":
    main()
