"""Machine code of recorded hooks, by LLVM.

Each operation is a line of LLVM's text. A call of a library's function stores its inputs in the
scratch space, calls the function by address, and loads its results.
"""

import ctypes
import functools
import itertools
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from mjgym_fast.object_cache import object_of
from mjgym_fast.symbols import (
    COMPARISONS,
    FLOAT,
    SINGLE,
    TRUTH,
    WHOLE,
    Symbol,
    UntraceableError,
    flat,
)

SIZE = 8  # bytes of a number
LONG = 1_000  # operations
PIECE = 300  # operations of a basic block
BETWEEN = ("control", "substep")  # functions between physics steps
TYPES = {FLOAT: "double", SINGLE: "float", WHOLE: "i64", TRUTH: "i1"}
ARGUMENTS = "ptr %fields, ptr %memory, ptr %action, ptr %results, ptr %shown, ptr %work, i64 %n"
FAILED, BAD_REWARD, NOT_FINITE, DIVERGED, TRUE = 1, 2, 4, 8, 16
"""Bits of what a function returns: a system was singular, a result is not finite, forces are due or
the state changes."""
NO_STATE = FAILED | BAD_REWARD | DIVERGED
WRONG = NO_STATE | NOT_FINITE

FIELD = "field "
Place = tuple[str, int]
"""Where a number is: an argument of the function, or FIELD and the name of a field, and an index
in it."""


def needed(values: Iterable[Any]) -> list[Symbol]:
    """All symbols that some values depend on, each right before the first that needs it.

    So few numbers are alive at once, which saves LLVM most of its time.
    """
    order: dict[int, Symbol] = {}
    left = [(value, False) for value in values][::-1]
    while left:
        value, ready = left.pop()
        if isinstance(value, tuple):
            left += [(x, False) for x in reversed(value)]
        elif isinstance(value, Symbol) and value.number not in order:
            if ready:
                order[value.number] = value
            else:
                left.append((value, True))
                left += [(x, False) for x in reversed(value.inputs)]
    return list(order.values())


@dataclass
class Result:
    """Numbers that a hook writes, one after another.

    Args:
        pointer: where they are, as in `Place`.
        first: index of the first one.
        numbers: an array of symbols and constants, or of numbers.
        dtype: dtype in which they are written.
    """

    hook: str
    pointer: str
    first: int
    numbers: Any
    dtype: np.dtype[Any]


@dataclass
class Outputs:
    """Results of a compiled function.

    Args:
        bits: conditions under which it returns a bit.
    """

    results: list[Result] = field(default_factory=list)
    bits: dict[int, Any] = field(default_factory=dict)

    @functools.cached_property
    def symbols(self) -> list[Symbol]:
        """All symbols that they depend on."""
        arrays = *(x.numbers for x in self.results), *self.bits.values()
        return needed(value for x in arrays for value in flat(x))


