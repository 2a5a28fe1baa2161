"""Settings of a run: dataclasses, filled from YAML files and from `name=value`."""

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from mjgym.train.results.errors import ConfigError
from mjgym.util.suggestions import or_else


@dataclass(frozen=True)
class Config:
    """Settings that every algorithm has."""

    algorithm: str = ""  # its name, or "module:Class"
    id: str = ""  # of the task
    module: str = ""  # name or file, which registers the task where the package does not
    env: dict[str, Any] = field(default_factory=dict)  # arguments of make_vec, as the task's fields
    name: str = ""  # of the experiment in the metrics; the algorithm's where it is empty
    seed: int = 0
    steps: int | None = None  # of all sub-environments together, after which the run ends
    minutes: float | None = None  # of wall clock, after which it ends
    num_envs: int = 16
    threads: int | None = None  # that step the physics; None for all allowed cores
    torch_threads: int = 1  # that learn; more wait for each other where cores are not idle
    matmul_precision: Literal["highest", "high", "medium"] = "highest"  # PyTorch's, of float32
    stagger: bool = True  # begin at different steps, so that episodes do not all end together
    evaluations: int = 20  # during training, at equal parts of the budget
    evaluation_episodes: int = 20  # each time
    log_every: int = 2_000  # environment steps between two lines of training metrics
    checkpoint_minutes: float = 5.0  # between two checkpoints, beside those at evaluations
    tensorboard: bool = True
    history: int = 1  # observations that the networks see, the present one included
    hidden: tuple[int, ...] = (256, 256)  # widths of the layers, of actor and critics
    layer_norm: bool = True
    normalize_observations: bool = True
    learning_rate: float = 3e-4
    discount: float = 0.99

    @property
    def longest_history(self) -> int:
        """Observations of the agent that sees the most."""
        return self.history

    def __post_init__(self) -> None:
        at_least(self, 1, "num_envs", "evaluations", "evaluation_episodes", "log_every", "history")
        if not 0 < self.discount < 1:
            raise ConfigError(f"discount: must lie between 0 and 1, got {self.discount}")
        for name in ("steps", "minutes", "threads", "torch_threads"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ConfigError(f"{name}: must be positive, got {value}")


@dataclass(frozen=True)
class OffPolicyConfig(Config):
    """Settings of the algorithms that learn from a replay buffer.

    The defaults are those of the default recipe for observations of states.
    """

    learning_rate: float = 1e-3
    buffer_size: int = 1_000_000  # transitions
    keep_buffer: bool = True  # in checkpoints; without it, a resumed run collects anew
    learning_starts: int = 2_000  # transitions of random actions before the first update
    batch_size: int = 256
    updates_per_step: float = 0.25  # for each environment step (the update-to-data ratio)
    n_step: int = 3  # rewards before the value of the observation that follows
    weight_decay: float = 1e-2
    target_rate: float = 0.02  # of the target networks towards the trained ones at each update
    critic: str = "categorical"  # "mean", "categorical", "quantile" or "module:Class"
    atoms: int = 101  # of a categorical or quantile critic
    value_min: float = 0.0  # of a categorical critic's support
    value_max: float = 100.0  # the same; rewards within 0 and 1 sum up to 1 / (1 - discount)
    discounting: Literal["exponential", "hyperbolic"] = "exponential"
    heads: int = 10  # discounts of hyperbolic discounting
    hyperbolic_k: float = 0.01  # of the discount 1 / (1 + k t) that they approach
    acting_value: Literal["largest", "mean", "hyperbolic"] = "largest"  # of the heads' values
    ensemble: tuple[dict[str, Any], ...] = ()  # for each of several agents, its own settings
    channels: int = 16  # of the convolutions that see pictures
    features: int = 50  # that actor and critics see of a history of pictures
    shift: int = 4  # pixels, up to which pictures are moved before the networks learn from them

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "buffer_size", "batch_size", "n_step", "atoms", "heads")
        at_least(self, 1, "channels", "features")
        at_least(self, 0, "shift")
        if self.value_min >= self.value_max:
            raise ConfigError(
                f"value_min: must be less than value_max, got {self.value_min} and {self.value_max}"
            )
        if self.updates_per_step <= 0:
            raise ConfigError(f"updates_per_step: must be positive, got {self.updates_per_step}")
        if len(self.ensemble) > self.num_envs:
            raise ConfigError(
                f"ensemble: {len(self.ensemble)} agents need as many sub-environments, num_envs is"
                f" {self.num_envs}"
            )
        self.members()

    def members(self) -> "list[OffPolicyConfig]":
        """Settings of each agent, which share out the sub-environments; one without an ensemble.

        Raises:
            ConfigError: an agent's setting is unknown or wrong, or belongs to the whole run.
        """
        agents: list[OffPolicyConfig] = []
        for k, own in enumerate(self.ensemble):
            share = len(range(k, self.num_envs, len(self.ensemble)))
            values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
            values |= {"ensemble": (), "num_envs": share}
            for name, value in own.items():
                if name in _shared():
                    raise ConfigError(f"ensemble: {name} is the same for all agents")
                _set(type(self), values, name, value, f"ensemble[{k}]")
            agents.append(type(self)(**values))
        return agents or [self]

    @property
    def longest_history(self) -> int:
        """Observations of the agent that sees the most."""
        return max(agent.history for agent in self.members())


