"""The folder of a run: its settings, fingerprint, metrics, checkpoint and policy."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from mjgym.train.results import metrics
from mjgym.train.results.config import Config, to_yaml
from mjgym.train.results.errors import RunError
from mjgym.train.results.policy import AnyPolicy, load
from mjgym.util import atomic


class Run:
    """A run's folder.

    Args:
        path: of the folder, which `create` makes.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.config_file = self.path / "config.yaml"
        self.metrics_file = self.path / "metrics.csv"
        self.policy_file = self.path / "policy.npz"
        self.checkpoint_file = self.path / "checkpoint.pt"
        self.fingerprint_file = self.path / "fingerprint.json"
        self.evaluation_file = self.path / "evaluation.json"
        self.tensorboard = self.path / "tensorboard"

    def create(self, config: Config) -> None:
        """Make the folder for a new run.

        Raises:
            RunError: there is a run already.
        """
        if self.config_file.exists():
            raise RunError(f"{self.path} holds a run already; go on with it by --resume")
        self.path.mkdir(parents=True, exist_ok=True)
        atomic.write_text(self.config_file, to_yaml(config))

    def settings(self) -> dict[str, Any]:
        """The settings as they were resolved, by name.

        Raises:
            RunError: there is no run.
        """
        try:
            found = yaml.safe_load(self.config_file.read_text())
        except OSError:
            raise RunError(
                f"{self.path} holds no run: there is no {self.config_file.name}"
            ) from None
        if not isinstance(found, dict):
            raise RunError(f"{self.config_file}: no settings")
        return found

    def policy(self) -> AnyPolicy:
        """The policy of the last checkpoint.

        Raises:
            RunError: there is none yet.
        """
        self.settings()
        try:
            return load(self.policy_file)
        except OSError:
            raise RunError(f"{self.path} has no policy yet: it has no checkpoint") from None

    def metrics(self) -> list[metrics.Metric]:
        """All numbers so far.

        Raises:
            RunError: there are none yet.
        """
        try:
            return metrics.read(self.metrics_file)
        except OSError:
            raise RunError(f"{self.path} has no metrics yet") from None

    def write_json(self, file: Path, content: Mapping[str, Any]) -> None:
        """Put plain data into one of the folder's files."""
        atomic.write_text(file, json.dumps(content, indent=2) + "\n")
