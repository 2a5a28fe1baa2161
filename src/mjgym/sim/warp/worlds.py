"""Many simulations of one model on MuJoCo Warp."""

import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import EllipsisType
from typing import Any

import mujoco
import mujoco_warp
import numpy as np
import torch
import warp

from mjgym.arrays import Array
from mjgym.sim.compiled import CompiledLaw
from mjgym.sim.engine import ACTUATION_OFF, Variation, episode_field, set_field, state_fields
from mjgym.sim.simulation import Start
from mjgym.sim.single import Single, SingleView, episode_fields
from mjgym.sim.warp.buffers import Buffers
from mjgym.sim.warp.device import Device
from mjgym.sim.warp.starts import Starts
from mjgym.sim.warp.world_model import WorldModel
from mjgym.sim.warp.world_pictures import Pictures
from mjgym.sim.warp.world_view import WorldView, copies

# Where the engine computes them only with the forces: a step leaves them as they were at its start.
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
# What decides where a geom is that no joint moves; the engine looks at that when worlds are made.
_PLACES = frozenset({"geom_pos", "geom_quat", "body_pos", "body_quat"})
# What pictures on the device read of the model that all worlds share.
_UNSEEN = ("geom_rgba", "geom_matid", "mat_", "light_", "cam_fovy", "hfield_", "mesh_")
_WHERE_STILL = ("geom_xpos", "geom_xmat")
_HUGE = 1e10  # mjMAXVAL: MuJoCo takes a larger position, velocity or acceleration for divergence
_OVERFLOWS = mujoco_warp.OverflowType
_NONE = np.zeros(0, dtype=np.int64)


