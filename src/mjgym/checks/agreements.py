"""Largest differences of two environments that should be alike."""

from dataclasses import asdict, dataclass, field
from typing import Any

import mujoco
import numpy as np

DIFFERENCES = ("model", "observation", "reward", "discount", "state")
SINGLE = 1e-6  # bound of numbers that the engine keeps in single precision


@dataclass
class Agreement:
    """Largest differences of an id, relative to max(1, |published|)."""

    id: str  # ours
    against: str  # the published package with its version
    bound: float  # largest difference allowed
    seeds: tuple[int, ...]
    engine: str = mujoco.__version__
    steps: int = 0
    # By "model", "observation", "reward", "discount" and "state"
    differences: dict[str, float] = field(default_factory=lambda: dict.fromkeys(DIFFERENCES, 0.0))
    where: dict[str, str] = field(default_factory=dict)  # the field or entry with each of them

    @property
    def holds(self) -> bool:
        return all(each <= self.bound for each in self.differences.values())

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "holds": self.holds}

    def note(self, what: str, name: str, ours: Any, published: Any) -> None:
        """Keep the difference of two arrays, if it is larger than those before."""
        if name.endswith("quat") and np.dot(ours, published) < 0:  # one rotation
            ours = -ours
        found = difference(ours, published)
        if getattr(ours, "dtype", None) == np.float32 and found < SINGLE:
            return
        if found > self.differences[what]:
            self.differences[what], self.where[what] = found, name


def difference(ours: Any, published: Any) -> float:
    """Largest difference relative to max(1, |published|); infinite for other shapes."""
    a, b = (np.asarray(x, float).ravel() for x in (ours, published))
    if a.shape != b.shape or np.isfinite(a).all() != np.isfinite(b).all():
        return float("inf")
    with np.errstate(invalid="ignore"):
        errors = np.where(a == b, 0.0, np.abs(a - b) / np.maximum(1.0, np.abs(b)))
    return float(errors.max(initial=0.0))
