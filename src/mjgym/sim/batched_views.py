"""The view of a batch."""

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.derived_views import DerivedView
from mjgym.sim.dynamics import places
from mjgym.sim.engine import STATE_FIELDS, state_dtype
from mjgym.sim.fields import KINDS, field_rows
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
            values = self._batch.bind(name)
            if self.stays(name):
                return values
            values = values.astype(state_dtype(name))
            values.flags.writeable = False
            return values
        value = getattr(self.model, name, None)
        if isinstance(value, np.ndarray | int | float):
            return np.broadcast_to(value, (*self.lead, *np.shape(value)))
        hint = did_you_mean(name, [*mujoco.batch.DATA_FIELDS, *dir(self.model)])
        raise AttributeError(
            f"neither MjData nor MjModel has a field {name!r} that a batch offers{hint}"
        )

    def stays(self, name: str) -> bool:
        """Tell whether an array is live; those that the batch holds in another type are copies."""
        return name not in STATE_FIELDS or state_dtype(name) == np.float64

    def part(self, where: Array) -> tuple[View, np.ndarray | None]:
        rows = np.flatnonzero(where)
        return PartView(self, rows), rows

    def _element(self, kind: str, name: str) -> Named:
        named = getattr(self._batch, kind)(name)
        element = getattr(self.model, kind)(name)

        def fetch(attribute: str) -> Array:
            # For a field that episodes vary, the engine would return the model's value.
            for prefix in (*KINDS[kind].prefixes, *([""] if kind == "joint" else [])):
                values = self._episode_fields.get(prefix + attribute)
                if values is not None:
                    rows = field_rows(self.model, prefix + attribute, np.array([element.id]))
                    shape = np.shape(getattr(element, attribute))
                    return values[:, places(rows)].reshape(len(values), *shape)
            return getattr(named, attribute)

        return Named(fetch)


class PartView(DerivedView):
    """Copies of the arrays of some simulations of a batch, by their row numbers."""

    def __init__(self, whole: View, rows: np.ndarray) -> None:
        super().__init__(whole, (len(rows),))
        memory = {name: x[rows] for name, x in whole.memory.items()}
        self.__dict__.update(memory=memory, _part=rows, _rows=whole._rows)

    def _changed(self, value: Array) -> Array:
        return value[self._part]


def may_be_missing(name: str) -> bool:
    return name.startswith(("geom_", "ten_", "tendon_"))


def is_of_geoms(name: str) -> bool:
    return name.startswith("geom_")
