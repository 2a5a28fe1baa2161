"""Small datasets of random actions for the tests of formats."""

import gymnasium

from mjgym import datasets

ID = "robosuite/Lift-v0"
PICTURES = {"camera": ("agentview", "robot0_eye_in_hand"), "width": 40, "height": 32}


def random_demos(name, episodes=3, id=ID, **kwargs):
    """Write a dataset of 4, 5, ... steps; the episodes as they were seen."""
    env = gymnasium.make(id, max_episode_steps=12, **kwargs)
    recorder = datasets.record(env, str(name), algorithm="random", description="random actions")
    env.action_space.seed(0)
    seen = []
    for seed in range(episodes):
        observation, _ = recorder.reset(seed=seed)
        rows = [(observation, None, None)]
        for _ in range(4 + seed):
            action = env.action_space.sample()
            observation, reward, *_ = recorder.step(action)
            rows.append((observation, action, reward))
        recorder.keep()
        seen.append(rows)
    recorder.close()
    return seen
