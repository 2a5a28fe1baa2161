"""Bundle policies of runs as the trained policies of their tasks.

python scripts/bundle_policy.py RUN [RUN ...]          # folders of `mjgym train`
python scripts/bundle_policy.py RUN --out FOLDER       # instead of assets/policies
python scripts/bundle_policy.py RUN --half             # in half the bytes
python scripts/bundle_policy.py FILE.npz --half        # the same for a bundled one
python scripts/bundle_policy.py ID_0.yaml              # of the score table, with its policy beside
python scripts/bundle_policy.py RUN --least 0.8        # only those that reach this share

A run's policy is scored by NumPy alone, with the 100 seeds of `mjgym evaluate`. In some of these
episodes its actions are compared with those of PyTorch, from the run's checkpoint; the score table
has no checkpoints. It is refused if the two disagree, if the run recorded another score, if the
task is no longer as registered, or if it is an ensemble. One that acts by images has its own place
beside that of a state's observations; wherever it was trained, OpenGL draws the images for scores.
Of several runs of one task, the one with the best result on the separate seeds of evaluations in
training is kept: by its return in the suite, else by success. So its score is unbiased by
selection. With `--half`, the numbers of its layers are rounded to half precision before it is
scored. `--least` is a share of a return of 1,000, in the suite, or of successful episodes, on those
separate seeds.
"""

import argparse
import json
import math
import operator
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import torch
import yaml

from mjgym import registry
from mjgym.policies import network, trained
from mjgym.policies.network import Policy, tell
from mjgym.policies.run_errors import RunError
from mjgym.util import atomic
from mjgym_train import comparison, config, evaluation, score_table
from mjgym_train.evaluation import Evaluation
from mjgym_train.learn import algorithms, checkpoints
from mjgym_train.learn.normalization import FLOOR
from mjgym_train.run import Run

COMPARED = evaluation.SEEDS[:10]  # in whose episodes actions are compared
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
        shape = like.mean.shape
        if like.acted:
            shape = (shape[0] + len(like.low),)
        self._seen = shape
        # Raw observations: the agent normalises them.
        raw = np.zeros(shape, np.float32), np.ones(shape, np.float32)
        plans: dict[str, Any] = {
            name: getattr(like, name) for name in ("acted", "chunk", "ensembling", "repeat")
        }
        super().__init__([], *raw, like.low, like.high, like.history, **plans)
        agent = algorithms.find(run.settings()["algorithm"])
        settings = config.read(agent.Config, [run.config_file])
        checkpoint = checkpoints.load(run.checkpoint_file, operator.itemgetter("agent"))
        actions = len(like.low)
        self.agent: Any
        if like.encoder:
            self._unseen = 0
            self.agent = agent(settings, shape, actions)
        else:  # the last entries, which only the critic sees
            self._unseen = len(checkpoint["modules"]["normalizer.mean"]) - shape[0]
            unseen = (self._unseen,) if self._unseen else ()
            self.agent = agent(settings, shape[0] + self._unseen, actions, *unseen)
        self.agent.load_state_dict(checkpoint["modules"])

    @torch.no_grad()
    def unscaled(self, inputs: np.ndarray) -> np.ndarray:
        """Actions within -1 and 1."""
        histories = torch.from_numpy(inputs).view(len(inputs), self.history, *self._seen)
        if histories.ndim > 3:  # images
            return np.asarray(self.agent.mean_action(histories.to(torch.uint8)).numpy())
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
        tell(self.policies[1], one)
        half = (self.policies[0].high - self.policies[0].low) / 2
        half = np.where(half > 0, half, 1.0)  # constant components are equal
        self.distance = max(self.distance, float(np.abs((one - two) / half).max()))
        return one


