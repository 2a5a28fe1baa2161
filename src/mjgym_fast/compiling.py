"""Recording, compiling and checking the hooks of a control step."""

import contextlib
import functools
import gc
from collections.abc import Iterator, Mapping
from typing import Any

import mujoco

from mjgym.sim.single import Single
from mjgym.task.models import compile_model
from mjgym_fast import available, errors
from mjgym_fast.agreement import Agreement
from mjgym_fast.compiled_loop import Order, step_text
from mjgym_fast.library import engine
from mjgym_fast.machine_code import Code, Function
from mjgym_fast.stepping import BatchStepper, SingleStepper
from mjgym_fast.tracing import Recorder, Recording, places

MAX_OWN_GEOMS = 100  # an MjData of more would keep the memory of its most contacts for good
ENDS = ("terminated", "truncated")
ROUNDING = 1e-12  # of long sums between physics steps, relative to an entry's largest number


class Step:
    """A compiled control step, see `mjgym.sim.compiled.CompiledStep`.

    Attributes:
        fields: names of the fields that the hooks read, "ctrl" first.
        order: the order of physics and hooks.
        work: size of the scratch space, in numbers.
        width: numbers of an action, or of the controls.
    """

    def __init__(
        self, task: Any, model: mujoco.MjModel, recording: Recording, varied: tuple[str, ...]
    ) -> None:
        self.recording = recording
        self.hooks, self.reasons = frozenset(recording.hooks), dict(recording.reasons)
        self.width = len(task.actions(model)) if "control" in recording.hooks else model.nu
        self.fields, inputs = places(recording)
        functions = {
            name: Function(name, outputs, inputs, self.fields)
            for name, outputs in recording.functions.items()
        }
        self.work = max((function.work for function in functions.values()), default=0)
        splits = model.opt.integrator != mujoco.mjtIntegrator.mjINT_RK4
        between = bool(task.control_every_substep or "substep" in recording.functions)
        self.order = Order(
            splits=splits,
            lags=task.lagging,
            parts=between,
            forces=recording.forces_always,
            shares=task.lagging
            or ((not splits or model.ngeom > MAX_OWN_GEOMS) and not (between and varied)),
        )
        ends = [recording.results[x].first for x in ENDS if x in recording.results]
        loop = step_text(recording.functions, self.order, ends)
        names = ("alone", "run", *recording.functions)
        self._code = Code(functions, loop, names, {**(engine() or {}), **errors.external()})

    def leave_out(self, reasons: Mapping[str, str]) -> None:
        """Have NumPy compute some hooks that nothing else depends on."""
        self.hooks, self.reasons = self.hooks - reasons.keys(), {**self.reasons, **reasons}

    def address(self, name: str) -> int:
        """The address of a compiled function."""
        return self._code.addresses[name]

    def single(self, model: mujoco.MjModel, data: mujoco.MjData) -> SingleStepper:
        """The steps of one simulation."""
        return SingleStepper(self, model, data)

    def batch(self, *arguments: Any) -> BatchStepper:
        """The steps of a batch."""
        return BatchStepper(self, *arguments)


@contextlib.contextmanager
def _without_collection() -> Iterator[None]:
    """Pause the garbage collector, which would walk through thousands of new symbols."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@functools.lru_cache(maxsize=64)
def compiled(task: Any, dtype: str, goals: Any, varied: tuple[str, ...]) -> Step | str:
    """Compile a task's control step; returns the reason where it cannot be compiled."""
    sample = Single(compile_model(task), varied)
    needed = {"substep", "current_forces", *(("control",) if task.control_every_substep else ())}
    left_out: dict[str, str] = {}
    while True:
        sample.restore_defaults()
        sample.forward()
        if not isinstance(memory := task.memory(sample.view), Mapping):
            return f"{type(task).__name__}.memory() returns no dict"
        with _without_collection():
            recording = Recorder(task, sample, memory, goals, dtype, left_out).recording
        if task.lagging and (recording.forces_always or needed & recording.functions.keys()):
            return "quantities lag, and hooks run between physics steps"
        for hook in sorted(needed & recording.reasons.keys()):
            name = type(task).__name__
            return f"{name} cannot be compiled: {hook} {recording.reasons[hook]}"
        step = Step(task, sample.model, recording, varied)
        rounding = 0.0 if recording.exact else ROUNDING
        found = Agreement(step, task, goals, sample, rounding).differing
        if needed & found:
            return available.warned("compiled hooks give other numbers on this machine than NumPy")
        left_out = dict.fromkeys(found, "gives other numbers than NumPy")
        if found <= {"observation", "initialize"}:
            step.leave_out(left_out)
            return step
