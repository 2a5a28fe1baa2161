"""A batch of simulations of one model on `mujoco.batch`."""

import copy
from collections.abc import Callable, Mapping
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim import engine
from mjgym.sim.batched_views import BatchedView, may_be_missing
from mjgym.sim.compiled import BatchStepper, CompiledStep, Generator, Outcome
from mjgym.sim.contact_filter import FILTERS
from mjgym.sim.lagging_batch import LaggingBatch
from mjgym.sim.noting_batch import NotingBatch
from mjgym.sim.scratches import Scratches
from mjgym.sim.simulation import Start
from mjgym.sim.single import Single, derived_fields, episode_fields, varied_fields
from mjgym.util.bounded import ShortageError
from mjgym.util.processes import free_memory

MIN_STRIPPED = 64  # from this many simulations on, geoms that only rendering needs are left out
TOUCHED = 100_000  # bytes of an MjData's arena that a small model touches
MAX_PERSISTENT_GEOMS = 500  # simulations with more geoms do not keep computed arrays

WithoutVisuals = Callable[[mujoco.MjModel], tuple[mujoco.MjModel, np.ndarray]]


class Batched:
    """n simulations; see `mjgym.sim.simulation.Simulation`.

    Args:
        threads: number of threads that step them.
        without_visuals: returns the model without geoms that only rendering needs, and the ids of
            the geoms it has, see `mjgym.task.visuals.compile_without_visuals`; None to step the
            model itself.
        apart: whether control steps use `step_compiled` alone, so that the engine's batch needs no
            MjData for each simulation.

    Other arguments are those of `Single`; each simulation has its own values of what varies.

    Raises:
        ValueError: quantities lag in a model with IPC enabled.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        n: int,
        threads: int,
        varies: tuple[str, ...] = (),
        varying: engine.Variation | None = None,
        without_visuals: WithoutVisuals | None = None,
        *,
        apart: bool = False,
        lagging: bool = False,
    ) -> None:
        if lagging and engine.latent_fields(model):
            raise ValueError("a batch whose derived quantities lag takes no model with IPC enabled")
        self._lagging = lagging
        self._off = 0 if lagging else engine.ACTUATION_OFF  # what starts are computed without
        self.model = model
        self.n = n
        self.varying = varying
        self.varies = episode_fields(varies, varying)
        self.varied = varied_fields(self.varies, varying)
        self.state_fields = engine.state_fields(model)
        # Starts are written into a scratch simulation, with a writable copy of the model.
        scratch = Single(
            copy.copy(model) if self.varies else model, varies, varying, lagging=lagging
        )
        scratch.restore_defaults()
        scratch.forward()
        self.sample = scratch.view
        # The user's variations are drawn for one episode after the other.
        self._scratches = Scratches(scratch, model, varies, threads if varying is None else 1)
        own_models = bool(engine.ASSET_FIELDS.intersection(self.varies))
        stands_by = apart and not own_models and _divides(model)
        persistent = not (stands_by or lagging) and _persists(model)
        kind = LaggingBatch if lagging else NotingBatch
        self.batch: NotingBatch = kind(model, n, threads, persistent=persistent, fills=stands_by)
        # The simulations of a batch share assets (terrain heights), unless each has its own model;
        # then the engine reads all varying fields from there.
        self._models: list[mujoco.MjModel] | None = None
        self.episode_fields: dict[str, np.ndarray] = {}
        if own_models:
            self._models = [copy.copy(model) for _ in range(n)]
            self.batch.set_models(self._models)
            for name in self.varied:
                self.episode_fields[name] = np.stack(
                    [engine.get_field(m, name) for m in self._models]
                )
        else:
            for name in self.varied:
                self.episode_fields[name] = self.batch.expand(name)
            self._defaults = {
                name: values[0].copy() for name, values in self.episode_fields.items()
            }
            self._flags = self.batch.expand("opt.disableflags")
        self._probe = None if varying is None else copy.copy(model)
        self._state = {name: self.batch.bind(name) for name in self.state_fields}
        self._latent = {name: self.batch.bind(name) for name in engine.latent_fields(model)}
        self.batch.bind("sensordata")
        self._late: tuple[str, ...] = ("sensordata",)
        self._bad = self.batch.warning[:, engine.DIVERGED, 1]
        self.view = BatchedView(self.batch, model, self.episode_fields)
        # A copy as the batch has it: the caller may write to the model.
        self._own_model = copy.copy(model)
        # Keep visual geoms if collision masks vary.
        self._without_visuals = (
            None
            if self.episode_fields.keys() & set(FILTERS)
            or any(name.startswith("tendon_") for name in self.episode_fields)
            else without_visuals
        )
        self._step: CompiledStep | None = None
        self._compiled: BatchStepper | None = None

    def forward(self, *, contacts: bool = True) -> None:
        off = self._off if contacts else self._off | engine.CONTACTS_OFF
        self._forward(np.arange(self.n), off=off)

    def keep_read(self) -> None:
        if self._lagging:
            self._late = derived_fields(self.sample._data, self.batch.outputs)

    def reset(
        self, start: Start, where: Array | None = None, generator: Generator | None = None
    ) -> None:
        ids = self._ids(where)
        self._clear(ids)
        left = ids
        if generator is not None and self._compiled is not None and self._compiled.starts:
            for name, values in self.episode_fields.items():
                values[ids] = self._defaults[name]
            self._compiled.begin(ids.tolist(), generator)
            fields = [self._state[x][ids] for x in engine.RESET_IF_HUGE if x in self._state]
            left = ids[~(abs(np.concatenate(fields, axis=1)) <= engine.HUGE).all(axis=1)]
        self._scratches.write(left.tolist(), start, self._copy_start)
        self._forward(ids, off=self._off)

    def write(self, fields: Mapping[str, Array], where: Array | None = None) -> None:
        rows: Any = slice(None) if where is None else where
        for name, value in fields.items():
            if name in self._state:
                self._state[name][rows] = value[rows]

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        ids = None if where is None else np.flatnonzero(where)
        if "ctrl" in self._state:
            moved: Any = slice(None) if ids is None else ids
            self._state["ctrl"][moved] = control[moved]
        self.batch.advance(ids, n, forces=forces)

    @property
    def compiles(self) -> bool:
        """True if simulations can be stepped one by one and their models differ only in arrays."""
        fields = (engine.get_field(self.model, name) for name in self.episode_fields)
        arrays = all(isinstance(x, np.ndarray) for x in fields)
        return _divides(self.model) and arrays

    def compile(self, step: CompiledStep) -> None:
        self._step = step

    def _open(self) -> BatchStepper:
        assert self._step is not None
        model, kept = self._stepped()
        self._compiled = self._step.batch(
            self._models or [model], kept, self.batch.state, self.batch.outputs,
            self.episode_fields, self._state, self.batch.nthread,
        )  # fmt: skip
        return self._compiled

    def step_compiled(self, action: Array, n: int, where: Array | None, target: int) -> Outcome:
        outputs = self.batch.outputs
        self._keep_watched()
        stepper = self._compiled or self._open()
        if stepper.noted < len(outputs):
            stepper.note(outputs)
        found = stepper.advance(self.view, action, where, n, target)
        if (bad := self.diverged()) is not None:  # in a state that was written
            bad = np.reshape(bad, (-1, *[1] * (action.ndim - 2)))
            diverged = bad if found.diverged is None else found.diverged | bad
            found = found._replace(diverged=diverged)
        return found

    def _keep_watched(self) -> None:
        """Step with all geoms and tendons from the time a hook reads one that only images need."""
        if self._without_visuals is not None and any(map(may_be_missing, self.batch.outputs)):
            self._without_visuals = None
            self._join()

    def _stepped(self) -> tuple[mujoco.MjModel, np.ndarray]:
        """The model to step apart from the batch, and the ids of its geoms."""
        if self._without_visuals is None or self._models or self.n < MIN_STRIPPED:
            return self._own_model, np.arange(self.model.ngeom)
        return self._without_visuals(self._own_model)

    def _join(self) -> None:
        if self._compiled is not None:
            self._compiled.close()
            self._compiled = None

    def update_forces(self, where: Array | None = None) -> None:
        ids = self._ids(where)
        if ids.size:
            with self.batch.giving_up():
                self.batch.forward(ids)

    def diverged(self) -> Array | None:
        return self._bad.any(axis=1) if np.count_nonzero(self._bad) else None

    def get_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        state = {name: x[rows].astype(engine.state_dtype(name)) for name, x in self._state.items()}
        state.update({name: values[rows] for name, values in self._latent.items()})
        state.update({name: self.batch.outputs[name][rows] for name in self._late})
        state.update({name: self.episode_fields[name][rows] for name in self.varies})
        return state

    def set_state(self, state: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        if self._latent:
            raise ValueError(
                "state: MuJoCo's batch keeps contact forces of a flex (flag ipc) to itself, so no"
                " state can be written to it; a single environment takes one"
            )
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
        for name in self._late:  # some sensors belong to the step before the state
            if name in state:  # the next call overwrites it
                self.batch.outputs[name][rows] = state[name]

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
        if self._compiled is not None:
            self._compiled.forget(ids)

    def _copy_start(self, scratch: Single, i: int) -> None:
        mujoco.mj_getState(scratch.model, scratch.data, self.batch.state[i], engine.INTEGRATION)
        for name, values in self.episode_fields.items():
            values[i] = engine.episode_field(scratch.model, name)
            if self._models is not None:
                engine.set_field(self._models[i], name, values[i])

    def _forward(self, ids: np.ndarray, *, off: int) -> None:
        """Compute everything that depends on some states, with the `off` bits disabled."""
        if self._models is not None:
            self._forward_on_models(ids, off)
            return
        flags = self.model.opt.disableflags
        self._flags[ids] = flags | off
        with engine.quiet():
            self.batch.forward(ids)
        self._flags[ids] = flags

    def _forward_on_models(self, ids: np.ndarray, off: int) -> None:
        models = self._models
        assert models is not None
        flags = self.model.opt.disableflags
        for i in ids:
            models[i].opt.disableflags = flags | off
        self.batch.set_models(models)  # the batch reads the models here
        with engine.quiet():
            self.batch.forward(ids)
        if off:
            for i in ids:
                models[i].opt.disableflags = flags
            self.batch.set_models(models)

    def _follow(self, ids: np.ndarray) -> None:
        for i in ids.tolist():
            if self.varying is not None and self._probe is not None:
                for name in self.varies:
                    engine.set_episode_field(self._probe, name, self.episode_fields[name][i])
                self.varying.follow(self._probe)
                for name in self.varying.derived:
                    values = self.episode_fields[name]
                    values[i] = engine.episode_field(self._probe, name)
            if self._models is not None:
                for name, values in self.episode_fields.items():
                    engine.set_field(self._models[i], name, values[i])


# Attributes of `Batched` that reference the batch.
_OF_THE_BATCH = ("batch", "episode_fields", "_models", "_flags", "_state", "_latent", "_bad")


def require_room(argument: str, model: mujoco.MjModel, n: int, *, here: bool = True) -> None:
    """Refuse n simulations that would not fit in memory, before any is made.

    Args:
        here: they are a batch of this engine's; otherwise worlds of a device, which take this
            process their states at least.

    Raises:
        ShortageError: they need more than is free; the message begins with the argument.
    """
    data = mujoco.MjData(model)
    used = reserved = 16 * mujoco.mj_stateSize(model, engine.INTEGRATION)
    if here and _persists(model):
        used += data.nbuffer + TOUCHED
        reserved += data.nbuffer + data.narena
    for need, free in zip((n * used, n * reserved), free_memory(), strict=True):
        if need > free:
            raise ShortageError(
                f"{argument}: {n} simulations need {need / 2**30:.1f} GiB, and"
                f" {max(0.0, free) / 2**30:.1f} GiB are free"
            )


def _divides(model: mujoco.MjModel) -> bool:
    return not engine.latent_fields(model) and not model.nplugin


def _persists(model: mujoco.MjModel) -> bool:
    """Tell whether each simulation should keep its MjData; results are the same.

    A step then continues from the one before, which RK4 cannot use: there, one MjData per thread
    stays in the CPU cache. With very many geoms, each simulation would keep the memory of its most
    contacts for no gain.
    """
    if engine.latent_fields(model):
        return True
    runge_kutta = int(model.opt.integrator) == int(mujoco.mjtIntegrator.mjINT_RK4)
    return not runge_kutta and int(model.ngeom) <= MAX_PERSISTENT_GEOMS