class Function:
    """The text of a function that writes symbols into memory.

    Args:
        outputs: what it computes.
        place: places of inputs, by their kind, name and index.
        fields: names of the fields whose addresses it is given.

    Attributes:
        text: the function.
        work: size of the scratch space, in numbers.
        size: number of operations.
        external: names that the text has for addresses outside it.
    """

    def __init__(
        self,
        name: str,
        outputs: Outputs,
        place: Mapping[Any, Place],
        fields: Sequence[str] = (),
    ) -> None:
        self._name, self._place, self._fields, self.work = name, place, fields, 0
        self.external: dict[int, str] = {}
        self._arrays: dict[str, str] = {}
        self._lines: list[str] = []
        self._failed = "false"
        self._loaded: dict[str, str] = {}  # addresses of fields
        self._declared: set[str] = set()  # functions of LLVM
        self._results: dict[int, int] = {}  # places of called functions' results
        symbols = outputs.symbols
        self.size = len(symbols)
        for i, symbol in enumerate(symbols, 1):
            self._write(symbol)
            if i % PIECE == 0:
                self._divide()
        for x in outputs.results:
            self._store(x.pointer, x.first, flat(x.numbers), x.dtype)
        total = "0"
        for bit, condition in ((FAILED, self._failed), *outputs.bits.items()):
            holds = condition if isinstance(condition, str) else _value(condition, TRUTH)
            self._line(f"%is{bit} = select i1 {holds}, i64 {bit}, i64 0")
            self._line(f"%bits{bit} = or i64 {total}, %is{bit}")
            total = f"%bits{bit}"
        arrays = "".join(f"{name} = private {values}\n" for values, name in self._arrays.items())
        arrays += "".join(f"@{name} = external global i8\n" for name in self.external.values())
        arrays += "".join(sorted(self._declared))
        lines = "\n".join(f"  {line}" for line in self._lines)
        lines += f"\n  ret i64 {total}\nout:\n  ret i64 0\n"
        self.text = f"{arrays}define i64 @{name}({ARGUMENTS}) {{\n{lines}}}\n"

    def _divide(self) -> None:
        """Begin another basic block; LLVM's time grows faster than the length of one.

        A branch that is never taken keeps LLVM from joining them again. It is a switch, which has
        LLVM write a block without optimization in a third less code than a branch would.
        """
        name = f"part{len(self._lines)}"
        self._line(f"switch i64 %n, label %{name} [i64 -1, label %out]")
        self._line(f"{name}:")

    def _store(self, pointer: str, first: int, values: Sequence[Any], dtype: np.dtype[Any]) -> None:
        """Write numbers one after another."""
        for i, value in enumerate(values, first):
            kind, text = TYPES[dtype], _value(value, dtype)
            if dtype == TRUTH:
                kind, text = "i8", self._new(f"zext i1 {text} to i8")
            self._line(f"store {kind} {text}, ptr {self._at(pointer, i)}")

    def _write(self, symbol: Symbol) -> None:
        """Write an operation, whose result has the symbol's name."""
        name, dtype, inputs = symbol.operation, symbol.dtype, symbol.inputs
        if name == "call":
            self._call(symbol, *inputs)
            return
        if name == "cast" or name in _COMPARISONS:
            dtype = next(x.dtype for x in inputs if isinstance(x, Symbol))
        if name in ("input", "output"):
            text = self._load(symbol)
        elif name == "lookup":
            table, place = self._outside(inputs[0]), _value(inputs[1], WHOLE)
            address = self._new(f"getelementptr double, ptr {table}, i64 {place}")
            text = f"load double, ptr {address}"
        elif name == "select":
            text = self._select(dtype, *inputs)
        else:
            kind, values = TYPES[dtype], [_value(x, dtype) for x in inputs]
            operands = f"{kind} {', '.join(values)}"
            if name == "cast":
                to = TYPES[symbol.dtype]
                text = f"{_CASTS[kind, to]} {operands} to {to}"
            elif name == "fabs":  # of bits: LLVM would take far longer to compile its own
                whole, sign = ("i64", 63) if dtype == FLOAT else ("i32", 31)
                signed = self._new(f"bitcast {operands} to {whole}")
                bits = self._new(f"and {whole} {signed}, {2**sign - 1}")
                text = f"bitcast {whole} {bits} to {kind}"
            elif name in _INTRINSICS:
                function = f"{kind} @llvm.{name}.{_SUFFIXES[kind]}"
                self._declared.add(f"declare {function}({', '.join([kind] * len(values))})\n")
                text = f"call {function}({', '.join(f'{kind} {x}' for x in values)})"
            elif name in _COMPARISONS:
                how = f"fcmp {name}" if dtype.kind == "f" else f"icmp {_OF_WHOLE[name]}"
                text = f"{how} {operands}"
            else:
                text = f"{name} {operands}"
        self._line(f"%v{symbol.number} = {text}")

    def _load(self, symbol: Symbol) -> str:
        if symbol.operation == "input":
            place = self._place[symbol.inputs]
        else:
            called, index = symbol.inputs
            place = _in_work(self._results[called.number], index, symbol.dtype)
        address = self._at(*place)
        if symbol.dtype == TRUTH:
            return f"icmp ne i8 {self._new(f'load i8, ptr {address}')}, 0"
        if symbol.dtype == SINGLE and symbol.inputs[0] == "action":
            return f"fptrunc double {self._new(f'load double, ptr {address}')} to float"
        return f"load {TYPES[symbol.dtype]}, ptr {address}"

    def _select(self, dtype: np.dtype[Any], condition: Any, *values: Any) -> str:
        """Choose between two numbers as whole ones: x86 has an instruction for these alone.

        For others, LLVM would divide the function here, in time that grows with the rest of it.
        """
        kind, whole = TYPES[dtype], f"i{max(32, 8 * dtype.itemsize)}"
        to, back = ("zext", "trunc") if dtype == TRUTH else ("bitcast", "bitcast")
        bits = [self._new(f"{to} {kind} {_value(x, dtype)} to {whole}") for x in values]
        listed = ", ".join(f"{whole} {x}" for x in bits)
        chosen = self._new(f"select i1 {_value(condition, TRUTH)}, {listed}")
        return f"{back} {whole} {chosen} to {kind}"

    # Calls of NumPy's loops.

    def _call(
        self, symbol: Symbol, numbers: Sequence[Any], count: int, ufunc: np.ufunc,
        sizes: Sequence[int], starts: Sequence[int], steps: Sequence[int],
    ) -> None:  # fmt: skip
        """A ufunc's loop over numbers or matrices, whose places are in items."""
        dtype, loop = symbol.dtype, ufunc_loop(ufunc, symbol.dtype.char)
        first, results, pointers = map(self._reserve, (len(numbers), count, len(starts)))
        inputs: dict[int, str] = {}  # addresses of arrays by their start
        ends = *sorted({*starts[: ufunc.nin]}), len(numbers)
        for start, end in itertools.pairwise(ends):
            values, (pointer, place) = numbers[start:end], _in_work(first, start, dtype)
            if any(isinstance(x, Symbol) for x in values):
                self._store(pointer, place, values, dtype)
                inputs[start] = self._at(pointer, place)
            else:
                inputs[start] = self._constants(TYPES[dtype], [_value(x, dtype) for x in values])
        for i, start in enumerate(starts):
            given = i < ufunc.nin
            where = inputs[start] if given else self._at(*_in_work(results, start, dtype))
            self._line(f"store ptr {where}, ptr {self._at('%work', pointers + i)}")
        places = sizes, [dtype.itemsize * step for step in steps]
        arguments = self._at("%work", pointers), *(self._constants("i64", x) for x in places)
        listed = ", ".join(f"ptr {x}" for x in (*arguments, self._outside(loop[1])))
        self._line(f"call void {self._outside(loop[0])}({listed})")
        self._results[symbol.number] = results
        if ufunc.signature and ufunc not in (np.matmul, np.vecdot):
            # NumPy raises for a singular system, whose solution the loop fills with NaN.
            kind = TYPES[dtype]
            number = self._new(f"load {kind}, ptr {self._at(*_in_work(results, 0, dtype))}")
            failed = self._new(f"fcmp uno {kind} {number}, {number}")
            self._failed = self._new(f"or i1 {self._failed}, {failed}")

    def _constants(self, kind: str, numbers: Sequence[Any]) -> str:
        """An array of numbers beside the function."""
        listed = ", ".join(f"{kind} {x}" for x in numbers)
        values = f"constant [{len(numbers)} x {kind}] [{listed}]"
        return self._arrays.setdefault(values, f"@{self._name}.{len(self._arrays)}")

    def _outside(self, address: int) -> str:
        """A name for an address, which is another one in each process."""
        if not address:
            return "null"
        name = self.external.setdefault(address, f"{self._name}.outside{len(self.external)}")
        return f"@{name}"

    def _reserve(self, count: int) -> int:
        first = self.work
        self.work += count
        return first

    def _at(self, pointer: str, index: int) -> str:
        """The address of a number."""
        if pointer.startswith(FIELD):
            name = pointer.removeprefix(FIELD)
            if name not in self._loaded:
                place = self._fields.index(name)
                address = self._new(f"getelementptr ptr, ptr %fields, i64 {place}")
                self._loaded[name] = self._new(f"load ptr, ptr {address}")
            pointer = self._loaded[name]
        kind, item = "double", str(index)
        if pointer == "%results":  # one array per result
            item = self._new(f"mul i64 %n, {index}")
        elif pointer in ("%shown32", "%work32"):
            kind, pointer = "float", pointer.removesuffix("32")
        return self._new(f"getelementptr {kind}, ptr {pointer}, i64 {item}")

    def _new(self, text: str) -> str:
        """Write an operation; returns the name of its result."""
        name = f"%x{len(self._lines)}"
        self._line(f"{name} = {text}")
        return name

    def _line(self, text: str) -> None:
        self._lines.append(text)


