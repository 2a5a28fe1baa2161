"""mjlab's environments on the CPU in another interpreter's process, driven line by line.

    python mjlab_process.py <task> <environments> <threads> <seed>

It answers as `subjects.in_process` requires; an environment begins a new episode by itself.
"""

import itertools
import sys

from answering import serve  # first, as it redirects the output

# isort: split

import mjlab.tasks  # noqa: F401  (registers the tasks)
import torch
from mjlab.envs import ManagerBasedRlEnv
from mjlab.tasks.registry import load_env_cfg

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

    def step() -> None:
        env.step(next(actions))

    serve(step, env.reset)


if __name__ == "__main__":
    main()
