"""Bundle policies of runs as the trained policies of their tasks.

python scripts/bundle_policy.py RUN [RUN ...]          # folders of `mjgym train`
python scripts/bundle_policy.py RUN --out FOLDER       # instead of assets/policies
python scripts/bundle_policy.py RUN --half             # in half the bytes
python scripts/bundle_policy.py FILE.npz --half        # the same for a bundled one
python scripts/bundle_policy.py ID_0.yaml              # of the score table, with its policy beside
python scripts/bundle_policy.py RUN --least 0.8        # only those that reach this share

A run's policy is scored by NumPy alone, with the 100 seeds of `mjgym evaluate`, and by PyTorch,
from the run's checkpoint; the score table has no checkpoints. It is refused if the two disagree, if
the run recorded another score, if the task is no longer as registered, or if it is no perceptron of
state observations. Of several runs of one task, the one with the best result on the separate seeds
of evaluations in training is kept: by its return in the suite, else by success. So its score is
unbiased by selection. With `--half`, the numbers of its layers are rounded to half precision before
it is scored. `--least` is a share of a return of 1,000, in the suite, or of successful episodes, on
those separate seeds.
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
import yaml

from mjgym.policies import network, trained
from mjgym.policies.network import Policy
from mjgym.policies.run_errors import RunError
from mjgym.util import atomic
from mjgym_train import comparison, config, evaluation, score_table
from mjgym_train.evaluation import Evaluation
from mjgym_train.learn import algorithms
from mjgym_train.learn.normalization import FLOOR
from mjgym_train.run import Run

ALIKE = 1e-4  # fraction of half the range of actions that counts as rounding
SURE = 3.0  # standard errors, tolerance between two scores of one policy


class RefusedError(Exception):
    """A run's policy cannot be bundled; the message says why."""


def _without_folders(fingerprint: dict[str, Any]) -> dict[str, Any]:
    """A fingerprint whose command names files of this machine without their folders."""
    learner = fingerprint["learner"]
    command = re.sub(r"(?<![^ =])/\S*/", "", learner["command"])
    return {**fingerprint, "learner": {**learner, "command": command}}


class TorchPolicy(Policy):
    """Deterministic policy of a run's checkpoint, computed by PyTorch.

    Args:
        run: the folder.
        like: the same policy by NumPy, for history lengths and bounds.
    """

    def __init__(self, run: Run, like: Policy) -> None:
        size, actions = len(like.mean), len(like.low)
        # Raw observations: the agent normalises them.
        raw = np.zeros(size, np.float32), np.ones(size, np.float32)
        plans: dict[str, Any] = {
            name: getattr(like, name) for name in ("chunk", "ensembling", "repeat")
        }
        super().__init__([], *raw, like.low, like.high, like.history, **plans)
        agent = algorithms.find(run.settings()["algorithm"])
        settings = config.read(agent.Config, [run.config_file])
        checkpoint = torch.load(run.checkpoint_file, weights_only=True)["agent"]
        # The last entries, which only the critic sees.
        self._unseen = len(checkpoint["modules"]["normalizer.mean"]) - size
        unseen = (self._unseen,) if self._unseen else ()
        self.agent: Any = agent(settings, size + self._unseen, actions, *unseen)
        self.agent.restore(checkpoint)

    @torch.no_grad()
    def unscaled(self, inputs: np.ndarray) -> np.ndarray:
        """Actions within -1 and 1."""
        histories = torch.from_numpy(inputs).view(len(inputs), self.history, -1)
        whole = torch.nn.functional.pad(histories, (0, self._unseen))
        return np.asarray(self.agent.mean_action(whole).numpy())


class Beside:
    """A policy that acts, compared with another.

    Args:
        policy: the acting policy.
        other: the compared policy.

    Attributes:
        distance: largest difference so far, relative to half the range of an action.
    """

    def __init__(self, policy: Policy, other: Policy) -> None:
        self.policies = policy, other
        self.distance = 0.0

    def begin(self) -> None:
        """Begin episodes."""
        for policy in self.policies:
            policy.begin()

    def __call__(self, observation: np.ndarray) -> np.ndarray:
        """The first policy's action."""
        one, two = (policy(observation) for policy in self.policies)
        half = (self.policies[0].high - self.policies[0].low) / 2
        half = np.where(half > 0, half, 1.0)  # constant components are equal
        self.distance = max(self.distance, float(np.abs((one - two) / half).max()))
        return one


