"""Episodes that a replay buffer is filled with, and what they were."""

import numpy as np
import torch


def assert_same_batch(one, other):
    """Transitions equal to the bit, over all lengths of their returns."""
    for name, value in vars(one).items():
        if isinstance(value, torch.Tensor):
            assert torch.equal(value, getattr(other, name)), name
        elif name != "shorter":
            assert value is getattr(other, name) is None
    for a, b in zip(one.shorter, other.shorter, strict=True):
        assert_same_batch(a, b)


def samples(count, *buffers):
    """Transitions of some buffers, drawn by the same random numbers."""
    for buffer in buffers:
        torch.manual_seed(1)
        yield buffer.sample(count)


class Story:
    """Episodes of random length in several sub-environments.

    An observation is (sub-environment, episode, step of the episode).
    """

    def __init__(self, buffer, num_envs, steps, rng):
        self.episodes = {}  # of (env, episode): rewards, and whether it terminated
        episode, age = np.zeros(num_envs, int), np.zeros(num_envs, int)
        for _ in range(steps):
            before = self.observation(num_envs, episode, age)
            reward = rng.normal(size=num_envs)
            ended = rng.random(num_envs) < 0.2
            terminated = ended & (rng.random(num_envs) < 0.5)
            for i in range(num_envs):
                rewards, end = self.episodes.setdefault((i, int(episode[i])), ([], []))
                rewards.append(reward[i])
                if ended[i]:
                    end.append(bool(terminated[i]))
            buffer.add(
                observation=before,
                action=before[:, :1],
                reward=torch.from_numpy(reward).float(),
                following=self.observation(num_envs, episode, age + 1),
                terminated=torch.from_numpy(terminated),
                ended=torch.from_numpy(ended),
                age=torch.from_numpy(age).int(),
            )
            episode, age = episode + ended, np.where(ended, 0, age + 1)

    @staticmethod
    def observation(num_envs, episode, age):
        return torch.from_numpy(np.stack([np.arange(num_envs), episode, age], 1)).float()
