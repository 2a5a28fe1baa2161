"""Exploration noise of deterministic actors: on actions, on parameters, or mixtures of both.

Each episode of each sub-environment draws its strategy: "gaussian", noise on its actions;
"parameter", noise on the actor's weights, constant for the episode (Plappert et al., 2018); "none";
"ornstein_uhlenbeck", correlated noise on its actions (Lillicrap et al., 2016); or custom noise by
"module:Class", see `OrnsteinUhlenbeck`.
"""

import inspect
import math
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from mjgym.policies.run_errors import ConfigError
from mjgym.util.suggestions import or_else
from mjgym_train.config import FIXED, SHARED_OUT, Bounds, Count, NotNegative, Positive, Settings
from mjgym_train.learn.named_classes import imported

STRATEGIES = ("gaussian", "parameter", "none")
OU = "ornstein_uhlenbeck"
PROBES = 256  # observations for the distance of perturbed actions
SIGMA = (1e-5, 1e2)  # search bounds of the parameter noise scale
SEARCH = 16  # bisections of their log ratio: sigma is exact to 0.03 %


@dataclass(frozen=True)
class ExplorationSettings(Settings):
    """Settings of the exploration noise of a deterministic actor."""

    exploration: dict[str, Any] = field(  # shares of the strategies, by name or "module:Class"
        default_factory=lambda: {"gaussian": 1.0}, metadata=FIXED
    )
    # On actions within -1 and 1; each episode draws its scale (FastTD3).
    noise_min: NotNegative = 0.05
    noise_max: float = 0.4
    # Whether episodes draw their scale, or each sub-environment keeps one of evenly spaced ones.
    noise_scales: Literal["drawn", "spaced"] = "drawn"
    ou_damping: NotNegative = 0.15  # of Ornstein-Uhlenbeck noise, for each action
    ou_scale: NotNegative = 0.2  # of its increments
    parameter_noise: float = 0.2  # distance of perturbed actions from unperturbed ones
    noise_schedule: Literal["constant", "linear", "exponential"] = "constant"
    noise_final: Positive = 0.1  # factor of all noise at the end of the schedule, from 1
    noise_steps: Count = field(default=200_000, metadata=SHARED_OUT)  # actions of the schedule

    def __post_init__(self) -> None:
        super().__post_init__()
        Bounds(self.noise_min).check("noise_max", self.noise_max)
        if not 0 < self.parameter_noise < 1:
            raise ConfigError(
                f"parameter_noise: must lie between 0 and 1, got {self.parameter_noise}"
            )
        for name, share in self.exploration.items():
            if name not in (*STRATEGIES, OU) and ":" not in name:
                known = or_else(name, (*STRATEGIES, OU))
                raise ConfigError(f"exploration: there is no {name!r}{known}")
            if isinstance(share, bool) or not isinstance(share, int | float) or share < 0:
                raise ConfigError(f"exploration.{name}: must be a share, at least 0, got {share!r}")
        if not sum(self.exploration.values()) > 0:
            raise ConfigError("exploration: the shares are all 0")


class OrnsteinUhlenbeck(nn.Module):
    """Noise that reverts to 0: x += -damping x + scale e, e standard normal.

    Custom noise has the same methods. It must draw from PyTorch's global generator, so that resumed
    runs continue bit for bit; its buffers are in checkpoints.
    """

    state: Tensor

    def __init__(self, config: ExplorationSettings, n: int, action_size: int) -> None:
        super().__init__()
        self._damping, self._scale = config.ou_damping, config.ou_scale
        self.register_buffer("state", torch.zeros(n, action_size))

    def begin(self, begun: Tensor) -> None:
        """Start the episodes, (n,) bool, that have drawn this noise."""
        self.state[begun] = 0

    def forward(self, action: Tensor, inputs: Tensor, factor: float) -> Tensor:
        """Exploratory actions, (n, action size), which are then clipped to -1 and 1.

        Args:
            action: of the actor, (n, action size) within -1 and 1. Results for episodes that have
                drawn another strategy are ignored.
            inputs: of the actor, (n, inputs).
            factor: of all noise, by `noise_schedule`.
        """
        self.state += self._scale * torch.randn_like(self.state) - self._damping * self.state
        return action + factor * self.state


