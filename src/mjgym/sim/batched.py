"""A batch of simulations of one model on `mujoco.batch`."""

import concurrent.futures
import contextvars
import copy
import functools
import os
import weakref
from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.compiled import BatchLawStepper, CompiledLaw
from mjgym.sim.contact_filter import FILTERS
from mjgym.sim.engine import (
    ACTUATION_OFF,
    ASSET_FIELDS,
    CONTACTS_OFF,
    DIVERGED,
    Variation,
    episode_field,
    get_field,
    quiet,
    set_field,
    state_fields,
)
from mjgym.sim.fields import KINDS
from mjgym.sim.scratches import Scratches
from mjgym.sim.shards import NotingBatch, Shard, may_be_missing, shares
from mjgym.sim.simulation import Start
from mjgym.sim.single import Single, episode_fields
from mjgym.sim.views import Named, View
from mjgym.util.suggestions import did_you_mean

MIN_SHARDED = 64  # from this many simulations on, shards in threads are faster than one batch
MAX_SHARDS = 2  # more would wait for the interpreter lock
MAX_PERSISTENT_GEOMS = 500  # simulations with more geoms do not keep computed arrays


WithoutVisuals = Callable[[mujoco.MjModel], tuple[mujoco.MjModel, np.ndarray]]


class _Inherited:
    """Keeps batches of the parent process alive in a forked child.

    Their threads do not exist in the child, and the engine would wait for them forever when it
    frees a batch there, even by garbage collection.
    """

    def __init__(self) -> None:
        self._alive: weakref.WeakSet[Any] = weakref.WeakSet()
        self._kept: list[Any] = []
        self._watching = False

    def watch(self, batch: mujoco.batch.Batch) -> None:
        """Register the owner of a batch's threads and arrays; arrays outlive the batch itself."""
        owner = batch.state
        while isinstance(owner, np.ndarray):
            owner = owner.base
        self._alive.add(owner)
        if not self._watching and hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=lambda: self._kept.extend(self._alive))
            self._watching = True


_inherited = _Inherited()


