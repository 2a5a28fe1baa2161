"""A batch of simulations of one model on MuJoCo Warp."""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import torch
import warp

from mjgym.arrays import Array
from mjgym.sim.compiled import CompiledStep, Generator, Outcome
from mjgym.sim.engine import (
    ACTUATION_OFF,
    HUGE,
    Variation,
    episode_field,
    set_episode_field,
    state_fields,
)
from mjgym.sim.fields import rows
from mjgym.sim.simulation import Start
from mjgym.sim.single import Single, SingleView, derived_fields, episode_fields, varied_fields
from mjgym.sim.warp.buffers import Buffers
from mjgym.sim.warp.device import Device
from mjgym.sim.warp.graphs import Graphed
from mjgym.sim.warp.starts import Starts
from mjgym.sim.warp.world_model import WorldModel
from mjgym.sim.warp.world_pictures import Pictures
from mjgym.sim.warp.world_view import WorldView, copies

# Fields that the engine computes only with forces: a step leaves those of its start.
_WITH_FORCES = (
    "actuator_force",
    "act_dot",
    "qfrc_actuator",
    "qfrc_smooth",
    "qfrc_constraint",
    "qacc",
    "qacc_smooth",
    "cacc",
    "cfrc_int",
    "cfrc_ext",
    "sensordata",
)
# Fields that place static geoms; the engine reads them when worlds are created.
_PLACES = frozenset({"geom_pos", "geom_quat", "body_pos", "body_quat"})
# Fields that images on the device read from the shared model.
_UNSEEN = ("geom_rgba", "geom_matid", "mat_", "light_", "cam_fovy", "hfield_", "mesh_")
_WHERE_STILL = ("geom_xpos", "geom_xmat")
_OVERFLOWS = mujoco_warp.OverflowType
_NONE = np.zeros(0, dtype=np.int64)