def bundled(folder: Path) -> trained.Trained:
    """Load and score a run's policy, with its metadata.

    Raises:
        RefusedError: it does not fit into the package.
        RunError: there is no run, or it has no policy yet.
    """
    run = Run(folder)
    settings, policy = run.settings(), _perceptron(run.policy())
    lines = run.metrics()
    about = trained.About(
        settings=settings,
        env_step=lines[-1].env_step,
        updates=lines[-1].updates,
        minutes=round(lines[-1].wall_s / 60, 2),
        returns=(),
        fingerprint=_without_folders(json.loads(run.fingerprint_file.read_text())),
    )
    _check(about, policy)
    other = TorchPolicy(run, policy)
    beside = Beside(policy, other)
    score = _score(settings, beside)
    if beside.distance > ALIKE:
        raise RefusedError(f"its actions differ by {beside.distance:.2g} from those of PyTorch")
    by_torch = _score(settings, other).returns
    _require_alike(score.returns, (by_torch.mean(), by_torch.std()), "by PyTorch")
    if run.evaluation_file.exists():
        own = np.array(json.loads(run.evaluation_file.read_text())["returns"])
        recorded = own.mean(), own.std()
        _require_alike(score.returns, recorded, "in the run's evaluation.json")
    return _scored(policy, about, score)


def submitted(file: Path) -> trained.Trained:
    """Load and score a policy of the score table, from the file of its run.

    Raises:
        RefusedError: it does not fit into the package.
        RunError: the table's files are damaged.
    """
    try:
        entry = yaml.safe_load(file.read_text(encoding="utf-8"))
        loaded = network.load(file.with_suffix(".npz"))
        score, spread = float(entry["score"]), float(entry["std"])
        about = trained.About(
            settings={**_settings_of(file), "id": entry["id"], "seed": entry["seed"]},
            env_step=entry["env_step"],
            updates=entry["updates"],
            minutes=round(entry["cpu_s"] / 60, 2),
            returns=(),
            fingerprint=entry["fingerprint"],
        )
    except (OSError, yaml.YAMLError, network.PolicyError, KeyError, TypeError, ValueError) as error:
        raise RunError(f"{file} is damaged: {error}") from None
    policy = _perceptron(loaded)
    _check(about, policy)
    found = _scored(policy, about, _score(about.settings, policy))
    _require_alike(np.array(found.about.returns), (score, spread), "in the table")
    return found


def _settings_of(file: Path) -> dict[str, Any]:
    """Settings of the method in whose folder a run's file is."""
    folder = file.parent.parent
    settings = score_table.settings_of_method(folder.name, folder.parent)
    if settings is None:
        raise ValueError(f"{folder.name} is no method of {folder.parent}")
    return settings


def _perceptron(policy: network.AnyPolicy) -> Policy:
    """Refuse a policy that is no perceptron of a state's observations."""
    if not isinstance(policy, Policy):
        raise RefusedError("it is the policy of an ensemble: train one agent alone")
    if policy.encoder:
        raise RefusedError("it acts by pictures: train it from a state's observations")
    return policy


def _check(about: trained.About, policy: Policy) -> None:
    """Check that a policy fits its task as it is registered.

    Raises:
        RefusedError: it does not.
    """
    env = gymnasium.make(about.id)
    try:
        about.check(env)
    except trained.TrainedError as error:
        raise RefusedError(str(error)) from None
    finally:
        env.close()
    if env.observation_space.shape != policy.mean.shape:
        raise RefusedError("it observes other numbers than the task as it is registered has")


def halved(found: trained.Trained) -> trained.Trained:
    """Round a policy to half precision, with its score.

    Inputs that never varied in training are 0 once normalised: their weights are dropped.
    """
    constant = found.policy.deviation <= np.float32(FLOOR)
    policy = found.policy.rounded(constant if found.policy.history == 1 else None)
    return _scored(policy, found.about, _score(found.about.settings, policy))


