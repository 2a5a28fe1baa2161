"""The operations of hooks, recorded as lines of LLVM's text.

A line is written once, however often its result is used. A call of a library's function stores its
inputs in the scratch space, calls the function by address, and loads its results.
"""

import ctypes
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

MOST = 100_000  # lines; 30,000 compile for half a second
SIZE = 8  # bytes of a number in the scratch space, an action or a field
FLOAT, SINGLE, WHOLE, TRUTH = (np.dtype(x) for x in (np.float64, np.float32, np.int64, np.bool_))
TYPES = {FLOAT: "double", SINGLE: "float", WHOLE: "i64", TRUTH: "i1"}
FIELD = "field "
"""Begins the names of arrays that are fields of the simulation; others are arguments."""

_CASTS = {"fi": "fptosi", "if": "sitofp", "bf": "uitofp", "bi": "zext"}


class UntraceableError(TypeError):
    """A hook does something with an array that cannot be recorded."""


class Symbol:
    """A line of a function, and the number that it computes.

    Args:
        trace: the trace that it belongs to.
        name: of the number.
        line: LLVM's text.
        needs: what the line depends on: symbols, and others that do not matter.
        dtype: of the number.
    """

    __slots__ = ("dtype", "line", "name", "needs", "trace")

    def __init__(
        self, trace: "Trace", name: str, line: str, needs: tuple[Any, ...], dtype: np.dtype[Any]
    ) -> None:
        self.trace, self.name, self.line, self.needs, self.dtype = trace, name, line, needs, dtype

    def __str__(self) -> str:
        return self.name


class Outside:
    """Fields and addresses that the functions of a control step refer to.

    Attributes:
        fields: places of fields of the simulation in the table of their addresses.
        names: names of NumPy's loops and of tables of constants, by their addresses, which are
            others in each process.
    """

    def __init__(self) -> None:
        self.fields: dict[str, int] = {}
        self.names: dict[int, str] = {}
        self._tables: dict[Any, tuple[np.ndarray, np.ndarray]] = {}

    def name(self, address: int | None) -> str:
        """The name of an address."""
        if not address:
            return "null"
        return self.names.setdefault(address, f"@outside{len(self.names)}")

    def table(self, numbers: np.ndarray) -> str:
        """The name of a table of constants."""
        key = layout(numbers)
        if key not in self._tables:
            self._tables[key] = np.ascontiguousarray(numbers), numbers
        return self.name(self._tables[key][0].ctypes.data)


