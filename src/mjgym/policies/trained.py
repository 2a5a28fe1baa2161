"""Trained policies that come with the package.

    policy = trained.bundled("dmc/walker-walk-v0").policy  # from observations to actions
    trained.bundled("dmc/ball_in_cup-catch-v0", pixels=True)  # another one, from images

Each is an .npz file of weights, observation statistics and a JSON description; acting needs NumPy
alone. `scripts/bundle_policy.py` writes them from runs of `mjgym train`.
"""

import io
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from mjgym.describe.fingerprint import fingerprint
from mjgym.policies.network import Policy, load
from mjgym.util import bounded, npz
from mjgym.util.bounded import UserError
from mjgym.util.packaged import assets

FOLDER = assets() / "policies"
LIMIT = 300_000  # bytes of a file
_PIXELS = "pixels"  # folder of the policies that act by images
IMAGE_OPTIONS = ("observation", "pixels", "render_quality")
"""Arguments of an environment that say which images it observes."""
_ABOUT = "about"  # its entry in a file
_MOST_BYTES = 2**22  # of that entry


class TrainedError(UserError):
    """There is no trained policy for a task, or it does not fit; the message says why."""


@dataclass(frozen=True)
class About:
    """Origin and score of a trained policy."""

    settings: Mapping[str, Any]  # of the run, resolved; including `algorithm`, `id` and `seed`
    env_step: int  # total training steps of all sub-environments
    updates: int
    minutes: float  # of training
    # Of the 100 episodes of `mjgym evaluate`, in the order of their seeds
    returns: tuple[float, ...]
    fingerprint: Mapping[str, Any]
    # Of these episodes, at any time; empty for a task without a goal
    successes: tuple[bool, ...] = ()
    # Mean return of the 100 seeds reserved for evaluations in training, by which the best of
    # several policies is chosen; None if unknown
    validation: float | None = None
    # Share of these episodes that succeed; None for a task without a goal
    validation_success: float | None = None

    @property
    def id(self) -> str:
        return str(self.settings["id"])

    @property
    def arguments(self) -> dict[str, Any]:
        """Arguments of the task that it was scored with."""
        return {**self.settings["env"], **self.settings.get("evaluation_env", {})}

    @property
    def pixels(self) -> bool:
        """True for a policy of images."""
        return bool(image_options(self.arguments))

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    @property
    def std(self) -> float:
        return float(np.std(self.returns))

    def text(self) -> str:
        """The score and training effort, in a line."""
        algorithm = str(self.settings["algorithm"]).upper()
        score = f"{self.mean:.0f} ± {self.std:.0f}"
        if self.successes:
            score = f"{sum(self.successes)} of {len(self.successes)} episodes succeed"
        spent = (
            "updates" if self.settings.get("data") and self.env_step == self.updates else "steps"
        )
        source = " from images" if self.pixels else ""
        return f"{score} after {self.env_step:,} {spent} of {algorithm}{source}"

    def check(self, env: Any) -> None:
        """Check that the policy fits an environment.

        The task, its arguments but a fixed `command`, and its spaces must equal those of its
        evaluations in training, and so must the model's hash if MuJoCo's version and the kind of
        processor are the same: otherwise the last bit of a number may differ.

        Raises:
            TrainedError: it does not fit; the message names the differences.
        """
        here, there = fingerprint(env), self.fingerprint
        if (here["id"], here["task"]) != (there["id"], there["task"]):
            names = f"{there['id']} ({there['task']})", f"{here['id']} ({here['task']})"
            raise TrainedError(f"it was trained on {names[0]}, here is {names[1]}")
        # A field added to the task since then had its default in training.
        since = {field.name: field.default for field in fields(env.unwrapped.task)}
        arguments = {**since, **there["arguments"], **self.settings.get("evaluation_env", {})}
        commanded = hasattr(env.unwrapped.task, "commanded")  # it follows any command
        differing = [
            f"{name}={arguments.get(name)!r}, here {name}={value!r}"
            for name, value in here["arguments"].items()
            if arguments.get(name) != value and not (commanded and name == "command")
        ]
        if differing:
            raise TrainedError(f"it was trained with {'; '.join(differing)}")
        if _kind(here) == _kind(there) and here["model_sha256"] != there["model_sha256"]:
            raise TrainedError("it was trained on another model: the hashes differ")


def image_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an environment that say which images it observes; empty without images."""
    if "pixels" not in arguments.get("observation", ""):
        return {}
    return {name: arguments[name] for name in IMAGE_OPTIONS if name in arguments}


def _kind(about: Mapping[str, Any]) -> tuple[Any, ...]:
    machine = about["machine"]
    return about["versions"]["mujoco"], machine["architecture"], machine["features"]


@dataclass(frozen=True)
class Trained:
    """A trained policy."""

    policy: Policy
    about: About

    def packed(self) -> bytes:
        """The content of its file, in half precision where that is exact."""
        arrays: dict[str, Any] = {_ABOUT: np.array(json.dumps(asdict(self.about)))}
        content = io.BytesIO()
        facts: dict[str, Any] = {
            name: _shortest(x) if "." in name else x  # of a layer
            for name, x in self.policy.arrays().items()
        }
        np.savez_compressed(content, **arrays, **facts)
        return content.getvalue()


def _shortest(values: np.ndarray) -> np.ndarray:
    half = values.astype(np.float16)
    return half if np.array_equal(half, values) else values


def file(id: str, *, pixels: bool = False) -> Path:
    """Path of the policy for an id."""
    return _folder(pixels) / f"{id}.npz"


def ids(*, pixels: bool = False) -> list[str]:
    """The ids that have a trained policy."""
    folder = _folder(pixels)
    paths = (path.relative_to(folder).with_suffix("") for path in folder.glob("*/*.npz"))
    return sorted(path.as_posix() for path in paths)


def _folder(pixels: bool) -> Path:
    return FOLDER / _PIXELS if pixels else FOLDER


def read(path: Path) -> Trained:
    """Load a file with the content of `Trained.packed`; OSError if it cannot be read."""
    policy = load(path)
    assert isinstance(policy, Policy)
    return Trained(policy, about_of(path))


def about_of(path: Path) -> About:
    """Origin and score of the policy in a file; OSError if it cannot be read."""
    facts = bounded.json_of(str(npz.read(path, _ABOUT.__eq__, _MOST_BYTES)[_ABOUT]), str(path))
    rows = {name: tuple(facts[name]) for name in ("returns", "successes") if name in facts}
    return About(**{**facts, **rows})


def every() -> list[tuple[str, bool]]:
    """Ids of all trained policies, those that act by images last, and whether they do."""
    return [(id, pixels) for pixels in (False, True) for id in ids(pixels=pixels)]


def summary(id: str) -> str:
    """Scores and training efforts of an id's trained policies; empty without one."""
    found = [file(id, pixels=pixels) for other, pixels in every() if other == id]
    return "; ".join(about_of(path).text() for path in found)


def bundled(id: str, *, pixels: bool = False) -> Trained:
    """The trained policy of an id, from its state or from images.

    Raises:
        TrainedError: there is none; the message lists the ids that have one.
    """
    known = ids(pixels=pixels)
    if id not in known:
        source = " from images" if pixels else ""
        raise TrainedError(
            f"{id} has no trained policy{source}; there are {', '.join(known) or 'none'}"
        )
    return read(file(id, pixels=pixels))
