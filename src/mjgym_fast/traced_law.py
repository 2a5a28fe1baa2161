"""The hooks `control` and `substep` of a task as a compiled function."""

import itertools
from collections.abc import Mapping
from typing import Any

import mujoco
import mujoco.batch
import numpy as np

from mjgym.arrays import Array
from mjgym.sim.single import Single, SingleView
from mjgym.sim.views import Named, View
from mjgym_fast.machine_code import Function, Place, law_code, needed
from mjgym_fast.stepping import Law
from mjgym_fast.symbols import Symbol, Symbols, Trace, UntraceableError, number, symbols

READABLE = frozenset(
    [
        "qpos",
        "qvel",
        "act",
        "ctrl",
        "qfrc_applied",
        "xfrc_applied",
        "mocap_pos",
        "mocap_quat",
        "userdata",
        "xpos",
        "xquat",
        "xmat",
        "xipos",
        "ximat",
        "xanchor",
        "xaxis",
        "geom_xpos",
        "geom_xmat",
        "site_xpos",
        "site_xmat",
        "cam_xpos",
        "cam_xmat",
        "light_xpos",
        "light_xdir",
        "subtree_com",
        "cdof",
        "cinert",
        "crb",
        "M",
        "ten_length",
        "actuator_length",
        "cvel",
        "cdof_dot",
        "ten_velocity",
        "actuator_velocity",
        "qfrc_bias",
        "qfrc_passive",
    ]
)
"""The state, and fields that `mj_step1` computes; others are out of date after a reset."""
_CODE = 2.0**40  # numbers of field i of the coded simulation are from i times this


class _TracedView(View):
    """A view whose arrays hold symbols of a simulation's numbers."""

    _names: list[str]
    _trace: Trace

    def __init__(self, model: mujoco.MjModel, trace: Trace, memory: Mapping[str, Array]) -> None:
        super().__init__(())
        data = mujoco.MjData(model)
        names = sorted(READABLE & mujoco.batch.DATA_FIELDS)
        for i, name in enumerate(names, start=1):
            values = getattr(data, name)
            values[...] = i * _CODE + np.arange(values.size).reshape(values.shape)
        self.__dict__.update(
            model=model, _coded=SingleView(model, data), _names=names, _trace=trace
        )
        self.memory = {name: inputs(trace, "memory", name, x) for name, x in memory.items()}

    def _field(self, name: str) -> Array:
        return self._symbols(name, getattr(self._coded, name))

    def _element(self, kind: str, name: str) -> Named:
        coded = getattr(self._coded, kind)(name)
        return Named(lambda x: self._symbols(f"{x} of {kind} {name!r}", getattr(coded, x)))

    def _symbols(self, name: str, values: Any) -> Any:
        """Symbols of the numbers whose codes an array of the coded simulation holds."""
        codes = np.asarray(values)
        if codes.dtype != float or (codes < _CODE).any():
            raise UntraceableError(f"reads {name}, which is no position, velocity or state")

        def symbol(code: float) -> Symbol:
            field, index = divmod(code, _CODE)
            return self._trace.symbol("input", "field", self._names[int(field) - 1], int(index))

        return symbols(np.frompyfunc(symbol, 1, 1)(codes))


def inputs(trace: Trace, kind: str, name: str, like: Array) -> Any:
    """Symbols of an array's numbers."""
    flat = [
        trace.symbol("input", kind, name, i, truth=like.dtype == bool) for i in range(like.size)
    ]
    array = np.empty(like.size, dtype=object)
    array[:] = flat
    return symbols(array.reshape(like.shape))


class TracedLaw(Law):
    """`control` and `substep` of a task, recorded on symbols and compiled.

    Args:
        task: the task; `control` may not read its action.
        sample: a simulation of its model.

    Attributes:
        exact: whether it equals the hooks to the bit, as far as is known.

    Raises:
        UntraceableError: a hook does something that cannot be recorded.
    """

    def __init__(self, task: Any, sample: Single) -> None:
        model, memory = sample.model, sample.view.owned(task.memory(sample.view))
        traces = Trace(), Trace()
        before, after = (_TracedView(model, trace, memory) for trace in traces)
        action = inputs(traces[0], "action", "", np.zeros(len(task.actions(model))))
        control = _flat(task.control(before, action))
        changed = {name: _flat(x) for name, x in task.substep(after).items()}
        self.exact = all(trace.exact for trace in traces)
        read = {
            x.inputs[:2]
            for x in (*needed(control), *needed(itertools.chain(*changed.values())))
            if x.operation == "input"
        }
        if ("action", "") in read:
            raise UntraceableError("reads its action, which `before_step` could remember")
        self.fields = ("ctrl", *sorted({name for kind, name in read if kind == "field"} - {"ctrl"}))
        packed = changed.keys() | {name for kind, name in read if kind == "memory"}
        for name in packed:
            if memory[name].dtype == np.float32:
                raise UntraceableError(f"computes in single precision with the memory {name!r}")
        self._like = {name: memory[name] for name in memory if name in packed}
        ends = np.cumsum([0, *(x.size for x in self._like.values())]).tolist()
        self._places = dict(zip(self._like, itertools.pairwise(ends), strict=True))
        self._changed, self._nu = tuple(changed), model.nu
        written: list[tuple[Place, Any]] = [
            (self._place("memory", name, i), x)
            for name, values in changed.items()
            for i, x in enumerate(values)
        ]
        functions = (
            Function("control", [(("0", i), x) for i, x in enumerate(control)], self._place),
            Function("substep", written, self._place),
        )
        self.work = max(function.work for function in functions)
        self.address, self._code = law_code(*(function.text for function in functions))

    def _place(self, kind: str, name: str, index: int) -> Place:
        if kind == "memory":
            return "%memory", self._places[name][0] + index
        return str(self.fields.index(name)), index

    def begin(self, view: View) -> tuple[Array, np.ndarray]:
        """Controls, all set by the function, and its memory, (n, k)."""
        n = view.lead[0] if view.lead else 1
        parts = [
            view.memory[name].reshape(n, end - start) for name, (start, end) in self._places.items()
        ]
        memory = np.concatenate([np.zeros((n, 0)), *parts], axis=1, dtype=np.float64)
        return np.zeros((*view.lead, self._nu)), memory

    def end(self, view: View, memory: np.ndarray) -> dict[str, Array]:
        """Memory entries that change between physics steps."""
        entries = {}
        for name in self._changed:
            like, values = self._like[name], memory[:, slice(*self._places[name])]
            entries[name] = values.reshape((*view.lead, *like.shape)).astype(like.dtype, copy=False)
        return entries


def _flat(values: Any) -> list[Any]:
    array = values.view(np.ndarray) if isinstance(values, Symbols) else np.asarray(values)
    return [number(x) for x in array.astype(object).reshape(-1).tolist()]