class Trace:
    """The operations of some hooks.

    Attributes:
        exact: whether all sums are in NumPy's order.
        work: size of the scratch space, in numbers of 8 bytes.
        constants: names of arrays of constants, by their text.
        checks: calls, with conditions under which they have failed.
    """

    def __init__(self, outside: Outside) -> None:
        self.outside, self.exact, self.work = outside, True, 0
        self.constants: dict[str, str] = {}
        self.checks: list[tuple[Symbol, Symbol]] = []
        self._known: dict[str, Symbol] = {}

    @property
    def count(self) -> int:
        """Number of lines."""
        return len(self._known)

    def clear(self) -> None:
        """Let go of all symbols, which refer to the trace."""
        self._known.clear()
        self.checks.clear()

    def add(
        self, text: str, *needs: Any, dtype: np.dtype[Any] = FLOAT, returns: bool = True
    ) -> Symbol:
        """A line and the number that it returns, if any; equal lines are one symbol."""
        known = self._known.get(text)
        if known is None:
            name = f"%v{len(self._known)}"
            known = Symbol(self, name, f"{name} = {text}" if returns else text, needs, dtype)
            self._known[text] = known
        return known

    def operation(self, word: str, *values: Any, dtype: np.dtype[Any] = FLOAT) -> Symbol:
        """The result of an instruction, or a function of LLVM ("@sqrt"), of numbers of a dtype."""
        if word == "select":
            return self.select(*values, dtype=dtype)
        if len(self._known) > MOST:
            raise UntraceableError(f"takes more than {MOST} operations")
        kind = TYPES[dtype]
        texts = [x.name if isinstance(x, Symbol) else text_of(x, dtype) for x in values]
        text = f"{word} {kind} {', '.join(texts)}"
        if word[0] == "@":
            listed = ", ".join(f"{kind} {x}" for x in texts)
            text = f"call {kind} @llvm.{word[1:]}.{dtype.kind}{8 * dtype.itemsize}({listed})"
        return self.add(text, *values, dtype=TRUTH if "cmp" in word else dtype)

    def select(self, condition: Any, *values: Any, dtype: np.dtype[Any]) -> Symbol:
        """One of two numbers, chosen as whole ones: x86 has an instruction for these alone.

        For others, LLVM would divide the function here, in time that grows with the rest of it.
        """
        kind, whole = TYPES[dtype], f"i{max(32, 8 * dtype.itemsize)}"
        to, back = ("zext", "trunc") if dtype == TRUTH else ("bitcast", "bitcast")
        one, other = (self.add(f"{to} {kind} {text_of(x, dtype)} to {whole}", x) for x in values)
        text = f"select i1 {text_of(condition, TRUTH)}, {whole} {one}, {whole} {other}"
        chosen = self.add(text, condition, one, other)
        return self.add(f"{back} {whole} {chosen} to {kind}", chosen, dtype=dtype)

    def magnitude(self, value: Symbol) -> Symbol:
        """The absolute value, by its bits: LLVM would take far longer to compile its own."""
        kind, bits = TYPES[value.dtype], 8 * value.dtype.itemsize
        signed = self.add(f"bitcast {kind} {value} to i{bits}", value)
        unsigned = self.add(f"and i{bits} {signed}, {2 ** (bits - 1) - 1}", signed)
        return self.add(f"bitcast i{bits} {unsigned} to {kind}", unsigned, dtype=value.dtype)

    def cast(self, value: Symbol, dtype: np.dtype[Any]) -> Symbol:
        """A number in another dtype."""
        old = value.dtype
        if dtype == TRUTH:
            return self.operation("fcmp une" if old.kind == "f" else "icmp ne", value, 0, dtype=old)
        word = _CASTS.get(old.kind + dtype.kind) or ("fptrunc" if dtype == SINGLE else "fpext")
        return self.add(f"{word} {TYPES[old]} {value} to {TYPES[dtype]}", value, dtype=dtype)

    def place(self, array: str, offset: int) -> Symbol:
        """An address, so many bytes after the beginning of an array."""
        start: Any = array
        if array.startswith(FIELD):
            fields = self.outside.fields
            number = fields.setdefault(array.removeprefix(FIELD), len(fields))
            start = self.add(f"getelementptr ptr, ptr %fields, i64 {number}")
            start = self.add(f"load ptr, ptr {start}", start)
        return self.add(f"getelementptr i8, ptr {start}, i64 {offset}", start)

    def load(self, array: str, offset: int, *needs: Any, dtype: np.dtype[Any] = FLOAT) -> Symbol:
        """A number in memory."""
        place = self.place(array, offset)
        if dtype == TRUTH:
            byte = self.add(f"load i8, ptr {place}", place, *needs)
            return self.add(f"icmp ne i8 {byte}, 0", byte, dtype=dtype)
        return self.add(f"load {TYPES[dtype]}, ptr {place}", place, *needs, dtype=dtype)

    def lookup(self, table: np.ndarray, place: Symbol) -> Symbol:
        """A number of a table of constants."""
        address = f"getelementptr double, ptr {self.outside.table(table)}, i64 {place}"
        at = self.add(address, place)
        return self.add(f"load double, ptr {at}", at)

    def stores(
        self, array: str, offset: int, values: Iterable[Any], dtype: np.dtype[Any]
    ) -> list[Symbol]:
        """Lines that write numbers one after another, from an offset on."""
        lines = []
        for i, value in enumerate(values):
            place = self.place(array, offset + i * dtype.itemsize)
            kind, number, text = TYPES[dtype], value, text_of(value, dtype)
            if dtype == TRUTH:
                kind, text = "i8", str(number := self.add(f"zext i1 {text} to i8", value))
            store = f"store {kind} {text}, ptr {place}"
            lines.append(self.add(store, number, place, returns=False))
        return lines

    def reserve(self, count: int) -> int:
        """The offset of some numbers in the scratch space."""
        self.work += count
        return SIZE * (self.work - count)

    def stored(self, numbers: Sequence[Any], dtype: np.dtype[Any]) -> tuple[Any, list[Symbol]]:
        """The address of numbers in memory, and lines that write them there."""
        if first_symbol(numbers) is None:
            return self._constant(TYPES[dtype], [text_of(x, dtype) for x in numbers]), []
        first = self.reserve(len(numbers))
        lines = self.stores("%work", first, numbers, dtype)
        return self.place("%work", first), lines

    def call(
        self,
        ufunc: np.ufunc,
        dtype: np.dtype[Any],
        operands: Sequence[Any],
        sizes: Sequence[int],
        steps: Sequence[int],
        lines: list[Symbol],
    ) -> Symbol:
        """A call of a ufunc's loop.

        Args:
            operands: addresses of inputs and outputs.
            sizes: the loop's.
            steps: from one entry of an operand to the next, in items.
            lines: which write the inputs; others are added.
        """
        loop, data = map(self.outside.name, _loop(ufunc, dtype.char))
        table = self.reserve(len(operands))
        for i, operand in enumerate(operands):
            at = self.place("%work", table + SIZE * i)
            lines.append(self.add(f"store ptr {operand}, ptr {at}", operand, at, returns=False))
        constants = (self._constant("i64", x) for x in (sizes, [dtype.itemsize * x for x in steps]))
        listed = ", ".join(f"ptr {x}" for x in (self.place("%work", table), *constants, data))
        return self.add(f"call void {loop}({listed})", *lines, returns=False)

    def _constant(self, kind: str, numbers: Sequence[Any]) -> str:
        """The name of an array of constants beside the function."""
        listed = ", ".join(f"{kind} {x}" for x in numbers)
        text = f"private constant [{len(numbers)} x {kind}] [{listed}]"
        return self.constants.setdefault(text, f"@constant{len(self.constants)}")


