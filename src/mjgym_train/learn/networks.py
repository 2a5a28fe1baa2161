"""Networks: perceptrons, actors and parallel critics."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies.activations import LEAK

ACTOR_SCALE = 1e-2  # of an actor's last weights: initial actions are near the middle
NOISE = 0.5  # of a noisy layer at the start, over the root of its inputs
MOMENTS = ("exp_avg", "exp_avg_sq")  # of Adam
LOG_STD = (-10.0, 2.0)  # bounds of a Gaussian actor's log standard deviation


ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "relu": lambda: nn.ReLU(inplace=True),
    "leaky_relu": lambda: nn.LeakyReLU(LEAK, inplace=True),
    "elu": lambda: nn.ELU(inplace=True),
    "silu": nn.SiLU,
    "gelu": lambda: nn.GELU("tanh"),
    "tanh": nn.Tanh,
}
"""PyTorch counterparts of `mjgym.policies.activations`."""


class NoisyLinear(nn.Linear):
    """A linear layer with learned factorised Gaussian noise (Fortunato et al., 2018).

    y = (W + S * f(e_out) f(e_in)^T) x + b + s * f(e_out), f(e) = sign(e) sqrt|e|, with noise e of
    its own for each row of a batch; without noise outside training.
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(inputs, outputs)
        start = NOISE / math.sqrt(inputs)
        self.weight_sigma = nn.Parameter(torch.full((outputs, inputs), start))
        self.bias_sigma = nn.Parameter(torch.full((outputs,), start))

    def forward(self, x: Tensor) -> Tensor:
        mean = super().forward(x)
        if not self.training:
            return mean
        inward, outward = (e.sign() * e.abs().sqrt() for e in map(torch.randn_like, (x, mean)))
        return mean + outward * nn.functional.linear(inward * x, self.weight_sigma, self.bias_sigma)


def perceptron(
    inputs: int,
    hidden: Sequence[int],
    outputs: int,
    *,
    layer_norm: bool,
    activation: str = "relu",
    extra: tuple[int, int] = (0, 0),
    noisy: bool = False,
) -> nn.Sequential:
    """Linear layers with activations in between; `extra` is a layer, and its further inputs."""
    linear = NoisyLinear if noisy else nn.Linear
    layers: list[nn.Module] = []
    for k, width in enumerate((*hidden, outputs)):
        layers.append(linear(inputs + extra[1] * (k == extra[0]), width))
        if k < len(hidden):
            if layer_norm:
                layers.append(nn.LayerNorm(width))
            layers.append(ACTIVATIONS[activation]())
        inputs = width
    return nn.Sequential(*layers)


def arrays(layer: nn.Module) -> dict[str, np.ndarray]:
    """Copies of a layer's parameters, without those of noise."""
    return {
        name: value.detach().cpu().numpy().copy()
        for name, value in layer.named_parameters()
        if not name.endswith("_sigma")
    }


def plain(body: Iterable[nn.Module]) -> list[dict[str, np.ndarray]]:
    return [layer for layer in map(arrays, body) if layer]


@torch.no_grad()
def centre(body: nn.Sequential) -> None:
    for parameter in body[-1].parameters():
        parameter.mul_(ACTOR_SCALE)


class _Actor(nn.Module):
    """A perceptron that starts near the middle of the action range."""

    outputs_per_action = 1

    def __init__(self, inputs: int, outputs: int, hidden: Sequence[int], **layers: Any) -> None:
        super().__init__()
        self.body = perceptron(inputs, hidden, outputs * self.outputs_per_action, **layers)
        centre(self.body)


class Actor(_Actor):
    """A deterministic actor, tanh of a perceptron."""

    def forward(self, observation: Tensor) -> Tensor:
        """Actions within -1 and 1, (B, outputs), for histories (B, history, size)."""
        return torch.tanh(self.body(observation.flatten(1)))


class StochasticActor(Protocol):
    """Interface of a stochastic actor, a `torch.nn.Module`.

    It is made with the number of inputs, the size of an action, the widths of `hidden`, and the
    arguments of `perceptron`. The tanh of the first outputs of its `body` is the action without
    noise, by which the policy acts in evaluations.
    """

    body: nn.Sequential

    def __call__(self, observation: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions and their log densities; see `GaussianActor.forward`."""

    def parameters(self) -> Iterable[nn.Parameter]:
        """All that is learned."""


class GaussianActor(_Actor):
    """A stochastic actor, tanh of a Gaussian with learned mean and deviation."""

    outputs_per_action = 2

    def forward(self, observation: Tensor, noise: Tensor) -> tuple[Tensor, Tensor]:
        """Actions within -1 and 1, and their log densities, (B,), from standard normal noise.

        The Gaussian's density, less log(1 - tanh(u)^2) of each entry, computed as
        2 (log 2 - u - softplus(-2 u)).
        """
        mean, log_std = self.body(observation.flatten(1)).chunk(2, -1)
        log_std = log_std.clamp(*LOG_STD)
        u = mean + log_std.exp() * noise
        density = -0.5 * noise.square() - log_std - 0.5 * math.log(2 * math.pi)
        squash = 2 * (math.log(2) - u - nn.functional.softplus(-2 * u))
        return torch.tanh(u), (density - squash).sum(-1)


class Critics(nn.Module):
    """Several critics of the same shape, each a perceptron of observation and action.

    They are separate networks, which is faster on CPU than stacked weights. Each has a head for
    each discount, whose outputs are `initial`, (size,), at first, approximately.
    """

    def __init__(
        self,
        count: int,
        inputs: int,
        action_size: int,
        hidden: Sequence[int],
        heads: int,
        initial: Tensor,
        action_layer: int = 0,
        **layers: Any,
    ) -> None:
        super().__init__()
        self._shape = (heads, len(initial))
        extra, outputs = (action_layer, action_size), heads * len(initial)
        bodies = [perceptron(inputs, hidden, outputs, extra=extra, **layers) for _ in range(count)]
        places = [k for k, layer in enumerate(bodies[0]) if isinstance(layer, nn.Linear)]
        self._entry = places[action_layer]  # of the action, among the modules
        with torch.no_grad():
            for body in bodies:
                last: Any = body[-1]
                last.bias.add_(initial.repeat(heads))
        self.bodies = nn.ModuleList(bodies)

    @torch.no_grad()
    def map_outputs(self, matrix: Tensor, bias: Tensor, optimizer: torch.optim.Optimizer) -> None:
        """Change the last layers so that each head's outputs become `matrix @ outputs + bias`.

        The optimiser's moments of these layers are mapped too.
        """
        heads, size = self._shape
        bodies: Any = self.bodies
        for body in bodies:
            last = body[-1]
            for parameter in (last.weight, last.bias):
                state = optimizer.state.get(parameter, {})
                for tensor in (parameter, *(state[k] for k in MOMENTS if k in state)):
                    mapped = matrix @ tensor.view(heads, size, -1)
                    tensor.copy_(mapped.view_as(tensor))
            last.bias.add_(bias.repeat(heads))

    def forward(self, observation: Tensor, action: Tensor, count: int | None = None) -> Tensor:
        """Outputs of all critics, or of the first ones, (critics, B, heads, size)."""
        bodies: Any = self.bodies[:count]
        outputs = []
        for body in bodies:
            features = body[: self._entry](observation.flatten(1))
            outputs.append(body[self._entry :](torch.cat([features, action], -1)))
        stacked: Tensor = torch.stack(outputs).unflatten(-1, self._shape)  # type: ignore[no-untyped-call]
        return stacked