def bundled(folder: Path, half: bool = False) -> trained.Trained:
    """Load and score a run's policy, with its metadata.

    Raises:
        RefusedError: it does not fit into the package.
        RunError: there is no run, or it has no policy yet.
    """
    run = Run(folder)
    settings, policy = run.settings(), _single(run.policy())
    lines = run.metrics()
    about = trained.About(
        settings={**settings, "env": registry.on_mujoco(settings["env"])},
        env_step=lines[-1].env_step,
        updates=lines[-1].updates,
        minutes=round(lines[-1].wall_s / 60, 2),
        returns=(),
        fingerprint=_without_folders(json.loads(run.fingerprint_file.read_text())),
    )
    _check(about, policy)
    beside = Beside(policy, TorchPolicy(run, policy))
    _score(about.settings, beside, COMPARED)
    if beside.distance > ALIKE:
        raise RefusedError(f"its actions differ by {beside.distance:.2g} from those of PyTorch")
    found = scored(policy, about, half)
    if run.evaluation_file.exists():
        own = np.array(json.loads(run.evaluation_file.read_text())["returns"])
        recorded = own.mean(), own.std()
        _require_alike(found.about.returns, recorded, "in the run's evaluation.json")
    return found


def submitted(file: Path, half: bool = False) -> trained.Trained:
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
    policy = _single(loaded)
    _check(about, policy)
    found = scored(policy, about, half)
    _require_alike(found.about.returns, (score, spread), "in the table")
    return found


def _settings_of(file: Path) -> dict[str, Any]:
    """Settings of the method in whose folder a run's file is."""
    folder = file.parent.parent
    settings = score_table.settings_of_method(folder.name, folder.parent)
    if settings is None:
        raise ValueError(f"{folder.name} is no method of {folder.parent}")
    return settings


def _single(policy: network.AnyPolicy) -> Policy:
    """Refuse the policy of an ensemble."""
    if not isinstance(policy, Policy):
        raise RefusedError("it is the policy of an ensemble: train one agent alone")
    return policy


def _check(about: trained.About, policy: Policy) -> None:
    """Check that a policy fits its task as it is registered.

    Raises:
        RefusedError: it does not.
    """
    env = gymnasium.make(about.id, **trained.image_options(about.arguments))
    try:
        about.check(env)
    except trained.TrainedError as error:
        raise RefusedError(str(error)) from None
    finally:
        env.close()
    if env.observation_space.shape != policy.mean.shape:
        raise RefusedError("it observes other numbers than the task as it is registered has")


def again(file: Path, half: bool = False) -> trained.Trained:
    """Score a bundled policy again."""
    found = trained.read(file)
    return scored(found.policy, found.about, half)


def _halved(policy: Policy) -> Policy:
    """Round a policy to half precision.

    Inputs that never varied in training are 0 once normalised: their weights are dropped.
    """
    constant = policy.deviation <= np.float32(FLOOR)
    return policy.rounded(None if policy.history > 1 or policy.encoder else constant)


def scored(policy: Policy, about: trained.About, half: bool) -> trained.Trained:
    """Score a policy, rounded if it is to be, on the seeds of scores and on those of selection."""
    policy = _halved(policy) if half else policy
    score = _score(about.settings, policy)
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


def _require_alike(returns: Sequence[float], there: tuple[float, float], name: str) -> None:
    """Check that two scores agree for one policy.

    Args:
        there: mean and standard deviation of the other's returns, of as many episodes.

    Raises:
        RefusedError: they do not.
    """
    mean, spread = there
    here = np.mean(returns)
    error = math.hypot(np.std(returns), spread) / math.sqrt(len(returns))
    if abs(here - mean) > SURE * error + 1e-3 * abs(mean):
        raise RefusedError(f"its score is {here:.1f} by NumPy, and {mean:.1f} {name}")


def put(found: trained.Trained, out: Path) -> str:
    """Write a policy into a folder, unless a better one is there; return a report.

    Raises:
        RefusedError: the file would be too large.
    """
    file = trained.file(found.about.id, pixels=found.about.pixels)
    path = out / file.relative_to(trained.FOLDER)
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
            found = READERS.get(folder.suffix, bundled)(folder, given.half)
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
