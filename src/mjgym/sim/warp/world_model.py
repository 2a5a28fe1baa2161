"""A model on a device, with some fields per world."""

import copy
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import torch
import warp

from mjgym.sim.engine import episode_field, get_field

# Fields that no physics step reads there: notes of MuJoCo's broad phase and compiler, and visuals.
_UNREAD = re.compile(
    r"bvh_aabb|dof_M0|dof_length|\w+_sameframe|\w+_rgba|mat_\w+|light_\w+|tendon_width|site_size"
)
# If a field is all zero, the engine omits its effect for good.
_SWITCHES = frozenset(
    {"opt.density", "opt.viscosity", "opt.wind", "tendon_stiffness", "tendon_stiffnesspoly",
     "tendon_damping", "tendon_dampingpoly", "actuator_damping", "actuator_dampingpoly",
     "body_gravcomp"}
)  # fmt: skip
# Sensors that test whether something is within a site.
_SITE_SENSORS = (mujoco.mjtSensor.mjSENS_TOUCH, mujoco.mjtSensor.mjSENS_INSIDESITE)
_FRICTIONS = ("geom_friction", "pair_friction")  # MuJoCo clips them to at least mjMINMU
_TERRAIN = ("hfield_size", "hfield_nrow", "hfield_ncol", "hfield_adr", "hfield_data")


class EngineWarning(UserWarning):
    """Warning that MuJoCo Warp computes something differently than the model specifies."""


@dataclass(frozen=True)
class _Held:
    """A per-world field: an array of the engine, or our own if the engine reads none."""

    tensor: torch.Tensor
    inverse_root: bool = False  # the engine keeps 1 / sqrt of it

    def write(self, rows: torch.Tensor, values: torch.Tensor) -> None:
        self.tensor[rows] = values.rsqrt() if self.inverse_root else values

    def read(self) -> torch.Tensor:
        return 1 / self.tensor.square() if self.inverse_root else self.tensor


class WorldModel:
    """The model of n worlds.

    Args:
        varies: names of per-world fields of MjModel.

    Attributes:
        engine: the engine's model.

    Raises:
        NotImplementedError: the engine lacks something that the model or a varying field needs; the
            message names it.
    """

    def __init__(
        self, model: mujoco.MjModel, n: int, varies: tuple[str, ...], device: torch.device
    ) -> None:
        self._model = model
        self._n = n
        self._device = device
        batched = [name for name in varies if _is_batched(name)]
        if missing := [
            name
            for name in varies
            if name not in batched
            and name != "hfield_data"
            and not (name.startswith("opt.") and _option(name) is not None)
            and not _UNREAD.fullmatch(name)
        ]:
            raise NotImplementedError(
                f"MuJoCo Warp holds {', '.join(missing)} once for all worlds, but episodes vary it;"
                ' backend="mujoco" can'
            )
        sizes = dict.fromkeys(batched, n)
        if "hfield_data" in varies:
            sizes["geom_dataid"] = n
        self.engine = put(_witness(model, varies), sizes)
        self._fields = {name: self._held(name) for name in varies}
        everyone = torch.arange(n, device=device)
        for name, field in self._fields.items():
            field.write(
                everyone, self.tensor(name).expand(n, *np.shape(episode_field(model, name)))
            )

    def _held(self, name: str) -> _Held:
        shape = np.shape(episode_field(self._model, name))
        if name == "hfield_data":
            return _Held(self._terrains())
        if name.startswith("opt."):
            return self._held_option(name, shape)
        if _is_batched(name):
            return _Held(warp.to_torch(getattr(self.engine, name)).reshape(self._n, *shape))
        return _Held(torch.zeros((self._n, *shape), device=self._device))

    def _held_option(self, name: str, shape: tuple[int, ...]) -> _Held:
        """Replace a shared option with one per world."""
        attribute = _option(name)
        assert attribute is not None
        shared = getattr(self.engine.opt, attribute)
        batched = warp.zeros(self._n, dtype=shared.dtype)
        batched._is_batched = True  # the engine's mark of per-world arrays
        setattr(self.engine.opt, attribute, batched)
        tensor = warp.to_torch(batched).reshape(self._n, *shape)
        return _Held(tensor, inverse_root=attribute != name.removeprefix("opt."))

    def _terrains(self) -> torch.Tensor:
        """Heights per world, (n, nhfielddata): each world gets its own copies of the height fields.

        The engine has one list of height fields, and the index of a geom's height field per world.
        """
        model, engine, n = self._model, self.engine, self._n
        for name in _TERRAIN:
            shared = getattr(engine, name)
            values = shared.numpy()
            tiled = np.concatenate([values] * n)
            if name == "hfield_adr":
                tiled = tiled + np.repeat(np.arange(n) * model.nhfielddata, model.nhfield)
            setattr(engine, name, warp.array(tiled.astype(values.dtype), dtype=shared.dtype))
        chosen = warp.to_torch(engine.geom_dataid)
        rough = np.flatnonzero(model.geom_type == mujoco.mjtGeom.mjGEOM_HFIELD)
        first = torch.arange(n, device=self._device, dtype=chosen.dtype)[:, None] * model.nhfield
        chosen[:, rough] = first + torch.as_tensor(
            model.geom_dataid[rough], device=self._device, dtype=chosen.dtype
        )
        return warp.to_torch(engine.hfield_data).reshape(n, model.nhfielddata)

    def tensor(self, name: str) -> torch.Tensor:
        """A field of the compiled model, in the device's precision."""
        value = np.asarray(episode_field(self._model, name))
        if value.dtype.kind == "f":
            value = value.astype(np.float32)
        return torch.as_tensor(np.array(value), device=self._device)

    def field(self, name: str) -> torch.Tensor | None:
        """A per-world field, (n, ...); None if worlds share it."""
        held = self._fields.get(name)
        return None if held is None else held.read()

    def write(self, rows: torch.Tensor, values: Mapping[str, np.ndarray]) -> None:
        """Write fields of some worlds, by name, with a leading axis of rows."""
        self._check_sites(values)
        for name, value in values.items():
            least = mujoco.mjMINMU if name in _FRICTIONS else None
            numbers = np.clip(np.asarray(value, dtype=np.float32), least, None)
            self._fields[name].write(rows, torch.as_tensor(numbers, device=self._device))

    def _check_sites(self, values: Mapping[str, np.ndarray]) -> None:
        sizes = values.get("site_size")
        if sizes is None:
            return
        model = self._model
        kinds = model.sensor_type
        of_touch = model.sensor_objid[kinds == _SITE_SENSORS[0]]
        within = model.sensor_refid[kinds == _SITE_SENSORS[1]]
        sensed = np.concatenate([of_touch, within])
        varied, fixed = sizes.astype(np.float32), model.site_size.astype(np.float32)
        changed = [i for i in sensed if (varied[:, i] != fixed[i]).any()]
        if changed:
            raise NotImplementedError(
                "MuJoCo Warp holds site_size once for all worlds, and a sensor looks into"
                f" {model.site(changed[0]).name!r}, whose size an episode varies;"
                ' backend="mujoco" can'
            )


