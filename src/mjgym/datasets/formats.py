"""Reading and writing datasets: one protocol, and the formats that a dataset's name chooses."""

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium
from gymnasium.envs.registration import EnvSpec

from mjgym.datasets.recording import DemonstrationError, Episode
from mjgym.task import registrations
from mjgym.version import __version__

# The names that choose a format other than Minari's.
SUFFIXES = (".hdf5", ".h5")
LEROBOT = "lerobot:"


@dataclass(frozen=True)
class About:
    """Facts about a dataset.

    Args:
        id: of the environment; empty if unknown.
        kwargs: of `gymnasium.make`, besides the id: `max_episode_steps`, `observation`, ...
        version: of mjgym that recorded it; empty if unknown.
        algorithm: that chose the actions: "teleoperation", "scripted", ...; empty if unknown.
        description: a sentence for people.
    """

    id: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""
    algorithm: str = ""
    description: str = ""


def about(spec: EnvSpec | None, **facts: Any) -> About:
    """Facts about a dataset whose episodes are those of an environment; see `About`."""
    if spec is None:
        return About("", **facts)
    kwargs = {name: value for name, value in spec.kwargs.items() if name != "task_class"}
    return About(spec.id, {**kwargs, "max_episode_steps": spec.max_episode_steps}, **facts)


class Demonstrations(Protocol):
    """A dataset of recorded episodes.

    Attributes:
        name: of the dataset.
        count: of episodes.
        about: where they come from.
        note: what is missing of a file that has been cut off; empty if nothing is.
    """

    name: str
    count: int
    about: About
    note: str

    def environment(self, **kwargs: Any) -> gymnasium.Env[Any, Any]:
        """The environment that the dataset was recorded in, made anew.

        Args:
            kwargs: of `gymnasium.make`, before the recorded ones.

        Raises:
            DemonstrationError: there is none, or no longer.
        """
        ...

    def episode(self, number: int) -> Episode:
        """An episode, by its number from 0; read from the disk anew each time."""
        ...


class Writer(Protocol):
    """Writes a new dataset, episode by episode: what is there is whole at any time.

    Attributes:
        name: of the dataset.
        kept: how many episodes are in it.
    """

    name: str
    kept: int

    def add(self, episode: Episode) -> None:
        """Write an episode.

        Raises:
            DemonstrationError: it cannot be written; the dataset is as it was.
        """
        ...

    def close(self) -> None:
        """Write what is of the whole dataset; nothing can be added any more."""
        ...


def specification(env: gymnasium.Env[Any, Any], name: str) -> str:
    """The `EnvSpec` of an environment as JSON, for `remake`.

    Raises:
        DemonstrationError: it has none, or one that JSON cannot hold.
    """
    if env.spec is None:
        raise DemonstrationError(f"{name!r}: only environments of `gymnasium.make` can be recorded")
    try:
        return env.spec.to_json()
    except TypeError as error:
        raise DemonstrationError(
            f"{name!r}: the arguments of {env.spec.id} cannot be written: {error}"
        ) from None


def remake(make: Callable[[], gymnasium.Env[Any, Any]], id: str) -> gymnasium.Env[Any, Any]:
    """The environment of a dataset made anew.

    Raises:
        DemonstrationError: there is none, another version, or it takes other arguments.
    """
    name = id.rpartition("-v")[0]
    versions = [known for known in registrations if name and known.rpartition("-v")[0] == name]
    if versions and id not in versions:
        raise DemonstrationError(f"the dataset is of {id!r}; there is {', '.join(versions)} now")
    try:
        return make()
    except (gymnasium.error.Error, ImportError, TypeError, ValueError) as error:
        raise DemonstrationError(
            f"the dataset's environment {id!r} cannot be made: {error}"
        ) from None


def _module(name: str) -> Any:
    """The module of a name's format, with `load(name)` and `create(name, env, facts)`.

    Raises:
        DemonstrationError: the name is empty.
    """
    if not name.strip():
        raise DemonstrationError("the dataset's name is empty")
    if name.startswith(LEROBOT):
        return importlib.import_module("mjgym.datasets.lerobot_dataset")
    if name.endswith(SUFFIXES):
        return importlib.import_module("mjgym.datasets.robomimic_hdf5")
    return importlib.import_module("mjgym.datasets.minari")


def load(name: str) -> Demonstrations:
    """Open a dataset by its name.

    Raises:
        DemonstrationError: there is none, it is damaged, or a package is missing.
    """
    demonstrations: Demonstrations = _module(name).load(name)
    return demonstrations


def create(
    name: str, env: gymnasium.Env[Any, Any], *, algorithm: str = "", description: str = ""
) -> Writer:
    """Begin a new dataset; it is on the disk with its first episode.

    Args:
        name: of the dataset, which chooses its format.
        env: a single environment as `gymnasium.make` gives it, like the one of the episodes.
        algorithm: that chooses the actions: "teleoperation", "scripted", ...
        description: a sentence for people; by default the id.

    Raises:
        DemonstrationError: the name is taken or is none, or a package is missing.
    """
    facts = about(
        env.spec,
        version=__version__,
        algorithm=algorithm,
        description=description or ("" if env.spec is None else env.spec.id),
    )
    writer: Writer = _module(name).create(name, env, facts)
    return writer
