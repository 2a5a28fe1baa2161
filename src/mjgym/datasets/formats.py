"""Reading and writing datasets: the protocol, and the formats chosen by a dataset's name."""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import NoneType
from typing import Any, Protocol

import gymnasium
from gymnasium.envs.registration import EnvSpec

from mjgym.datasets.recording import DemonstrationError, Episode
from mjgym.task import registrations
from mjgym.util import code_references
from mjgym.util.suggestions import did_you_mean

# Suffixes that choose a format other than Minari's.
SUFFIXES = (".hdf5", ".h5")
LEROBOT = "lerobot:"
OF_ROBOTS = re.compile(r"robot\d+_")  # entries of an observation
VERSION = re.compile(r"-v\d+$")  # of a Minari dataset


@dataclass(frozen=True)
class About:
    """Facts about a dataset."""

    id: str  # of the environment; empty if unknown
    # Of `gymnasium.make`, besides the id: `max_episode_steps`, `observation`, ...
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""  # of mjgym that recorded it; empty if unknown
    # That chose the actions: "teleoperation", "scripted", ...; empty if unknown
    algorithm: str = ""
    description: str = ""
    # References to other code that made the environment, such as wrappers; never run
    code: tuple[str, ...] = ()


def about(spec: EnvSpec | None, **facts: Any) -> About:
    """Facts about a dataset of an environment's episodes; see `About`."""
    if spec is None:
        return About("", **facts)
    kwargs = {name: value for name, value in spec.kwargs.items() if name != "task_class"}
    return About(spec.id, {**kwargs, "max_episode_steps": spec.max_episode_steps}, **facts)


def about_recorded(spec: Any, **facts: Any) -> About:
    """Facts about a dataset with an `EnvSpec` as plain data; see `About`.

    Only the id and plain arguments of the specification are used; nothing is imported.
    """
    if not isinstance(spec, Mapping):
        raise ValueError(f"the specification of the environment is {type(spec).__name__}, no dict")
    kinds: dict[str, Any] = {"id": str, "kwargs": dict, "max_episode_steps": (int, NoneType)}
    for name, kind in kinds.items():
        if not isinstance(spec.get(name), kind):
            raise ValueError(f"{name} of the environment is {spec.get(name)!r}")
    wrappers = spec.get("additional_wrappers") or []
    names = [str(w.get("name", w)) if isinstance(w, Mapping) else str(w) for w in wrappers]
    kwargs = dict(spec["kwargs"])
    code = [spec.get("entry_point"), spec.get("vector_entry_point"), kwargs.pop("task_class", "")]
    modules = {str(x): str(x).partition(":")[0] for x in code if x}
    outside = [x for x, module in modules.items() if not code_references.is_packaged(module)]
    limit = spec["max_episode_steps"]
    return About(
        spec["id"],
        {**kwargs, "max_episode_steps": -1 if limit is None else limit},
        code=(*outside, *names),
        **facts,
    )


def facts_to_write(env: gymnasium.Env[Any, Any], name: str, about: About) -> dict[str, Any]:
    """Facts for a file of this package, as JSON data; see `specification` and `written_facts`."""
    space = env.observation_space
    return {
        "spec": json.loads(specification(env, name)),
        "entries": list(space) if isinstance(space, gymnasium.spaces.Dict) else None,
        "version": about.version,
        "algorithm": about.algorithm,
        "description": about.description,
    }


def written_facts(facts: Any) -> tuple[About, list[str] | None]:
    """Facts in this package's dataset files, and names of the observations."""
    entries = facts["entries"]
    if entries is not None and not (
        isinstance(entries, list) and all(isinstance(name, str) for name in entries)
    ):
        raise ValueError(f"entries are {entries!r}")
    words = {name: str(facts[name]) for name in ("version", "algorithm", "description")}
    return about_recorded(facts["spec"], **words), entries


class Demonstrations(Protocol):
    """A dataset of recorded episodes.

    Attributes:
        note: count of missing or damaged episodes, and why; empty if complete.
    """

    name: str
    count: int
    about: About
    note: str

    def environment(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:
        """Recreate the environment of the recording; DemonstrationError if there is none."""
        return remake(self.about, kwargs)

    def episode(self, number: int) -> Episode:
        """An episode by its number from 0, read from disk; DemonstrationError if it is damaged."""
        ...

    def _require(self, number: int) -> None:
        if number not in range(self.count):
            raise DemonstrationError(
                f"{self.name!r}: no episode {number!r}; there are {self.count}, from 0 on"
            )


class Writer(Protocol):
    """Writes a new dataset, episode by episode; it is valid at any time.

    Attributes:
        place: its file or folder.
    """

    name: str
    kept: int
    place: Path

    def add(self, episode: Episode) -> None:
        """Write an episode; after a DemonstrationError the dataset is unchanged."""
        ...

    def close(self) -> None:
        """Write data about the whole dataset; nothing can be added afterwards."""
        ...


def specification(env: gymnasium.Env[Any, Any], name: str) -> str:
    """The `EnvSpec` of an environment as JSON, for `remake`."""
    if env.spec is None:
        raise DemonstrationError(f"{name!r}: only environments of `gymnasium.make` can be recorded")
    try:
        kwargs = {n: x for n, x in env.spec.kwargs.items() if (n, x) != ("render_mode", "human")}
        return dataclasses.replace(env.spec, kwargs=kwargs).to_json()
    except TypeError as error:
        raise DemonstrationError(
            f"{name!r}: the arguments of {env.spec.id} cannot be written: {error}"
        ) from None


def remake(about: About, overrides: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Make the environment of a dataset from the registry and plain arguments."""
    id, name = about.id, about.id.rpartition("-v")[0]
    if not id:
        raise DemonstrationError("the dataset does not say which environment it is of")
    versions = [known for known in registrations if name and known.rpartition("-v")[0] == name]
    if versions and id not in versions:
        raise DemonstrationError(f"the dataset is of {id!r}; there is {', '.join(versions)} now")
    registered = registrations.get(id)
    cls = None if registered is None else registered.task_class
    registered_class = "" if cls is None else f"{cls.__module__}:{cls.__qualname__}"
    code = [text for text in about.code if text != registered_class]
    require_plain({n: x for n, x in about.kwargs.items() if n not in overrides}, code)
    if registered is None:
        raise DemonstrationError(
            f"the dataset is of {id!r}, which is not registered{did_you_mean(id, registrations)};"
            f" {OWN_TASK}"
        )
    if about.kwargs.get("render_mode") == "human" and "render_mode" not in overrides:
        raise DemonstrationError("the dataset's environment would open a window: render_mode")
    try:
        return gymnasium.make(id, **{**about.kwargs, **overrides})
    except Exception as error:  # from any part of a task
        raise DemonstrationError(
            f"the dataset's environment {id!r} cannot be made: {error}"
        ) from None


OWN_TASK = "if a module of your own registers its id, import that first, or name it with --module"


def require_plain(kwargs: Mapping[str, Any], code: Iterable[str] = ()) -> None:
    """Raise DemonstrationError if a dataset names code outside this package."""
    named = [*code, *code_references.outside(kwargs)]
    if named:
        raise DemonstrationError(
            "the dataset names code outside this package, and code of a dataset is never run:"
            f" {', '.join(named)}; {OWN_TASK}"
        )