class _Ufunc(ctypes.Structure):
    """The beginning of NumPy's PyUFuncObject, after the head of an object."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        *((name, ctypes.POINTER(ctypes.c_void_p)) for name in ("functions", "data")),
        ("ntypes", ctypes.c_int),
    )


def _loop(ufunc: np.ufunc, kind: str) -> list[int | None]:
    """Addresses of a ufunc's loop over numbers of a kind, "d" or "f", and of its data.

    Raises:
        UntraceableError: there is none, or this version of NumPy has them elsewhere.
    """
    name, loop = ufunc.__name__, f"{kind * ufunc.nin}->{kind * ufunc.nout}"
    if loop not in ufunc.types:
        raise UntraceableError(f"calls {name} of {np.dtype(kind)}")
    head = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    if (head.nin, head.nout, head.ntypes) != (ufunc.nin, ufunc.nout, ufunc.ntypes):
        raise UntraceableError(f"calls {name}, whose loops are elsewhere in this NumPy")
    which = ufunc.types.index(loop)
    return [head.functions[which], head.data[which]]


def text_of(value: Any, dtype: np.dtype[Any]) -> str:
    """LLVM's text of a symbol or a constant."""
    if isinstance(value, Symbol):
        return value.name
    if dtype == TRUTH:
        return str(bool(value)).lower()
    if dtype == WHOLE:
        return str(int(value))
    if dtype == SINGLE:
        value = dtype.type(value)  # which is written as a float64
    return f"0x{struct.pack('>d', value).hex()}"


def layout(x: np.ndarray) -> tuple[Any, ...]:
    """The address, the shape and the steps of an array."""
    return x.ctypes.data, x.shape, x.strides


def first_symbol(values: Iterable[Any]) -> Symbol | None:
    """The first symbol among some values."""
    return next((x for x in values if isinstance(x, Symbol)), None)
