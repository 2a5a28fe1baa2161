"""Settings and last policy of a training run's folder."""

from pathlib import Path
from typing import Any

from mjgym.policies.network import AnyPolicy, PolicyError, load
from mjgym.policies.run_errors import ConfigError, RunError
from mjgym.util.bounded import FileError


class RunFolder:
    """A folder written by `mjgym train`."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.config_file = self.path / "config.yaml"
        self.policy_file = self.path / "policy.npz"

    def settings(self) -> dict[str, Any]:
        """The resolved settings, by name."""
        if not self.config_file.is_file():
            raise RunError(f"{self.path} holds no run: there is no {self.config_file.name}")
        from mjgym.policies.settings_files import settings_of  # needs PyYAML

        try:
            return settings_of(self.config_file)
        except (ConfigError, FileError) as error:
            raise RunError(str(error)) from None

    def policy(self) -> AnyPolicy:
        """The policy of the last checkpoint."""
        self.settings()
        if not self.policy_file.exists():
            raise RunError(f"{self.path} has no policy yet: it has no checkpoint")
        try:
            return load(self.policy_file)
        except (OSError, PolicyError) as error:
            raise RunError(str(error)) from None
