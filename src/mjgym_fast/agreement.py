"""Comparison of compiled hooks with their NumPy form on this machine."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mjgym.sim.single import Single
from mjgym_fast.machine_code import FAILED
from mjgym_fast.recording import Entry
from mjgym_fast.stepping import Hook, address, field_addresses

PROBES = 8  # random states; in the last one no number is finite
FAR = 0.3  # their standard deviation from the start, rad or m, and of memory that starts at 0
CONTROLS, SHOWN = "its controls", "its observation"  # no names of memory
SHARE = 0.03  # that of other memory, as a fraction of it


class Agreement:
    """Compares compiled hooks with NumPy's in random states.

    Args:
        step: the compiled step.
        sample: a simulation; its state is overwritten.

    Attributes:
        differing: names of the hooks that gave other numbers.
    """

    def __init__(self, step: Any, task: Any, goals: Any, sample: Single, rounding: float) -> None:
        self._step, self._task, self._goals, self._rounding = step, task, goals, rounding
        self._sample, self._view, self.differing = sample, sample.view, set[str]()
        recording = step.recording
        self._memory = np.zeros(max(1, sum(x.size for x in recording.memory.values())))
        self._action = np.zeros(step.width)
        self._results = np.zeros(max(1, sum(x.size for x in recording.results.values())))
        self._shown = np.zeros(
            max(1, recording.shown), dtype=np.float32 if recording.single else np.float64
        )
        self._work = np.zeros(max(1, step.work))
        self._functions = {
            name: Hook(step.address(name)) for name in recording.functions if name != "forces"
        }
        self._compare()

    def _run(self, name: str) -> bool:
        """Run a compiled function; whether it succeeds."""
        fields = field_addresses(self._sample.data, self._sample.model, self._step.fields)
        arrays = (
            fields, self._memory, self._action, self._results, self._shown, self._work,
        )  # fmt: skip
        return not self._functions[name](*(address(x) for x in arrays), 1) & FAILED

    def _pack(self) -> None:
        for name, entry in self._step.recording.memory.items():
            self._cells(entry)[...] = self._view.memory[name].reshape(-1)

    def _cells(self, entry: Entry) -> np.ndarray:
        step = 8 // entry.dtype.itemsize
        cells = self._memory.view(entry.dtype)
        return cells[entry.first * step : (entry.first + entry.size) * step : step]

    def _compare(self) -> None:
        rng = np.random.default_rng(0)
        view, sample, task = self._view, self._sample, self._task
        start = np.array(view.qpos)
        memory = view.owned(task.memory(view))
        size = len(task.actions(sample.model))
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
            action = rng.uniform(-1, 1, size).astype(np.float32 if probe % 2 else np.float64)
            with np.errstate(all="ignore"):
                self._probe(action)

    def _hook(self, name: str, function: str, work: Callable[[], Mapping[str, Any]]) -> None:
        """Compare one function's results: entries of the memory, ctrl, or the observation."""
        if function not in self._functions:
            return
        self._pack()
        try:
            expected = work()
        except Exception:  # e.g. a singular system: a divergence
            self._run(function)
            return
        expected = {key: np.array(x) for key, x in expected.items()}
        kept = np.array(self._view.ctrl)
        if not self._run(function):
            if all(np.isfinite(x).all() for x in expected.values()):
                self.differing.add(name)
            return
        for key, x in expected.items():
            hook, found = self._computed(name, key)
            if found is None:
                continue
            wanted = x.reshape(-1).astype(found.dtype)
            between = function in ("control", "substep")
            if not _equal(found, wanted, self._rounding if between else 0.0):
                self.differing.add(hook)
        if function != "control":
            self._view.ctrl[:] = kept

    def _computed(self, name: str, key: str) -> tuple[str, np.ndarray | None]:
        """The hook that gives a result, and what its compiled form gave."""
        recording = self._step.recording
        if key == CONTROLS:
            return "control", np.array(self._view.ctrl)
        if key == SHOWN:
            return name, self._shown
        if (entry := recording.memory.get(key)) is not None:
            return "update" if name == "terms" else name, self._cells(entry)
        if key in self._step.fields:
            return name, np.array(getattr(self._view, key)).reshape(-1)
        hook = "terms" if key.startswith("terms/") else key
        if (entry := recording.results.get(key)) is None:
            return hook, None
        return hook, self._results[entry.first : entry.first + entry.size]

    def _probe(self, action: np.ndarray) -> None:
        task, view, goals, hooks = self._task, self._view, self._goals, self._step.hooks
        self._action[...] = 0
        if "control" in hooks or task.control_every_substep:
            self._action[: action.size] = action

        def before() -> dict[str, Any]:
            changed: dict[str, Any] = {}
            memory = view.memory
            if "before_step" in hooks:
                changed = dict(task.before_step(view, action))
                kept = {k: np.asarray(x) for k, x in changed.items() if k in memory}
                view.memory = {**memory, **{k: x.astype(memory[k].dtype) for k, x in kept.items()}}
            if "control" in hooks and not task.control_every_substep:
                changed[CONTROLS] = task.control(view, action)
            view.memory = memory
            return changed

        single = action.dtype == np.float32
        self._hook(
            "before_step",
            "before_single" if single and "before_single" in self._functions else "before",
            before,
        )
        self._hook("control", "control", lambda: {CONTROLS: task.control(view, action)})
        self._hook("substep", "substep", lambda: task.substep(view))

        def after() -> dict[str, Any]:
            terms = task.terms(view)
            found = {f"terms/{name}": x for name, x in terms.items()}
            if "reward" in hooks:
                found["reward"] = task.reward(terms) if goals is None else goals.reward(view)
            for name in ("terminated", "truncated", "success"):
                if name in hooks and name in self._step.recording.results:
                    found[name] = getattr(goals if goals and name == "success" else task, name)(
                        view
                    )
            return {**found, **(task.update(view) if "update" in hooks else {})}

        self._hook("terms", "after", after)
        self._hook("observation", "observation", lambda: {SHOWN: self._observed()})

    def _observed(self) -> np.ndarray:
        entries = dict(self._task.observation(self._view))
        players = len(self._task.players) or 1
        if self._goals is not None:
            shown = {k: x for k, x in entries.items() if k not in self._goals.hidden}
            entries = {**shown, **self._goals.entries(self._view)}
        rows = [np.asarray(x).reshape(players, -1) for x in entries.values()]
        return np.concatenate([r.astype(self._shown.dtype) for r in rows], axis=1).reshape(-1)


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
