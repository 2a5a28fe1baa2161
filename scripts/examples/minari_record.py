"""A data set of random actions, recorded with Minari and replayed.

    pip install -e ".[minari]"
    python scripts/examples/minari_record.py dmc/walker-walk-v0 --episodes 10

The data set stores the environment's specification, so that it can be recreated in any process.
"""

import argparse

import gymnasium
import minari
import numpy as np

import mjgym  # noqa: F401  (registers the ids)


def record(id: str, name: str, episodes: int, seed: int = 0) -> minari.MinariDataset:
    """Record episodes of random actions.

    Args:
        id: id of the task.
        name: name of the data set, e.g. "walker/random-v0".
        episodes: number of episodes.
        seed: of the first episode and of the actions.
    """
    env = minari.DataCollector(gymnasium.make(id))
    env.action_space.seed(seed)
    for episode in range(episodes):
        env.reset(seed=seed + episode)
        ended = False
        while not ended:
            _, _, terminated, truncated, _ = env.step(env.action_space.sample())
            ended = terminated or truncated
    dataset = env.create_dataset(
        name,
        eval_env=id,
        algorithm_name="random",
        author="mjgym",
        author_email="none",
        code_permalink="https://github.com/mjgym/mjgym",
        description=f"random actions on {id}",
    )
    env.close()
    return dataset


def replay(dataset: minari.MinariDataset, seed: int = 0) -> float:
    """Replay a recording in the environment of the data set.

    Returns:
        The largest difference between a reward and the recorded one.
    """
    env = dataset.recover_environment()
    difference = 0.0
    for number, episode in enumerate(dataset):
        env.reset(seed=seed + number)
        rewards = [env.step(action)[1] for action in episode.actions]
        difference = max(difference, float(np.abs(rewards - episode.rewards).max()))
    env.close()
    return difference


def main() -> None:
    """Read the command line, record, load and replay."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", nargs="?", default="dmc/walker-walk-v0")
    parser.add_argument("--name", default="mjgym/random-v0")
    parser.add_argument("--episodes", type=int, default=10)
    arguments = parser.parse_args()
    record(arguments.id, arguments.name, arguments.episodes)
    dataset = minari.load_dataset(arguments.name)
    print(f"{dataset.id}: {dataset.total_episodes} episodes, {dataset.total_steps} steps")
    print(f"replayed rewards differ by at most {replay(dataset)}")


if __name__ == "__main__":
    main()
