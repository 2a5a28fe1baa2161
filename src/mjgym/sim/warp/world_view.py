"""A task's view of simulations on a device."""

from collections.abc import Iterable, Mapping
from typing import Any

import array_api_compat.torch
import mujoco
import mujoco.batch
import mujoco_warp
import numpy as np
import torch
import warp

from mjgym.arrays import Array
from mjgym.sim.fields import KINDS
from mjgym.sim.single import SingleView
from mjgym.sim.views import Named, View
from mjgym.sim.warp.world_model import WorldModel
from mjgym.util.suggestions import did_you_mean


class WorldView(View):
    """A view of n worlds: tensors that share the engine's memory, with a leading axis.

    Args:
        worlds: the engine's state of the worlds.
        sample: view of one simulation of the model on the CPU, for names and shapes.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        worlds: mujoco_warp.Data,
        fields: WorldModel,
        sample: SingleView,
    ) -> None:
        super().__init__((worlds.nworld,), array_api_compat.torch)
        self.__dict__.update(model=model, _worlds=worlds, _fields=fields, _sample=sample)

    def to_numpy(self, array: Array) -> np.ndarray:
        """Copy a tensor or another value to NumPy, once the device has computed it."""
        return array.cpu().numpy() if isinstance(array, torch.Tensor) else np.asarray(array)

    def _field(self, name: str) -> torch.Tensor:
        values = self._fields.field(name)
        if values is not None:
            return values
        if name in mujoco.batch.DATA_FIELDS:
            array = getattr(self._worlds, name, None)
            if isinstance(array, warp.array):
                shape = np.shape(getattr(self._sample, name))
                return warp.to_torch(array).reshape(*self.lead, *shape)
        elif isinstance(value := getattr(self.model, name, None), np.ndarray | int | float):
            return self._fields.tensor(name).expand(*self.lead, *np.shape(value))
        hint = did_you_mean(name, [*mujoco.batch.DATA_FIELDS, *dir(self.model)])
        raise AttributeError(f"MuJoCo Warp offers no field {name!r} of each world{hint}")

    def __getattr__(self, name: str) -> Array:
        if name.startswith("__"):
            raise AttributeError(name)
        value = self.__dict__[name] = self._field(name)
        return value

    def _element(self, kind: str, name: str) -> Named:
        return _Live(self, kind, name)

    def rows(self, field: str, names: Iterable[str]) -> slice | Any:
        """As `View.rows`, with indices on the device."""
        key = "on the device", field, tuple(names)
        if key not in self._rows:
            index = super().rows(field, key[2])
            self._rows[key] = index if isinstance(index, slice) else self.from_numpy(index)
        return self._rows[key]

    def _dofs(self, joints: tuple[str, ...]) -> np.ndarray:
        return np.arange(self.model.nv)[super().rows("qvel", joints)]


class _Live(Named):
    """An element of each world: parts of the view's tensors, each looked up once."""

    def __init__(self, view: WorldView, kind: str, name: str) -> None:
        of_data, of_model = (
            getattr(source, kind)(name) if hasattr(source, kind) else None
            for source in (view._sample._data, view.model)
        )

        def fetch(attribute: str) -> Array:
            for source, element in ((view._sample._data, of_data), (view.model, of_model)):
                if element is not None and hasattr(element, attribute):
                    part = np.asarray(getattr(element, attribute))
                    field, start = _place(source, kind, attribute, part)
                    whole = getattr(view, field)
                    flat = whole.reshape(*view.lead, -1)[:, start : start + part.size]
                    return flat.reshape(*view.lead, *part.shape)
            known = [a for element in (of_data, of_model) if element for a in dir(element)]
            hint = did_you_mean(attribute, known)
            raise AttributeError(f"{kind} {name!r} has no attribute {attribute!r}{hint}")

        super().__init__(fetch)

    def __getattr__(self, attribute: str) -> Array:
        value = self.__dict__[attribute] = self.__dict__["_fetch"](attribute)
        return value


def _place(source: Any, kind: str, attribute: str, part: np.ndarray) -> tuple[str, int]:
    """The field that contains an element's attribute, and the index of its first number."""
    address = part.__array_interface__["data"][0]
    for prefix in ("", *KINDS[kind].prefixes):
        whole = getattr(source, prefix + attribute, None)
        if not isinstance(whole, np.ndarray) or whole.itemsize != part.itemsize:
            continue
        first, rest = divmod(address - whole.__array_interface__["data"][0], part.itemsize)
        if rest == 0 and first >= 0 and first + part.size <= whole.size:
            return prefix + attribute, first
    raise AttributeError(f"{kind}s have no {attribute!r} of each world")


def copies(tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in tensors.items()}