_INTRINSICS = ("sqrt", "floor", "ceil", "rint", "trunc", "smax", "smin")
_SUFFIXES = {"double": "f64", "float": "f32", "i64": "i64"}
_COMPARISONS = {*COMPARISONS.values(), "uno", "ord", "ugt", "ult"}
_OF_WHOLE = {"olt": "slt", "ole": "sle", "ogt": "sgt", "oge": "sge", "oeq": "eq", "une": "ne"}
_CASTS = {
    ("double", "float"): "fptrunc", ("float", "double"): "fpext",
    ("double", "i64"): "fptosi", ("float", "i64"): "fptosi",
    ("i64", "double"): "sitofp", ("i64", "float"): "sitofp",
    ("i1", "double"): "uitofp", ("i1", "float"): "uitofp", ("i1", "i64"): "zext",
}  # fmt: skip


def _in_work(first: int, index: int, dtype: np.dtype[Any]) -> Place:
    """The place of a number of an array in the scratch space."""
    pointer = "%work" if dtype == FLOAT else "%work32"
    return pointer, first * SIZE // dtype.itemsize + index


def _value(value: Any, dtype: np.dtype[Any]) -> str:
    if isinstance(value, Symbol):
        return f"%v{value.number}"
    if dtype == TRUTH:
        return str(bool(value)).lower()
    if dtype == WHOLE:
        return str(int(value))
    number = dtype.type(value).item()  # a float32's is written as a float64
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


