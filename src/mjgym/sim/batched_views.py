"""Views of a batch: of all simulations, and of a shard under the names of the whole."""

from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.fields import KINDS
from mjgym.sim.views import Named, View
from mjgym.util.suggestions import did_you_mean


class BatchedView(View):
    """A view of a batch: the names of one simulation, with a leading axis."""

    def __init__(
        self, batch: mujoco.batch.Batch, model: mujoco.MjModel, episode_fields: dict[str, Array]
    ) -> None:
        super().__init__((batch.nsim,))
        self.__dict__.update(_batch=batch, model=model, _episode_fields=episode_fields)

    def _field(self, name: str) -> Array:
        if name in self._episode_fields:
            return self._episode_fields[name]
        if name in mujoco.batch.DATA_FIELDS:
            return self._batch.bind(name)
        value = getattr(self.model, name, None)
        if isinstance(value, np.ndarray | int | float):
            return np.broadcast_to(value, (*self.lead, *np.shape(value)))
        hint = did_you_mean(name, [*mujoco.batch.DATA_FIELDS, *dir(self.model)])
        raise AttributeError(
            f"neither MjData nor MjModel has a field {name!r} that a batch offers{hint}"
        )

    def _element(self, kind: str, name: str) -> Named:
        named = getattr(self._batch, kind)(name)
        element = getattr(self.model, kind)(name)

        def fetch(attribute: str) -> Array:
            # For a field that episodes vary, the engine would return the model's value.
            for prefix in (*KINDS[kind].prefixes, *([""] if kind == "joint" else [])):
                values = self._episode_fields.get(prefix + attribute)
                if values is not None:
                    return _part(values, prefix, element, np.shape(getattr(element, attribute)))
            return getattr(named, attribute)

        return Named(fetch)


def _part(values: Array, prefix: str, element: Any, shape: tuple[int, ...]) -> Array:
    """An element's rows of a per-simulation field, (n, *shape)."""
    first = {"dof_": "dofadr", "": "qposadr"}.get(prefix)
    start = int(element.id if first is None else getattr(element, first)[0])
    count = 1 if first is None else shape[0]
    return values[:, start : start + count].reshape(len(values), *shape)


class ShardView(BatchedView):
    """A view of a shard, with the names of the whole batch.

    Args:
        episode_fields: per-simulation fields of the shard.
        rows: the shard's range of simulations.
        complete: whether the shard has all geoms of the whole.
    """

    def __init__(
        self,
        batch: mujoco.batch.Batch,
        episode_fields: dict[str, Array],
        whole: View,
        rows: slice,
        *,
        complete: bool,
    ) -> None:
        super().__init__(batch, whole.model, episode_fields)
        self.__dict__.update(_whole=whole, _part=rows, _complete=complete)

    def _field(self, name: str) -> Array:
        if may_be_missing(name) and not self._complete:
            return getattr(self._whole, name)[self._part]
        return super()._field(name)

    def _element(self, kind: str, name: str) -> Named:
        if kind != "geom" or self._complete:
            return super()._element(kind, name)
        named = self._whole.geom(name)
        return Named(lambda attribute: getattr(named, attribute)[self._part])


def may_be_missing(name: str) -> bool:
    """Whether a field has a row per geom or tendon, some of which shards may lack."""
    return name.startswith(("geom_", "ten_", "tendon_"))


def is_of_geoms(name: str) -> bool:
    """Whether a field of MjData or MjModel has a row per geom."""
    return name.startswith("geom_")
