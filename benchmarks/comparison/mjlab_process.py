"""mjlab's environments on the CPU in another interpreter's process, driven line by line.

    python mjlab_process.py <task> <environments> <threads> <seed>

It answers as `subjects.in_process` requires; an environment begins a new episode by itself.
"""

import itertools
import os
import sys

# Output of the library is not an answer.
answers = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)

import mjlab.tasks  # noqa: E402, F401  (registers the tasks)
import torch  # noqa: E402
from mjlab.envs import ManagerBasedRlEnv  # noqa: E402
from mjlab.tasks.registry import load_env_cfg  # noqa: E402

ACTIONS = 100  # different ones


def main() -> None:
    """Build the environments, then answer until the input ends."""
    task, num_envs, threads, seed = sys.argv[1], *map(int, sys.argv[2:])
    torch.set_num_threads(threads)
    config = load_env_cfg(task)
    config.scene.num_envs, config.seed = num_envs, seed
    env = ManagerBasedRlEnv(cfg=config, device="cpu")
    env.reset()
    size = env.action_manager.total_action_dim
    actions = itertools.cycle(torch.rand(ACTIONS, num_envs, size) * 2 - 1)
    answers.write("built\n")
    for line in sys.stdin:
        if line.strip() == "reset":
            env.reset()
            answers.write("reset\n")
            continue
        for _ in range(int(line)):
            env.step(next(actions))
        answers.write("going\n")


if __name__ == "__main__":
    main()