class BatchedView(View):
    """A view of a batch: the names of one simulation, with a leading axis."""

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
        hint = did_you_mean(name, [*mujoco.batch.DATA_FIELDS, *dir(self._model)])
        raise AttributeError(
            f"neither MjData nor MjModel has a field {name!r} that a batch offers{hint}"
        )

    def _element(self, kind: str, name: str) -> Named:
        named = getattr(self._batch, kind)(name)
        element = getattr(self._model, kind)(name)

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
        batch: batch of the shard.
        model: model of the whole.
        episode_fields: per-simulation fields of the shard.
        whole: view of the whole.
        rows: the shard's range of simulations.
        complete: whether the shard has all geoms of the whole.
    """

    def __init__(
        self,
        batch: mujoco.batch.Batch,
        model: mujoco.MjModel,
        episode_fields: dict[str, Array],
        whole: View,
        rows: slice,
        *,
        complete: bool,
    ) -> None:
        super().__init__(batch, model, episode_fields)
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


class Batched:
    """n simulations; see `mjgym.sim.simulation.Simulation`.

    Args:
        model: the compiled model.
        n: number of simulations.
        threads: number of threads that step them.
        varies: names of the model fields that belong to an episode; each simulation has its own
            values.
        varying: the user's variations of the model.
        without_visuals: returns the model without geoms that only rendering needs, and the ids of
            the geoms it has, see `mjgym.task.visuals.compile_without_visuals`; None to step the
            model itself.
        apart: whether control steps use `for_each_shard` or `step_under` alone, which step separate
            simulations in large batches.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        n: int,
        threads: int,
        varies: tuple[str, ...] = (),
        varying: Variation | None = None,
        without_visuals: WithoutVisuals | None = None,
        *,
        apart: bool = False,
    ) -> None:
        self.model = model
        self.n = n
        self.varying = varying
        self.varies = episode_fields(varies, varying)
        derived = () if varying is None else varying.derived
        self.state_fields = state_fields(model)
        # Starts are written into a scratch simulation, with a writable copy of the model.
        scratch = Single(copy.copy(model) if self.varies else model, varies, varying)
        scratch.restore_defaults()
        scratch.forward()
        self.sample = scratch.view
        # The user's variations are drawn for one episode after the other.
        self._scratches = Scratches(scratch, model, varies, threads if varying is None else 1)
        # If separate simulations are stepped, these need no MjData each: half of the memory.
        own_models = bool(ASSET_FIELDS.intersection(self.varies))
        stands_by = apart and n >= MIN_SHARDED and not own_models and _divides(model)
        persistent = not stands_by and _persists(model)
        self.batch = NotingBatch(model, n, threads, persistent=persistent, fills=stands_by)
        _inherited.watch(self.batch)
        # The simulations of a batch share assets (terrain heights), unless each has its own model;
        # then the engine reads all varying fields from there.
        self._models: list[mujoco.MjModel] | None = None
        self.episode_fields: dict[str, np.ndarray] = {}
        if own_models:
            self._models = [copy.copy(model) for _ in range(n)]
            self.batch.set_models(self._models)
            for name in (*self.varies, *derived):
                self.episode_fields[name] = np.stack([get_field(m, name) for m in self._models])
        else:
            for name in (*self.varies, *derived):
                self.episode_fields[name] = self.batch.expand(name)
            self._flags = self.batch.expand("opt.disableflags")
        self._probe = None if varying is None else copy.copy(model)
        self._state = {name: self.batch.bind(name) for name in self.state_fields}
        self._sensordata = self.batch.bind("sensordata")
        self._sensordata.flags.writeable = True  # for set_state; the next call overwrites it
        self._bad = self.batch.warning[:, DIVERGED, 1]
        self.view = BatchedView(self.batch, model, self.episode_fields)
        # A copy as the batch has it: the caller may write to the model.
        self._own_model = copy.copy(model) if n >= MIN_SHARDED else model
        # Keep visual geoms if collision masks vary.
        self._without_visuals = (
            None
            if self.episode_fields.keys() & set(FILTERS)
            or any(name.startswith("tendon_") for name in self.episode_fields)
            else without_visuals
        )
        self._shards: list[Shard] = []
        self._law: CompiledLaw | None = None
        self._compiled: BatchLawStepper | None = None
        self._other: concurrent.futures.ThreadPoolExecutor | None = None

    def forward(self, *, contacts: bool = True) -> None:
        """Compute everything that depends on the states, with the actuators switched off."""
        off = ACTUATION_OFF if contacts else ACTUATION_OFF | CONTACTS_OFF
        self._forward(np.arange(self.n), off=off)

    def reset(self, start: Start, where: Array | None = None) -> None:
        """Begin an episode in some simulations and compute everything that depends on its start."""
        ids = self._ids(where)
        self._clear(ids)
        self._scratches.write(ids.tolist(), start, self._copy_start)
        self._forward(ids)

    def write(self, fields: Mapping[str, Array], where: Array | None = None) -> None:
        """Overwrite fields of MjData by name; derived fields follow with the next step."""
        rows: Any = slice(None) if where is None else where
        for name, value in fields.items():
            getattr(self.view, name)[rows] = value[rows]

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        """Set the controls and advance by n physics steps."""
        rows = self._state.get("ctrl")
        if where is None:
            if rows is not None:
                rows[...] = control
            self.batch.advance(None, n, forces=forces)
            return
        ids = np.flatnonzero(where)
        if rows is not None:
            rows[ids] = control[ids]
        self.batch.advance(ids, n, forces=forces)

    @property
    def runs_laws(self) -> bool:
        """Whether models differ in arrays alone, and physics steps have halves (RK4's have not)."""
        arrays = all(
            isinstance(get_field(self.model, name), np.ndarray) for name in self.episode_fields
        )
        runge_kutta = int(self.model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_RK4)
        return self._divides() and arrays and not runge_kutta

    def run_under(self, law: CompiledLaw) -> None:
        """Set the law of `step_under`."""
        self._law = law

    def step_under(
        self,
        control: Array,
        memory: np.ndarray,
        n: int,
        where: Array | None = None,
        *,
        forces: bool = False,
    ) -> None:
        """`step` with a compiled law before and after each physics step."""
        outputs = self.batch.outputs
        self._keep_watched()
        if self._compiled is None:
            assert self._law is not None
            model, kept = self._stepped()
            self._compiled = self._law.batch(
                model, kept, self.batch.state, outputs, self.episode_fields, self.batch.nthread
            )
        elif self._compiled.noted < len(outputs):
            self._compiled.note(outputs)
        self._compiled.advance(self._ids(where), control, memory, n, forces=forces)

    def for_each_shard(
        self, work: Callable[["Batched | Shard", slice | EllipsisType], None]
    ) -> None:
        """Apply a function that steps repeatedly, to parallel shards if simulations are many."""
        if self.n < MIN_SHARDED or not self._divides():
            work(self, ...)
            return
        self._keep_watched()
        if not self._shards:
            self._divide()
        for shard in self._shards:
            shard.bind()
        first, *others = self._shards
        running = []
        for shard in others:
            assert self._other is not None
            context = contextvars.copy_context()  # e.g. NumPy's error state
            running.append(self._other.submit(context.run, shard.run, work))
        try:
            first.run(work)
        finally:
            concurrent.futures.wait(running)
        for each in running:
            each.result()

    def _divides(self) -> bool:
        """Whether simulations can continue from copied states alone."""
        return self._models is None and _divides(self.model)

    def _keep_watched(self) -> None:
        """Step the whole model once a hook has read geom or tendon positions."""
        if self._without_visuals is not None and any(map(may_be_missing, self.batch.outputs)):
            self._without_visuals = None
            self._join()

    def _stepped(self) -> tuple[mujoco.MjModel, np.ndarray]:
        """The model to step apart from the batch, and the ids of its geoms."""
        if self._without_visuals is None or self.n < MIN_SHARDED:
            return self._own_model, np.arange(self.model.ngeom)
        return self._without_visuals(self._own_model)

    def _divide(self) -> None:
        """Create the shards: one per thread, or two with several threads each."""
        model, kept = self._stepped()
        complete = kept.size == self.model.ngeom and model.ntendon == self.model.ntendon
        if complete:
            self._without_visuals = None
        threads = self.batch.nthread
        count = min(MAX_SHARDS, threads)
        split = [(threads + i) // count for i in range(count)]
        for workers, rows in zip(split, shares(self.n, split), strict=True):
            batch = NotingBatch(model, rows.stop - rows.start, workers, persistent=_persists(model))
            _inherited.watch(batch)
            expanded = {name: batch.expand(name) for name in self.episode_fields}
            view = ShardView(batch, self.model, expanded, self.view, rows, complete=complete)
            self._shards.append(
                Shard(self.batch, batch, view, rows, self.episode_fields, expanded, kept)
            )
        if count > 1:
            self._other = concurrent.futures.ThreadPoolExecutor(count - 1, "mjgym-shard")

    def _join(self) -> None:
        if self._compiled is not None:
            self._compiled.close()
            self._compiled = None
        for shard in self._shards:
            shard.view.release()
        self._shards.clear()
        if self._other is not None:
            self._other.shutdown()
            self._other = None

    def update_forces(self, where: Array | None = None) -> None:
        """Compute forces and accelerations of the current states."""
        ids = self._ids(where)
        if ids.size:
            with quiet():
                self.batch.forward(ids)

    def diverged(self) -> Array | None:
        """A mask of the simulations that the engine has reset, (n,); None if there are none."""
        bad = [self._bad]
        if self._compiled is not None:
            bad.append(self._compiled.diverged[:, None])
        if self._shards:
            bad.append(
                np.concatenate([shard.batch.warning[:, DIVERGED, 1] for shard in self._shards])
            )
        masks = [x.any(axis=1) for x in bad if np.count_nonzero(x)]
        return functools.reduce(np.logical_or, masks) if masks else None

    def get_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Copies of everything that the simulations' futures and current sensors depend on."""
        state = {name: values[rows] for name, values in self._state.items()}
        state["sensordata"] = self._sensordata[rows]
        state.update({name: self.episode_fields[name][rows] for name in self.varies})
        return state

    def set_state(self, state: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        """Write entries of `get_state`, and compute everything that depends on them."""
        others = {name: values[rows] for name, values in self._state.items() if name not in state}
        self._clear(rows)
        for name, value in {**others, **state}.items():
            if name in self._state:
                self._state[name][rows] = value
            elif name in self.episode_fields:
                self.episode_fields[name][rows] = value
        if self.episode_fields:
            self._follow(rows)
        self._forward(rows, off=0)
        if "sensordata" in state:  # some sensors belong to the step before the state
            self._sensordata[rows] = state["sensordata"]

    def rendered_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """States of some simulations, and the model fields that their images depend on."""
        derived = () if self.varying is None else self.varying.derived
        state = self.get_state(rows)
        return {**state, **{name: self.episode_fields[name][rows] for name in derived}}

    def close(self) -> None:
        """Release the engine's batch and its threads; the simulations cannot be used afterwards.

        The engine keeps a batch as long as one of its arrays is referenced.
        """
        self.view.release()
        self._join()
        self._scratches.close()
        for name in _OF_THE_BATCH:
            self.__dict__.pop(name, None)

    def _ids(self, where: Array | None) -> np.ndarray:
        return np.arange(self.n) if where is None else np.flatnonzero(where)

    def _clear(self, ids: np.ndarray) -> None:
        self.batch.forget(ids)
        for shard in self._shards:
            shard.forget(ids)
        if self._compiled is not None:
            self._compiled.forget(ids)

    def _copy_start(self, scratch: Single, i: int) -> None:
        for name, rows in self._state.items():
            rows[i] = getattr(scratch.data, name)
        for name, values in self.episode_fields.items():
            values[i] = episode_field(scratch.model, name)
            if self._models is not None:
                set_field(self._models[i], name, values[i])

    def _forward(self, ids: np.ndarray, *, off: int = ACTUATION_OFF) -> None:
        """Compute everything that depends on some states, with the `off` bits disabled."""
        if self._models is not None:
            self._forward_on_models(ids, off)
            return
        flags = self.model.opt.disableflags
        self._flags[ids] = flags | off
        with quiet():
            self.batch.forward(ids)
        self._flags[ids] = flags

    def _forward_on_models(self, ids: np.ndarray, off: int) -> None:
        models = self._models
        assert models is not None
        flags = self.model.opt.disableflags
        for i in ids:
            models[i].opt.disableflags = flags | off
        self.batch.set_models(models)  # the batch reads the models here
        with quiet():
            self.batch.forward(ids)
        if off:
            for i in ids:
                models[i].opt.disableflags = flags
            self.batch.set_models(models)

    def _follow(self, ids: np.ndarray) -> None:
        """Recompute the fields derived from some simulations' model fields."""
        for i in ids.tolist():
            if self.varying is not None and self._probe is not None:
                for name in self.varies:
                    values = self.episode_fields[name][i]
                    if values.ndim:
                        episode_field(self._probe, name)[...] = values
                    else:
                        set_field(self._probe, name, values)
                self.varying.follow(self._probe)
                for name in self.varying.derived:
                    values = self.episode_fields[name]
                    values[i] = episode_field(self._probe, name)
            if self._models is not None:
                for name, values in self.episode_fields.items():
                    set_field(self._models[i], name, values[i])


# Attributes of `Batched` that reference the batch.
_OF_THE_BATCH = (
    *("batch", "episode_fields", "_models", "_flags", "_state", "_sensordata", "_bad"),
    "_shards",
)


def _divides(model: mujoco.MjModel) -> bool:
    """Whether a simulation's state is all that the engine keeps of it."""
    sleeps = model.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_SLEEP)
    return not sleeps and not model.nplugin


def _persists(model: mujoco.MjModel) -> bool:
    """Whether each simulation should keep its MjData; results are the same.

    A step then continues from the one before, which RK4 cannot use: there, one MjData per thread
    stays in the CPU cache. With very many geoms, each simulation would keep the memory of its most
    contacts for no gain.
    """
    if model.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_SLEEP):
        return True
    runge_kutta = int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_RK4)
    return not runge_kutta and int(model.ngeom) <= MAX_PERSISTENT_GEOMS
