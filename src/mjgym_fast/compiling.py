"""Recording, compiling and checking the hooks of a control step."""

import functools
import gc
from collections.abc import Mapping
from typing import Any

import mujoco

from mjgym.sim.single import Single
from mjgym.task.models import compile_model
from mjgym_fast import available, errors
from mjgym_fast.agreement import Agreement
from mjgym_fast.compiled_loop import step_text
from mjgym_fast.machine_code import BETWEEN, Code
from mjgym_fast.stepping import BatchStepper, SingleStepper
from mjgym_fast.trace import UntraceableError
from mjgym_fast.tracing import Recorder, Recording

MAX_OWN_GEOMS = 100  # an MjData of more would keep the memory of its most contacts for good
ROUNDING = 1e-12  # of long sums between physics steps, relative to an entry's largest number


class Step:
    """A compiled control step, see `mjgym.sim.compiled.CompiledStep`.

    Attributes:
        fields: names of the fields that the hooks read and write.
        work: size of the scratch space, in numbers.
        width: numbers of an action, or of the controls.
        splits: whether physics steps have halves.
        lags: whether derived quantities lag, see `mjgym.Task.lagging`.
        forces: whether forces are computed in every control step.
        shares: whether a batch has one MjData per thread instead of one per simulation: where
            nothing is kept from one control step to the next, it stays in the CPU cache. Several
            control steps at once use it too, unless fields of the model vary.
    """

    def __init__(
        self, task: Any, model: mujoco.MjModel, recording: Recording, varied: tuple[str, ...]
    ) -> None:
        self.recording = recording
        self.hooks, self.reasons = frozenset(recording.hooks), recording.reasons
        self.width = len(task.actions(model)) if "control" in recording.hooks else model.nu
        self.fields = tuple(recording.outside.fields)
        self.work = max((function.work for function in recording.functions.values()), default=0)
        self.splits = model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4
        self.lags, self.forces = task.lagging, recording.forces_always
        alike = not (varied and recording.functions.keys() & BETWEEN)
        apart = self.splits and model.ngeom <= MAX_OWN_GEOMS
        self.shares = self.lags or (alike and not apart)
        external = available.engine() | errors.external()
        external |= {name[1:]: x for x, name in recording.outside.names.items()}
        names = ("alone", "run", *recording.functions)
        self._code = Code(recording.functions, step_text(self), names, external)

    def address(self, name: str) -> int:
        """The address of a compiled function."""
        return self._code.addresses[name]

    def single(self, model: mujoco.MjModel, data: mujoco.MjData) -> SingleStepper:
        """The steps of one simulation."""
        return SingleStepper(self, model, data)

    def batch(self, *arguments: Any) -> BatchStepper:
        """The steps of a batch."""
        return BatchStepper(self, *arguments)


@functools.lru_cache(maxsize=64)
def compiled(task: Any, dtype: str, goals: Any, varied: tuple[str, ...]) -> Step | str:
    """Compile a task's control step; returns the reason where it cannot be compiled."""
    sample = Single(compile_model(task), varied)
    needed = {"substep", "current_forces", *(("control",) if task.control_every_substep else ())}
    left_out: dict[str, str] = {}
    name = type(task).__name__
    while True:
        sample.restore_defaults()
        sample.forward()
        if not isinstance(memory := task.memory(sample.view), Mapping):
            return f"{name}.memory() returns no dict"
        collects = gc.isenabled()
        gc.disable()  # it would walk through thousands of new symbols
        try:
            recorder = Recorder(task, sample, memory, goals, dtype, left_out)
        except UntraceableError as error:
            return f"{name} cannot be compiled: {error}"
        finally:
            if collects:
                gc.enable()
        recording = recorder.recording
        if task.lagging and (recording.forces_always or needed & recording.functions.keys()):
            return "quantities lag, and hooks run between physics steps"
        for hook in sorted(needed & recording.reasons.keys()):
            return f"{name} cannot be compiled: {hook} {recording.reasons[hook]}"
        step = Step(task, sample.model, recording, varied)
        rounding = 0.0 if recording.exact else ROUNDING
        found = Agreement(step, recorder, sample, rounding).differing
        if needed & found:
            return available.warned("compiled hooks give other numbers on this machine than NumPy")
        if not found:
            return step
        left_out |= dict.fromkeys(found, "gives other numbers than NumPy")
