"""Trained policies as plain arrays, which act with NumPy alone."""

import itertools
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from mjgym.policies.activations import ACTIVATIONS
from mjgym.util import atomic, npz
from mjgym.util.bounded import UserError
from mjgym.util.goal_entries import ACHIEVED, DESIRED, OBSERVED
from mjgym.util.suggestions import or_else

LAYER_NORM = 1e-5
"""Epsilon added to the variance, as in PyTorch's layer."""

STRIDES = (2, 2, 2, 1)
"""Strides of the image encoder's convolutions, with 3 x 3 kernels."""

GREY, WHITE = 127.5, 255.0
"""Offset and divisor of image channels."""

_ENCODER = "encoder/"  # prefix of its arrays
_MEMORY = "memory/"  # the same

T = TypeVar("T")
Arrays = dict[str, np.ndarray]
Layers = list[Arrays]


class PolicyError(UserError, ValueError):
    """A file holds no policy, or a damaged one; the message says what is wrong."""


def begin(policy: Any, where: np.ndarray | None = None) -> None:
    """Tell a policy that episodes begin, so that it forgets past observations.

    Args:
        where: mask of the episodes in a batch that begin, bool; None for all. A trained policy has
            one history for the whole batch, and ignores a mask.
    """
    if hasattr(policy, "restart"):
        policy.restart(where)
    elif where is None and hasattr(policy, "begin"):
        policy.begin()


def tell(policy: Any, action: np.ndarray) -> None:
    """Tell a policy what was executed instead of its last action, if it has a method `executed`."""
    if hasattr(policy, "executed"):
        policy.executed(action)


GOAL_ENTRIES = (OBSERVED, ACHIEVED, DESIRED)


def joined(observation: Any) -> Any:
    """Images of several cameras joined along channels, and goal entries joined to one vector;
    anything else unchanged.
    """
    if not isinstance(observation, Mapping):
        return observation
    names = GOAL_ENTRIES if DESIRED in observation else observation
    return np.concatenate([observation[name] for name in names], -1)


class Saved(ABC):
    """Arrays in an .npz file."""

    @abstractmethod
    def arrays(self) -> dict[str, Any]:
        """Its arrays by name."""

    def save(self, path: str | Path) -> None:
        with atomic.replacing(path) as part:
            np.savez(part, **self.arrays())


class Acting(Saved):
    """A policy that decides for one control step or several."""

    mean: np.ndarray  # of the observations
    repeat: int  # control steps per decision
    _held: np.ndarray | None = None  # the last decision
    _left = 0  # control steps left for it

    def begin(self) -> None:
        """Forget the past: the next observation begins an episode, in all rows."""
        self._held = None

    def __call__(self, observation: Any) -> np.ndarray:
        """Actions within the bounds, for one observation or for several, (n, ...).

        Images of several cameras are a dict of them.
        """
        observation = np.asarray(joined(observation), np.float32)
        lead = observation.shape[: observation.ndim - self.mean.ndim]
        if self._held is None or not self._left or self._held.shape[:-1] != lead:
            self._held, self._left = self.decided(observation), self.repeat
            if not np.isfinite(self._held).all():
                raise PolicyError("the policy gives actions that are not finite")
        self._left -= 1
        return self._held.copy()

    @abstractmethod
    def decided(self, observation: np.ndarray) -> np.ndarray:
        """The decision, (..., action size), for observations (..., size)."""


