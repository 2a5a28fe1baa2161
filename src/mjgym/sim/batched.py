"""Many simulations of one model on `mujoco.batch`."""

import os
import weakref
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.engine import (
    ACTUATION_OFF,
    ASSET_FIELDS,
    DIVERGED,
    get_field,
    quiet,
    set_field,
    state_fields,
)
from mjgym.sim.single import Single, episode_fields
from mjgym.sim.varying import Varying
from mjgym.sim.view import Named, View, nearest

_VELOCITIES = int(mujoco.mjtStage.mjSTAGE_VEL)
_ALL = int(mujoco.mjtStage.mjSTAGE_ACC)


class _Inherited:
    """Batches of the parent process, which a forked child must never let go of.

    Their threads are not in the child, and the engine would wait for them for ever when it frees a
    batch there, be it in a garbage collection.
    """

    def __init__(self) -> None:
        self._alive: weakref.WeakSet[mujoco.batch.Batch] = weakref.WeakSet()
        self._kept: list[mujoco.batch.Batch] = []
        self._watching = False

    def watch(self, batch: mujoco.batch.Batch) -> None:
        self._alive.add(batch)
        if not self._watching and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: self._kept.extend(self._alive))
            self._watching = True


_inherited = _Inherited()


class BatchedView(View):
    """A view of a batch: the same names as of one simulation, with a leading axis."""

    def __init__(
        self, batch: mujoco.batch.Batch, model: mujoco.MjModel, episode_fields: dict[str, Array]
    ) -> None:
        super().__init__((batch.nsim,))
        self.__dict__.update(_batch=batch, _model=model, _episode_fields=episode_fields)

    def _field(self, name: str) -> Array:
        if name in self._episode_fields:
            return self._episode_fields[name]
        if name in mujoco.batch.DATA_FIELDS:
            return self._batch.bind(name)
        value = getattr(self._model, name, None)
        if isinstance(value, np.ndarray | int | float):
            return np.broadcast_to(value, (*self.lead, *np.shape(value)))
        hint = nearest(name, [*mujoco.batch.DATA_FIELDS, *dir(self._model)])
        raise AttributeError(
            f"neither MjData nor MjModel has a field {name!r} that a batch offers{hint}"
        )

    def _element(self, kind: str, name: str) -> Named:
        named = getattr(self._batch, kind)(name)
        model, episode_fields = self._model, self._episode_fields

        def fetch(attribute: str) -> Array:
            # The engine gives copies of what it holds in a model for each simulation.
            part = getattr(getattr(model, kind)(name), attribute, None)
            if isinstance(part, np.ndarray):
                for field, rows in episode_fields.items():
                    whole = get_field(model, field)
                    if isinstance(whole, np.ndarray) and np.may_share_memory(part, whole):
                        start = (part.ctypes.data - whole.ctypes.data) // whole.itemsize
                        flat = rows.reshape(len(rows), -1)[:, start : start + part.size]
                        return flat.reshape(len(rows), *part.shape)
            return getattr(named, attribute)

        return Named(fetch)


