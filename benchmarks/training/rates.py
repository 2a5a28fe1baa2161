"""Environment steps per second while learning, beside those of stable-baselines3's TD3."""

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SETTINGS: dict[str, tuple[str, ...]] = {
    "recipe": (),
    "recipe, bfloat16": ("matmul_precision=medium",),
    "plain": ("critic=mean", "layer_norm=false", "normalize_observations=false"),
}
"""Our settings, each with 256-256, batches of 256 and an update for every four steps: the default
recipe, the same with products in bfloat16 where the processor has them, and what SB3's TD3 has."""


def ours(id: str, settings: tuple[str, ...], folder: Path, **env: Any) -> Callable[[int], None]:
    """Function that continues a learning run of ours by a number of environment steps."""
    import torch

    from mjgym_train import config
    from mjgym_train.learn import algorithms
    from mjgym_train.learn.training import make_trainer
    from mjgym_train.run import Run

    read = config.read(
        algorithms.find("td3").Config,
        settings=["learning_starts=300", "tensorboard=false", *settings],
        algorithm="td3",
        id=id,
        steps=10**9,
        env=env,
    )
    run = Run(folder)
    run.create(read)
    trainer: Any = make_trainer(run, read)

    def go_on(steps: int) -> None:
        torch.set_num_threads(read.torch_threads)
        torch.set_float32_matmul_precision(read.matmul_precision)
        until = trainer.env_step + steps
        while trainer.env_step < until:
            trainer.step()

    go_on(400)
    return go_on


def measure(
    id: str, cores: int, *, steps: int = 640, repeats: int = 5, **env: Any
) -> dict[str, list[float]]:
    """Steps per second of each, alternating.

    Args:
        id: of the task.
        cores: threads of PyTorch for one of SB3's turns; the other has one thread.
        steps: of each turn.
        repeats: turns of each.
        **env: of `make_vec`.
    """
    from training import sb3_peer

    with tempfile.TemporaryDirectory() as folder:
        loops = {
            name: ours(id, settings, Path(folder) / name, **env)
            for name, settings in SETTINGS.items()
        }
        for threads in sorted({1, cores}):
            loops[f"sb3, {threads} threads"] = sb3_peer.loop(id, threads, **env)
        rates: dict[str, list[float]] = {name: [] for name in loops}
        for _ in range(repeats):
            for name, go_on in loops.items():
                began = time.perf_counter()
                go_on(steps)
                rates[name].append(steps / (time.perf_counter() - began))
    return rates


def ratios(rates: dict[str, list[float]]) -> dict[str, float]:
    """Medians over turns of our rates over the best of SB3's in the same turn."""
    peers = [values for name, values in rates.items() if name.startswith("sb3")]
    best = [max(turn) for turn in zip(*peers, strict=True)]
    return {
        name: statistics.median(a / b for a, b in zip(rates[name], best, strict=True))
        for name in SETTINGS
    }
