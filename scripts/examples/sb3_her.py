"""Hindsight experience replay of stable-baselines3 on a batch, from a sparse reward.

    pip install -e ".[sb3]"
    python scripts/examples/sb3_her.py --steps 6000

With `observation="goal"`, environments have the Gymnasium-Robotics interface that `HerReplayBuffer`
requires. The reward is -1 until the goal is reached. By default the task is that of
`reach_and_push.py`.
"""

import argparse
from typing import Any

import numpy as np
import torch
from reach_and_push import REACH
from stable_baselines3 import SAC, HerReplayBuffer
from stable_baselines3.common.vec_env import VecNormalize

from mjgym_compat import sb3

EPISODES = 50  # episodes of an evaluation
UPDATES_PER_STEP = 0.25


def success_rate(model: SAC, normalizer: VecNormalize, id: str, horizon: int) -> float:
    """Share of episodes that end at the goal."""
    envs = sb3.make_vec(id, EPISODES, observation="goal", max_episode_steps=horizon)
    envs.seed(10_000)
    observation = envs.reset()
    for _ in range(horizon):
        normalized: Any = normalizer.normalize_obs(observation)  # type: ignore[arg-type]
        action, _ = model.predict(normalized, deterministic=True)
        observation, _, _, infos = envs.step(action)
    envs.close()
    return float(np.mean([info["success"] for info in infos]))


def main() -> None:
    """Read the command line, train, and compare with the untrained policy."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", nargs="?", default=REACH)
    parser.add_argument("--steps", type=int, default=6_000)
    parser.add_argument("--num-envs", type=int, default=16)
    parser.add_argument("--horizon", type=int, default=25, help="control steps of an episode")
    parser.add_argument("--file", default="sb3_her.zip", help="file of the trained policy")
    arguments = parser.parse_args()
    id, num_envs, horizon = arguments.id, arguments.num_envs, arguments.horizon
    torch.set_num_threads(1)
    batch = sb3.make_vec(id, num_envs, observation="goal", max_episode_steps=horizon)
    envs = VecNormalize(batch, norm_reward=False)
    model = SAC(
        "MultiInputPolicy", envs, replay_buffer_class=HerReplayBuffer,
        replay_buffer_kwargs={"n_sampled_goal": 4, "goal_selection_strategy": "future"},
        learning_starts=num_envs * horizon * 2, gradient_steps=int(num_envs * UPDATES_PER_STEP),
        gamma=0.95, tau=0.02, learning_rate=1e-3, ent_coef="auto_0.05",
        batch_size=128, policy_kwargs={"net_arch": [64, 64]}, seed=0,
        device="cpu",
    )  # fmt: skip
    before = success_rate(model, envs, id, horizon)
    model.learn(arguments.steps)
    model.save(arguments.file)
    after = success_rate(model, envs, id, horizon)
    envs.close()
    print(f"success at the end: {before:.2f} before, {after:.2f} after")


if __name__ == "__main__":
    main()