class Batched:
    """n simulations: reset, step, snapshot, by index.

    Args:
        model: the compiled model.
        n: number of simulations.
        threads: that step them.
        varies: names of the model fields that belong to an episode; each simulation has its own
            values.
        varying: what else a user varies of the model, and what follows from it.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        n: int,
        threads: int,
        varies: tuple[str, ...] = (),
        varying: Varying | None = None,
    ) -> None:
        self.model = model
        self.n = n
        self.varying = varying
        self.varies = episode_fields(varies, varying)
        derived = () if varying is None else varying.derived
        self.state_fields = state_fields(model)
        self.batch = mujoco.batch.Batch(model, n, nthread=threads, persistent=_persists(model))
        _inherited.watch(self.batch)
        # Assets (terrain heights) are shared by all simulations of a batch, unless each has a
        # model of its own; then the engine holds all varying fields there.
        self._models: list[mujoco.MjModel] | None = None
        self.episode_fields: dict[str, np.ndarray] = {}
        if ASSET_FIELDS.intersection(self.varies):
            self._models = [_copy(model) for _ in range(n)]
            self.batch.set_models(self._models)
            for name in (*self.varies, *derived):
                self.episode_fields[name] = np.stack([get_field(m, name) for m in self._models])
        else:
            for name in (*self.varies, *derived):
                self.episode_fields[name] = self.batch.expand(name)
            self._flags = self.batch.expand("opt.disableflags")
        self._probe = None if varying is None else _copy(model)
        self._state = {name: self.batch.bind(name) for name in self.state_fields}
        self._sensordata = self.batch.bind("sensordata")
        self._sensordata.flags.writeable = True  # for restore(); the next call overwrites it
        self._bad = self.batch.warning[:, DIVERGED, 1]
        self.view = BatchedView(self.batch, model, self.episode_fields)

    def start(self, i: int, scratch: Single) -> None:
        """Copy a scratch simulation into simulation i; call `begin` when all are copied."""
        for name, rows in self._state.items():
            rows[i] = getattr(scratch.data, name)
        for name, values in self.episode_fields.items():
            values[i] = _held(scratch.model, name, values.shape[1:])
            if self._models is not None:
                set_field(self._models[i], name, values[i])

    def clear(self, ids: np.ndarray) -> None:
        """Forget the past of some simulations (warnings, warm starts) before `start`."""
        self.batch.reset(ids, stage=int(mujoco.mjtStage.mjSTAGE_NONE))

    def begin(self, ids: np.ndarray, *, actuation: bool = False) -> None:
        """Compute everything that follows from the states of some simulations."""
        if self._models is not None:
            self._forward_on_models(ids, actuation)
            return
        flags = self.model.opt.disableflags
        self._flags[ids] = flags if actuation else flags | ACTUATION_OFF
        with quiet():
            self.batch.forward(ids)
        self._flags[ids] = flags

    def _forward_on_models(self, ids: np.ndarray, actuation: bool) -> None:
        models = self._models
        assert models is not None
        flags = self.model.opt.disableflags
        for i in ids:
            models[i].opt.disableflags = flags if actuation else flags | ACTUATION_OFF
        self.batch.set_models(models)  # the batch reads what has been written only now
        with quiet():
            self.batch.forward(ids)
        if not actuation:
            for i in ids:
                models[i].opt.disableflags = flags
            self.batch.set_models(models)

    def step(
        self,
        control: np.ndarray,
        n: int,
        ids: np.ndarray | None = None,
        *,
        forces: bool = False,
    ) -> None:
        """Set the controls and advance all simulations, or some, by n physics steps.

        Args:
            control: (n_simulations, nu).
            n: number of steps.
            ids: of those that step; None for all.
            forces: whether forces and accelerations are to be current as well, see `Single.step`.
        """
        rows = self._state.get("ctrl")
        if rows is not None:
            if ids is None:
                rows[...] = control
            else:
                rows[ids] = control[ids]
        with quiet():
            self.batch.step(ids, nstep=n, stage=_ALL if forces else _VELOCITIES)

    def refresh(self, ids: np.ndarray) -> None:
        """Compute the forces and accelerations of the present states of some simulations."""
        with quiet():
            self.batch.forward(ids)

    def diverged(self) -> np.ndarray | None:
        """Which simulations the engine has reset by itself, (n,) bool; None if there are none."""
        return self._bad.any(axis=1) if np.count_nonzero(self._bad) else None

    def snapshot(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """Copies of all that the futures and current sensors of some simulations depend on."""
        state = {name: rows[ids] for name, rows in self._state.items()}
        state["sensordata"] = self._sensordata[ids]
        state.update({name: self.episode_fields[name][ids] for name in self.varies})
        return state

    def shown(self, ids: np.ndarray) -> dict[str, np.ndarray]:
        """What pictures of some simulations depend on: snapshots, and what follows from them."""
        state = self.snapshot(ids)
        derived = () if self.varying is None else self.varying.derived
        # Bounding volumes are not seen, and the model holds more of them than a batch does.
        fields = [name for name in derived if name != "bvh_aabb"]
        return {**state, **{name: self.episode_fields[name][ids] for name in fields}}

    def restore(self, state: dict[str, np.ndarray], ids: np.ndarray) -> None:
        """Write the entries of a snapshot, or some of them, and compute what follows from them."""
        kept = {name: rows[ids] for name, rows in self._state.items() if name not in state}
        self.clear(ids)  # and with it the warnings
        for name, value in {**kept, **state}.items():
            if name in self._state:
                self._state[name][ids] = value
            elif name in self.episode_fields:
                self.episode_fields[name][ids] = value
        if self.episode_fields:
            self._follow(ids)
        self.begin(ids, actuation=True)
        if "sensordata" in state:  # some sensors belong to the step before the state
            self._sensordata[ids] = state["sensordata"]

    def _follow(self, ids: np.ndarray) -> None:
        """Compute what follows from the model fields of some simulations, and hand them on."""
        for i in ids.tolist():
            if self.varying is not None and self._probe is not None:
                for name in self.varies:
                    values = self.episode_fields[name][i]
                    if values.ndim:
                        _held(self._probe, name, values.shape)[...] = values
                    else:
                        set_field(self._probe, name, values)
                self.varying.follow(self._probe)
                for name in self.varying.derived:
                    values = self.episode_fields[name]
                    values[i] = _held(self._probe, name, values.shape[1:])
            if self._models is not None:
                for name, values in self.episode_fields.items():
                    set_field(self._models[i], name, values[i])


def _persists(model: mujoco.MjModel) -> bool:
    """Whether each simulation should keep an MjData of its own, for the same numbers.

    A step then goes on from what the one before has computed, which RK4 cannot use: there, one
    MjData for each thread stays in the processor's cache.
    """
    sleeps = model.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    return bool(sleeps) or int(model.opt.integrator) != int(mujoco.mjtIntegrator.mjINT_RK4)


def _held(model: mujoco.MjModel, name: str, shape: tuple[int, ...]) -> Any:
    """A field as a batch holds it: bounding volumes are the bodies', which precede the meshes'."""
    value = get_field(model, name)
    return value[: shape[0]] if shape else value


def _copy(model: mujoco.MjModel) -> mujoco.MjModel:
    import copy

    return copy.copy(model)
