"""Settings of a run: dataclasses, filled from YAML files and from `name=value`."""

import contextlib
import dataclasses
import functools
import math
import typing
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import yaml

from mjgym.policies.run_errors import ConfigError
from mjgym.policies.settings_files import entries
from mjgym.util import bounded
from mjgym.util.suggestions import or_else
from mjgym.util.values import convert

MAX_ENVS = 1_048_576
MAX_EVALUATION_EPISODES = 100  # seeds reserved for evaluations during training
MAX_WIDTH = 65_536  # of a layer: 1e9 would exhaust memory before any check


FIXED = {"fixed": True}
"""Metadata of a field that a checkpoint fixes: a resumed run cannot change it."""


def fixed(default: Any) -> Any:
    """A field that a checkpoint fixes; its default is copied."""
    return field(default=default, metadata=FIXED)


SHARED_OUT = {"shared out": True}
"""Metadata of an action count that is divided among the agents of an ensemble."""


@dataclass(frozen=True)
class Bounds:
    """Annotation of a numeric setting with its range; None is within."""

    low: float = -math.inf
    high: float = math.inf
    above: float = -math.inf

    def check(self, name: str, value: float | None) -> None:
        """Raise ConfigError if the value of a setting is out of range."""
        if value is None or (self.low <= value <= self.high and value > self.above):
            return
        wanted = "positive" if self.above == 0 else f"more than {self.above}"
        if value < self.low:
            wanted = f"at least {self.low}"
        elif value > self.high:
            wanted = f"at most {self.high}"
        raise ConfigError(f"{name}: must be {wanted}, got {value}")


Count = Annotated[int, Bounds(1)]
Bins = Annotated[int, Bounds(2)]
Natural = Annotated[int, Bounds(0)]
Positive = Annotated[float, Bounds(above=0)]
NotNegative = Annotated[float, Bounds(0)]
Share = Annotated[float, Bounds(0, 1)]


@functools.cache
def _bounds(cls: type) -> tuple[tuple[str, Bounds], ...]:
    """Bounds by setting, also of those whose default a subclass overrides."""
    return tuple(
        (name, mark)
        for base in cls.__mro__
        for name, hint in typing.get_type_hints(base, include_extras=True).items()
        for part in (hint, *typing.get_args(hint))
        for mark in getattr(part, "__metadata__", ())
        if isinstance(mark, Bounds)
    )


@dataclass(frozen=True)
class Settings:
    """A validated group of settings; an algorithm's settings combine several groups."""

    def __post_init__(self) -> None:
        """Check the values; each group calls the next by `super()`."""
        cls: Any = type(self)
        for name, bounds in _bounds(cls):
            bounds.check(name, getattr(self, name))


BUDGETS = ("steps", "minutes", "cpu_minutes")
"""Settings that limit the length of a run."""


@dataclass(frozen=True)
class RunSettings(Settings):
    """Task, budget, evaluations and use of the machine."""

    algorithm: str = fixed("")  # its name, or "module:Class"
    id: str = fixed("")  # of the task
    module: str = ""  # name or file of a module that registers the task
    # Arguments of make_vec, as the task's fields.
    env: dict[str, Any] = field(default_factory=dict, metadata=FIXED)
    # Overrides for evaluations, e.g. the sparse reward of a task trained on a shaped one.
    evaluation_env: dict[str, Any] = field(default_factory=dict, metadata=FIXED)
    name: str = fixed("")  # of the experiment in the metrics; default: the algorithm's
    seed: Annotated[int, Bounds(0, 2**63 - 1)] = fixed(0)
    start_from: str = fixed("")  # run folder from whose last networks it starts
    steps: Count | None = None  # budget in environment steps, over all sub-environments
    minutes: Positive | None = None  # budget in wall-clock time
    cpu_minutes: Positive | None = None  # budget in CPU time of this process
    action_repeat: Count = fixed(1)  # control steps per action; their rewards are summed
    num_envs: Annotated[int, Bounds(1, MAX_ENVS)] = fixed(16)
    threads: Count | None = None  # for the physics; None: all allowed cores
    torch_threads: Count = 1  # for learning; more only pay off on idle cores
    matmul_precision: Literal["highest", "high", "medium"] = "highest"  # PyTorch's, of float32
    stagger: bool = fixed(True)  # desynchronise the ends of episodes
    evaluations: Natural = 20  # during training, equally spaced in the budget; 0: none
    evaluation_episodes: Annotated[int, Bounds(1, MAX_EVALUATION_EPISODES)] = 20  # each time
    keep_policies: bool = False  # keep the policy of each evaluation, with its critics
    log_every: Count = 2_000  # environment steps between two lines of training metrics
    checkpoint_minutes: Positive = 5.0  # between two checkpoints, beside those at evaluations
    tensorboard: bool = True
    wandb: str = ""  # project of Weights & Biases to log to; empty: none
    trackio: str = ""  # the same, of Trackio


