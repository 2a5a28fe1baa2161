"""The function that makes a control step in one simulation after another, as LLVM's text.

Its arguments are in a `Context`.
"""

import contextlib
import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import llvmlite.binding as llvm
import mujoco
from llvmlite import ir

from mjgym.sim.engine import DIVERGED as DIVERGENCES
from mjgym.sim.engine import INTEGRATION
from mjgym.sim.single import UNLOGGED
from mjgym_fast.errors import CAUGHT, KEY
from mjgym_fast.machine_code import BETWEEN, DIVERGED, FAILED, TRUE, WRONG
from mjgym_fast.tracing import entries_of

ROWED = (
    *("memory", "action", "results", "shown", "work", "places"),
    *("fields", "arrays", "state", "known"),
)
"""Arrays with a row for each simulation, MjData, thread or step."""
COPIED = ("varied", "outputs")
"""What is copied between a batch's arrays and its models, and each MjData."""
SLOTS = (
    *("next", "chunk", "count", "times"),  # parts of the work
    "stays",  # whether a simulation stays in the thread's MjData for several control steps
    "substeps",  # physics steps
    *("models", "own", "datas", "warnings", "stepped", "bad", "begun"),
    *ROWED,
    *(f"{name}_step" for name in ROWED),  # bytes of a row; 0 if a simulation is stepped in place
    *COPIED,  # how many arrays
    *(f"{name}_{part}" for name in COPIED for part in ("cells", "arrays", "sizes")),
)


class Context(ctypes.Structure):
    """Whole numbers, and addresses of arrays."""

    _fields_ = tuple((name, ctypes.c_int64) for name in SLOTS)


