"""Image inputs: random shifts and a convolutional encoder.

Both follow DrQ-v2 (Yarats et al., 2022), with larger strides to suit a CPU.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mjgym.policies import network as policy
from mjgym.policies.run_errors import ConfigError
from mjgym_train.learn.networks import plain

KERNEL = 3
LEAST = 31  # pixels of a side, which the convolutions reduce to one


def random_shift(pictures: Tensor, most: int) -> Tensor:
    """Images shifted by up to `most` pixels, with replicated edges.

    All images of a history move by the same displacement, drawn uniformly for each history from the
    (2 most + 1)^2 possible ones.

    Args:
        pictures: (B, history, height, width, channels).
        most: pixels.
    """
    height, width = pictures.shape[2:4]
    sides = (most, most)
    # NumPy takes a tenth of PyTorch's time, and PyTorch does not support uint8.
    padded = torch.from_numpy(
        np.pad(pictures.numpy(), ((0, 0), (0, 0), sides, sides, (0, 0)), mode="edge")
    )
    corners = torch.randint(2 * most + 1, (len(pictures), 2)).tolist()
    return torch.stack(
        [
            histories[:, top : top + height, left : left + width]
            for histories, (top, left) in zip(padded, corners, strict=True)
        ]
    )


class Encoder(nn.Module):
    """Features of a history of images: convolutions, a linear layer, layer norm and tanh.

    Raises:
        ConfigError: the images are too small for the convolutions.
    """

    def __init__(
        self,
        size: tuple[int, int, int],
        history: int,
        channels: int,
        features: int,
        convolutions: int = len(policy.STRIDES),
    ) -> None:
        super().__init__()
        self.size = size
        if min(size[:2]) < LEAST:
            raise ConfigError(
                f"env: pictures must have at least {LEAST} x {LEAST} pixels,"
                f" got {size[0]} x {size[1]}"
            )
        layers: list[nn.Module] = []
        inputs = history * size[2]
        for stride in policy.STRIDES[:convolutions]:
            layers += [nn.Conv2d(inputs, channels, KERNEL, stride), nn.ReLU(inplace=True)]
            inputs = channels
        self.convolutions = nn.Sequential(*layers)
        with torch.no_grad():
            flat = self._convolved(torch.zeros(1, history, *size, dtype=torch.uint8))
        self.linear = nn.Linear(flat.shape[1], features)
        self.norm = nn.LayerNorm(features)

    @classmethod
    def of(cls, config: Any, size: tuple[int, int, int]) -> "Encoder":
        """The encoder of the settings, for images of a size."""
        return cls(size, config.history, config.channels, config.features, config.convolutions)

    def complete(self, made: policy.Policy) -> None:
        """Extend a policy to see images through this encoder."""
        made.mean = np.full(self.size, policy.GREY, np.float32)
        made.deviation = np.full(self.size, policy.WHITE, np.float32)
        made.encoder = self.arrays()

    def _convolved(self, pictures: Tensor) -> Tensor:
        stacked = pictures.movedim(-1, 2).flatten(1, 2).float()  # (B, history * channels, ...)
        scaled = stacked.sub_(policy.GREY).div_(policy.WHITE)
        convolved: Tensor = self.convolutions(scaled)
        return convolved.flatten(1)

    def forward(self, pictures: Tensor) -> Tensor:
        """Features within -1 and 1, (B, features), of (B, history, height, width, channels)."""
        return torch.tanh(self.norm(self.linear(self._convolved(pictures))))

    def arrays(self) -> list[dict[str, np.ndarray]]:
        """Weights and biases of all layers, in order."""
        return plain([*self.convolutions, self.linear, self.norm])
