"""stable-baselines3's SAC or PPO with its defaults, in one environment, as a run of ours.

    python benchmarks/training/sb3_peer.py dmc/walker-walk-v0 --minutes 30 --out FOLDER
    python benchmarks/training/sb3_peer.py dmc/walker-walk-v0 --algorithm PPO --cpu-minutes 1 \
        --out FOLDER

It writes the same metrics and the same final score. Minutes exclude evaluations. CPU minutes are
those of one thread and include them, as in `mjgym train`.
"""

import argparse
import json
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mjgym
from mjgym_train import evaluation, metrics

ALGORITHMS = {"sb3-sac": "SAC", "sb3-ppo": "PPO"}
"""Classes of stable-baselines3, by the name of the experiment."""
EVALUATIONS = 40
SCRIPT = "benchmarks/training/sb3_peer.py"


def train(
    id: str,
    out: Path,
    seed: int,
    minutes: float,
    *,
    name: str = next(iter(ALGORITHMS)),
    cpu: bool = False,
    evaluations: int = EVALUATIONS,
    episodes: int = 20,
    final_episodes: int = 100,
    **env: Any,
) -> None:
    """Train and score one run.

    Args:
        id: of the task.
        out: folder to create.
        seed: of the run.
        minutes: of training.
        name: of the experiment.
        cpu: whether these are CPU minutes of one thread, evaluations included.
        evaluations: number during training.
        episodes: of each.
        final_episodes: of the score.
        **env: of `make_vec`.
    """
    import stable_baselines3
    import torch
    from stable_baselines3.common.callbacks import BaseCallback

    from mjgym_compat import sb3
    from mjgym_train.learn import source

    clock, threads = (time.process_time, 1) if cpu else (time.perf_counter, None)
    if cpu:
        torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    cls = getattr(stable_baselines3, ALGORITHMS[name])
    model = cls("MlpPolicy", sb3.make_vec(id, 1, **env), seed=seed)
    own = evaluation.make(id, episodes, threads, **env)
    seconds = 60 * minutes

    def act(observation: np.ndarray) -> np.ndarray:
        return np.asarray(model.predict(observation, deterministic=True)[0])

    class Clock(BaseCallback):
        """Evaluates at equal parts of the budget, and ends training with it."""

        def _on_training_start(self) -> None:
            self.began, self.done = clock(), 0

        def _on_step(self) -> bool:
            spent = clock() - self.began
            if spent * evaluations >= (self.done + 1) * seconds:
                evaluated = evaluation.evaluate(act, own, evaluation.TRAINING_SEEDS[:episodes])
                values = {metrics.RETURN: float(evaluated.returns.mean())}
                self.done = int(spent * evaluations / seconds)
                if cpu:
                    values[metrics.CPU_SECONDS] = clock() - self.began
                else:
                    self.began = clock() - spent
                counts = model._n_updates, spent
                lines = [
                    metrics.Metric(name, id, seed, metric, self.num_timesteps, value, *counts)
                    for metric, value in values.items()
                ]
                metrics.append(out / "metrics.csv", lines)
            return spent < seconds

    model.learn(total_timesteps=10**9, callback=Clock())
    own.close()
    scored = evaluation.make(id, final_episodes, threads, **env)
    result = evaluation.evaluate(act, scored, evaluation.SEEDS[:final_episodes])
    about = {"id": id, "env_step": model.num_timesteps, **result.about()}
    (out / "evaluation.json").write_text(json.dumps(about, indent=2) + "\n")
    found = mjgym.fingerprint(scored)
    found["versions"] |= {"stable-baselines3": stable_baselines3.__version__}
    found["learner"] = source.learner() | {"command": shlex.join([SCRIPT, *sys.argv[1:]])}
    (out / "fingerprint.json").write_text(json.dumps(found, indent=2) + "\n")
    scored.close()


def loop(id: str, threads: int, seed: int = 0, **env: Any) -> Callable[[int], None]:
    """Function that continues SB3's TD3 by a number of environment steps, four per update.

    256-256, batches of 256, in one environment; it learns from the first call on.

    Args:
        id: of the task.
        threads: of PyTorch.
        seed: of the run.
        **env: of `make_vec`.
    """
    import stable_baselines3
    import torch

    from mjgym_compat import sb3

    starts = 300
    model = stable_baselines3.TD3(
        "MlpPolicy",
        sb3.make_vec(id, 1, **env),
        learning_starts=starts - 1,
        train_freq=4,
        gradient_steps=1,
        batch_size=256,
        policy_kwargs={"net_arch": [256, 256]},
        seed=seed,
    )
    model.learn(starts)

    def go_on(steps: int) -> None:
        torch.set_num_threads(threads)
        torch.set_float32_matmul_precision("highest")
        model.learn(steps, reset_num_timesteps=False)

    return go_on


def main() -> None:
    """Read the command line, and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("id")
    names = {cls: name for name, cls in ALGORITHMS.items()}
    parser.add_argument("--algorithm", choices=names, default="SAC")
    parser.add_argument("--seed", type=int, default=0)
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=30.0)
    length.add_argument("--cpu-minutes", type=float)
    parser.add_argument("--evaluations", type=int, default=EVALUATIONS)
    parser.add_argument("--episodes", type=int, default=20, help="of an evaluation")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--quick", action="store_true", help="short episodes, and few of them")
    options = parser.parse_args()
    counts = {"evaluations": options.evaluations, "episodes": options.episodes}
    quick = {"evaluations": 2, "episodes": 2, "final_episodes": 2, "max_episode_steps": 25}
    train(
        options.id,
        options.out,
        options.seed,
        options.cpu_minutes or options.minutes,
        name=names[options.algorithm],
        cpu=options.cpu_minutes is not None,
        **(quick if options.quick else counts),
    )


if __name__ == "__main__":
    main()
