"""Comparison of compiled hooks with their NumPy form on this machine."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mjgym.sim.engine import get_field
from mjgym.sim.single import Single
from mjgym_fast.machine_code import BETWEEN, BITS, FAILED, Result
from mjgym_fast.stepping import Hook, SingleStepper, address
from mjgym_fast.trace import FIELD
from mjgym_fast.tracing import Recorder

PROBES = 8  # random states; in the last one no number is finite
FAR = 0.3  # their standard deviation from the start, rad or m, and of memory that starts at 0
SHARE = 0.03  # that of other memory, as a fraction of it


class Agreement:
    """Compares compiled hooks with NumPy's in random states.

    Args:
        step: the compiled step.
        recorder: what has recorded them.
        sample: a simulation; its state is overwritten.
        rounding: how far results between physics steps may be apart, relative to an entry's largest
            number.

    Attributes:
        differing: names of the hooks that gave other numbers.
    """

    def __init__(self, step: Any, recorder: Recorder, sample: Single, rounding: float) -> None:
        self._step, self._recorder, self._rounding = step, recorder, rounding
        self._sample, self._view, self.differing = sample, sample.view, set[str]()
        self._arrays = SingleStepper(step, sample.model, sample.data)
        self._seen = np.zeros(max(1, step.recording.shown), dtype=step.recording.dtype)
        self._compare()
        if self._arrays.starts:
            self._compare_starts()

    def _compare(self) -> None:
        rng = np.random.default_rng(0)
        view, sample = self._view, self._sample
        start = np.array(view.qpos)
        memory = view.owned(self._recorder.task.memory(view))
        for probe in range(PROBES):
            view.qpos[:] = start + rng.normal(scale=FAR, size=start.shape)
            view.qvel[:] = rng.normal(size=view.qvel.shape)
            view.time = rng.uniform()
            sample.forward(contacts=False)
            view.ctrl[:] = rng.uniform(-1, 1, view.ctrl.shape)
            if probe == PROBES - 1:
                for name in {"qpos", "qvel", "sensordata", *self._step.fields} - {"time"}:
                    if hasattr(sample.data, name):
                        getattr(sample.data, name)[...] = np.nan
            view.memory = {name: _perturbed(x, rng) for name, x in memory.items()}
            action = self._arrays.action
            action[:] = rng.uniform(-1, 1, action.shape)
            self._recorder.actions = action[0].copy()
            with np.errstate(all="ignore"):
                for name in ("before", *BETWEEN, "after", "observation"):
                    self._probe(name)

    def _compare_starts(self) -> None:
        task = self._recorder.task
        for seed in range(PROBES):
            expected = self._started(seed, lambda rng: task.initialize(self._view, rng))
            found = self._started(seed, lambda rng: self._arrays.begin([0], lambda _: rng))
            if not all(map(np.array_equal, expected, found)):
                self.differing.add("initialize")

    def _started(self, seed: int, begin: Callable[[np.random.Generator], None]) -> list[np.ndarray]:
        sample, rng = self._sample, np.random.default_rng(seed)
        sample.restore_defaults()
        begin(rng)
        state = [getattr(sample.data, name) for name in sample.state_fields]
        varied = [get_field(sample.model, name) for name in sample.varied]
        return [np.array(x) for x in (*state, *varied, rng.random())]

    def _probe(self, name: str) -> None:
        """Compare one function's results with those of its hooks in NumPy."""
        if name not in self._step.recording.functions:
            return
        view, hooks = self._view, getattr(self._recorder, name)
        memory, ctrl = view.memory, np.array(view.ctrl)
        for key, entry in self._arrays.entries.items():
            entry[...] = memory[key]
        try:
            expected = [(x, x.numbers.reshape(-1)) for x in hooks(view) if x.array != BITS]
        except Exception:  # e.g. a singular system: a divergence
            expected = []
        view.memory = memory
        x = self._arrays
        arrays = x.fields, x.memory, x.action, x.results, self._seen, x.work
        function = Hook(self._step.address(name))
        failed = bool(function(*map(address, arrays)) & FAILED)
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
        x, numbers = self._arrays, result.numbers
        if result.array.startswith(FIELD):
            return np.array(getattr(self._view, result.array.removeprefix(FIELD))).reshape(-1)
        written = {"%memory": x.memory, "%results": x.results, "%shown": self._seen}[result.array]
        return np.ndarray(numbers.size, result.dtype, written.data, result.offset)


def _perturbed(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if x.dtype != float:
        return x
    noise = rng.normal(size=x.shape)
    # Larger only: a fibre has a shortest length.
    return np.where(x == 0, FAR * noise, x * (1 + SHARE * abs(noise)))


def _equal(x: np.ndarray, expected: np.ndarray, rounding: float) -> bool:
    known = ~np.isnan(expected)
    if not np.array_equal(known, ~np.isnan(x)):
        return False
    x, expected = x[known], expected[known]
    if not rounding or x.dtype.kind != "f":
        return x.tobytes() == expected.tobytes()
    apart, scale = (np.abs(numbers).max(initial=0.0) for numbers in (x - expected, expected))
    return bool(apart <= rounding * scale)
