"""One simulation on MjData."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import EllipsisType

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.bounds import Bounds
from mjgym.sim.compiled import CompiledLaw
from mjgym.sim.contact_filter import contacts_of
from mjgym.sim.engine import (
    ACTUATION_OFF,
    CONTACTS_OFF,
    DIVERGED,
    Variation,
    episode_field,
    get_field,
    mute,
    quiet,
    set_constants,
    set_field,
    state_fields,
    unmute,
)
from mjgym.sim.views import Named, View
from mjgym.util.suggestions import did_you_mean

ONLY = np.zeros(1, dtype=np.int64)  # the number of the one simulation


class SingleView(View):
    """A view of one MjModel and MjData; writable, with `forward` and `step` for initialize.

    Attributes:
        longest: physics steps that one call of `step` has made so far.
    """

    longest: int

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(())
        self.__dict__.update(_model=model, _data=data, _bounds={}, _filters={}, longest=0)

    def _field(self, name: str) -> Array:
        for source in (self._data, self._model):
            if hasattr(source, name):
                return getattr(source, name)
        hint = did_you_mean(name, [*dir(self._data), *dir(self._model)])
        raise AttributeError(f"neither MjData nor MjModel has a field {name!r}{hint}")

    def stays(self, name: str) -> bool:
        """Constraint rows do not: every computation lays them out again."""
        return name in mujoco.batch.DATA_FIELDS or hasattr(self._model, name)

    def _element(self, kind: str, name: str) -> Named:
        views = [getattr(s, kind)(name) for s in (self._data, self._model) if hasattr(s, kind)]

        def fetch(attribute: str) -> Array:
            for view in views:
                if hasattr(view, attribute):
                    return getattr(view, attribute)
            hint = did_you_mean(attribute, [a for view in views for a in dir(view)])
            raise AttributeError(f"{kind} {name!r} has no attribute {attribute!r}{hint}")

        return Named(fetch)

    def __setattr__(self, name: str, value: Array) -> None:
        if name == "time":
            self._data.time = value
        else:
            super().__setattr__(name, value)

    def forward(self) -> None:
        """Compute everything that depends on the state, with the actuators switched off.

        The published suite computes its start states so: sensors that feel forces show none of
        the actuators'.
        """
        _forward(self._model, self._data)

    def kinematics(self) -> None:
        """Compute where everything is (`xpos`, `site_xpos`, `cdof`, ...), and nothing else."""
        with quiet():
            mujoco.mj_kinematics(self._model, self._data)
            mujoco.mj_comPos(self._model, self._data)

    def jacobian(self, kind: str, name: str, joints: Iterable[str]) -> Array:
        """As `View.jacobian`, to the bit; the engine computes it of one simulation in less time."""
        i, _, dofs, _ = self._jacobian_rows(kind, name, tuple(joints))
        whole = np.zeros((6, self._model.nv))
        jacobian = mujoco.mj_jacBody if kind == "body" else mujoco.mj_jacSite
        jacobian(self._model, self._data, whole[:3], whole[3:], i)
        return np.asfortranarray(whole[:, dofs])  # laid out as of many: products round alike

    def detect_contacts(self) -> None:
        """Compute where everything is and what touches what (`ncon`), and nothing else.

        A fraction of the cost of `forward`, for drawing again and again until a start is free.
        """
        self.kinematics()
        with quiet():
            mujoco.mj_collision(self._model, self._data)

    def refit(self, geoms: Iterable[str]) -> None:
        """Update collision bounds to the current sizes and places of the given geoms.

        To be called when `geom_size`, `geom_pos` or `geom_quat` has been written; the task then
        names `REFITTED` in its `varies` as well.
        """
        names = tuple(geoms)
        if names not in self._bounds:
            rows = np.array([self._model.geom(name).id for name in names], dtype=np.int64)
            self._bounds[names] = Bounds(self._model, rows)
        self._bounds[names].update(self._model)

    def set_constants(self) -> None:
        """Recompute what depends on masses, inertias and sizes of geoms, as the compiler does.

        To be called when they have been written; the task then names `mjgym.sim.engine.FOLLOWING`
        in its `varies` as well. Bounding volumes are among it.
        """
        if "_scratch" not in self.__dict__:
            self.__dict__["_scratch"] = mujoco.MjData(self._model)
        set_constants(self._model, self._scratch)

    @contextlib.contextmanager
    def contacts_of(self, bodies: Iterable[int]) -> Iterator[None]:
        """A context in which contacts are found only of what moves.

        Args:
            bodies: ids of those that move, with what hangs on them; everything else is held in its
                place by whoever uses this.
        """
        key = tuple(bodies)
        if key not in self._filters:
            self._filters[key] = contacts_of(self._model, key)
        filters = self._filters[key]
        before = {name: getattr(self._model, name).copy() for name in filters}
        try:
            for name, values in filters.items():
                getattr(self._model, name)[:] = values
            yield
        finally:
            for name, values in before.items():
                getattr(self._model, name)[:] = values

    def step(self, n: int = 1, *, follow: bool = True) -> None:
        """Advance by n physics steps, from what the last `forward` or `step` computed.

        Args:
            n: how many.
            follow: whether to recompute what depends on positions and velocities; False leaves that
                to `forward`.
        """
        self.__dict__["longest"] = max(self.longest, n)
        _step(self._model, self._data, n, _splits(self._model), follow)


_VELOCITIES_DONE = int(mujoco.mjtStage.mjSTAGE_VEL)


def _forward(model: mujoco.MjModel, data: mujoco.MjData, off: int = ACTUATION_OFF) -> None:
    flags = model.opt.disableflags
    model.opt.disableflags = flags | off
    try:
        with quiet():
            mujoco.mj_forward(model, data)
    finally:
        model.opt.disableflags = flags


def _splits(model: mujoco.MjModel) -> bool:
    return bool(model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4)


def _step(
    model: mujoco.MjModel, data: mujoco.MjData, n: int, splits: bool, follow: bool = True
) -> None:
    mute()  # as `quiet` does, without an object in between
    try:
        if splits:
            mujoco.mj_step2(model, data)
            if n > 1:
                mujoco.mj_step(model, data, n - 1)
        else:
            mujoco.mj_step(model, data, n)
        if follow:
            mujoco.mj_step1(model, data)
    finally:
        unmute()


def _left_out(where: Array | None) -> bool:
    """Whether a mask of shape () leaves the one simulation alone."""
    return where is not None and not where


def episode_fields(varies: tuple[str, ...], varying: Variation | None) -> tuple[str, ...]:
    """Names of the model fields that episodes write to, each once."""
    return tuple(dict.fromkeys((*varies, *(() if varying is None else varying.fields))))


class Single:
    """One simulation; see `mjgym.sim.simulation.Simulation`.

    Args:
        model: the compiled model; the fields in `varies` are written to by episodes.
        varies: names of the model fields that belong to the episode.
        varying: what else a user varies of the model, and the fields derived from it.
    """

    n = 1

    def __init__(
        self,
        model: mujoco.MjModel,
        varies: tuple[str, ...] = (),
        varying: Variation | None = None,
    ) -> None:
        self.model = model
        self.data = mujoco.MjData(model)
        self.varying = varying
        self.varies = episode_fields(varies, varying)
        self.state_fields = state_fields(model)
        derived = () if varying is None else varying.derived
        self._defaults = {
            name: np.array(get_field(model, name)) for name in (*self.varies, *derived)
        }
        self._warnings = self.data.warning.number
        self._no_warnings = self._warnings.tobytes()
        self._splits = _splits(model)
        self._written = False  # since positions and velocities were computed
        self.view = self.sample = SingleView(model, self.data)
        self._ctrl = self.view.ctrl

    def restore_defaults(self, values: Mapping[str, np.ndarray] | None = None) -> None:
        """Go back to the model's defaults; nothing is computed from them.

        Args:
            values: of the numbers that a user varies, see `mjgym.variation.varying`.
        """
        for name, value in self._defaults.items():
            set_field(self.model, name, value)
        if values and self.varying is not None:
            self.varying.write(self.model, values)
        mujoco.mj_resetData(self.model, self.data)  # which reads places of mocap bodies

    def forward(self, *, contacts: bool = True) -> None:
        """Compute everything that depends on the state, with the actuators switched off."""
        _forward(self.model, self.data, ACTUATION_OFF if contacts else ACTUATION_OFF | CONTACTS_OFF)

    def reset(self, start: Callable[[int, "Single"], None], where: Array | None = None) -> None:
        """Begin an episode with what `start` writes, and compute everything that depends on it."""
        if _left_out(where):
            return
        start(0, self)
        self.forward()
        self._written = True  # a start is computed without actuators, and lacks their velocities

    def write(self, fields: Mapping[str, Array], where: Array | None = None) -> None:
        """Overwrite fields of MjData; what follows comes with the next step, as in a batch."""
        if _left_out(where):
            return
        for name, value in fields.items():
            held = getattr(self.view, name)
            if not np.array_equal(held, value):  # else nothing new follows
                held[...] = value
                self._written = True

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        """Set the controls and advance by n physics steps.

        The order is the published suite's: the second half of a step that has begun, n - 1 whole
        steps, the first half of the next one. RK4 has no halves.
        """
        if _left_out(where):
            return
        if self._written:
            with quiet():
                mujoco.mj_step1(self.model, self.data)
            self._written = False
        self._ctrl[:] = control
        _step(self.model, self.data, n, self._splits)
        if forces:
            self.update_forces()

    def takes(self, law: CompiledLaw) -> bool:
        """Whether half physics steps can be made: RK4 has none."""
        if self._splits:
            from mjgym.sim.compiled.stepping import CompiledSingle

            self._compiled = CompiledSingle(self.model, self.data, law)
        return self._splits

    def step_under(
        self,
        control: Array,
        memory: np.ndarray,
        n: int,
        where: Array | None = None,
        *,
        forces: bool = False,
    ) -> None:
        """`step`, with a compiled law before and after each physics step."""
        if _left_out(where):
            return
        if self._written:
            with quiet():
                mujoco.mj_step1(self.model, self.data)
            self._written = False
        self._compiled.advance(control, memory, n, forces=forces)

    def for_each_shard(self, work: Callable[["Single", EllipsisType], None]) -> None:
        """Do something with the one simulation that steps it again and again."""
        work(self, ...)

    def update_forces(self, where: Array | None = None) -> None:
        """Compute the forces and accelerations of the present state."""
        if _left_out(where):
            return
        with quiet():
            mujoco.mj_forwardSkip(self.model, self.data, _VELOCITIES_DONE, False)

    def diverged(self) -> Array | None:
        """True if the engine has met a state that is not finite and has reset itself."""
        warnings = self._warnings
        if warnings.tobytes() == self._no_warnings or not warnings[DIVERGED].any():
            return None
        return np.True_

    def get_state(self, rows: np.ndarray = ONLY) -> dict[str, np.ndarray]:
        """Copies of all that the future and the current sensors depend on, (1, ...) each."""
        state = {name: np.array(getattr(self.data, name))[None] for name in self.state_fields}
        state["sensordata"] = self.data.sensordata[None].copy()
        state.update({n: np.array(episode_field(self.model, n))[None] for n in self.varies})
        return state

    def set_state(self, state: Mapping[str, np.ndarray], rows: np.ndarray = ONLY) -> None:
        """Write entries of `get_state`, and compute everything that depends on them."""
        for name, (value,) in state.items():
            if name == "time":
                self.data.time = float(value)
            elif name == "bvh_aabb":
                episode_field(self.model, name)[...] = value
            elif name in self.varies:
                set_field(self.model, name, value)
            elif name != "sensordata":
                getattr(self.data, name)[...] = value
        if self.varying is not None:
            self.varying.follow(self.model)
        self._warnings[...] = 0
        _forward(self.model, self.data, off=0)
        if "sensordata" in state:  # some sensors belong to the step before the state
            self.data.sensordata[...] = state["sensordata"][0]

    def rendered_state(self, rows: np.ndarray = ONLY) -> dict[str, np.ndarray]:
        """The numbers that a picture depends on."""
        return self.get_state()