def again(file: Path) -> trained.Trained:
    """Score a bundled policy again."""
    found = trained.read(file)
    return _scored(found.policy, found.about, _score(found.about.settings, found.policy))


def _scored(policy: Policy, about: trained.About, score: Evaluation) -> trained.Trained:
    """Score a policy on the seeds of scores and on those of selection."""
    chosen = _score(about.settings, policy, evaluation.TRAINING_SEEDS)
    made = {
        "returns": tuple(_short(value) for value in score.returns),
        "successes": () if score.successes is None else tuple(score.successes.tolist()),
        "validation": _short(chosen.returns.mean()),
        "validation_success": (
            None if chosen.successes is None else _short(chosen.successes.mean())
        ),
    }
    return trained.Trained(policy, trained.About(**{**vars(about), **made}))


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _score(
    settings: Mapping[str, Any], policy: Any, seeds: Sequence[int] = evaluation.SEEDS
) -> Evaluation:
    arguments = {**settings["env"], **settings.get("evaluation_env", {})}
    envs = evaluation.make(settings["id"], len(seeds), **arguments)
    score = evaluation.evaluate(policy, envs, seeds)
    envs.close()
    return score


def reached(about: trained.About) -> tuple[float, float]:
    """Result on the selection seeds, ordered by quality.

    Returns:
        Success, 0 where returns have a scale or there is no goal; and the mean return.
    """
    success = 0.0 if comparison.scaled(about.id) else about.validation_success
    return success or 0.0, about.validation or 0.0


def share(about: trained.About) -> float:
    """Share of a return of 1,000, in the suite, or of successful episodes."""
    success, mean = reached(about)
    return mean / comparison.NORMALIZED if comparison.scaled(about.id) else success


def _require_alike(returns: np.ndarray, there: tuple[float, float], name: str) -> None:
    """Check that two scores agree for one policy.

    Args:
        there: mean and standard deviation of the other's returns, of as many episodes.

    Raises:
        RefusedError: they do not.
    """
    mean, spread = there
    error = math.hypot(returns.std(), spread) / math.sqrt(len(returns))
    here = returns.mean()
    if abs(here - mean) > SURE * error + 1e-3 * abs(mean):
        raise RefusedError(f"its score is {here:.1f} by NumPy, and {mean:.1f} {name}")


def put(found: trained.Trained, out: Path) -> str:
    """Write a policy into a folder, unless a better one is there; return a report.

    Raises:
        RefusedError: the file would be too large.
    """
    path = out / trained.file(found.about.id).relative_to(trained.FOLDER)
    if path.exists():
        there = trained.about_of(path)
        if reached(there) > reached(found.about):
            return f"{found.about.text()}: {path} stays, with {there.text()}"
    content = found.packed()
    if len(content) > trained.LIMIT:
        raise RefusedError(f"its file has {len(content):,} bytes, of {trained.LIMIT:,} at most")
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic.write_bytes(path, content)
    return f"{found.about.text()}: {path}, {len(content):,} bytes"


READERS = {".npz": again, ".yaml": submitted}  # by suffix; a folder is a run's


def main(arguments: Sequence[str] | None = None) -> int:
    """Bundle; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__.partition("\n")[0],
        epilog=__doc__.partition("\n")[2],
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folders of runs")
    parser.add_argument("--half", action="store_true", help="round to half precision")
    parser.add_argument("--least", type=float, default=0.0, help="share that it must reach")
    parser.add_argument("--out", type=Path, default=trained.FOLDER, help="folder of the policies")
    given = parser.parse_args(arguments)
    refused = 0
    for folder in given.runs:
        try:
            found = READERS.get(folder.suffix, bundled)(folder)
            found = halved(found) if given.half else found
            if share(found.about) < given.least:
                raise RefusedError(
                    f"it reaches {share(found.about):.0%}, and {given.least:.0%} is asked for"
                )
            print(f"{folder}: {put(found, given.out)}")
        except (RefusedError, RunError) as error:
            print(f"{folder}: {error}", file=sys.stderr)
            refused += 1
    return int(refused > 0)


if __name__ == "__main__":
    sys.exit(main())