def _shared() -> set[str]:
    """Settings that are those of a whole run, and of no agent of an ensemble."""
    networks = {"history", "hidden", "layer_norm", "normalize_observations"}
    networks |= {"learning_rate", "discount"}
    replay = {"buffer_size", "keep_buffer", "learning_starts", "batch_size", "updates_per_step"}
    run = {field.name for field in dataclasses.fields(Config)} - networks
    return run | replay | {"n_step", "ensemble"}


@dataclass(frozen=True)
class OnPolicyConfig(Config):
    """Settings of the algorithms that learn from rollouts of their present policy."""

    rollout_steps: int = 128  # of every sub-environment, between updates
    gae_lambda: float = 0.95  # of the generalised advantages
    value_weight: float = 0.5  # c1, of the value's loss
    entropy_weight: float = 0.0  # c2
    max_gradient_norm: float = 0.5
    deviation: float = 0.5  # of the policy's Gaussian at the start, of what becomes the action

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "rollout_steps")
        if not 0 <= self.gae_lambda <= 1:
            raise ConfigError(f"gae_lambda: must lie within 0 and 1, got {self.gae_lambda}")
        for name in ("max_gradient_norm", "deviation"):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name}: must be positive, got {getattr(self, name)}")


def at_least(config: Config, lowest: int, *names: str) -> None:
    """Check settings.

    Raises:
        ConfigError: one is lower.
    """
    for name in names:
        if getattr(config, name) < lowest:
            raise ConfigError(f"{name}: must be at least {lowest}, got {getattr(config, name)}")


C = TypeVar("C", bound=Config)


def read(
    cls: type[C], files: Iterable[str | Path] = (), settings: Iterable[str] = (), **given: Any
) -> C:
    """Settings from files and from the command line; what comes later wins.

    Args:
        cls: of the settings.
        files: YAML files, each a mapping from names to values.
        settings: "name=value" each, the value in YAML; "env.speed=2" sets one entry of a mapping.
        **given: settings that win over all others.

    Raises:
        ConfigError: a name is unknown (the message names the nearest), or a value is refused; the
            message begins with the file and its line.
    """
    values: dict[str, Any] = {}
    for file in files:
        _read_file(cls, Path(file), values)
    for setting in settings:
        name, equals, text = setting.partition("=")
        if not equals:
            raise ConfigError(f"{setting!r} is not of the form name=value")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            value = text
        _set(cls, values, name.strip(), value, repr(setting))
    for name, value in given.items():
        _set(cls, values, name, value, name)
    return cls(**values)


def _read_file(cls: type[Config], file: Path, values: dict[str, Any]) -> None:
    try:
        with file.open() as stream:
            node = yaml.compose(stream, yaml.SafeLoader)
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{file}{line}: {getattr(error, 'problem', error)}") from None
    if node is None:
        return
    if not isinstance(node, yaml.MappingNode):
        raise ConfigError(f"{file}:1: expected names with values")
    whole: dict[Any, Any] = yaml.safe_load(file.read_text())
    for key in (pair[0] for pair in node.value):
        where = f"{file}:{key.start_mark.line + 1}"
        _set(cls, values, key.value, whole.get(key.value), where)


def _set(cls: type[Config], values: dict[str, Any], name: str, value: Any, where: str) -> None:
    hints = typing.get_type_hints(cls)
    name, _, entry = name.partition(".")
    if name not in hints:
        raise ConfigError(f"{where}: there is no setting {name!r}{or_else(name, hints)}")
    if entry:
        if hints[name] != dict[str, Any]:
            raise ConfigError(f"{where}: {name} has no entries")
        values[name] = {**values.get(name, {}), entry: value}
        return
    try:
        values[name] = _converted(value, hints[name])
    except (TypeError, ValueError):
        wanted = str(getattr(hints[name], "__name__", hints[name])).replace("typing.", "")
        raise ConfigError(f"{where}: {name} must be {wanted}, got {value!r}") from None
    try:
        cls(**values)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def _converted(value: Any, hint: Any) -> Any:
    """A value as its type; 1 and "1e6" (text in YAML) are floats as well, 1e6 is an integer.

    Raises:
        TypeError, ValueError: it is not one.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    converted: Any = value
    if origin in (typing.Union, types.UnionType):
        if value is not None or type(None) not in inner:
            converted = _converted(value, next(k for k in inner if k is not type(None)))
    elif origin is Literal:
        _require(value in inner, value)
    elif origin is tuple:
        _require(isinstance(value, list | tuple), value)
        converted = tuple(_converted(item, inner[0]) for item in value)
    elif origin is dict:
        _require(isinstance(value, Mapping), value)
        converted = {str(k): v for k, v in value.items()}
    elif hint in (int, float):
        _require(not isinstance(value, bool), value)
        converted = float(value)
        if hint is int:
            _require(converted == int(converted), value)
            converted = int(converted)
    else:
        _require(isinstance(value, hint), value)
    return converted


def _require(fits: bool, value: Any) -> None:
    if not fits:
        raise ValueError(value)


def to_yaml(config: Config) -> str:
    """All settings, in the order of their dataclass."""
    plain = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in dataclasses.asdict(config).items()
    }
    return str(yaml.safe_dump(plain, sort_keys=False))
