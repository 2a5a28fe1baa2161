"""The folder of a run: its settings, fingerprint, metrics, checkpoint and policy."""

import contextlib
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mjgym.policies.network import Saved
from mjgym.policies.run_errors import RunError
from mjgym.policies.run_folder import RunFolder
from mjgym.util import atomic, bounded, code_references
from mjgym.util.bounded import FileError
from mjgym_train import metrics
from mjgym_train.config import Config, to_yaml

SCORED = ("returns", "seeds")  # lists in the file of a score


class Run(RunFolder):
    """A run folder to write."""

    def __init__(self, path: str | Path) -> None:
        super().__init__(path)
        self.metrics_file = self.path / "metrics.csv"
        self.critics_file = self.path / "critics.npz"
        self.best_file = self.path / "best.npz"
        self.checkpoint_file = self.path / "checkpoint.pt"
        self.fingerprint_file = self.path / "fingerprint.json"
        self.evaluation_file = self.path / "evaluation.json"
        self.tensorboard = self.path / "tensorboard"
        self.source = self.path / "source"
        self.kept = self.path / "kept"  # a folder for each evaluation, named by its step
        self._held = False

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Context manager: no other process trains in this folder; it may be nested."""
        if self._held:
            yield
            return
        with contextlib.ExitStack() as stack:
            try:
                stack.enter_context(atomic.held(self.path))
            except atomic.HeldError as error:
                raise RunError(f"{error}: wait for its end, or take another folder") from None
            except OSError as error:
                raise RunError(f"{self.path} cannot be used: {error.strerror}") from error
            self._held = True
            try:
                yield
            finally:
                self._held = False

    def create(self, config: Config) -> None:
        self.require_new()
        self.keep(config)

    def require_new(self) -> None:
        """Raise RunError unless a new run can be made here; nothing is written."""
        if self.begun:
            raise RunError(
                f"{self.path} holds a run already; continue it with --resume, or replace it with"
                " --overwrite"
            )
        for place in (self.path, *self.path.parents):
            if place.exists() and not place.is_dir():
                raise RunError(f"{self.path} cannot be made: {place} is a file")

    @property
    def begun(self) -> bool:
        """True if the folder holds settings and more than a start that failed leaves."""
        return self.config_file.exists() and (
            self.checkpoint_file.exists() or self.metrics_file.exists()
        )

    def clear(self) -> None:
        """Remove the files of a run, and nothing else."""
        try:
            for place in vars(self).values():
                if isinstance(place, Path) and place != self.path:
                    if place.is_dir():
                        shutil.rmtree(place)
                    else:
                        place.unlink(missing_ok=True)
        except OSError as error:
            raise RunError(f"{self.path} cannot be replaced: {error.strerror}") from error

    def keep(self, config: Config) -> None:
        """Write the settings, making the folder if necessary."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            atomic.write_text(self.config_file, to_yaml(config))
        except OSError as error:
            raise RunError(f"{self.path} cannot be made: {error.strerror}") from error

    def keep_policy(self, policy: Saved) -> None:
        """Write the policy, and remove the score of the one before, which it is not."""
        before = self.policy_file.read_bytes() if self.policy_file.exists() else b""
        policy.save(self.policy_file)
        if self.policy_file.read_bytes() != before:
            self.evaluation_file.unlink(missing_ok=True)

    def policies(self) -> dict[int, tuple[Path, Path]]:
        """Files of the policies kept during training (`keep_policies`) and of critics, by step."""
        folders = sorted(self.kept.glob("[0-9]*"), key=lambda folder: int(folder.name))
        names = self.policy_file.name, self.critics_file.name
        return {int(folder.name): (folder / names[0], folder / names[1]) for folder in folders}

    def metrics(self) -> list[metrics.Metric]:
        """All metrics so far."""
        if not self.metrics_file.exists():
            raise RunError(f"{self.path} has no metrics yet")
        try:
            return metrics.read(self.metrics_file)
        except FileError as error:
            raise RunError(str(error)) from None

    def score(self) -> dict[str, Any]:
        """The result of `mjgym evaluate`; empty if the policy has not been scored."""
        name, found = self.evaluation_file.name, self._content(self.evaluation_file)
        if found is None:
            return {}
        for column in (*(found.get(name, []) for name in SCORED), [found.get("mean")]):
            if not isinstance(column, list) or any(type(x) not in (int, float) for x in column):
                raise RunError(f"{name} is damaged: its returns, mean or seeds are no numbers")
        return found

    def fingerprint(self) -> dict[str, Any]:
        """All but the settings that results depend on; empty if the run has not begun."""
        found = self._content(self.fingerprint_file) or {}
        for name in ("machine", "learner"):
            if not isinstance(found.get(name, {}), dict):
                raise RunError(f"{self.fingerprint_file} is damaged: its {name} is no mapping")
        return found

    def _content(self, file: Path) -> dict[str, Any] | None:
        """The mapping in a JSON file; None if there is no file."""
        try:
            found = bounded.read_json(file) if file.exists() else None
        except FileError as error:
            raise RunError(f"{file.name} is damaged: {error}") from None
        if found is not None and not isinstance(found, dict):
            raise RunError(f"{file.name} is damaged: it is no mapping")
        return found

    def write_json(self, file: Path, content: Mapping[str, Any]) -> None:
        atomic.write_text(file, json.dumps(content, indent=2) + "\n")


def code_of(settings: Mapping[str, Any]) -> list[str]:
    """Modules outside this package that run when a run's settings are used.

    These are the task's `module` and every reference to code among names and values, see
    `code_references.outside`: critics, algorithms, noise, ids, task arguments.
    """
    module = str(settings.get("module") or "")
    found = [] if code_references.is_packaged(module) else [module]
    return list(dict.fromkeys([*found, *code_references.outside(list(settings.values()))]))


def code_of_learner(settings: Mapping[str, Any]) -> list[str]:
    """Modules outside this package with a run's algorithms, critics, actors and noise."""
    names = ("algorithm", "critic", "actor", "exploration", "ensemble")
    found = code_of({name: settings[name] for name in names if name in settings})
    return list(dict.fromkeys(map(code_references.module_of, found)))
