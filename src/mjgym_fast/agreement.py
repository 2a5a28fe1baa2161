"""Comparison of compiled hooks with their NumPy form on this machine."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from mjgym.sim.engine import get_field
from mjgym.sim.single import Single
from mjgym_fast.machine_code import BETWEEN, FAILED, FIELD, Outputs, Result
from mjgym_fast.stepping import Hook, SingleStepper, address
from mjgym_fast.tracing import Entry, Hooks

PROBES = 8  # random states; in the last one no number is finite
FAR = 0.3  # their standard deviation from the start, rad or m, and of memory that starts at 0
SHARE = 0.03  # that of other memory, as a fraction of it


class Agreement(Hooks):
    """Compares compiled hooks with NumPy's in random states.

    Args:
        step: the compiled step.
        sample: a simulation; its state is overwritten.
        rounding: how far results between physics steps may be apart, relative to an entry's largest
            number.

    Attributes:
        differing: names of the hooks that gave other numbers.
    """

    def __init__(self, step: Any, task: Any, goals: Any, sample: Single, rounding: float) -> None:
        super().__init__(task, sample.model, goals, step.recording)
        self._step, self._rounding = step, rounding
        self._sample, self._view, self.differing = sample, sample.view, set[str]()
        self._arrays = SingleStepper(step, sample.model, sample.data)
        self._seen = np.zeros(max(1, self.recording.shown), dtype=self.recording.dtype)
        self._functions = {
            name: Hook(step.address(name))
            for name in self.recording.functions
            if name not in ("forces", "start")
        }
        self._compare()
        if self._arrays.starts:
            self._compare_starts()

    def _try(self, hook: str, work: Callable[[], Any]) -> Any:
        return None if hook in self.recording.reasons else work()

    def _array(self, x: Any, dtype: np.dtype[Any]) -> Any:
        return np.asarray(x).astype(dtype)

    def _action(self, view: Any, size: int) -> Any:
        return self._arrays.action[0, :size].copy()

    def _compare(self) -> None:
        rng = np.random.default_rng(0)
        view, sample = self._view, self._sample
        start = np.array(view.qpos)
        memory = view.owned(self._task.memory(view))
        for probe in range(PROBES):
            view.qpos[:] = start + rng.normal(scale=FAR, size=start.shape)
            view.qvel[:] = rng.normal(size=view.qvel.shape)
            view.time = rng.uniform()
            sample.forward(contacts=False)
            view.ctrl[:] = rng.uniform(-1, 1, view.ctrl.shape)
            if probe == PROBES - 1:
                view.qpos[:], view.qvel[:] = np.nan, np.nan
                view.sensordata[:] = np.nan
                for name in self._step.fields:
                    if name != "time" and hasattr(sample.data, name):
                        getattr(sample.data, name)[...] = np.nan
            view.memory = {name: _perturbed(x, rng) for name, x in memory.items()}
            action = self._arrays.action
            action[:] = rng.uniform(-1, 1, action.shape)
            with np.errstate(all="ignore"):
                for name in ("before", *BETWEEN, "after", "observation"):
                    self._probe(name, getattr(self, name))

    def _compare_starts(self) -> None:
        sample, stepper = self._sample, self._arrays
        model, data = sample.model, sample.data
        found: list[list[np.ndarray]] = []
        for seed, compiled in itertools.product(range(PROBES), (False, True)):
            sample.restore_defaults()
            rng = np.random.default_rng(seed)
            if compiled:
                stepper.begin([0], [rng].__getitem__)
            else:
                self._task.initialize(self._view, rng)
            state = [getattr(data, name) for name in sample.state_fields]
            varied = [get_field(model, name) for name in sample.varied]
            found.append([np.array(x) for x in (*state, *varied, rng.random())])
        for expected, numbers in zip(found[::2], found[1::2], strict=True):
            if not all(map(np.array_equal, expected, numbers)):
                self.differing.add("initialize")

    def _probe(self, name: str, hooks: Callable[[Any], Outputs]) -> None:
        """Compare one function's results with those of its hooks in NumPy."""
        if name not in self._functions:
            return
        view = self._view
        memory, ctrl = view.memory, np.array(view.ctrl)
        for key, entry in self._arrays.entries.items():
            entry[...] = memory[key]
        try:
            expected = [(x, x.numbers.reshape(-1)) for x in hooks(view).results]
        except Exception:  # e.g. a singular system: a divergence
            expected = []
        view.memory = memory
        x = self._arrays
        arrays = x.fields, x.memory, x.action, x.results, self._seen, x.work
        failed = bool(self._functions[name](*map(address, arrays), 1) & FAILED)
        if failed and not all(np.isfinite(x).all() for _, x in expected):
            expected = []
        rounding = self._rounding if name in BETWEEN else 0.0
        for result, numbers in expected:
            if failed or not _equal(self._computed(result), numbers, rounding):
                self.differing.add(result.hook)
        if name != "control":
            view.ctrl[:] = ctrl

    def _computed(self, result: Result) -> np.ndarray:
        """A result of the compiled form."""
        pointer, first, size = result.pointer, result.first, result.numbers.size
        if pointer == "%memory":
            return self._arrays.part(Entry(first, (size,), result.dtype))
        if pointer.startswith(FIELD):
            return np.array(getattr(self._view, pointer.removeprefix(FIELD))).reshape(-1)
        cells = self._arrays.results[:, 0] if pointer == "%results" else self._seen
        return cells[first : first + size]


def _perturbed(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if x.dtype != float:
        return x
    noise = rng.normal(size=x.shape)
    # Larger only: a fibre has a shortest length.
    return np.where(x == 0, FAR * noise, x * (1 + SHARE * abs(noise)))


def _equal(x: np.ndarray, expected: np.ndarray, rounding: float) -> bool:
    if x.dtype.kind != "f":
        return bool(np.array_equal(x, expected))
    nan = np.isnan(expected)
    if not np.array_equal(nan, np.isnan(x)):
        return False
    if not rounding:
        bits = np.dtype(f"i{x.itemsize}")
        same = np.ascontiguousarray(x).view(bits) == np.ascontiguousarray(expected).view(bits)
        return bool((same | nan).all())
    apart, scale = np.abs(x - expected)[~nan], np.abs(expected[~nan])
    return bool(apart.max(initial=0.0) <= rounding * scale.max(initial=0))
