"""One simulation on MjData."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.bounds import Bounds
from mjgym.sim.compiled import CompiledStep, Generator, Outcome, Stepper
from mjgym.sim.contact_filter import contacts_of
from mjgym.sim.engine import (
    ACTUATION_OFF,
    CONTACTS_OFF,
    DIVERGED,
    HUGE,
    RESET_IF_HUGE,
    STATE_FIELDS,
    Variation,
    episode_field,
    get_field,
    give_up,
    latent_fields,
    quiet,
    set_constants,
    set_episode_field,
    set_field,
    state_fields,
)
from mjgym.sim.fields import KINDS
from mjgym.sim.views import Named, View
from mjgym.util.suggestions import did_you_mean

ONLY = np.zeros(1, dtype=np.int64)  # rows of a single simulation
# The engine logs a warning whose count is 0. Counting from here costs nothing per step, unlike
# `quiet`, which takes as long as a physics step of a pendulum.
UNLOGGED = -(2**30)


class SingleView(View):
    """A view of one MjModel and MjData; writable, with `forward` and `step` for initialize.

    Attributes:
        used: model fields that have been looked up, as they were then, by name.
        read: fields of MjData that have been looked up.
        longest: the most physics steps that a call of `step` has made.
        kept: what `Task.kept` names of the simulation's last episode, by name.
    """

    used: dict[str, np.ndarray]
    read: set[str]
    longest: int
    kept: dict[str, np.ndarray]

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        super().__init__(())
        self.__dict__.update(model=model, _data=data, _bounds={}, _filters={})
        self.__dict__.update(used={}, read=set(), longest=0, kept={})

    def _field(self, name: str) -> Array:
        if hasattr(self._data, name):
            self.read.add(name)
            return getattr(self._data, name)
        if hasattr(self.model, name):
            self._use(name)
            return getattr(self.model, name)
        hint = did_you_mean(name, [*dir(self._data), *dir(self.model)])
        raise AttributeError(f"neither MjData nor MjModel has a field {name!r}{hint}")

    def _use(self, *names: str) -> None:
        """Note the fields of the model among some names."""
        for name in names:
            value = None if name in self.used else getattr(self.model, name, None)
            if isinstance(value, np.ndarray):
                self.used[name] = value.copy()

    def stays(self, name: str) -> bool:
        """Tell whether an array keeps its place; those of constraints do not."""
        return name in mujoco.batch.DATA_FIELDS or hasattr(self.model, name)

    def _element(self, kind: str, name: str) -> Named:
        views = [getattr(s, kind)(name) for s in (self._data, self.model) if hasattr(s, kind)]

        def fetch(attribute: str) -> Array:
            names = [*(prefix + attribute for prefix in KINDS[kind].prefixes), attribute]
            for view in views:
                if hasattr(view, attribute):
                    self._use(*names)
                    self.read.update([n for n in names if n in mujoco.batch.DATA_FIELDS][:1])
                    return getattr(view, attribute)
            hint = did_you_mean(attribute, [a for view in views for a in dir(view)])
            raise AttributeError(f"{kind} {name!r} has no attribute {attribute!r}{hint}")

        return Named(fetch)

    def __setattr__(self, name: str, value: Array) -> None:
        if name == "time":
            self._data.time = value
        elif name == "kept":
            self.__dict__[name] = value
        else:
            super().__setattr__(name, value)

    def forward(self) -> None:
        """Compute everything that depends on the state, with the actuators switched off.

        The published suite computes starts this way: force sensors show no actuator forces.
        """
        _forward(self.model, self._data)

    def kinematics(self) -> None:
        """Compute positions (`xpos`, `site_xpos`, `cdof`, ...) only."""
        with quiet():
            mujoco.mj_kinematics(self.model, self._data)
            mujoco.mj_comPos(self.model, self._data)

    def jacobian(self, kind: str, name: str, joints: Iterable[str]) -> Array:
        """As `View.jacobian`, to the bit, computed by the engine in less time."""
        i, _, dofs, _ = self._jacobian_rows(kind, name, tuple(joints))
        whole = np.zeros((6, self.model.nv))
        jacobian = mujoco.mj_jacBody if kind == "body" else mujoco.mj_jacSite
        jacobian(self.model, self._data, whole[:3], whole[3:], i)
        return np.asfortranarray(whole[:, dofs])  # a batch's layout, so products round alike

    def detect_contacts(self) -> None:
        """Compute positions and contacts (`ncon`) only.

        A fraction of the cost of `forward`, for redrawing a start until it is free of contacts.
        """
        self.kinematics()
        with quiet():
            mujoco.mj_collision(self.model, self._data)

    def refit(self, geoms: Iterable[str]) -> None:
        """Update collision bounds to the current sizes and places of geoms.

        Call it after writing `geom_size`, `geom_pos` or `geom_quat`; the task then also lists
        `REFITTED` in its `varies`.
        """
        names = tuple(geoms)
        if names not in self._bounds:
            rows = np.array([self.model.geom(name).id for name in names], dtype=np.int64)
            self._bounds[names] = Bounds(self.model, rows)
        self._bounds[names].update(self.model)

    def set_constants(self) -> None:
        """Recompute fields that depend on masses, inertias and geom sizes, as the compiler does.

        Call it after writing these; the task then also lists `mjgym.sim.engine.FOLLOWING` in its
        `varies`. Bounding volumes are included.
        """
        if "_scratch" not in self.__dict__:
            self.__dict__["_scratch"] = mujoco.MjData(self.model)
        set_constants(self.model, self._scratch, kept=_SHARED)

    @contextlib.contextmanager
    def contacts_of(self, bodies: Iterable[int]) -> Iterator[None]:
        """Detect contacts of some bodies and their descendants only, within a `with` block.

        The caller holds all other bodies in place.
        """
        key = tuple(bodies)
        if key not in self._filters:
            self._filters[key] = contacts_of(self.model, key)
        filters = self._filters[key]
        before = {name: getattr(self.model, name).copy() for name in filters}
        try:
            for name, values in filters.items():
                getattr(self.model, name)[:] = values
            yield
        finally:
            for name, values in before.items():
                getattr(self.model, name)[:] = values

    def step(self, n: int = 1, *, follow: bool = True) -> None:
        """Advance by n physics steps, from the results of the last `forward` or `step`.

        `follow=False` skips recomputing what depends on positions and velocities: call `forward`
        then.
        """
        self.__dict__["longest"] = max(self.longest, n)
        with quiet():
            _step(self.model, self._data, n, _splits(self.model), follow)


# Viewpoints, and what the compiler knew of frames that episodes write (`free_frames`).
_SHARED = ("cam_poscom0", "light_poscom0", "body_sameframe", "geom_sameframe", "site_sameframe")
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
    if splits:  # the published suite's order: the half of a step that was begun before, ...
        mujoco.mj_step2(model, data)
        if n > 1:
            mujoco.mj_step(model, data, n - 1)
    else:
        mujoco.mj_step(model, data, n)
    if follow:
        mujoco.mj_step1(model, data)


def step_lagging(model: mujoco.MjModel, data: mujoco.MjData, n: int) -> None:
    """Make n physics steps as Gymnasium does: `mj_step`, then `mj_rnePostConstraint`.

    Derived quantities are those of the last evaluation of the dynamics: at the start of the last
    physics step with Euler's method, within it with RK4.
    """
    mujoco.mj_step(model, data, n)
    mujoco.mj_rnePostConstraint(model, data)


def derived_fields(data: mujoco.MjData, read: Iterable[str]) -> tuple[str, ...]:
    """List the names of the derived arrays among some fields of MjData, and `sensordata`."""
    arrays = (name for name in read if isinstance(getattr(data, name), np.ndarray))
    return tuple(sorted({"sensordata", *arrays}.difference(STATE_FIELDS)))


def _left_out(where: Array | None) -> bool:
    """Tell whether a mask of shape () excludes the simulation."""
    return where is not None and not where


def episode_fields(varies: tuple[str, ...], varying: Variation | None) -> tuple[str, ...]:
    """List the names of the model fields that episodes write to, without duplicates."""
    return tuple(dict.fromkeys((*varies, *(() if varying is None else varying.fields))))


def varied_fields(varies: tuple[str, ...], varying: Variation | None) -> tuple[str, ...]:
    return varies + (() if varying is None else varying.derived)


class Single:
    """One simulation; see `mjgym.sim.simulation.Simulation`.

    Args:
        model: the compiled model; episodes write to its fields in `varies`.
        varies: names of the model fields that belong to the episode.
        varying: the user's variations of the model.
        lagging: whether to step as `mjgym.Task.lagging` says.

    Attributes:
        untried: whether no start has been written.
    """

    n = 1

    def __init__(
        self,
        model: mujoco.MjModel,
        varies: tuple[str, ...] = (),
        varying: Variation | None = None,
        *,
        lagging: bool = False,
    ) -> None:
        self.model = model
        self.data = mujoco.MjData(model)
        self._lagging = lagging
        self._late: tuple[str, ...] = ("sensordata",)
        self.varying = varying
        self.varies = episode_fields(varies, varying)
        self.state_fields = state_fields(model) + latent_fields(model)
        self._bounded = [name for name in RESET_IF_HUGE if name in self.state_fields]
        self.varied = varied_fields(self.varies, varying)
        self._defaults = {name: np.array(get_field(model, name)) for name in self.varied}
        self._warnings = self.data.warning.number
        self._warnings[...] = UNLOGGED
        self._no_warnings = self._warnings.tobytes()
        self._splits = _splits(model)
        self._stepper: Stepper | None = None
        self.untried = True
        self._written = False  # since positions and velocities were computed
        self.view = self.sample = SingleView(model, self.data)
        self._ctrl = self.view.ctrl

    def restore_defaults(self, vary: Callable[[mujoco.MjModel], None] | None = None) -> None:
        """Restore the model's defaults, changed by a function of the model; computes nothing."""
        for name, value in self._defaults.items():
            set_field(self.model, name, value)
        if vary is not None:
            vary(self.model)
        mujoco.mj_resetData(self.model, self.data)  # reads mocap poses from the model
        self._warnings[...] = UNLOGGED

    def forward(self, *, contacts: bool = True) -> None:
        off = 0 if self._lagging else ACTUATION_OFF
        _forward(self.model, self.data, off if contacts else off | CONTACTS_OFF)

    def keep_read(self) -> None:
        if self._lagging:
            self._late = derived_fields(self.data, self.view.read)

    def reset(
        self,
        start: Callable[[int, "Single"], None],
        where: Array | None = None,
        generator: Generator | None = None,
    ) -> None:
        if _left_out(where):
            return
        stepper = self._stepper
        if self.untried or generator is None or stepper is None or not stepper.starts:
            start(0, self)
        else:
            self.restore_defaults()
            stepper.begin([0], generator)
            if self.unbounded():
                start(0, self)
        self.forward()
        self._written = True  # a start is computed without actuators, and lacks their velocities

    def write(self, fields: Mapping[str, Array], where: Array | None = None) -> None:
        if _left_out(where):
            return
        for name, value in fields.items():
            held = getattr(self.view, name)
            if not np.array_equal(held, value):  # else nothing needs recomputing
                held[...] = value
                self._written = True

    def step(
        self, control: Array, n: int, where: Array | None = None, *, forces: bool = False
    ) -> None:
        if where is not None and not where:
            return
        try:
            if self._lagging:
                self._ctrl[:] = control
                step_lagging(self.model, self.data, n)
            else:
                if self._written:
                    mujoco.mj_step1(self.model, self.data)
                    self._written = False
                self._ctrl[:] = control
                _step(self.model, self.data, n, self._splits)
        except mujoco.FatalError as error:
            give_up(error, self.model, self.data)
        if forces:
            self.update_forces()

    @property
    def compiles(self) -> bool:
        """True: whatever varies."""
        return True

    def compile(self, step: CompiledStep) -> None:
        self._stepper = step.single(self.model, self.data)

    def step_compiled(self, action: Array, n: int, where: Array | None, target: int) -> Outcome:
        if self._written and not (self._lagging or _left_out(where)):
            mujoco.mj_step1(self.model, self.data)
            self._written = False
        assert self._stepper is not None
        return self._stepper.advance(self.view, action, where, n, target)

    def update_forces(self, where: Array | None = None) -> None:
        if _left_out(where):
            return
        try:
            mujoco.mj_forwardSkip(self.model, self.data, _VELOCITIES_DONE, False)
        except mujoco.FatalError as error:
            give_up(error, self.model, self.data)

    def diverged(self) -> Array | None:
        if self._warnings.tobytes() == self._no_warnings:
            return None
        counts = self._warnings[DIVERGED]  # 0 after the engine's or a user's `mj_resetData`
        return np.True_ if ((counts != UNLOGGED) & (counts != 0)).any() else None

    def get_state(self, rows: np.ndarray = ONLY) -> dict[str, np.ndarray]:
        state = {name: np.array(getattr(self.data, name))[None] for name in self.state_fields}
        state.update({name: getattr(self.data, name)[None].copy() for name in self._late})
        state.update({n: np.array(episode_field(self.model, n))[None] for n in self.varies})
        return state

    def set_state(self, state: Mapping[str, np.ndarray], rows: np.ndarray = ONLY) -> None:
        for name, (value,) in state.items():
            if name == "time":
                self.data.time = float(value)
            elif name in self.varies:
                set_episode_field(self.model, name, value)
            elif name not in self._late:
                getattr(self.data, name)[...] = value
        if self.varying is not None:
            self.varying.follow(self.model)
        self._warnings[...] = UNLOGGED
        _forward(self.model, self.data, off=0)
        for name in self._late:  # some sensors belong to the step before the state
            if name in state:
                getattr(self.data, name)[...] = state[name][0]

    def unbounded(self) -> str:
        """Name of a state field that the engine would call diverged; "" if there is none."""
        for name in self._bounded:
            values = getattr(self.data, name)
            if np.count_nonzero(np.abs(values) <= HUGE) < values.size:
                return name
        return ""

    def rendered_state(self, rows: np.ndarray = ONLY) -> dict[str, np.ndarray]:
        return self.get_state()