def made_noise(name: str, config: ExplorationSettings, n: int, action_size: int) -> nn.Module:
    """The custom noise of "module:Class"."""
    cls = OrnsteinUhlenbeck if name == OU else imported(name, "exploration", STRATEGIES)
    if not issubclass(cls, nn.Module):
        raise ConfigError(
            f"exploration: {name} is no torch.nn.Module, whose buffers checkpoints keep"
        )
    methods = {"begin": ("begun",), "forward": ("action", "inputs", "factor")}
    for method, wanted in methods.items():
        found = getattr(cls, method, None)
        if not callable(found) or found is nn.Module.forward:  # which takes anything
            raise ConfigError(f"exploration: {name} has no {method}")
        try:
            inspect.signature(found).bind(cls, *wanted)
        except TypeError as error:
            words = ", ".join(wanted)
            raise ConfigError(f"exploration: {name}.{method} takes ({words}): {error}") from None
    try:
        inspect.signature(cls).bind(config, n, action_size)
    except TypeError as error:
        raise ConfigError(
            f"exploration: {name} is made with (config, n, action_size): {error}"
        ) from None
    noise: nn.Module = cls(config, n, action_size)
    return noise


class Exploration(nn.Module):
    """Exploration noise: draws a strategy for each episode; its state is in checkpoints.

    Only the weights of linear layers are perturbed, not normalisations, so that one scale sigma
    suits all layers. A sub-environment draws the direction of its noise at the start of an episode.
    Bisection then sets sigma such that actions change by `parameter_noise`, the root mean square
    over the last observations and the action entries. (Plappert et al. approach that distance over
    many episodes; Catalyst.RL searches as here.) The noise is added to the current weights at each
    step, while the actor keeps learning.
    """

    strategies: Tensor  # of each sub-environment's episode, (n,), indices into `names`
    scales: Tensor  # of action noise, (n, 1); 0 for other strategies
    sigmas: Tensor  # of parameter noise, (n,); 0 for other strategies
    steps: Tensor  # actions so far, over all sub-environments
    _begun: Tensor
    _probes: Tensor
    _probed: Tensor

    def __init__(self, config: ExplorationSettings, n: int, body: nn.Sequential) -> None:
        super().__init__()
        self._config = config
        own = sorted(set(config.exploration) - set(STRATEGIES))
        self.names = (*STRATEGIES, *own)
        layers = [layer for layer in body if isinstance(layer, nn.Linear)]
        size = layers[-1].out_features
        self._own = nn.ModuleList(made_noise(name, config, n, size) for name in own)
        shares = torch.tensor([float(config.exploration.get(name, 0)) for name in self.names])
        self._shares = shares / shares.sum()
        self.register_buffer("strategies", torch.zeros(n, dtype=torch.int64))
        self.register_buffer("scales", torch.zeros(n, 1))
        self.register_buffer("sigmas", torch.zeros(n))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("_begun", torch.ones(n, dtype=torch.bool))
        self._parametric = bool(self._shares[STRATEGIES.index("parameter")] > 0)
        if self._parametric:
            self.register_buffer("_probes", torch.zeros(PROBES, layers[0].in_features))
            self.register_buffer("_probed", torch.zeros((), dtype=torch.int64))
            for k, layer in enumerate(layers):
                self.register_buffer(f"_weights{k}", torch.zeros(n, *layer.weight.T.shape))
                self.register_buffer(f"_biases{k}", torch.zeros(n, 1, *layer.bias.shape))

    def begin(self, begun: Tensor) -> None:
        self._begun = self._begun | begun

    def factor(self) -> float:
        """Current factor of all noise."""
        config = self._config
        done = min(int(self.steps) / config.noise_steps, 1.0)
        if config.noise_schedule == "linear":
            return 1 + done * (config.noise_final - 1)
        if config.noise_schedule == "exponential":
            return math.exp(done * math.log(config.noise_final))
        return 1.0

    @torch.no_grad()
    def forward(self, body: nn.Sequential, inputs: Tensor) -> Tensor:
        """Actions within -1 and 1, (n, action size)."""
        if self._parametric:
            self._remember(inputs)
        if self._begun.any():
            self._draw(body)
        action = torch.tanh(body(inputs))
        still = action.clone() if self._own else action
        for place, noise in enumerate(self._own, len(STRATEGIES)):
            rows = self.strategies == place
            if rows.any():
                noisy_action = noise(still.clone(), inputs, self.factor())
                self._require_actions(self.names[place], noisy_action, action.shape)
                action[rows] = noisy_action[rows]
        noisy = self.sigmas.nonzero()[:, 0]
        if len(noisy):
            perturbed = self.perturbed(body, inputs[noisy, None], noisy, self.sigmas[noisy])
            action[noisy] = perturbed[:, 0]
        self.steps += len(inputs)
        return (action + self.scales * torch.randn_like(action)).clamp(-1, 1)

    @staticmethod
    def _require_actions(name: str, found: Any, shape: torch.Size) -> None:
        if not isinstance(found, Tensor) or found.shape != shape:
            given = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
            raise ConfigError(f"exploration: {name} gives {given}, not actions {tuple(shape)}")
        if not found.isfinite().all():
            raise ConfigError(f"exploration: {name} gives actions that are not finite")

    def perturbed(self, body: nn.Sequential, x: Tensor, envs: Tensor, sigmas: Tensor) -> Tensor:
        """Actions, (k, m, action size), of perturbed actors for inputs (k, m, inputs).

        Args:
            envs: sub-environments whose noise directions are used, (k,).
            sigmas: noise scales, (k,).
        """
        number = 0
        for layer in body:
            if isinstance(layer, nn.Linear):
                weights, biases = (
                    getattr(self, f"{name}{number}")[envs] for name in ("_weights", "_biases")
                )
                x = layer(x) + sigmas[:, None, None] * torch.baddbmm(biases, x, weights)
                number += 1
            else:
                x = layer(x)
        return torch.tanh(x)

    def _remember(self, inputs: Tensor) -> None:
        last = inputs[-PROBES:]
        places = (self._probed + torch.arange(len(last))) % PROBES
        self._probes[places] = last
        self._probed += len(last)

    def _draw(self, body: nn.Sequential) -> None:
        begun, n = self._begun, len(self._begun)
        factor = self.factor()
        drawn = torch.multinomial(self._shares, n, replacement=True)
        self.strategies = torch.where(begun, drawn, self.strategies)
        low, high = self._config.noise_min, self._config.noise_max
        spaced = self._config.noise_scales == "spaced"
        share = torch.linspace(0, 1, n)[:, None] if spaced else torch.rand(n, 1)
        scales = factor * (low + (high - low) * share)
        scales = scales * (drawn == STRATEGIES.index("gaussian"))[:, None]
        self.scales = torch.where(begun[:, None], scales, self.scales)
        self.sigmas = torch.where(begun, 0.0, self.sigmas)
        noisy = (begun & (drawn == STRATEGIES.index("parameter"))).nonzero()[:, 0]
        for name, noise in self._buffers.items():
            if len(noisy) and name.startswith(("_weights", "_biases")) and noise is not None:
                noise[noisy] = torch.randn(len(noisy), *noise.shape[1:])
        if len(noisy):
            distance = factor * self._config.parameter_noise
            self.sigmas[noisy] = self._matching_scales(body, noisy, distance)
        own: Any = self._own
        for place, one in enumerate(own, len(STRATEGIES)):
            if (has_drawn_it := begun & (drawn == place)).any():
                one.begin(has_drawn_it)
        self._begun = torch.zeros_like(begun)

    def _matching_scales(self, body: nn.Sequential, envs: Tensor, distance: float) -> Tensor:
        """Noise scales, (k,), that move the actions of some sub-environments by a distance."""
        known = min(int(self._probed), PROBES)
        probes = self._probes[:known].expand(len(envs), -1, -1)
        still = torch.tanh(body(self._probes[:known]))
        low, high = (torch.full((len(envs),), math.log(bound)) for bound in SIGMA)
        for _ in range(SEARCH):
            middle = (low + high) / 2
            moved = self.perturbed(body, probes, envs, middle.exp()) - still
            far = moved.square().mean((1, 2)).sqrt() > distance
            low, high = torch.where(far, low, middle), torch.where(far, middle, high)
        return ((low + high) / 2).exp()