@dataclass(frozen=True)
class NetworkSettings(Settings):
    """Network architecture, input processing and learning rate."""

    history: Count = fixed(1)  # stacked observations, including the current one
    history_actions: bool = fixed(False)  # each observation has the action before it, too
    # "gru": the networks get the state of a recurrent unit that goes through the history.
    network: Literal["perceptron", "gru"] = fixed("perceptron")
    hidden: tuple[int, ...] = fixed((256, 256))  # layer widths of actor and critics
    layer_norm: bool = fixed(True)
    # Of the layers of actor and critics; convolutions have ReLUs.
    activation: Literal["relu", "leaky_relu", "elu", "silu", "gelu", "tanh"] = fixed("relu")
    normalize_observations: bool = fixed(True)
    # Clipping of normalised observations, in standard deviations; None: no clipping.
    clip_observations: Positive | None = fixed(10.0)
    # Factors of normalised observation entries, by name.
    entry_weights: dict[str, float] = field(default_factory=dict, metadata=FIXED)
    learning_rate: Positive = 3e-4
    learning_rate_left: Share = 1.0  # share of every rate at the end of the budget, linearly
    # Classes of torch.optim and of its lr_scheduler, by `name`, and their arguments; a scheduler
    # steps with each update. Empty: the algorithm's own optimiser, no scheduler.
    optimizer: dict[str, Any] = field(default_factory=dict, metadata=FIXED)
    scheduler: dict[str, Any] = field(default_factory=dict, metadata=FIXED)
    discount: float = fixed(0.99)

    def __post_init__(self) -> None:
        super().__post_init__()
        if wrong := [width for width in self.hidden if not 1 <= width <= MAX_WIDTH]:
            raise ConfigError(f"hidden: widths lie within 1 and {MAX_WIDTH:,}, got {wrong[0]}")
        for name, weight in self.entry_weights.items():
            if not 0 < weight < math.inf:
                raise ConfigError(f"entry_weights: {name!r} must be more than 0, got {weight}")
        if self.entry_weights and not self.normalize_observations:
            raise ConfigError("entry_weights: they are of normalised observations")
        if self.scheduler and self.learning_rate_left < 1:
            raise ConfigError("scheduler: it sets the rates alone; leave out learning_rate_left")
        others = ("data", "ensemble", "critic_entries", "entry_weights", "symmetry")
        clashing = [name for name in others if getattr(self, name, None)]
        if self.history_actions and clashing:
            raise ConfigError(f"history_actions: goes without {clashing[0]}")
        if not 0 < self.discount < 1:
            raise ConfigError(f"discount: must lie between 0 and 1, got {self.discount}")


@dataclass(frozen=True)
class Config(NetworkSettings, RunSettings):
    """Settings shared by all algorithms."""


C = TypeVar("C", bound=Config)