@dataclass(eq=False)
class Policy(Acting):
    """The deterministic action of a perceptron, for one observation or many.

    An action does not depend on the batch size, to the bit: each row is a separate product.

    Args:
        layers: linear layers with `weight` (outputs, inputs) and `bias`, and layer normalisations,
            with both of shape (width,), followed by the activation. Without normalisations, the
            activation follows every layer but the last.
        mean: of the observations, (size,); for images, (height, width, channels).
        deviation: divisor of the observations, of the same shape.
        low, high: bounds of an action, (action size,).
        history: number of observations per decision.
        encoder: of images: convolutions with `weight` (outputs, inputs, 3, 3) and `bias`, each
            followed by a ReLU, then a linear layer, a normalisation and a tanh. Without it,
            observations are vectors.
        limit: in units of `deviation`, to which observations are clipped; None for no limit.
        memory: a gated recurrent unit with `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0` and
            `bias_hh_l0`, run over the history from a zero state; the layers get its last state.
            Without it, they get the whole history.
        acted: whether each observation is followed by the action before it, within -1 and 1, or 0
            at the start of an episode; mean and deviation then cover both.
        chunk: actions per output of the layers, for this step and the next ones.
        ensembling: m of temporal ensembling (Zhao et al., 2023): the action of a step is the mean
            of all actions proposed for it, weighted by exp(-m i); i = 0 is the oldest.
        modes: of a Gaussian mixture: the layers output the means of each mode, then the logits of
            the modes; the most probable mode acts.
        repeat: control steps per action.
        activation: of the layers, one of `activations.ACTIVATIONS`.
        bins: evenly spaced values of each number of an action: the layers output a preference for
            each, and the largest one's value is taken; 1 for continuous actions.
        support: returns whose probabilities are the softmax of a preference's outputs, (atoms,),
            so that their mean is the preference; None if it is an output itself.
    """

    layers: Layers
    mean: np.ndarray
    deviation: np.ndarray
    low: np.ndarray
    high: np.ndarray
    history: int = 1
    encoder: Layers = field(default_factory=list)
    limit: float | None = None
    memory: Arrays = field(default_factory=dict)
    acted: bool = False
    chunk: int = 1
    ensembling: float = 0.0
    modes: int = 1
    repeat: int = 1
    activation: str = "relu"
    bins: int = 1
    support: np.ndarray | None = None

    def __post_init__(self) -> None:
        size = len(self.mean) - self.acted * len(self.low)
        self._of_action = self.mean[size:], self.deviation[size:]
        self.mean, self.deviation = self.mean[:size], self.deviation[:size]
        self.begin()

    def begin(self) -> None:
        """Forget past observations and plans: the next one begins an episode, in all rows."""
        super().begin()
        self._past: np.ndarray | None = None
        self._action: np.ndarray | None = None  # the last one, within -1 and 1, if it is observed
        self._plans: list[np.ndarray] = []  # of the last steps, each (n, chunk, action size)

    def decided(self, observation: np.ndarray) -> np.ndarray:
        single = observation.ndim == self.mean.ndim
        inputs = self.encode(observation[None] if single else observation)
        plain = self.ensembled(self.unscaled(inputs))
        self._action = plain if self.acted else None
        action = self.scaled(plain)
        return np.asarray(action[0] if single else action)

    def encode(self, observation: np.ndarray) -> np.ndarray:
        """Inputs of the layers, (n, inputs); these observations, (n, ...), end the histories."""
        x = (observation - self.mean) / self.deviation
        if self.acted:
            if self._action is None or len(self._action) != len(x):
                self._action = np.zeros((len(x), len(self.low)), np.float32)
            mean, deviation = self._of_action
            x = np.concatenate([x, (self._action - mean) / deviation], 1)
        if self.limit is not None:
            x = np.clip(x, -self.limit, self.limit)
        if self.history > 1:
            if self._past is None or self._past.shape[0] != len(x):
                self._past = np.repeat(x[:, None], self.history, 1)
            else:
                self._past = np.concatenate([self._past[:, 1:], x[:, None]], 1)
            x = self._past
        if self.memory:
            return _recalled(self.memory, x.reshape(len(x), self.history, -1))
        return self._features(x) if self.encoder else x.reshape(len(x), -1)

    def _features(self, x: np.ndarray) -> np.ndarray:
        """Features, (n, features), of scaled images, (n, [history,] height, width, channels)."""
        *convolutions, linear, norm = self.encoder
        x = x.reshape(len(x), -1, *self.mean.shape)
        x = np.moveaxis(x, 1, 3).reshape(*x.shape[:1], *x.shape[2:4], -1)
        for layer, stride in zip(convolutions, STRIDES[: len(convolutions)], strict=True):
            weight = layer["weight"]
            patches = sliding_window_view(x, weight.shape[2:], (1, 2))[:, ::stride, ::stride]
            n, height, width = patches.shape[:3]
            columns = patches.reshape(n, height * width, -1)
            x = np.maximum(columns @ weight.reshape(len(weight), -1).T + layer["bias"], 0)
            x = x.reshape(n, height, width, -1)
        x = np.moveaxis(x, 3, 1).reshape(len(x), 1, -1)  # each row a separate product
        x = x @ linear["weight"].T + linear["bias"]
        return np.asarray(np.tanh(_normalised(x, norm))[:, 0])

    def unscaled(self, inputs: np.ndarray) -> np.ndarray:
        """Actions within -1 and 1, (n, chunk * action size), in the order of their steps."""
        outputs = _perceptron(self.layers, inputs[:, None, :], self.activation)[:, 0]
        if self.modes > 1:
            means = outputs[:, : -self.modes].reshape(len(outputs), self.modes, -1)
            likeliest = outputs[:, -self.modes :].argmax(1)
            outputs = means[np.arange(len(means)), likeliest]
        if self.bins > 1:
            return self._preferred(outputs)
        return np.asarray(np.tanh(outputs))

    def _preferred(self, outputs: np.ndarray) -> np.ndarray:
        if self.support is not None:
            outputs = outputs.reshape(len(outputs), -1, len(self.support))
            outputs = np.exp(outputs - outputs.max(-1, keepdims=True))
            outputs = outputs @ self.support / outputs.sum(-1)
        index = outputs.reshape(len(outputs), -1, self.bins).argmax(-1)
        return np.asarray(2 * index / (self.bins - 1) - 1, np.float32)

    def ensembled(self, plan: np.ndarray) -> np.ndarray:
        """The action of this step, (n, action size), averaged over all plans for it."""
        if self.chunk == 1:
            return plan
        plan = plan.reshape(len(plan), self.chunk, -1)
        if self._plans and len(self._plans[0]) != len(plan):
            self._plans = []
        self._plans = [*self._plans[1 - self.chunk :], plan]
        ages = range(len(self._plans) - 1, -1, -1)
        weights = np.exp(-self.ensembling * np.arange(len(self._plans), dtype=np.float32))
        meant = zip(weights / weights.sum(), self._plans, ages, strict=True)
        return np.asarray(sum(weight * proposed[:, age] for weight, proposed, age in meant))

    def scaled(self, action: np.ndarray) -> np.ndarray:
        """Actions scaled from -1 .. 1 to the bounds."""
        return np.asarray(self.low + (action + 1) / 2 * (self.high - self.low))

    def executed(self, action: np.ndarray) -> None:
        """Note what was done instead of the last action, for a policy that sees it."""
        if self._action is not None:
            width = np.where(self.high > self.low, self.high - self.low, 1.0)
            within = 2 * (action - self.low) / width - 1
            self._action = np.asarray(within, np.float32).reshape(self._action.shape)

    def arrays(self) -> dict[str, Any]:
        # In this order, by which the digest of a policy's file tells it from others.
        about = {
            name: getattr(self, name) for name in ("mean", "deviation", "low", "high", "history")
        }
        usual = {setting.name: setting.default for setting in fields(self)}
        for name in ("limit", "support", "chunk", "ensembling", "modes", "repeat", "activation",
                     "bins", "acted"):  # fmt: skip
            value = getattr(self, name)
            if isinstance(value, np.ndarray) or value != usual[name]:
                about[name] = value
        for k, name in enumerate(("mean", "deviation") if self.acted else ()):
            about[name] = np.concatenate([about[name], self._of_action[k]])
        about |= {f"{_MEMORY}{name}": array for name, array in self.memory.items()}
        encoder = {f"{_ENCODER}{name}": array for name, array in _named(self.encoder).items()}
        return about | _named(self.layers) | encoder

    def rounded(self, unseen: np.ndarray | None = None) -> "Policy":
        """A copy with its layers, and those of its encoder, rounded to half precision.

        Args:
            unseen: inputs of the first layer that are always 0, which get zero weights, (size,)
                bool; None if there are no such inputs.
        """
        arrays = {name: np.asarray(value) for name, value in self.arrays().items()}
        for name, array in arrays.items():
            if _LAYER_NAME.fullmatch(name):
                arrays[name] = array.astype(np.float16).astype(np.float32)
        if unseen is not None:
            arrays["0.weight"][:, unseen] = 0.0
        return _policy(arrays)


