"""Selections of clips."""

from collections.abc import Sequence


class ClipCollection:
    """Clips with their weights, or parts of them."""

    def __init__(
        self,
        ids: Sequence[str],
        start_steps: Sequence[int] | None = None,
        end_steps: Sequence[int] | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.ids = ids
        self.start_steps = start_steps or (0,) * len(ids)
        self.end_steps = end_steps
        self.weights = weights or (1.0,) * len(ids)
        for name in ("start_steps", "end_steps", "weights"):
            values = getattr(self, name)
            if values is not None and len(values) != len(ids):
                raise ValueError(
                    f"ClipCollection validation failed: {len(ids)} ids, {len(values)} {name}"
                )
        if any(weight < 0 for weight in self.weights):
            raise ValueError("ClipCollection validation failed: a weight is negative")