def _option(name: str) -> str | None:
    """The engine's name of an option that can be per world, or None."""
    leaf = name.removeprefix("opt.")
    leaf = "impratio_invsqrt" if leaf == "impratio" else leaf
    annotation = mujoco_warp.Option.__annotations__.get(leaf)
    return leaf if _leads_with_worlds(annotation) else None


def _is_batched(name: str) -> bool:
    return _leads_with_worlds(mujoco_warp.Model.__annotations__.get(name))


def _leads_with_worlds(annotation: Any) -> bool:
    return tuple(getattr(annotation, "shape", ()))[:1] == ("*",)


def _witness(model: mujoco.MjModel, varies: tuple[str, ...]) -> mujoco.MjModel:
    """A copy with all varying switches on, and frictions of at least MuJoCo's minimum."""
    witness = copy.copy(model)
    for name in _FRICTIONS:
        value = getattr(witness, name)
        value[...] = np.maximum(value, mujoco.mjMINMU)
    for name in _SWITCHES.intersection(varies):
        value = get_field(witness, name)
        if isinstance(value, np.ndarray):
            value[value == 0] = 1.0
        elif value == 0:
            setattr(witness.opt, name.removeprefix("opt."), 1.0)
    return witness


def put(model: mujoco.MjModel, sizes: dict[str, int]) -> Any:
    """The engine's model; `sizes` is the length of the axis of worlds, by the fields that have one.

    Raises:
        NotImplementedError: the engine lacks something that the model needs.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about features that the engine approximates
            engine = mujoco_warp.put_model(model, batch_sizes=sizes)
    except (NotImplementedError, ValueError) as error:
        raise NotImplementedError(
            f'MuJoCo Warp lacks what this model needs: {error}; backend="mujoco" has it'
        ) from error
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_NATIVECCD):
        warnings.warn(
            "the model asks for libccd's search for contacts (nativeccd is disabled), which MuJoCo"
            " Warp lacks: ellipsoids, cylinders and meshes are found less or more deep in others",
            EngineWarning,
            stacklevel=2,
        )
    engine.opt.warn_overflow = 0  # it prints; `Worlds.overflow` reports it once
    return engine
