"""The function that makes a control step in one simulation after another, as LLVM's text.

Its arguments are in a table of whole numbers and addresses, the context, by the names in `SLOTS`.
"""

import contextlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

import llvmlite.binding as llvm
import mujoco
from llvmlite import ir

from mjgym.sim.engine import DIVERGED as DIVERGENCES
from mjgym.sim.engine import INTEGRATION
from mjgym.sim.single import UNLOGGED
from mjgym_fast.errors import CAUGHT, KEY, PLACE
from mjgym_fast.machine_code import DIVERGED, FAILED, TRUE, WRONG

SLOTS = {
    name: i
    for i, name in enumerate(
        (
            *("next", "chunk", "rows", "count", "stepping", "times"),  # parts of the work
            "stays",  # whether a simulation stays in the thread's MjData for several control steps
            *("substeps", "n"),  # physics steps; rows
            *("models", "own", "datas", "warnings", "fields", "arrays", "width"),
            *("memory", "memories", "action", "actions", "results", "shown", "shows"),
            *("work", "works", "bad", "places"),
            *("state", "known", "states", "begun"),  # of a batch; no bytes: stepped in place
            *("outputs", "sources", "targets", "sizes"),
            *("varied", "values", "settings", "widths"),
        )
    )
}
"""Places in the context."""
_VELOCITIES = int(mujoco.mjtStage.mjSTAGE_VEL)
_STRIDE = 2  # int32 of a warning: its last info, and its count
_BYTE, _INT, _LONG = (ir.IntType(bits) for bits in (8, 32, 64))
_POINTER, _VOID = ir.PointerType(), ir.VoidType()
_HOOK = ir.FunctionType(_LONG, (*[_POINTER] * 6, _LONG))


@dataclass(frozen=True)
class Order:
    """The order of a control step's physics and hooks.

    Attributes:
        splits: whether physics steps have halves.
        lags: whether derived quantities lag, see `mjgym.Task.lagging`.
        parts: whether hooks run between physics steps.
        forces: whether forces are computed in every control step.
        shares: whether a batch has one MjData per thread instead of one per simulation: where
            nothing is kept from one control step to the next, it stays in the CPU cache. Several
            control steps at once use it too, unless fields of the model vary.
    """

    splits: bool
    lags: bool
    parts: bool
    forces: bool
    shares: bool

    @property
    def begins_anew(self) -> bool:
        """True if quantities derived from a loaded state must be recomputed first."""
        return not self.lags and (self.splits or self.parts)


class _Builder(ir.IRBuilder):  # type: ignore[misc]  # it has no types
    """Writes a function of the context and some whole numbers."""

    def __init__(self, module: ir.Module, name: str, numbers: int) -> None:
        kind = ir.FunctionType(_VOID, (_POINTER, *[_LONG] * numbers))
        super().__init__(ir.Function(module, kind, name).append_basic_block())
        self.context, *self.numbers = self.function.args

    def external(self, name: str, kind: ir.FunctionType) -> ir.Function:
        """A function that is defined elsewhere."""
        return self.module.globals.get(name) or ir.Function(self.module, kind, name)

    def at(self, base: Any, index: Any, kind: ir.Type = _BYTE) -> Any:
        """The address of an entry of an array."""
        index = _LONG(index) if isinstance(index, int) else index
        return self.gep(base, [index], source_etype=kind)

    def entry(self, table: Any, place: Any, kind: ir.Type = _POINTER) -> Any:
        """An entry of a table."""
        return self.load(self.at(table, place, kind), typ=kind)

    def number(self, name: str) -> Any:
        """A whole number in the context."""
        return self.entry(self.context, SLOTS[name], _LONG)

    def pointer(self, name: str) -> Any:
        """An address in the context."""
        return self.entry(self.context, SLOTS[name])

    def simulation(self, worker: Any, place: Any, i: Any) -> tuple[Any, Any]:
        """The addresses of a simulation's model and MjData."""
        own = self.select(self.is_set(self.number("own")), i, worker)
        return self.entry(self.pointer("models"), own), self.entry(self.pointer("datas"), place)

    def catch(self, worker: Any, *, begins: bool) -> None:
        """Begin or end to catch the engine's errors in a thread."""
        if CAUGHT:
            kind = ir.FunctionType(_INT, (_LONG, _POINTER))
            cells = self.module.globals
            cell = cells.get(KEY) or ir.GlobalVariable(self.module, _LONG, KEY)
            key = self.load(cell, typ=_LONG)
            place = self.place(worker) if begins else _POINTER(None)
            self.call(self.external("pthread_setspecific", kind), (key, place))

    def place(self, worker: Any) -> Any:
        """The address of a thread's place, see `mjgym_fast.errors`."""
        return self.at(self.pointer("places"), self.mul(worker, _LONG(PLACE)))

    def is_set(self, value: Any) -> Any:
        """True if a whole number is not 0."""
        return self.icmp_signed("!=", value, value.type(0))

    def add_bits(self, bits: Any, more: Any) -> None:
        """Add bits to a variable."""
        self.store(self.or_(self.load(bits, typ=_LONG), more), bits)

    @contextlib.contextmanager
    def repeat(
        self, count: Any, goes_on: Callable[[], Any] = lambda: ir.IntType(1)(1)
    ) -> Iterator[Any]:
        """A loop over the numbers below `count`, while a condition holds."""
        before, test = self.block, self.append_basic_block()
        body, end = self.append_basic_block(), self.append_basic_block()
        self.branch(test)
        self.position_at_end(test)
        k = self.phi(_LONG)
        k.add_incoming(_LONG(0), before)
        self.cbranch(self.and_(self.icmp_signed("<", k, count), goes_on()), body, end)
        self.position_at_end(body)
        yield k
        k.add_incoming(self.add(k, _LONG(1)), self.block)
        self.branch(test)
        self.position_at_end(end)


