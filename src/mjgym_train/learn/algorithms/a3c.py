"""A3C, asynchronous advantage actor-critic (Mnih et al., 2016), with the update of `a2c`.

With `--ray`, each sampler is a worker: it acts for one unroll by the latest weights that it has,
computes their gradient, and hands it over. The trainer applies gradients one by one as they come,
by a shared RMSProp whose rate falls linearly to 0, without waiting for other workers; weights have
moved on since a gradient was taken. In one process there is nothing to wait for: it is A2C.
"""

from dataclasses import dataclass
from typing import ClassVar

from mjgym_train.config import OnPolicyConfig
from mjgym_train.learn.algorithms.a2c import A2C, A2CConfig


@dataclass(frozen=True)
class A3CConfig(A2CConfig):
    """Settings of A3C."""

    rollout_steps: int = 20
    learning_rate_left: float = 0.0


class A3C(A2C):
    """The agent of A3C, which the module describes."""

    Config: ClassVar[type[OnPolicyConfig]] = A3CConfig