@dataclass(frozen=True)
class ReplaySettings(Settings):
    """Replay buffer and update frequency."""

    buffer_size: Count = fixed(1_000_000)  # transitions
    keep_buffer: bool = True  # in checkpoints; otherwise a resumed run refills it
    learning_starts: Natural = 2_000  # random actions before the first update
    batch_size: Count = 256
    updates_per_step: Positive = 0.25  # for each transition (the update-to-data ratio)
    updates_per_step_end: Positive | None = None  # at the end of the budget, linearly; None: same
    n_step: Count = 3  # rewards before the value of the observation that follows
    # Prioritised replay (Schaul et al., 2016): probabilities are losses to this power; 0: uniform.
    priority_exponent: NotNegative = fixed(0.0)
    importance_exponent: Share = 0.4  # beta of its weights (N P)^-beta, relative to the largest
    # A full buffer forgets transitions with the probability loss^-exponent; 0: the oldest.
    eviction_exponent: NotNegative = fixed(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.eviction_exponent and not self.priority_exponent:
            raise ConfigError("eviction_exponent: needs a priority_exponent")


@dataclass(frozen=True)
class CriticSettings(Settings):
    """Critic type and discounts."""

    critic: str = fixed("categorical")  # "mean", "categorical", "quantile" or "module:Class"
    atoms: Count = fixed(101)  # of a categorical or quantile critic
    value_min: float | None = fixed(None)  # of a categorical critic's support; None: automatic
    value_max: float | None = fixed(None)  # the same
    discounting: Literal["exponential", "hyperbolic"] = fixed("exponential")
    heads: Count = fixed(10)  # discounts of hyperbolic discounting
    hyperbolic_k: Positive = fixed(1.0)  # of the discount 1 / (1 + k t) that they approach
    acting_value: Literal["largest", "mean", "hyperbolic"] = "largest"  # of the heads' values

    def __post_init__(self) -> None:
        super().__post_init__()
        low, high = self.value_min, self.value_max
        if low is not None and high is not None and low >= high:
            raise ConfigError(
                f"value_min: must be less than value_max, got {self.value_min} and {self.value_max}"
            )


@dataclass(frozen=True)
class EncoderSettings(Settings):
    """Convolutional encoder of images."""

    convolutions: Annotated[int, Bounds(1, 4)] = fixed(4)  # the first three halve the sides
    channels: Count = fixed(16)  # of each convolution
    features: Count = fixed(50)  # size of the encoding of a history of images
    shift: Natural = 4  # pixels, bound of the random shifts of images in updates


@dataclass(frozen=True)
class DataSettings(Settings):
    """Recorded episodes to learn from."""

    data: str = fixed("")  # name of the dataset, or folder of a run: its replay buffer
    demonstrations: Count | None = fixed(None)  # episodes to use, from the first; None: all

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.demonstrations is not None and not self.data:
            raise ConfigError("demonstrations: they are those of a dataset; name it with --data")
        if self.data and getattr(self, "action_repeat", 1) > 1:
            raise ConfigError(
                "action_repeat: recorded actions were taken for one control step each"
            )


@dataclass(frozen=True)
class OfflineSettings(DataSettings):
    """Settings of the algorithms that learn from recorded episodes alone.

    `steps` counts updates, since no environment is stepped.
    """

    num_envs: int = fixed(1)  # only to know the spaces
    stagger: bool = fixed(False)
    evaluations: int = 4
    evaluation_episodes: int = 50

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.data:
            raise ConfigError("data: the algorithm learns from a dataset; name it with --data")


@dataclass(frozen=True)
class OffPolicyConfig(DataSettings, EncoderSettings, CriticSettings, ReplaySettings, Config):
    """Settings of the algorithms that learn from a replay buffer.

    The defaults are the default recipe for state observations.
    """

    data_share: Share = 0.5  # share of the dataset in each batch, if there is one (RLPD)
    # Hindsight experience replay for tasks with goals: four of five transitions are relabelled with
    # a goal that their episode achieved later. It sets env.observation=goal.
    her: bool = fixed(False)

    learning_rate: Positive = 1e-3
    actor_learning_rate: Positive | None = None  # None: as the critics'
    critic_hidden: tuple[int, ...] | None = fixed(None)  # layer widths; None: as `hidden`
    action_layer: Natural = fixed(0)  # of the critics, at which the action enters; 0: the first
    weight_decay: NotNegative = 1e-2
    max_gradient_norm: Positive | None = None  # of each step of an optimiser; None: not clipped
    actor_gradient_norm: Positive | None = None  # the same, of the actor alone
    # Of the target networks towards the trained ones at each update.
    target_rate: Annotated[float, Bounds(above=0, high=1)] = 0.02
    target_period: Count | None = None  # updates between hard copies; None: soft ones
    # Updates by PyTorch or by compiled loops; "auto" prefers the loops, "fast" requires them.
    engine: Literal["auto", "fast", "torch"] = "auto"
    ensemble: tuple[dict[str, Any], ...] = fixed(())  # for each of several agents, its settings
    # Who acts in training: each agent in its share of the sub-environments, one agent per episode,
    # or all together: by the proposal of highest value, by that of proposals and of their means in
    # pairs ("mixtures"), or by a mean of the proposals.
    ensemble_acting: Literal["slots", "episodes", "critics", "mixtures", "mean", "softmax"] = fixed(
        "slots"
    )
    ensemble_temperature: Positive = fixed(1.0)  # of softmax(value / temperature) as weights

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.her:
            self._take_goals()
        if self.priority_exponent and (self.her or self.data or self.ensemble):
            raise ConfigError("priority_exponent: goes with none of her, data and ensemble")
        if self.action_layer > len(self.critic_hidden or self.hidden):
            raise ConfigError(f"action_layer: the critics have no hidden layer {self.action_layer}")
        if self.learning_starts + self.num_envs > self.buffer_size:
            raise ConfigError(
                f"learning_starts: a buffer of {self.buffer_size} transitions never holds"
                f" {self.learning_starts} of {self.num_envs} sub-environments; buffer_size must be"
                f" at least {self.learning_starts + self.num_envs}"
            )
        if len(self.ensemble) > self.num_envs:
            raise ConfigError(
                f"ensemble: {len(self.ensemble)} agents need as many sub-environments, num_envs is"
                f" {self.num_envs}"
            )

    def _take_goals(self) -> None:
        observation = self.env.get("observation", "goal")
        if observation != "goal":
            raise ConfigError(f"her: needs env.observation=goal, not {observation}")
        if self.data:
            raise ConfigError("her: recorded episodes are not learned from with other goals")
        if self.action_repeat > 1:
            raise ConfigError("her: rewards of repeated actions cannot be computed again")
        object.__setattr__(self, "env", {**self.env, "observation": "goal"})


@dataclass(frozen=True)
class OfflineReplaySettings(OfflineSettings):
    """Settings of the offline algorithms that learn from transitions."""

    # "success": 1 and the end of an episode at its first success, 0 before; "recorded": as they are
    rewards: Literal["success", "recorded"] = fixed("success")

    def __post_init__(self) -> None:
        super().__post_init__()
        if getattr(self, "ensemble", ()):
            raise ConfigError("ensemble: an algorithm that learns from a dataset alone has none")


@dataclass(frozen=True)
class CloningSettings(EncoderSettings, Config):
    """Settings of supervised learning of actions."""

    output: Literal["deterministic", "gaussian", "mixture"] = fixed("deterministic")
    modes: Count = fixed(5)  # of a mixture
    chunk: Count = fixed(8)  # actions predicted at once, including the current one
    ensembling: NotNegative = fixed(0.01)  # m of exp(-m i), the weights of earlier predictions
    batch_size: Count = 256
    learning_rate: Positive = 1e-3
    learning_rate_left: Share = 0.0  # the last updates make it precise
    weight_decay: NotNegative = 1e-2

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.output == "mixture":
            Bounds(2).check("modes", self.modes)


@dataclass(frozen=True)
class CloningConfig(OfflineSettings, CloningSettings):
    """Settings of behaviour cloning."""

    normalize_actions: bool = fixed(True)  # to their range in the dataset


@dataclass(frozen=True)
class DAggerConfig(CloningSettings):
    """Settings of DAgger."""

    num_envs: Count = fixed(32)
    buffer_size: Count = fixed(1_000_000)  # steps
    keep_buffer: bool = True  # in checkpoints; otherwise a resumed run refills it
    learning_starts: Count = 10_000  # steps led by the script before the first update
    led: Share = 0.1  # of the later episodes, which the script leads
    noise: Share = 0.2  # deviation of its actions where it leads, in half ranges
    updates_per_step: Positive = 0.03
    chunk: Count = fixed(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.action_repeat > 1:
            raise ConfigError("action_repeat: a script acts in each control step")


@dataclass(frozen=True)
class OnPolicyConfig(Config):
    """Settings of the algorithms that learn from rollouts of the current policy."""

    # Values of each number of an action, chosen by a categorical policy; None: a Gaussian one.
    bins: Bins | None = fixed(None)
    rollout_steps: Count = fixed(128)  # of every sub-environment, between updates
    gae_lambda: Share = 0.95  # of the generalised advantages
    value_weight: NotNegative = 0.5  # c1, of the value's loss
    entropy_weight: NotNegative = 0.0  # c2
    max_gradient_norm: Positive = 0.5
    deviation: Positive = fixed(0.5)  # of the policy's Gaussian, before the tanh, at the start
    # Deviations are parameters of their own, or the softplus of outputs of the network.
    deviations: Literal["free", "softplus"] = fixed("free")
    shared_network: bool = fixed(False)  # policy and value have all layers but the last in common
    # Observation entries that only the critic sees, the last ones of `env`; evaluations, by
    # `evaluation_env`, lack them.
    critic_entries: tuple[str, ...] = fixed(())
    value_scale: Positive | None = fixed(None)  # unit of values; None: 1 / (1 - discount)


def changed(cls: type[C], values: Mapping[str, Any], given: Mapping[str, Any], where: str) -> C:
    """Settings with overrides."""
    whole = dict(values)
    for name, value in given.items():
        _set(cls, whole, name, value, where)
    try:
        return cls(**whole)
    except ConfigError as error:
        raise ConfigError(f"{where}: {error}") from None


def defaults(cls: Any) -> dict[str, Any]:
    """Default values of a dataclass's fields by name, for fields that have one."""
    values = {}
    for f in dataclasses.fields(cls):
        if f.default_factory is not dataclasses.MISSING:
            values[f.name] = f.default_factory()
        elif f.default is not dataclasses.MISSING:
            values[f.name] = f.default
    return values


def differences(config: Config, before: Config) -> list[str]:
    """Sentences about the settings fixed by a checkpoint that differ from before."""
    return [
        f"{name} is {_shown(getattr(before, name))} in the run, not {_shown(getattr(config, name))}"
        for name in marked(type(config), FIXED)
        if getattr(config, name) != getattr(before, name)
    ]


def marked(cls: type[Settings], metadata: Mapping[str, Any]) -> list[str]:
    """Settings with this metadata, which subclasses that override a default lose."""
    found = {
        f.name
        for base in filter(dataclasses.is_dataclass, cls.__mro__)
        for f in dataclasses.fields(base)
        if metadata.items() <= f.metadata.items()
    }
    return [f.name for f in dataclasses.fields(cls) if f.name in found]


def _shown(value: Any) -> str:
    return str(list(value) if isinstance(value, tuple) else value) or "empty"


OF_TASK = " (an argument of the task is env.NAME, or --set NAME=VALUE)"


def read(
    cls: type[C],
    files: Iterable[str | Path] = (),
    settings: Iterable[str] = (),
    **given: Any,
) -> C:
    """Settings from YAML files, from "name=value" each, and others; later ones win.

    "env.speed=2" sets one entry of a mapping.
    """
    values: dict[str, Any] = {}
    places: dict[str, str] = {}  # where each was set last
    for file in files:
        for name, value, where in entries(Path(file)):
            places[_set(cls, values, name, value, where, OF_TASK)] = where
    for text in settings:
        name, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"{text!r} is not of the form name=value")
        place, value = repr(text), value_of(value)
        places[_set(cls, values, name.strip(), value, place, OF_TASK)] = place
    for name, value in given.items():
        places[_set(cls, values, name, value, name)] = name
    try:
        return cls(**values)
    except ConfigError as error:
        where = places.get(str(error).partition(":")[0], "")
        raise ConfigError(f"{where}: {error}" if where else str(error)) from None


ALIASES = {
    "lr": "learning_rate",
    "gamma": "discount",
    "tau": "target_rate",
    "batch": "batch_size",
}
"""Short names of settings, as papers write them."""


def value_of(text: str) -> Any:
    """The value of a setting on the command line: YAML, or the text itself."""
    with contextlib.suppress(bounded.FileError):
        return bounded.yaml_of(text, text)
    return text


def _set(
    cls: type[Config], values: dict[str, Any], name: str, value: Any, where: str, hint: str = ""
) -> str:
    hints = typing.get_type_hints(cls)
    name, _, entry = name.partition(".")
    name = name if name in hints else ALIASES.get(name, name)
    if name not in hints:
        raise ConfigError(f"{where}: there is no setting {name!r}{or_else(name, hints)}{hint}")
    if entry:
        if hints[name] != dict[str, Any]:
            raise ConfigError(f"{where}: {name} has no entries")
        values[name] = {**values.get(name, {}), entry: value}
        return name
    try:
        values[name] = convert(value, hints[name])
        if isinstance(values[name], float) and not math.isfinite(values[name]):
            raise ValueError(value)
    except ValueError:
        wanted = str(getattr(hints[name], "__name__", hints[name])).replace("typing.", "")
        wanted = {"tuple": "a list", "dict": "a mapping"}.get(wanted, wanted)
        if typing.get_origin(hints[name]) is Literal:
            known = [str(word) for word in typing.get_args(hints[name])]
            wanted = f"one of {', '.join(known)}"
        raise ConfigError(f"{where}: {name} must be {wanted}, got {value!r}") from None
    return name


def to_yaml(config: Config) -> str:
    """All settings as YAML, in the order of their dataclass."""
    plain = {
        name: list(value) if isinstance(value, tuple) else value
        for name, value in dataclasses.asdict(config).items()
    }
    return str(yaml.safe_dump(plain, sort_keys=False))