def _normalised(x: np.ndarray, layer: Arrays) -> np.ndarray:
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt(np.square(x).mean(-1, keepdims=True) + LAYER_NORM)
    return np.asarray(x * layer["weight"] + layer["bias"])


def _recalled(memory: Arrays, x: np.ndarray) -> np.ndarray:
    """The state of a gated recurrent unit, (n, width), after histories, (n, history, size)."""
    hidden = memory["weight_hh_l0"].T
    projected = x @ memory["weight_ih_l0"].T + memory["bias_ih_l0"]
    # Each row is a separate product.
    state: np.ndarray = np.zeros((len(x), 1, len(hidden)), np.float32)
    for k in range(x.shape[1]):
        reset, update, new = np.split(projected[:, k : k + 1], 3, -1)
        r, u, n = np.split(state @ hidden + memory["bias_hh_l0"], 3, -1)
        reset, update = 1 / (1 + np.exp(-(reset + r))), 1 / (1 + np.exp(-(update + u)))
        state = (1 - update) * np.tanh(new + reset * n) + update * state
    return np.asarray(state[:, 0])


@dataclass(eq=False)
class Valuation(Saved):
    """Mean value of actions over an agent's critics."""

    bodies: list[Layers]  # layers of each critic, as in a policy
    weights: np.ndarray  # of a critic's outputs in its value, (heads, outputs of a head)
    # Whether the outputs are logits of a distribution, averaged with the weights
    distribution: bool
    activation: str = "relu"  # of the layers, as in a policy

    def __call__(self, inputs: np.ndarray) -> np.ndarray:
        """Values, (n, k), of encoded observations with actions within -1 and 1, (n, k, ...)."""
        values = np.zeros(inputs.shape[:2], np.float32)
        for body in self.bodies:
            outputs = _perceptron(body, inputs, self.activation)
            outputs = outputs.reshape(*inputs.shape[:2], *self.weights.shape)
            if self.distribution:
                outputs = np.exp(outputs - outputs.max(-1, keepdims=True))
                outputs = outputs / outputs.sum(-1, keepdims=True)
            values += (outputs * self.weights).sum((-2, -1))
        return values / len(self.bodies)

    def arrays(self) -> dict[str, Any]:
        arrays: dict[str, Any] = {"weights": self.weights, "distribution": self.distribution}
        if self.activation != "relu":
            arrays["activation"] = self.activation
        for k, body in enumerate(self.bodies):
            arrays |= {f"critic{k}/{name}": array for name, array in _named(body).items()}
        return arrays