ENDS = ("terminated", "truncated")
_VELOCITIES = int(mujoco.mjtStage.mjSTAGE_VEL)
_STRIDE = 2  # int32 of a warning: its last info, and its count
_BYTE, _INT, _LONG = (ir.IntType(bits) for bits in (8, 32, 64))
_POINTER, _VOID = ir.PointerType(), ir.VoidType()
_HOOK = ir.FunctionType(_LONG, [_POINTER] * 6)


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
        return self.entry(self.context, SLOTS.index(name), _LONG)

    def pointer(self, name: str) -> Any:
        """An address in the context."""
        return self.entry(self.context, SLOTS.index(name))

    def row(self, name: str, i: Any) -> Any:
        """The address of a row of an array."""
        return self.at(self.pointer(name), self.mul(i, self.number(f"{name}_step")))

    def simulation(self, worker: Any, place: Any, i: Any) -> tuple[Any, Any]:
        """The addresses of a simulation's model and MjData."""
        own = self.select(self.is_set(self.number("own")), i, worker)
        return self.entry(self.pointer("models"), own), self.entry(self.pointer("datas"), place)

    def catch(self, place: Any) -> None:
        """Have the thread's errors caught at a place, see `mjgym_fast.errors`; null ends that."""
        if CAUGHT:
            cells = self.module.globals
            cell = cells.get(KEY) or ir.GlobalVariable(self.module, _LONG, KEY)
            kind = ir.FunctionType(_INT, (_LONG, _POINTER))
            key = self.load(cell, typ=_LONG)
            self.call(self.external("pthread_setspecific", kind), (key, place))

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

    It is given its worker, the place of its MjData, its row, and the row of its action and results.

    Args:
        step: the compiled step.
    """

    def __init__(self, module: ir.Module, step: Any) -> None:
        super().__init__(module, "one", 4)
        self._step, self._hooks = step, step.recording.functions.keys()
        self._in_parts = bool(self._hooks & BETWEEN)
        self._worker, self._place, i, row = self.numbers
        self._i = i
        self._bits, self._changed = self.alloca(_LONG), self.alloca(_LONG)
        self.store(_LONG(0), self._bits)
        self._model, self._data = self.simulation(self._worker, self._place, i)
        rows = {"memory": i, "action": row, "results": row, "shown": i, "work": self._worker}
        self._arguments = [self.row(name, k) for name, k in rows.items()]
        self._fields, arrays = self.row("fields", self._place), self.row("arrays", i)
        self._stays = self.is_set(self.number("stays"))
        self._arrays = self.select(self._stays, self._fields, arrays)
        begins = self.icmp_signed("==", row, self.mul(i, self.number("times")))
        with self.if_then(self.and_(self._stays, begins)):
            self._engine("mj_resetData")
            self._set_state(whole=True)
        steps = self.entry(self.pointer("stepped"), i, _BYTE)
        with self.if_then(self.is_set(steps)):  # others are only observed
            self._write()
        with self.if_then(self.is_set(self.number("shown"))):
            self._hook("observation", self._arrays)
        byte = self.trunc(self.load(self._bits, typ=_LONG), _BYTE)
        self.store(byte, self.at(self.pointer("bad"), row))
        self.ret_void()

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
        shares = self._step.shares
        batched = self.and_(self.is_set(self.number("state_step")), self.not_(self._stays))
        with self._copied("varied", self._worker) as (cell, row, size):
            self._copy(cell, row, size)
        if shares:
            self._hook("before", self._arrays)
        with self.if_then(batched):
            self._load()
        if not shares:
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
            for warning in warnings if shares else ():
                self.store(_INT(0), warning)
        self._hook("after", self._arrays)

    def _physics(self) -> None:
        step, substeps = self._step, self.number("substeps")
        if step.lags:
            with self.repeat(substeps):
                self._engine("mj_step")
            self._engine("mj_rnePostConstraint")
            return
        with self.repeat(substeps, lambda: self.not_(self._holds(FAILED))) as k:
            self._hook("control")
            self._engine("mj_step2" if step.splits else "mj_step")
            last = self.icmp_signed("==", self.add(k, _LONG(1)), substeps)
            each = step.splits or self._in_parts  # else the next `mj_step` computes it itself
            with self.if_then(ir.IntType(1)(1) if each else last):
                self._engine("mj_step1")
            if step.forces:
                with self.if_then(last):
                    self._skip()
            self._hook("substep")
        if "forces" in self._hooks:
            due = self.call(self.external("forces", _HOOK), (self._fields, *self._arguments))
            with self.if_then(self.is_set(due)):
                self._skip()

    @contextlib.contextmanager
    def _copied(self, name: str, place: Any) -> Iterator[tuple[Any, Any, Any]]:
        """A loop over what is copied: where it is in an MjData or model, in a batch, and bytes."""
        with self.repeat(count := self.number(name)) as k:
            cell = self.entry(self.pointer(f"{name}_cells"), self.add(self.mul(place, count), k))
            size = self.entry(self.pointer(f"{name}_sizes"), k, _LONG)
            array = self.entry(self.pointer(f"{name}_arrays"), k)
            yield cell, self.at(array, self.mul(self._i, size)), size

    def _set_state(self, *, whole: bool) -> None:
        """Load the state from the batch, and compute what follows from it."""
        self._engine("mj_setState", self.row("state", self._i), _INT(INTEGRATION))
        if whole:
            self._engine("mj_step1")

    def _load(self) -> None:
        """Load the state from the batch, unless the last call has left it there."""
        step = self._step
        if step.shares:
            self._set_state(whole=not step.lags and (step.splits or self._in_parts))
            return
        now, then = (self.row(name, self._i) for name in ("state", "known"))
        self.store(_LONG(0), self._changed)
        with self.repeat(self.sdiv(self.number("state_step"), _LONG(8))) as k:
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
        now = self.row("state", self._i)
        self._engine("mj_getState", now, _INT(INTEGRATION))
        self._copy(self.row("known", self._i), now, self.number("state_step"))
        with self._copied("outputs", self._place) as (cell, row, size):
            self._copy(row, cell, size)

    def _copy(self, target: Any, source: Any, size: Any) -> None:
        kind = ir.FunctionType(_VOID, (_POINTER, _POINTER, _LONG, ir.IntType(1)))
        copy = self.external("llvm.memcpy.p0.p0.i64", kind)
        self.call(copy, (target, source, size, ir.IntType(1)(0)))


def _guarded(module: ir.Module, one: ir.Function) -> ir.Function:
    """Write the control step in which an error of the engine is a divergence."""
    if not CAUGHT:
        return one
    b = _Builder(module, "guarded", 4)
    worker, place, i, row = b.numbers
    mark = b.external("_setjmp", ir.FunctionType(_INT, (_POINTER,)))
    mark.attributes.add("returns_twice")
    with b.if_else(b.is_set(b.call(mark, (b.row("places", worker),)))) as (raised, goes_on):
        with raised:
            kind = ir.FunctionType(_VOID, (_POINTER, _POINTER))
            b.call(b.external("mj_resetData", kind), b.simulation(worker, place, i))
            b.store(_BYTE(DIVERGED), b.at(b.pointer("bad"), row))
            with b.if_then(b.is_set(b.number("state_step"))):
                b.store(_BYTE(1), b.at(b.pointer("begun"), i))
        with goes_on:
            b.call(one, (b.context, *b.numbers))
    b.ret_void()
    return b.function


def step_text(step: Any) -> str:
    """The text of `alone` (the only simulation) and `run` (parts of a batch, until none is left).

    Args:
        step: the compiled step, whose functions they call.
    """
    module = ir.Module()
    module.triple = llvm.get_default_triple()
    one = _guarded(module, _Step(module, step).function)
    b = _Builder(module, "alone", 0)
    b.catch(b.pointer("places"))
    b.call(one, (b.context, *[_LONG(0)] * 4))
    b.catch(_POINTER(None))
    b.ret_void()
    ends = [part for name, part in entries_of(step.recording.results).items() if name in ENDS]
    b = _Builder(module, "run", 1)
    chunk, count = b.number("chunk"), b.number("count")
    take, over = b.append_basic_block(), b.alloca(ir.IntType(1))
    (worker,), times, stays = b.numbers, b.number("times"), b.is_set(b.number("stays"))
    b.catch(b.row("places", worker))
    b.branch(take)
    b.position_at_end(take)
    first = b.atomic_rmw("add", b.at(b.context, SLOTS.index("next"), _LONG), chunk, "seq_cst")
    with b.if_then(b.icmp_signed("<", first, count)):
        left = b.sub(count, first)
        with b.repeat(b.select(b.icmp_signed("<", chunk, left), chunk, left)) as k:
            i = b.add(first, k)
            data = worker if step.shares else b.select(stays, worker, i)
            b.store(ir.IntType(1)(0), over)
            with b.repeat(times, lambda: b.not_(b.load(over, typ=ir.IntType(1)))) as t:
                row = b.add(b.mul(i, times), t)
                b.call(one, (b.context, worker, data, i, row))
                ended = b.is_set(b.and_(b.entry(b.pointer("bad"), row, _BYTE), _BYTE(WRONG)))
                for _, offset in ends:
                    flag = b.load(b.at(b.row("results", row), offset), typ=_BYTE)
                    ended = b.or_(ended, b.is_set(flag))
                b.store(ended, over)
        b.branch(take)
    b.catch(_POINTER(None))
    b.ret_void()
    return str(module)