class _Step(_Builder):
    """Writes `one`, the control step of a simulation.

    It is given its worker, the place of its MjData, its row, the row of its action and results, and
    0 to observe only.

    Args:
        hooks: names of the compiled functions.
    """

    def __init__(self, module: ir.Module, hooks: Collection[str], order: Order) -> None:
        super().__init__(module, "one", 5)
        self._hooks, self._order = hooks, order
        self._worker, self._place, self._i, row, steps = self.numbers
        self._bits, self._changed = self.alloca(_LONG), self.alloca(_LONG)
        self.store(_LONG(0), self._bits)
        self._model, self._data = self.simulation(self._worker, self._place, self._i)
        shown = self.pointer("shown")
        self._arguments = (
            *(self._row("memory", "memories"), self._row("action", "actions", row)),
            self.at(self.pointer("results"), row, ir.DoubleType()),
            self._row("shown", "shows"),
            *(self._row("work", "works", self._worker), self.number("n")),
        )
        self._fields = self._row("fields", "width", self._place)
        self._stays = self.is_set(self.number("stays"))
        self._arrays = self.select(self._stays, self._fields, self._row("arrays", "width"))
        begins = self.icmp_signed("==", row, self.mul(self._i, self.number("times")))
        with self.if_then(self.and_(self._stays, begins)):
            self._engine("mj_resetData")
            self._set_state(whole=True)
        with self.if_then(self.is_set(steps)):
            self._write()
        with self.if_then(self.is_set(self.ptrtoint(shown, _LONG))):
            self._hook("observation", self._arrays)
        byte = self.trunc(self.load(self._bits, typ=_LONG), _BYTE)
        self.store(byte, self.at(self.pointer("bad"), row))
        self.ret_void()

    def _row(self, base: str, size: str, i: Any = None) -> Any:
        """The address of a simulation's row of an array, by the bytes of each."""
        return self.at(self.pointer(base), self.mul(i or self._i, self.number(size)))

    def _engine(self, name: str, *others: Any) -> None:
        """Call a function of the engine on the simulation."""
        arguments = self._model, self._data, *others
        kind = ir.FunctionType(_VOID, [x.type for x in arguments])
        self.call(self.external(name, kind), arguments)

    def _skip(self) -> None:
        self._engine("mj_forwardSkip", _INT(_VELOCITIES), _INT(0))

    def _hook(self, name: str, fields: Any = None) -> None:
        """Call a hook's function, if it is compiled."""
        if name in self._hooks:
            arguments = fields or self._fields, *self._arguments
            self.add_bits(self._bits, self.call(self.external(name, _HOOK), arguments))

    def _holds(self, bit: int) -> Any:
        """True if a function has returned a bit."""
        return self.is_set(self.and_(self.load(self._bits, typ=_LONG), _LONG(bit)))

    def _write(self) -> None:
        order = self._order
        batched = self.and_(self.is_set(self.number("states")), self.not_(self._stays))
        with self.repeat(self.number("varied")) as k:
            place = self.add(self.mul(self._worker, self.number("varied")), k)
            first, size = self._part("widths", k)
            values = self.at(self.entry(self.pointer("values"), k), first)
            self._copy(self.entry(self.pointer("settings"), place), values, size)
        if order.shares:
            self._hook("before", self._arrays)
        with self.if_then(batched):
            self._load()
        if not order.shares:
            self._hook("before")
        with self.if_then(self._holds(TRUE)):
            self._engine("mj_step1")
        self._physics()
        bad = ir.IntType(1)(0)
        counts = self.entry(self.pointer("warnings"), self._place)
        kinds = range(DIVERGENCES.start, DIVERGENCES.stop)
        warnings = [self.at(counts, _STRIDE * kind, _INT) for kind in kinds]
        for warning in warnings:
            count = self.load(warning, typ=_INT)
            counted = self.icmp_signed("!=", count, _INT(UNLOGGED))
            bad = self.or_(bad, self.and_(self.is_set(count), counted))
        self.add_bits(self._bits, self.select(bad, _LONG(DIVERGED), _LONG(0)))
        with self.if_then(batched):
            self._hand_back()
            for warning in warnings if order.shares else ():
                self.store(_INT(0), warning)
        self._hook("after", self._arrays)

    def _physics(self) -> None:
        order, substeps = self._order, self.number("substeps")
        if order.lags:
            with self.repeat(substeps):
                self._engine("mj_step")
            self._engine("mj_rnePostConstraint")
            return
        first = "mj_step2" if order.splits else "mj_step"
        if order.parts:
            with self.repeat(substeps, lambda: self.not_(self._holds(FAILED))) as k:
                self._hook("control")
                self._engine(first)
                self._engine("mj_step1")
                if order.forces:
                    last = self.icmp_signed("==", self.add(k, _LONG(1)), substeps)
                    with self.if_then(last):
                        self._skip()
                self._hook("substep")
        else:
            self._engine(first)
            with self.repeat(self.sub(substeps, _LONG(1))):
                self._engine("mj_step")
            self._engine("mj_step1")
            if order.forces:
                self._skip()
        if "forces" in self._hooks:
            due = self.call(self.external("forces", _HOOK), (self._fields, *self._arguments))
            with self.if_then(self.is_set(due)):
                self._skip()

    def _part(self, sizes: str, k: Any) -> tuple[Any, Any]:
        """First byte and size of a simulation's row in the k-th of some arrays, in bytes."""
        size = self.entry(self.pointer(sizes), k, _LONG)
        return self.mul(self._i, size), size

    def _set_state(self, *, whole: bool) -> None:
        """Load the state from the batch, and compute what follows from it."""
        self._engine("mj_setState", self._row("state", "states"), _INT(INTEGRATION))
        if whole:
            self._engine("mj_step1")

    def _load(self) -> None:
        """Load the state from the batch, unless the last call has left it there."""
        if self._order.shares:
            self._set_state(whole=self._order.begins_anew)
            return
        now, then = (self._row(name, "states") for name in ("state", "known"))
        self.store(_LONG(0), self._changed)
        with self.repeat(self.sdiv(self.number("states"), _LONG(8))) as k:
            differs = self.xor(self.entry(now, k, _LONG), self.entry(then, k, _LONG))
            self.add_bits(self._changed, differs)
        flag = self.at(self.pointer("begun"), self._i)
        new = self.is_set(self.load(flag, typ=_BYTE))
        with self.if_then(self.or_(self.is_set(self.load(self._changed, typ=_LONG)), new)):
            with self.if_then(new):
                self._engine("mj_resetData")
                self.store(_BYTE(0), flag)
            self._set_state(whole=True)

    def _hand_back(self) -> None:
        """Copy the state and the outputs into the batch's arrays."""
        now, size = self._row("state", "states"), self.number("states")
        self._engine("mj_getState", now, _INT(INTEGRATION))
        self._copy(self._row("known", "states"), now, size)
        with self.repeat(self.number("outputs")) as k:
            place = self.add(self.mul(self._place, self.number("outputs")), k)
            first, size = self._part("sizes", k)
            rows = self.at(self.entry(self.pointer("targets"), k), first)
            self._copy(rows, self.entry(self.pointer("sources"), place), size)

    def _copy(self, target: Any, source: Any, size: Any) -> None:
        kind = ir.FunctionType(_VOID, (_POINTER, _POINTER, _LONG, ir.IntType(1)))
        copy = self.external("llvm.memcpy.p0.p0.i64", kind)
        self.call(copy, (target, source, size, ir.IntType(1)(0)))


