"""PPO of RLlib on a task of mjgym.

    pip install -e ".[rllib]"
    python scripts/examples/rllib.py dmc/walker-walk-v0

RLlib's runners are separate processes that make environments by name; `mjgym:` in front of an id
lets Gymnasium import the package there, which registers the ids.
"""

import argparse
import time

import ray
from ray.rllib.algorithms.ppo import PPOConfig


def train(
    id: str, iterations: int, runners: int = 2, envs_per_runner: int = 8, batch: int = 4000
) -> list[float]:
    """Train and print the mean return of each iteration.

    Args:
        id: id of the task.
        iterations: PPO iterations.
        runners: processes that step environments; 0 steps them in this one.
        envs_per_runner: environments in each.
        batch: control steps per iteration.

    Returns:
        Mean return per iteration; NaN where no episode has ended.
    """
    config = (
        PPOConfig()
        .environment(f"mjgym:{id}")
        .env_runners(num_env_runners=runners, num_envs_per_env_runner=envs_per_runner)
        .training(train_batch_size_per_learner=batch, minibatch_size=min(256, batch), num_epochs=10)
    )
    algorithm = config.build_algo()
    returns = []
    start = time.monotonic()
    for iteration in range(iterations):
        result = algorithm.train()["env_runners"]
        returns.append(float(result.get("episode_return_mean", float("nan"))))
        print(f"{iteration + 1:4d}  {time.monotonic() - start:6.0f} s  return {returns[-1]:7.1f}")
    algorithm.stop()
    return returns


def main() -> None:
    """Read the command line and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", nargs="?", default="dmc/walker-walk-v0")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--runners", type=int, default=2)
    parser.add_argument("--envs-per-runner", type=int, default=8)
    parser.add_argument("--batch", type=int, default=4000)
    arguments = parser.parse_args()
    ray.init()
    train(
        arguments.id,
        arguments.iterations,
        arguments.runners,
        arguments.envs_per_runner,
        arguments.batch,
    )
    ray.shutdown()


if __name__ == "__main__":
    main()
