"""Reading and writing datasets: one protocol, and the formats that a dataset's name chooses."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import gymnasium
from gymnasium.envs.registration import EnvSpec

from mjgym.datasets.recording import Episode
from mjgym.version import __version__


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
    """

    name: str
    count: int
    about: About

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


def _module(name: str) -> Any:
    """The module of a name's format, with `load(name)` and `create(name, env, about)`."""
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
