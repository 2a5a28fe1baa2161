"""PPO of stable-baselines3 on a batch of environments in one process.

    pip install -e ".[sb3]"
    python scripts/examples/sb3.py dmc/walker-walk-v0 --steps 2000000

`mjgym_compat.sb3.make_vec` makes a batch with stable-baselines3's interface, which its wrappers
accept.
"""

import argparse
from pathlib import Path

from stable_baselines3 import PPO
from stable_baselines3.common.evaluation import evaluate_policy
from stable_baselines3.common.vec_env import VecNormalize

from mjgym_compat import sb3


def train(id: str, steps: int, num_envs: int, horizon: int, folder: Path) -> float:
    """Train, save the policy and its observation normalizer, and evaluate it.

    Args:
        id: id of the task.
        steps: control steps, over all environments.
        num_envs: environments in the batch.
        horizon: control steps of each between two updates.
        folder: for `policy.zip` and `normalizer.pkl`.

    Returns:
        Mean return of an episode, with deterministic actions.
    """
    envs = VecNormalize(sb3.make_vec(id, num_envs), norm_reward=False)
    model = PPO(
        "MlpPolicy", envs, n_steps=horizon, batch_size=num_envs * horizon // 8, device="cpu",
        verbose=1, seed=0,
    )  # fmt: skip
    model.learn(steps)
    folder.mkdir(parents=True, exist_ok=True)
    model.save(folder / "policy.zip")
    envs.save(str(folder / "normalizer.pkl"))
    envs.close()

    fresh = VecNormalize.load(str(folder / "normalizer.pkl"), sb3.make_vec(id, num_envs))
    fresh.training = False
    model = PPO.load(folder / "policy.zip", device="cpu")
    mean, _ = evaluate_policy(model, fresh, n_eval_episodes=num_envs)
    fresh.close()
    return float(mean)


def main() -> None:
    """Read the command line, train and evaluate."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id", nargs="?", default="dmc/walker-walk-v0")
    parser.add_argument("--steps", type=int, default=2_000_000)
    parser.add_argument("--num-envs", type=int, default=32)
    parser.add_argument("--horizon", type=int, default=128)
    parser.add_argument("--folder", type=Path, default=Path("sb3_ppo"))
    arguments = parser.parse_args()
    mean = train(
        arguments.id,
        arguments.steps,
        arguments.num_envs,
        arguments.horizon,
        arguments.folder,
    )
    print(f"mean return of {arguments.num_envs} episodes: {mean:.1f}")


if __name__ == "__main__":
    main()
