"""A batch of simulations of one model on `mujoco.batch`."""

import copy
import functools
from collections.abc import Callable, Mapping
from types import EllipsisType
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.batched_views import BatchedView, may_be_missing
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
from mjgym.sim.noting_batch import NotingBatch
from mjgym.sim.scratches import Scratches
from mjgym.sim.shards import Shard, Shards
from mjgym.sim.simulation import Start
from mjgym.sim.single import Single, episode_fields, varied_fields

MIN_SHARDED = 64  # from this many simulations on, shards in threads are faster than one batch
MAX_PERSISTENT_GEOMS = 500  # simulations with more geoms do not keep computed arrays


WithoutVisuals = Callable[[mujoco.MjModel], tuple[mujoco.MjModel, np.ndarray]]


class Batched:
    """n simulations; see `mjgym.sim.simulation.Simulation`.

    Args:
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
        self.varied = varied_fields(self.varies, varying)
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
        # The simulations of a batch share assets (terrain heights), unless each has its own model;
        # then the engine reads all varying fields from there.
        self._models: list[mujoco.MjModel] | None = None
        self.episode_fields: dict[str, np.ndarray] = {}
        if own_models:
            self._models = [copy.copy(model) for _ in range(n)]
            self.batch.set_models(self._models)
            for name in self.varied:
                self.episode_fields[name] = np.stack([get_field(m, name) for m in self._models])
        else:
            for name in self.varied:
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
        self._shards: Shards | None = None
        self._law: CompiledLaw | None = None
        self._compiled: BatchLawStepper | None = None

    def forward(self, *, contacts: bool = True) -> None:
        off = ACTUATION_OFF if contacts else ACTUATION_OFF | CONTACTS_OFF
        self._forward(np.arange(self.n), off=off)

    def reset(self, start: Start, where: Array | None = None) -> None:
        ids = self._ids(where)
        self._clear(ids)
        self._scratches.write(ids.tolist(), start, self._copy_start)
        self._forward(ids)

    def write(self, fields: Mapping[str, Array], where: Array | None = None) -> None:
        rows: Any = slice(None) if where is None else where
        for name, value in fields.items():
            getattr(self.view, name)[rows] = value[rows]

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        ids = None if where is None else np.flatnonzero(where)
        if "ctrl" in self._state:
            moved: Any = slice(None) if ids is None else ids
            self._state["ctrl"][moved] = control[moved]
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
        if self.n < MIN_SHARDED or not self._divides():
            work(self, ...)
            return
        self._keep_watched()
        if self._shards is None:
            model, kept = self._stepped()
            persistent = _persists(model)
            self._shards = Shards(
                self.batch, self.view, self.episode_fields, model, kept, persistent=persistent
            )
            if self._shards.complete:
                self._without_visuals = None
        self._shards.run(work)

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

    def _join(self) -> None:
        if self._compiled is not None:
            self._compiled.close()
            self._compiled = None
        if self._shards is not None:
            self._shards.close()
            self._shards = None

    def update_forces(self, where: Array | None = None) -> None:
        ids = self._ids(where)
        if ids.size:
            with quiet():
                self.batch.forward(ids)

    def diverged(self) -> Array | None:
        bad = [self._bad]
        if self._compiled is not None:
            bad.append(self._compiled.diverged[:, None])
        if self._shards is not None:
            bad.append(self._shards.warnings()[:, DIVERGED, 1])
        masks = [x.any(axis=1) for x in bad if np.count_nonzero(x)]
        return functools.reduce(np.logical_or, masks) if masks else None

    def get_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        state = {name: values[rows] for name, values in self._state.items()}
        state["sensordata"] = self._sensordata[rows]
        state.update({name: self.episode_fields[name][rows] for name in self.varies})
        return state

    def set_state(self, state: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
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
        return {**self.get_state(rows), **{k: x[rows] for k, x in self.episode_fields.items()}}

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
        if self._shards is not None:
            self._shards.forget(ids)
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
_OF_THE_BATCH = ("batch", "episode_fields", "_models", "_flags", "_state", "_sensordata", "_bad")


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