class Worlds:
    """n simulations; see `mjgym.sim.simulation.Simulation`.

    The engine steps all worlds at once: worlds that must not step are restored afterwards. Numbers
    are float32.

    Args:
        device: device of Warp and torch; all methods are called within `device.use()`.
        starts: draws the starts of episodes.
        deterministic: whether contacts, constraints and sums are in the same order in every run.

    Other arguments are those of `Single`; each simulation has its own values of what varies.

    Raises:
        NotImplementedError: the engine lacks something; the message names it.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        n: int,
        device: Device,
        buffers: Buffers,
        starts: Starts,
        varies: tuple[str, ...] = (),
        varying: Variation | None = None,
        *,
        deterministic: bool = False,
        lagging: bool = False,
    ) -> None:
        self._lagging = lagging
        self._late: tuple[str, ...] = ("sensordata",)
        self.model = model
        self.n = n
        self.device = device
        self.buffers = buffers
        self.starts = starts
        self.varying = varying
        self.varies = episode_fields(varies, varying)
        self.varied = varied_fields(self.varies, varying)
        self.state_fields = state_fields(model)
        # Starts are written into a simulation on the CPU, with a writable copy of the model.
        self._scratch = self.scratch(model, varies, varying)
        self._scratch.forward()
        self.sample: SingleView = self._scratch.view
        self._fields = WorldModel(model, n, self.varied, device.torch)
        self._engine = self._fields.engine
        self._engine.opt.graph_conditional = device.loops
        if deterministic:
            self._engine.opt.deterministic = mujoco_warp.DeterminismType.ALL
        self._worlds = mujoco_warp.make_data(
            model, nworld=n, nconmax=buffers.nconmax, njmax=buffers.njmax
        )
        self.view = WorldView(model, self._worlds, self._fields, self.sample)
        self._still = _still_geoms(model) if _PLACES.intersection(self.varied) else _NONE
        self._state = {name: getattr(self.view, name) for name in self.state_fields}
        self._forces = {
            name: value for name in _WITH_FORCES if (value := getattr(self.view, name)).numel()
        }
        defaults = mujoco.MjData(model)
        self._defaults = {
            name: torch.as_tensor(np.array(getattr(defaults, name)), device=device.torch).to(
                values.dtype
            )
            for name, values in self._state.items()
        }
        late = np.flatnonzero(model.sensor_needstage == mujoco.mjtStage.mjSTAGE_ACC)
        self._late_sensors = self._places(rows(model, "nsensordata", late))
        self._splits = model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4
        self._behind = True  # the states have changed since positions and velocities were computed
        self._bad = torch.zeros(n, dtype=torch.bool, device=device.torch)
        self._graphs: dict[tuple[Any, ...], Any] = {}
        self._restart: Callable[[torch.Tensor | None], None] = self._restart_diverged
        if device.is_cuda:
            self._restart = Graphed(self._restart_diverged, device)

    @staticmethod
    def scratch(
        model: mujoco.MjModel, varies: tuple[str, ...], varying: Variation | None
    ) -> Single:
        """A simulation on the CPU for writing starts, at the model's defaults."""
        scratch = Single(
            copy.copy(model) if episode_fields(varies, varying) else model, varies, varying
        )
        scratch.restore_defaults()
        return scratch

    # Calls of the engine.

    def _run(self, name: str, *arguments: Any) -> None:
        """Call a method that only launches kernels, as a graph captured at its first call.

        Python then launches one graph instead of hundreds of kernels: on a CPU a step of a few
        worlds takes a tenth of the time.
        """
        act: Callable[..., None] = getattr(self, name)
        if not self.device.captures:
            act(*arguments)
            return
        key = (name, *arguments)
        if key not in self._graphs:
            act(*arguments)  # compiles kernels, which a capture cannot
            with self.device.recording(), warp.ScopedCapture(self.device.warp) as capture:
                act(*arguments)
            self._graphs[key] = capture.graph
            return  # capturing computes nothing, the call before it did
        warp.capture_launch(self._graphs[key])

    def _advance(self, n: int, halfway: bool) -> None:
        """Make n physics steps; `halfway` if positions and velocities of the first are computed."""
        if halfway:
            mujoco_warp.step2(self._engine, self._worlds)
        for _ in range(n - 1 if halfway else n):
            mujoco_warp.step(self._engine, self._worlds)

    def _advance_lagging(self, n: int) -> None:
        for _ in range(n):
            mujoco_warp.step(self._engine, self._worlds)
        mujoco_warp.rne_postconstraint(self._engine, self._worlds)

    def _follow_states(self) -> None:
        mujoco_warp.step1(self._engine, self._worlds)

    def _compute(self, actuation: bool) -> None:
        flags = self._engine.opt.disableflags
        if not actuation:
            self._engine.opt.disableflags = flags | ACTUATION_OFF
        try:
            mujoco_warp.forward(self._engine, self._worlds)
        finally:
            self._engine.opt.disableflags = flags

    @contextmanager
    def _only(self, where: torch.Tensor | None) -> Iterator[None]:
        """A context that restores the worlds outside a mask at the end."""
        if where is None:
            yield
            return
        changing = {**self._state, **self._forces}
        if self._lagging:
            changing.update({name: getattr(self.view, name) for name in self._late})
        before = copies(changing)
        yield
        for name, values in changing.items():
            values.copy_(torch.where(_spread(where, values), values, before[name]))

    # The protocol.

    def forward(self, *, contacts: bool = True) -> None:  # their memory is allocated anyway
        self._run("_compute", self._lagging)

    def keep_read(self) -> None:
        if self._lagging:
            self._late = derived_fields(self.sample._data, self.sample.read)

    def reset(
        self, start: Start, where: Array | None = None, generator: Generator | None = None
    ) -> None:
        ids = self._ids(where)
        if not ids.size:
            return
        numbers = _stacked(self.starts.take(ids.tolist(), start, self._copy_start))
        data = {name: numbers.pop(name) for name in self._state}
        self._write_rows(data, numbers, ids)
        if self._lagging:
            for values in self._forces.values():  # some are computed by steps alone
                values[self._places(ids)] = 0.0
        self._forward(ids, actuation=self._lagging)

    def write(self, fields: Mapping[str, Array], where: Array | None = None) -> None:
        for name, value in fields.items():
            values = getattr(self.view, name)
            mask = torch.ones_like(self._bad) if where is None else where
            values.copy_(torch.where(_spread(mask, values), value, values))
        self._behind = True

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        with self._only(where):
            if "ctrl" in self._state:
                self._state["ctrl"].copy_(control)
            if self._lagging:
                self._run("_advance_lagging", n)
            else:
                self._run("_advance", n, self._splits and not self._behind)
            self._restart(where)
        if not self._lagging:
            self._follow()
        if forces:
            self.update_forces(where)

    def _follow(self) -> None:
        late = self._forces["sensordata"].clone() if self._late_sensors.numel() else None
        self._run("_follow_states")
        if late is not None:  # force sensors keep the readings of the last physics step
            places = self._late_sensors
            self._forces["sensordata"][:, places] = late[:, places]
        self._behind = False

    compiles = False  # compiled steps run on the CPU

    def compile(self, step: CompiledStep) -> None:
        """Unsupported, see `compiles`."""
        raise NotImplementedError("MuJoCo Warp takes no compiled step")

    def step_compiled(self, action: Array, n: int, where: Array | None, target: int) -> Outcome:
        """Unsupported, see `compiles`."""
        raise NotImplementedError("MuJoCo Warp takes no compiled step")

    def _restart_diverged(self, where: torch.Tensor | None) -> None:
        bad = ~_bounded(self._state["qpos"])
        for values in (self._state.get("qvel"), self._forces.get("qacc")):
            if values is not None:
                bad |= ~_bounded(values)
        if where is not None:
            bad &= where
        self._bad |= bad
        for name, values in self._state.items():
            values.copy_(torch.where(_spread(bad, values), self._defaults[name], values))
        for values in self._forces.values():
            values.masked_fill_(_spread(bad, values), 0.0)

    def update_forces(self, where: Array | None = None) -> None:
        with self._only(where):
            self._run("_compute", True)

    def diverged(self) -> torch.Tensor:
        return self._bad.clone()

    def get_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        places = self._places(rows)
        data = self.sample._data
        state = {
            name: self.view.to_numpy(values[places]).astype(np.asarray(getattr(data, name)).dtype)
            for name, values in self._state.items()
        }
        for name in self._late:
            state[name] = self.view.to_numpy(getattr(self.view, name)[places]).astype(float)
        state.update(self._read_fields(self.varies, places))
        return state

    def set_state(self, state: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        fields = {name: value for name, value in state.items() if name in self.varies}
        if fields:
            places = self._places(rows)
            fields = self._followed({**self._read_fields(self.varies, places), **fields})
        data = {name: value for name, value in state.items() if name in self._state}
        self._write_rows(data, fields, rows)
        self._forward(rows, actuation=True)
        for name in self._late:  # some sensors belong to the step before the state
            if name in state:
                values = getattr(self.view, name)
                values[self._places(rows)] = self._tensor(state[name], values.dtype)

    def rendered_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        derived = self.varied[len(self.varies) :]
        return {**self.get_state(rows), **self._read_fields(derived, self._places(rows))}

    def pictures(self, scene: mujoco.MjModel, *, shadows: bool) -> Pictures:
        """Cameras of the worlds on the device, for the model with its textures."""
        unseen = [name for name in self.varied if name.startswith(_UNSEEN)]
        if unseen:
            raise NotImplementedError(
                f"pictures on the device show {', '.join(unseen)} alike in all worlds, but episodes"
                ' vary it; backend="mujoco" draws it'
            )
        return Pictures(scene, self._engine, self._worlds, shadows=shadows)

    def overflow(self) -> str:
        """A phrase that names the buffers that were too small; empty if none was.

        Waits for the device.
        """
        met = int(np.bitwise_or.reduce(self._worlds.overflow.numpy()))
        size, room = self.buffers, []
        if met & (_OVERFLOWS.NEFC | _OVERFLOWS.NJMAX_NNZ):
            room.append(f"constraints of a world: njmax={size.njmax}")
        if met & (_OVERFLOWS.BROADPHASE | _OVERFLOWS.NARROWPHASE | _OVERFLOWS.CCD):
            room.append(f"contacts: nconmax={size.nconmax} per world")
        return " and ".join(room)

    def nbytes(self) -> int:
        """Bytes of the arrays that hold the worlds, without temporary memory of a step."""
        held = [self._worlds, self._worlds.contact, self._worlds.efc]
        arrays = [value for part in held for value in vars(part).values()]
        return sum(a.capacity for a in arrays if isinstance(a, warp.array))

    def close(self) -> None:
        """Release the worlds, which cannot be used afterwards."""
        self.starts.close()
        self.view.release()
        for name in (
            "_worlds",
            "_engine",
            "_fields",
            "_state",
            "_forces",
            "_graphs",
            "_bad",
            "_restart",
        ):
            self.__dict__.pop(name, None)

    # Transfers between CPU and device.

    def _ids(self, where: Array | None) -> np.ndarray:
        return np.arange(self.n) if where is None else np.flatnonzero(self.view.to_numpy(where))

    def _places(self, rows: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(rows, device=self.device.torch, dtype=torch.int64)

    def _tensor(self, value: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
        return torch.as_tensor(np.asarray(value), device=self.device.torch).to(dtype)

    def _read_fields(self, names: tuple[str, ...], places: torch.Tensor) -> dict[str, np.ndarray]:
        fields = {}
        for name in names:
            values = self._fields.field(name)
            assert values is not None
            dtype = np.asarray(episode_field(self.model, name)).dtype
            fields[name] = self.view.to_numpy(values[places]).astype(dtype)
        return fields

    def _copy_start(self, scratch: Single) -> dict[str, np.ndarray]:
        state = {name: np.array(getattr(scratch.data, name)) for name in self._state}
        return {**state, **self._copy_fields(scratch)}

    def _copy_fields(self, scratch: Single) -> dict[str, np.ndarray]:
        """Copies of the fields that episodes write, and of the resulting poses of static geoms."""
        names = self.varied
        fields = {name: np.array(episode_field(scratch.model, name)) for name in names}
        if self._still.size:
            scratch.view.kinematics()
            for name in _WHERE_STILL:
                fields[name] = getattr(scratch.data, name)[self._still]
        return fields

    def _followed(self, fields: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        scratch, rows = self._scratch, []
        for i in range(len(next(iter(fields.values())))):
            scratch.restore_defaults()
            for name, values in fields.items():
                set_episode_field(scratch.model, name, values[i])
            if self.varying is not None:
                self.varying.follow(scratch.model)
            rows.append(self._copy_fields(scratch))
        return _stacked(rows)

    def _write_rows(
        self, data: Mapping[str, np.ndarray], fields: Mapping[str, np.ndarray], ids: np.ndarray
    ) -> None:
        """Write states and model fields of some simulations, which are then finite again."""
        places = self._places(ids)
        for name, value in data.items():
            values = self._state[name]
            values[places] = self._tensor(value, values.dtype)
        of_model = {
            name: value for name, value in fields.items() if self._fields.field(name) is not None
        }
        self._fields.write(places, of_model)
        for name in fields.keys() - of_model.keys():  # poses of static geoms
            values = getattr(self.view, name)
            still = self._places(self._still)
            values[places[:, None], still] = self._tensor(fields[name], values.dtype)
        self._bad[places] = False

    def _forward(self, ids: np.ndarray, *, actuation: bool) -> None:
        where = None
        if len(ids) < self.n:
            where = torch.zeros(self.n, dtype=torch.bool, device=self.device.torch)
            where[self._places(ids)] = True
        with self._only(where):
            self._run("_compute", actuation)
        self._behind = not actuation  # a start is computed without actuators


def _still_geoms(model: mujoco.MjModel) -> np.ndarray:
    body = model.geom_bodyid
    fixed = (model.body_weldid[body] == 0) & (model.body_mocapid[model.body_rootid[body]] == -1)
    return np.flatnonzero(fixed)


def _stacked(rows: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def _spread(mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    return mask.reshape(-1, *[1] * (values.ndim - 1))


def _bounded(values: torch.Tensor) -> torch.Tensor:
    return (values.abs() <= HUGE).all(dim=-1)
