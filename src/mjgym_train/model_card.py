"""A trained policy as a folder in the layout of the Hugging Face hub, with a model card."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.policies.network import AnyPolicy
from mjgym.util import atomic
from mjgym.version import __version__

POLICY, SETTINGS, RESULTS, CARD = "policy.npz", "config.yaml", "results.json", "README.md"


@dataclass(frozen=True)
class Card:
    """Contents of a model card."""

    id: str  # of the task
    algorithm: str = ""  # name; empty if unknown
    # Of the episodes of `mjgym evaluate`; empty if it has not been scored.
    returns: Sequence[float] = ()
    seeds: Sequence[int] = ()  # of those episodes
    env: Mapping[str, Any] | None = None  # arguments of the task
    env_step: int | None = None  # of training; None if unknown

    def text(self) -> str:
        return f"---\n{self._metadata()}---\n\n{self._prose()}"

    def _metadata(self) -> str:
        import yaml

        kind = "reinforcement-learning"
        about: dict[str, Any] = {"library_name": "mjgym", "pipeline_tag": kind}
        about["tags"] = [kind, "mujoco", "gymnasium", self.id]
        if self.returns:
            value = f"{np.mean(self.returns):.2f} +/- {np.std(self.returns):.2f}"
            metric = {"type": "mean_reward", "value": value, "name": "mean_reward"}
            result = {
                "task": {"type": kind, "name": kind},
                "dataset": {"name": self.id, "type": self.id},
                "metrics": [{**metric, "verified": False}],
            }
            about["model-index"] = [{"name": self.algorithm or "policy", "results": [result]}]
        return str(yaml.safe_dump(about, sort_keys=False))

    def _prose(self) -> str:
        text = f"# {self.id}\n\nA policy for `{self.id}` of mjgym {__version__}."
        if self.algorithm:
            steps = f", {self.env_step:,} environment steps" if self.env_step else ""
            text += f" It was trained with {self.algorithm}{steps}."
        text += "\n"
        if self.returns:
            text += (
                f"\nReturn: {np.mean(self.returns):.1f} ± {np.std(self.returns):.1f},"
                f" mean and standard deviation of {len(self.returns)} episodes with fixed seeds"
                f" (`{RESULTS}`), without noise.\n"
            )
        settings = {"observation": "flat", **(self.env or {})}
        arguments = "".join(f", {name}={value!r}" for name, value in settings.items())
        return text + (
            "\n```python\nimport gymnasium as gym\nimport mjgym\n"
            "from mjgym.policies import network\n\n"
            f'act = network.load("{POLICY}")  # NumPy alone\n'
            f'env = gym.make("{self.id}"{arguments})\n'
            "observation, info = env.reset(seed=0)\n"
            "observation, reward, terminated, truncated, info = env.step(act(observation))\n"
            "```\n"
        )


def write(folder: Path, policy: AnyPolicy, card: Card, settings: str = "") -> list[Path]:
    """Write the folder; returns the paths written."""
    atomic.require_empty(folder)
    folder.mkdir(parents=True, exist_ok=True)
    policy.save(folder / POLICY)
    texts = {CARD: card.text()}
    if settings:
        texts[SETTINGS] = settings
    if card.returns:
        about = {
            "id": card.id,
            "mean": float(np.mean(card.returns)),
            "std": float(np.std(card.returns)),
            "seeds": list(card.seeds),
            "returns": list(map(float, card.returns)),
        }
        texts[RESULTS] = json.dumps(about, indent=2) + "\n"
    for name, text in texts.items():
        atomic.write_text(folder / name, text)
    return [folder / name for name in (POLICY, *texts)]