class Worlds:
    """n simulations; see `mjgym.sim.simulation.Simulation`.

    A step of the engine is one of all worlds: where only some step, the others are put back to
    where they were. Numbers are float32.

    Args:
        model: the compiled model.
        n: number of simulations.
        device: of Warp and torch; all methods are called within `device.use()`.
        buffers: room for contacts and constraints.
        starts: draws the starts of episodes.
        varies: names of the model fields that belong to an episode; each simulation has its own
            values.
        varying: what else a user varies of the model, and the fields derived from it.
        deterministic: whether contacts, constraints and sums are in the same order in every run.

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
    ) -> None:
        self.model = model
        self.n = n
        self.device = device
        self.buffers = buffers
        self.starts = starts
        self.varying = varying
        self.varies = episode_fields(varies, varying)
        derived = () if varying is None else varying.derived
        self.state_fields = state_fields(model)
        # Starts are written into a simulation on the processor, with a model that they may change.
        self._scratch = self.scratch(model, varies, varying)
        self._scratch.forward()
        self.sample: SingleView = self._scratch.view
        self._fields = WorldModel(model, n, (*self.varies, *derived), device.torch)
        self._engine = self._fields.engine
        self._engine.opt.graph_conditional = device.loops
        if deterministic:
            self._engine.opt.deterministic = mujoco_warp.DeterminismType.ALL
        self._worlds = mujoco_warp.make_data(
            model, nworld=n, nconmax=buffers.nconmax, njmax=buffers.njmax
        )
        self.view = WorldView(model, self._worlds, self._fields, self.sample)
        self._still = _still_geoms(model) if _PLACES.intersection(self._varied()) else _NONE
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
        self._late_sensors = self._columns(mujoco.mjtStage.mjSTAGE_ACC)
        self._splits = model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4
        self._behind = True  # positions and velocities have been written since they were computed
        self._bad = torch.zeros(n, dtype=torch.bool, device=device.torch)
        self._graphs: dict[tuple[Any, ...], Any] = {}

    @staticmethod
    def scratch(
        model: mujoco.MjModel, varies: tuple[str, ...], varying: Variation | None
    ) -> Single:
        """A simulation on the processor, in which starts are written, at the model's defaults."""
        own = copy.copy(model) if episode_fields(varies, varying) else model
        scratch = Single(own, varies, varying)
        scratch.restore_defaults()
        return scratch

    def _columns(self, stage: mujoco.mjtStage) -> torch.Tensor:
        """Places in `sensordata` of the sensors of a stage."""
        model = self.model
        places = [
            np.arange(start, start + size)
            for start, size, needed in zip(
                model.sensor_adr, model.sensor_dim, model.sensor_needstage, strict=True
            )
            if needed == stage
        ]
        found = np.concatenate(places) if places else np.zeros(0, dtype=np.int64)
        return torch.as_tensor(found, device=self.device.torch, dtype=torch.int64)

    # What the engine computes.

    def _run(self, name: str, *arguments: Any) -> None:
        """Call one of the methods that only launch kernels, as a graph captured at its first call.

        Python then launches one thing instead of hundreds: on a processor a step of a few worlds
        takes a tenth of the time.
        """
        act: Callable[..., None] = getattr(self, name)
        if not self.device.captures:
            act(*arguments)
            return
        key = (name, *arguments)
        if key not in self._graphs:
            act(*arguments)  # compiles what is not compiled yet, which a capture cannot
            with warp.ScopedCapture(self.device.warp) as capture:
                act(*arguments)
            self._graphs[key] = capture.graph
            return  # the first call has done the work; capturing does none
        warp.capture_launch(self._graphs[key])

    def _advance(self, n: int, halfway: bool) -> None:
        """n physics steps; halfway, positions and velocities of the first are there already."""
        if halfway:
            mujoco_warp.step2(self._engine, self._worlds)
        for _ in range(n - 1 if halfway else n):
            mujoco_warp.step(self._engine, self._worlds)

    def _follow_states(self) -> None:
        """Positions and velocities, and the sensors of them."""
        mujoco_warp.step1(self._engine, self._worlds)

    def _compute(self, actuation: bool) -> None:
        """Everything that depends on the states."""
        flags = self._engine.opt.disableflags
        if not actuation:
            self._engine.opt.disableflags = flags | ACTUATION_OFF
        try:
            mujoco_warp.forward(self._engine, self._worlds)
        finally:
            self._engine.opt.disableflags = flags

    @contextmanager
    def _only(self, where: torch.Tensor | None) -> Iterator[None]:
        """Whatever happens inside, happens to the worlds of a mask."""
        if where is None:
            yield
            return
        changing = {**self._state, **self._forces}
        before = copies(changing)
        yield
        for name, values in changing.items():
            values.copy_(torch.where(_spread(where, values), values, before[name]))

    # The protocol.

    def forward(self, *, contacts: bool = True) -> None:
        """Compute everything that depends on the states, with the actuators switched off.

        Contacts are among it in any case: the memory for them is there.
        """
        self._run("_compute", False)

    def reset(self, start: Start, where: Array | None = None) -> None:
        """Begin an episode in some simulations and compute everything else about its start.

        Starts are written on the processor and copied over all at once.
        """
        ids = self._ids(where)
        if not ids.size:
            return
        numbers = _stacked(self.starts.take(ids.tolist(), start, self._copy_start))
        data = {name: numbers.pop(name) for name in self._state}
        self._write_rows(data, numbers, ids)
        self._forward(ids, actuation=False)

    def write(self, fields: Mapping[str, Array], where: Array | None = None) -> None:
        """Overwrite fields of MjData, by name; what follows comes with the next step."""
        for name, value in fields.items():
            values = getattr(self.view, name)
            mask = torch.ones_like(self._bad) if where is None else where
            values.copy_(torch.where(_spread(mask, values), value, values))
        self._behind = True

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        """Set the controls and advance by n physics steps."""
        with self._only(where):
            if "ctrl" in self._state:
                self._state["ctrl"].copy_(control)
            self._run("_advance", n, self._splits and not self._behind)
            self._restart_diverged(where)
        late = self._forces["sensordata"].clone() if self._late_sensors.numel() else None
        self._run("_follow_states")
        if late is not None:  # forces are those of the last physics step
            places = self._late_sensors
            self._forces["sensordata"][:, places] = late[:, places]
        self._behind = False
        if forces:
            self.update_forces(where)

    def takes(self, law: CompiledLaw) -> bool:
        """Never: a compiled law is the processor's."""
        return False

    def step_under(
        self,
        control: Array,
        memory: np.ndarray,
        n: int,
        where: Array | None = None,
        *,
        forces: bool = False,
    ) -> None:
        """Not here, as `takes` says."""
        raise NotImplementedError("MuJoCo Warp takes no compiled law")

    def for_each_shard(self, work: Callable[["Worlds", EllipsisType], None]) -> None:
        """Do something with all worlds that steps them again and again; the device divides them."""
        work(self, ...)

    def _restart_diverged(self, where: torch.Tensor | None) -> None:
        """Note which worlds are no longer finite, and put them to the model's defaults."""
        bad = ~_tame(self._state["qpos"])
        for values in (self._state.get("qvel"), self._forces.get("qacc")):
            if values is not None:
                bad |= ~_tame(values)
        if where is not None:
            bad &= where
        self._bad |= bad
        for name, values in self._state.items():
            values.copy_(torch.where(_spread(bad, values), self._defaults[name], values))
        for values in self._forces.values():
            values.masked_fill_(_spread(bad, values), 0.0)

    def update_forces(self, where: Array | None = None) -> None:
        """Compute the forces and accelerations of the present states."""
        with self._only(where):
            self._run("_compute", True)

    def diverged(self) -> torch.Tensor:
        """A mask of the simulations whose state has not been finite, (n,)."""
        return self._bad.clone()

    def get_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """Copies of all that the given simulations' futures and current sensors depend on."""
        places = self._places(rows)
        own = self.sample._data
        state = {
            name: self.view.to_numpy(values[places]).astype(np.asarray(getattr(own, name)).dtype)
            for name, values in self._state.items()
        }
        state["sensordata"] = self.view.to_numpy(self.view.sensordata[places]).astype(float)
        state.update(self._read_fields(self.varies, places))
        return state

    def set_state(self, state: Mapping[str, np.ndarray], rows: np.ndarray) -> None:
        """Write entries of `get_state`, and compute everything that depends on them."""
        fields = {name: value for name, value in state.items() if name in self.varies}
        if fields:
            places = self._places(rows)
            fields = self._followed({**self._read_fields(self.varies, places), **fields})
        data = {name: value for name, value in state.items() if name in self._state}
        self._write_rows(data, fields, rows)
        self._forward(rows, actuation=True)
        if "sensordata" in state:  # some sensors belong to the step before the state
            self.view.sensordata[self._places(rows)] = self._tensor(
                state["sensordata"], torch.float32
            )

    def rendered_state(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """States of the given simulations, and the model fields that their images depend on."""
        derived = () if self.varying is None else self.varying.derived
        return {**self.get_state(rows), **self._read_fields(derived, self._places(rows))}

    def pictures(self, scene: mujoco.MjModel, *, shadows: bool) -> Pictures:
        """Cameras of the worlds, on the device.

        Args:
            scene: the model with its textures.
            shadows: whether lights cast them.

        Raises:
            NotImplementedError: episodes vary what those would not show; the message names it.
        """
        unseen = [name for name in self._varied() if name.startswith(_UNSEEN)]
        if unseen:
            raise NotImplementedError(
                f"pictures on the device show {', '.join(unseen)} alike in all worlds, but episodes"
                ' vary it; backend="mujoco" draws it'
            )
        return Pictures(scene, self._engine, self._worlds, shadows=shadows)

    def overflow(self) -> str:
        """Names of the buffers that have been too small, in words; empty if none has.

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
        """Bytes of the arrays that hold the worlds; what a step takes besides is not counted."""
        held = [self._worlds, self._worlds.contact, self._worlds.efc]
        arrays = [value for part in held for value in vars(part).values()]
        return sum(a.capacity for a in arrays if isinstance(a, warp.array))

    def close(self) -> None:
        """Let go of the worlds; nothing else works afterwards."""
        self.starts.close()
        self.view.release()
        for name in ("_worlds", "_engine", "_fields", "_state", "_forces", "_graphs", "_bad"):
            self.__dict__.pop(name, None)

    # Between the processor and the device.

    def _ids(self, where: Array | None) -> np.ndarray:
        return np.arange(self.n) if where is None else np.flatnonzero(self.view.to_numpy(where))

    def _places(self, rows: np.ndarray) -> torch.Tensor:
        return torch.as_tensor(rows, device=self.device.torch, dtype=torch.int64)

    def _tensor(self, value: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
        return torch.as_tensor(np.asarray(value), device=self.device.torch).to(dtype)

    def _varied(self) -> tuple[str, ...]:
        return self.varies + (() if self.varying is None else self.varying.derived)

    def _read_fields(self, names: tuple[str, ...], places: torch.Tensor) -> dict[str, np.ndarray]:
        found = {}
        for name in names:
            values = self._fields.field(name)
            assert values is not None
            dtype = np.asarray(episode_field(self.model, name)).dtype
            found[name] = self.view.to_numpy(values[places]).astype(dtype)
        return found

    def _copy_start(self, scratch: Single) -> dict[str, np.ndarray]:
        """Copies of the state that a start has written, and of its model's fields."""
        state = {name: np.array(getattr(scratch.data, name)) for name in self._state}
        return {**state, **self._copy_fields(scratch)}

    def _copy_fields(self, scratch: Single) -> dict[str, np.ndarray]:
        """Copies of the fields that episodes write, and of where its still geoms are then."""
        names = self._varied()
        fields = {name: np.array(episode_field(scratch.model, name)) for name in names}
        if self._still.size:
            scratch.view.kinematics()
            for name in _WHERE_STILL:
                fields[name] = getattr(scratch.data, name)[self._still]
        return fields

    def _followed(self, fields: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """Model fields of the given simulations with the fields derived from them."""
        scratch, rows = self._scratch, []
        for i in range(len(next(iter(fields.values())))):
            scratch.restore_defaults()
            for name, values in fields.items():
                if values.ndim > 1:
                    episode_field(scratch.model, name)[...] = values[i]
                else:
                    set_field(scratch.model, name, values[i])
            if self.varying is not None:
                self.varying.follow(scratch.model)
            rows.append(self._copy_fields(scratch))
        return _stacked(rows)

    def _write_rows(
        self, data: Mapping[str, np.ndarray], fields: Mapping[str, np.ndarray], ids: np.ndarray
    ) -> None:
        """Write states and model fields of the given simulations, which are then finite again."""
        places = self._places(ids)
        for name, value in data.items():
            values = self._state[name]
            values[places] = self._tensor(value, values.dtype)
        own = {
            name: value for name, value in fields.items() if self._fields.field(name) is not None
        }
        self._fields.write(places, own)
        for name in fields.keys() - own.keys():  # where still geoms are
            values = getattr(self.view, name)
            still = self._places(self._still)
            values[places[:, None], still] = self._tensor(fields[name], values.dtype)
        self._bad[places] = False

    def _forward(self, ids: np.ndarray, *, actuation: bool) -> None:
        """Compute everything that depends on the states of the given simulations."""
        where = None
        if len(ids) < self.n:
            where = torch.zeros(self.n, dtype=torch.bool, device=self.device.torch)
            where[self._places(ids)] = True
        with self._only(where):
            self._run("_compute", actuation)
        self._behind = not actuation  # a start is computed without actuators


def _still_geoms(model: mujoco.MjModel) -> np.ndarray:
    """Numbers of the geoms that neither a joint nor a mocap body moves."""
    body = model.geom_bodyid
    fixed = (model.body_weldid[body] == 0) & (model.body_mocapid[model.body_rootid[body]] == -1)
    return np.flatnonzero(fixed)


def _stacked(rows: list[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    return {name: np.stack([row[name] for row in rows]) for name in rows[0]}


def _spread(mask: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """A mask of worlds in the shape of their values."""
    return mask.reshape(-1, *[1] * (values.ndim - 1))


def _tame(values: torch.Tensor) -> torch.Tensor:
    """A mask of the worlds whose values are all finite and none huge."""
    return (values.abs() <= _HUGE).all(dim=-1)