@dataclass(eq=False)
class EnsemblePolicy(Acting):
    """Several agents: each proposes an action, and the one with the highest mean Q is taken.

    The mean is over the agents' critics. Without critics, the mean of the actions is taken; with a
    temperature, their mean weighted by softmax(mean Q / temperature).
    """

    policies: Sequence[Policy]
    # Of the agents' critics; empty for the mean of the actions
    valuations: Sequence[Valuation] = ()
    # Of the weights, in units of value; None for the highest mean Q
    temperature: float | None = None
    mixed: bool = False  # whether the means of two proposals are proposed as well

    def __post_init__(self) -> None:
        first = self.policies[0]
        self.repeat, self.mean = first.repeat, first.mean
        self.low, self.high = first.low, first.high

    def begin(self) -> None:
        super().begin()
        for policy in self.policies:
            policy.begin()

    def decided(self, observation: np.ndarray) -> np.ndarray:
        single = observation.ndim == self.mean.ndim
        rows = observation[None] if single else observation
        inputs = [policy.encode(rows) for policy in self.policies]
        pairs = zip(self.policies, inputs, strict=True)
        proposed = np.stack([policy.ensembled(policy.unscaled(x)) for policy, x in pairs], 1)
        if self.mixed:
            proposed = np.einsum("mk,nka->nma", mixtures(len(self.policies)), proposed)
        action = self.policies[0].scaled(self._chosen(proposed, inputs))
        return np.asarray(action[0] if single else action)

    def _chosen(self, proposed: np.ndarray, inputs: list[np.ndarray]) -> np.ndarray:
        if not self.valuations:
            return np.asarray(proposed.mean(1))
        values = np.zeros(proposed.shape[:2], np.float32)
        for valuation, x in zip(self.valuations, inputs, strict=True):
            repeated = np.repeat(x[:, None], proposed.shape[1], 1)
            values += valuation(np.concatenate([repeated, proposed], -1))
        if self.temperature is None:
            return np.asarray(proposed[np.arange(len(proposed)), values.argmax(1)])
        scaled = values / (len(self.valuations) * self.temperature)
        weights = np.exp(scaled - scaled.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        return np.asarray((weights[..., None] * proposed).sum(1))

    def arrays(self) -> dict[str, Any]:
        arrays: dict[str, Any] = {}
        for k, agent in enumerate(self.policies):
            agent_arrays = agent.arrays() | (self.valuations[k].arrays() if self.valuations else {})
            arrays |= {f"agent{k}/{name}": array for name, array in agent_arrays.items()}
        if self.temperature is not None:
            arrays["temperature"] = self.temperature
        return arrays | ({"mixed": True} if self.mixed else {})


def mixtures(agents: int) -> np.ndarray:
    """Weights of proposals, (k, agents): of each alone, then of the means of two."""
    alone = np.eye(agents, dtype=np.float32)
    pairs = itertools.combinations(alone, 2)
    return np.array([*alone, *((one + other) / 2 for one, other in pairs)])


AnyPolicy = Policy | EnsemblePolicy


def load(path: str | Path) -> AnyPolicy:
    """Load a policy from a file written by `save`; OSError or PolicyError if that fails."""
    return _loaded(path, "policy, or a damaged one", _any_policy)


def load_valuation(path: str | Path) -> Valuation:
    """Load critics from a file written by `Valuation.save`; the errors are those of `load`."""
    return _loaded(path, "critics, or damaged ones", _valuation)


def _loaded(path: str | Path, kind: str, make: Callable[[Arrays], T]) -> T:
    try:
        return make(
            npz.read(path, lambda name: _ARRAY_NAME.fullmatch(name) is not None, _MOST_BYTES)
        )
    except (IndexError, KeyError, MemoryError, TypeError, ValueError) as error:
        reason = f"no {error} is in it" if isinstance(error, KeyError) else str(error)
        raise PolicyError(f"{path} holds no {kind}: {reason}") from None


def _any_policy(arrays: Arrays) -> AnyPolicy:
    agents = _numbered(arrays, "agent")
    if not agents:
        return _policy(arrays)
    valued = [agent for agent in agents if "distribution" in agent]
    temperature = _number(arrays, "temperature") if "temperature" in arrays else None
    if valued and len(valued) < len(agents):
        raise PolicyError("some of its agents have critics, others have none")
    if temperature is not None and not (valued and temperature > 0):
        raise PolicyError(f"its temperature is {temperature}, with critics of {len(valued)}")
    mixed = bool(_number(arrays, "mixed", 0))
    if mixed and (temperature is not None or not valued):
        raise PolicyError("mixtures of actions are chosen by critics alone")
    policies = list(map(_policy, agents))
    if len({(p.mean.shape, p.low.shape, p.repeat) for p in policies}) > 1:
        raise PolicyError("its agents differ in their observations or actions")
    return EnsemblePolicy(policies, list(map(_valuation, valued)), temperature, mixed)


_MOST_BYTES = 2**28  # of the arrays in a file: networks of 67 million numbers

_MOST = 10_000  # control steps of a history, a plan or an action, and modes

_LAYER = r"\d+\.(weight|bias)"
_LAYER_NAME = re.compile(rf"({_ENCODER})?{_LAYER}")
_ARRAY_NAME = re.compile(
    r"(agent\d{1,4}/)?("
    r"mean|deviation|low|high|history|limit|chunk|ensembling|modes|repeat|activation|bins|support"
    rf"|acted|mixed|temperature|weights|distribution|(encoder/|critic\d{{1,4}}/)?{_LAYER}"
    r"|memory/(weight|bias)_(ih|hh)_l0)"
)


def _finite(name: str, array: np.ndarray) -> np.ndarray:
    """The array, or PolicyError if it does not hold finite real numbers."""
    if array.dtype.kind not in "biuf":
        raise PolicyError(f"{name} holds no real numbers but {array.dtype}")
    if not np.isfinite(array).all():
        raise PolicyError(f"{name} is not finite")
    return array


def _number(arrays: Arrays, name: str, usual: float | None = None) -> float:
    """A single finite number, or the default; KeyError without one."""
    if name not in arrays and usual is not None:
        return float(usual)
    if arrays[name].size != 1:
        raise PolicyError(f"{name} is no single number")
    return float(_finite(name, arrays[name]).item())


def _whole_number(arrays: Arrays, name: str, usual: int | None = None) -> int:
    """A whole number from 1 to the limit, or the default; KeyError without one."""
    value = _number(arrays, name, usual)
    if not (value.is_integer() and 1 <= value <= _MOST):
        raise PolicyError(f"{name} must be a whole number from 1 to {_MOST:,}, not {value:g}")
    return int(value)


def _policy(arrays: Arrays) -> Policy:
    mean, deviation, low, high = (
        _finite(name, arrays[name]) for name in ("mean", "deviation", "low", "high")
    )
    if not mean.size or mean.shape != deviation.shape:
        raise PolicyError("its observations' statistics do not fit")
    if not (deviation > 0).all():
        raise PolicyError("deviation must be positive")
    if low.ndim != 1 or not low.size or low.shape != high.shape or not (low <= high).all():
        raise PolicyError("its bounds of actions do not fit")
    history = _whole_number(arrays, "history")
    known = ("chunk", "modes", "repeat", "bins")
    counts: dict[str, Any] = {name: _whole_number(arrays, name, 1) for name in known}
    modes, bins = counts["modes"], counts["bins"]
    acted = bool(_number(arrays, "acted", 0))
    if acted and not (mean.ndim == 1 and mean.size > low.size):
        raise PolicyError("its observations have no place for the action before them")
    support = _finite("support", arrays["support"]) if "support" in arrays else None
    if support is not None and not (support.ndim == 1 and bins > 1):
        raise PolicyError("its support is of no preferences")
    encoder, layers = _layers(_below(arrays, _ENCODER)), _layers(arrays)
    memory = {name: _finite(name, array) for name, array in _below(arrays, _MEMORY).items()}
    inputs = history * mean.size
    if encoder:
        _require_seeing(encoder, mean.shape, history)
        inputs = len(encoder[-1]["bias"])
    if memory:
        inputs = _width(memory, mean.size)
    outputs = modes * counts["chunk"] * len(low) + (modes if modes > 1 else 0)
    outputs *= bins * (1 if support is None else len(support))
    _require_fitting(layers, inputs, outputs)
    limit = _number(arrays, "limit") if "limit" in arrays else None
    if limit is not None and not limit > 0:
        raise PolicyError(f"limit must be positive, not {limit:g}")
    return Policy(
        *(layers, mean, deviation, low, high, history, encoder, limit, memory, acted),
        ensembling=_number(arrays, "ensembling", 0.0),
        activation=_activation(arrays),
        support=support,
        **counts,
    )


def _require_seeing(encoder: Layers, shape: tuple[int, ...], history: int) -> None:
    *convolutions, linear, norm = encoder
    if len(shape) != 3 or not 1 <= len(convolutions) <= len(STRIDES):
        raise PolicyError(f"its encoder of {len(convolutions)} convolutions sees no {shape}")
    height, width, channels = shape[0], shape[1], shape[2] * history
    for k, (layer, stride) in enumerate(
        zip(convolutions, STRIDES[: len(convolutions)], strict=True)
    ):
        if layer["weight"].shape[1:] != (channels, 3, 3) or layer["bias"].ndim != 1:
            raise PolicyError(f"its encoder's layer {k} does not take {channels} channels")
        height, width = ((side - 3) // stride + 1 for side in (height, width))
        channels = len(layer["bias"])
    inputs, features = height * width * channels, len(linear["bias"])
    if min(height, width) < 1 or linear["weight"].shape[1:] != (inputs,):
        raise PolicyError(f"its encoder's linear layer does not take {inputs} numbers")
    if norm["weight"].shape != (features,) or linear["bias"].ndim != 1 or norm["bias"].ndim != 1:
        raise PolicyError(f"its encoder's normalisation does not take {features} numbers")


def _activation(arrays: Arrays) -> str:
    name = str(arrays.get("activation", "relu"))
    if name not in ACTIVATIONS:
        raise PolicyError(f"there is no activation {name!r}{or_else(name, ACTIVATIONS)}")
    return name


def _width(memory: Arrays, size: int) -> int:
    """State size of a gated recurrent unit; PolicyError if it does not fit the observations."""
    width = memory["weight_hh_l0"].shape[-1]
    shapes = {
        "weight_ih_l0": (3 * width, size),
        "weight_hh_l0": (3 * width, width),
        "bias_ih_l0": (3 * width,),
        "bias_hh_l0": (3 * width,),
    }
    if {name: array.shape for name, array in memory.items()} != shapes:
        raise PolicyError(f"its memory does not take {size} numbers")
    return int(width)


def _valuation(arrays: Arrays) -> Valuation:
    bodies = [_layers(critic) for critic in _numbered(arrays, "critic")]
    distribution = bool(_number(arrays, "distribution"))
    weights = _finite("weights", arrays["weights"])
    if not bodies or weights.ndim != 2:
        raise PolicyError("it has no critics, or their outputs have no weights")
    for body in bodies:
        inputs = body[0]["weight"].shape[-1] if body else 0
        _require_fitting(body, inputs, weights.size)
    return Valuation(bodies, weights, distribution, _activation(arrays))


def _numbered(arrays: Arrays, kind: str) -> Layers:
    """The arrays of "kind0/", "kind1/" and so on."""
    parts: list[Arrays] = []
    while part := _below(arrays, f"{kind}{len(parts)}/"):
        parts.append(part)
    return parts


def _below(arrays: Arrays, prefix: str) -> Arrays:
    return {n.removeprefix(prefix): array for n, array in arrays.items() if n.startswith(prefix)}


def _named(layers: Layers) -> Arrays:
    return {f"{i}.{name}": array for i, layer in enumerate(layers) for name, array in layer.items()}


def _layers(arrays: Arrays) -> Layers:
    """The layers "0.weight", "0.bias", "1.weight" and so on; PolicyError if they do not fit."""
    numbered: dict[int, Arrays] = {}
    for key, array in arrays.items():
        index, dot, name = key.partition(".")
        if dot and index.isdigit():
            _finite(key, array)
            single = array.astype(np.float32) if array.dtype == np.float16 else array
            numbered.setdefault(int(index), {})[name] = single
    if sorted(numbered) != list(range(len(numbered))):
        raise PolicyError(f"its layers are {sorted(numbered)}")
    layers = [numbered[k] for k in range(len(numbered))]
    for k, layer in enumerate(layers):
        whole = set(layer) == {"weight", "bias"} and all(x.ndim for x in layer.values())
        if not whole or len(layer["bias"]) != len(layer["weight"]):
            raise PolicyError(f"layer {k} is not a weight and a bias of one length")
    return layers


def _require_fitting(layers: Layers, inputs: int, outputs: int) -> None:
    size = inputs
    for k, layer in enumerate(layers):
        if layer["weight"].shape[1:] not in ((), (size,)) or layer["bias"].ndim != 1:
            raise PolicyError(f"layer {k} does not take {size} numbers")
        size = len(layer["bias"])
    if not layers or size != outputs or layers[-1]["weight"].ndim != 2:
        raise PolicyError(f"its layers give {size} numbers, not {outputs}")


def _perceptron(layers: Layers, x: np.ndarray, activation: str) -> np.ndarray:
    activate = ACTIVATIONS[activation]
    normalised = any(layer["weight"].ndim == 1 for layer in layers)
    for layer in layers[:-1]:
        if layer["weight"].ndim == 2:
            x = x @ layer["weight"].T + layer["bias"]
            if normalised:
                continue
        else:
            x = _normalised(x, layer)
        x = activate(x)
    last = layers[-1]
    return np.asarray(x @ last["weight"].T + last["bias"])