def _guarded(module: ir.Module, one: ir.Function) -> ir.Function:
    """Write the control step in which an error of the engine is a divergence."""
    if not CAUGHT:
        return one
    b = _Builder(module, "guarded", 5)
    worker, place, i, row, _ = b.numbers
    mark = b.external("_setjmp", ir.FunctionType(_INT, (_POINTER,)))
    mark.attributes.add("returns_twice")
    with b.if_else(b.is_set(b.call(mark, (b.place(worker),)))) as (raised, goes_on):
        with raised:
            arguments = b.simulation(worker, place, i)
            kind = ir.FunctionType(_VOID, (_POINTER, _POINTER))
            b.call(b.external("mj_resetData", kind), arguments)
            b.store(_BYTE(DIVERGED), b.at(b.pointer("bad"), row))
            with b.if_then(b.is_set(b.number("states"))):
                b.store(_BYTE(1), b.at(b.pointer("begun"), i))
        with goes_on:
            b.call(one, (b.context, *b.numbers))
    b.ret_void()
    return b.function


def step_text(hooks: Collection[str], order: Order, ends: Collection[int]) -> str:
    """The text of `alone` (the only simulation) and `run` (parts of a batch, until none is left).

    Args:
        hooks: names of the compiled functions: before, control, substep, forces, after,
            observation.
        ends: places of the results that are not 0 where an episode ends.
    """
    module = ir.Module()
    module.triple = llvm.get_default_triple()
    one = _guarded(module, _Step(module, hooks, order).function)
    b = _Builder(module, "alone", 0)
    b.catch(_LONG(0), begins=True)
    b.call(one, (b.context, *[_LONG(0)] * 4, b.number("stepping")))
    b.catch(_LONG(0), begins=False)
    b.ret_void()
    b = _Builder(module, "run", 1)
    chunk, count, stepping = (b.number(name) for name in ("chunk", "count", "stepping"))
    take, over = b.append_basic_block(), b.alloca(ir.IntType(1))
    (worker,), times, stays = b.numbers, b.number("times"), b.is_set(b.number("stays"))
    b.catch(worker, begins=True)
    b.branch(take)
    b.position_at_end(take)
    first = b.atomic_rmw("add", b.at(b.context, SLOTS["next"], _LONG), chunk, "seq_cst")
    with b.if_then(b.icmp_signed("<", first, count)):
        left = b.sub(count, first)
        with b.repeat(b.select(b.icmp_signed("<", chunk, left), chunk, left)) as k:
            place = b.add(first, k)
            i = b.entry(b.pointer("rows"), place, _LONG)
            steps = b.zext(b.icmp_signed("<", place, stepping), _LONG)
            data = worker if order.shares else b.select(stays, worker, i)
            b.store(ir.IntType(1)(0), over)
            with b.repeat(times, lambda: b.not_(b.load(over, typ=ir.IntType(1)))) as t:
                row = b.add(b.mul(i, times), t)
                b.call(one, (b.context, worker, data, i, row, steps))
                ended = b.is_set(b.and_(b.entry(b.pointer("bad"), row, _BYTE), _BYTE(WRONG)))
                for result in ends:
                    cell = b.add(b.mul(_LONG(result), b.number("n")), row)
                    flag = b.entry(b.pointer("results"), cell, ir.DoubleType())
                    ended = b.or_(ended, b.fcmp_unordered("!=", flag, ir.DoubleType()(0)))
                b.store(ended, over)
        b.branch(take)
    b.catch(worker, begins=False)
    b.ret_void()
    return str(module)