class _Ufunc(ctypes.Structure):
    """The beginning of NumPy's PyUFuncObject, after the head of an object."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        *((name, ctypes.POINTER(ctypes.c_void_p)) for name in ("functions", "data")),
        ("ntypes", ctypes.c_int),
    )


def ufunc_loop(ufunc: np.ufunc, kind: str) -> tuple[int, int]:
    """Addresses of a ufunc's loop over numbers of a kind, "d" or "f", and of its data.

    Raises:
        UntraceableError: this version of NumPy has them elsewhere.
    """
    head = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    if (head.nin, head.nout, head.ntypes) != (ufunc.nin, ufunc.nout, ufunc.ntypes):
        raise UntraceableError(f"calls {ufunc.__name__}, whose loops are elsewhere in this NumPy")
    which = ufunc.types.index(f"{kind * ufunc.nin}->{kind * ufunc.nout}")
    return head.functions[which] or 0, head.data[which] or 0


@functools.cache
def _processor(optimized: bool) -> Any:
    """A description of this machine's processor."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=int(optimized),  # more takes longer, and the code is as fast
        jit=True,
    )


@functools.cache
def _linker() -> Any:
    """A linker, which places compiled functions in memory."""
    return llvm.create_lljit_compiler(_processor(True))


class Code:
    """Compiled functions; they live as long as this object.

    Args:
        functions: hooks by name; long ones are compiled without optimization, which takes a
            quarter of the time: their code is larger by a quarter, but as fast.
        loop: LLVM's text of the functions that call them.
        names: names of the functions that are looked up.
        external: addresses of the functions that the loop calls, by name.

    Attributes:
        addresses: of these functions, by name.
    """

    def __init__(
        self,
        functions: Mapping[str, Function],
        loop: str,
        names: Sequence[str],
        external: Mapping[str, int],
    ) -> None:
        builder = llvm.JITLibraryBuilder()
        builder.add_object_img(_object(loop, True))
        for name, address in external.items():
            builder.import_symbol(name, address)
        for function in functions.values():
            code = _object(function.text, function.size <= LONG)
            builder.add_object_img(code)
            for address, outside in function.external.items():
                builder.import_symbol(outside, address)
        for name in names:
            builder.export_symbol(name)
        self._library = builder.link(_linker(), f"hooks{next(_numbers)}")
        self.addresses: dict[str, int] = {name: self._library[name] for name in names}


def _object(text: str, optimized: bool) -> bytes:
    """Compile LLVM text to object code; addresses of libraries and tables stay symbolic."""
    processor = _processor(optimized)
    version = llvm.llvm_version_info, llvmlite.__version__
    features = llvm.get_host_cpu_features().flatten()
    settings = f"{version} {processor.triple} {llvm.get_host_cpu_name()} {features} {optimized}"

    def compile() -> bytes:
        code: bytes = processor.emit_object(llvm.parse_assembly(text))
        return code

    return object_of(text, settings, compile)


_numbers = itertools.count()
