"""Machine code of recorded hooks, by LLVM.

Each operation is a line of LLVM's text. A call of a library's function stores its inputs in the
scratch space, calls the function by address, and loads its results.
"""

import ctypes
import functools
import itertools
import re
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
    cast,
)

SIZE = 8  # bytes of a number
LONG = 3_000  # operations
TYPES = {FLOAT: "double", SINGLE: "float", WHOLE: "i64", TRUTH: "i1"}
_INTRINSICS = ("sqrt", "floor", "ceil", "rint", "trunc")
ARGUMENTS = "ptr %fields, ptr %memory, ptr %action, ptr %results, ptr %shown, ptr %work, i64 %n"
FAILED, BAD_REWARD, NOT_FINITE, DIVERGED, TRUE = 1, 2, 4, 8, 16
"""Bits of what a function returns: a system was singular, a result is not finite, or its condition
holds."""

Place = tuple[str, int]
"""Where a number is: a pointer and an index, or the number of a field and an index in it."""


def needed(values: Iterable[Any]) -> list[Symbol]:
    """All symbols that some values depend on, in the order in which they were recorded."""
    known: dict[int, Symbol] = {}
    left = list(values)
    while left:
        value = left.pop()
        if isinstance(value, tuple):
            left += value
        elif isinstance(value, Symbol) and value.number not in known:
            known[value.number] = value
            left += value.inputs
    return [known[number] for number in sorted(known)]


@dataclass
class Outputs:
    """Results of a compiled function.

    Args:
        values: places, values, and the dtypes in which they are written.
        finite: by bit of the result: values that must be finite.
        condition: whether forces are due, or the state changes; None if neither is its business.
    """

    values: list[tuple[Place, Any, np.dtype[Any]]] = field(default_factory=list)
    finite: dict[int, list[Any]] = field(default_factory=dict)
    condition: Any = None

    @property
    def symbols(self) -> list[Symbol]:
        """All symbols that they depend on."""
        tested = [x for values in self.finite.values() for x in values]
        return needed([*(value for _, value, _ in self.values), *tested, self.condition])


class Function:
    """The text of a function that writes symbols into memory.

    Args:
        outputs: what it computes.
        place: places of inputs, by their kind, name and index.

    Attributes:
        text: the function.
        work: size of the scratch space, in numbers.
        size: number of operations.
    """

    def __init__(self, name: str, outputs: Outputs, place: Mapping[Any, Place]) -> None:
        self._name, self._place, self.work = name, place, 0
        self._arrays: dict[str, str] = {}
        self._lines: list[str] = []
        self._failed = "false"
        self._fields: set[str] = set()
        self._results: dict[int, int] = {}  # places of called functions' results
        symbols = outputs.symbols
        self.size = len(symbols)
        for symbol in symbols:
            self._write(symbol)
        bits = f"select i1 {{}}, i64 {FAILED}, i64 0"
        tests = [self._tested(bit, values) for bit, values in outputs.finite.items()]
        for where, value, dtype in outputs.values:
            self._store(where, value, dtype)
        self._line(f"%bits = {bits.format(self._failed)}")
        total = "%bits"
        for i, test in enumerate(tests):
            self._line(f"%bits{i} = or i64 {total}, {test}")
            total = f"%bits{i}"
        if outputs.condition is not None:
            holds = _value(outputs.condition, TRUTH)
            self._line(f"%holds = select i1 {holds}, i64 {TRUE}, i64 0")
            self._line(f"%with = or i64 {total}, %holds")
            total = "%with"
        arrays = "".join(f"{name} = private {values}\n" for values, name in self._arrays.items())
        lines = "\n".join(f"  {line}" for line in self._lines)
        self.text = f"{arrays}define i64 @{name}({ARGUMENTS}) {{\n{lines}\n  ret i64 {total}\n}}\n"

    def _tested(self, bit: int, values: list[Any]) -> str:
        """A bit if a value is not finite."""
        total, name = _value(0.0, FLOAT), f"%t{bit}"
        for i, value in enumerate(values):
            dtype = value.dtype if isinstance(value, Symbol) else FLOAT
            kind, zero = TYPES[dtype], _value(0.0, dtype)
            self._line(f"{name}m{i} = fmul {kind} {_value(value, dtype)}, {zero}")
            part = f"{name}m{i}"
            if dtype == SINGLE:
                self._line(f"{name}w{i} = fpext float {part} to double")
                part = f"{name}w{i}"
            self._line(f"{name}s{i} = fadd double {total}, {part}")
            total = f"{name}s{i}"
        self._line(f"{name}u = fcmp uno double {total}, {_value(0.0, FLOAT)}")
        self._line(f"{name} = select i1 {name}u, i64 {bit}, i64 0")
        return name

    def _store(self, place: Place, value: Any, dtype: np.dtype[Any]) -> None:
        address, kind, text = self._at(*place), TYPES[dtype], _value(cast(value, dtype), dtype)
        if dtype == TRUTH:
            name = f"{address}b"
            self._line(f"{name} = zext i1 {text} to i8")
            text, kind = name, "i8"
        self._line(f"store {kind} {text}, ptr {address}")

    def _write(self, symbol: Symbol) -> None:
        name = symbol.operation
        result, kind = f"%v{symbol.number}", TYPES[symbol.dtype]
        if name in _WRITERS:
            _WRITERS[name](self, result, symbol, *symbol.inputs)
        elif name == "fabs":  # of bits: LLVM would take far longer to compile its own
            whole, sign = ("i64", 63) if symbol.dtype == FLOAT else ("i32", 31)
            value = _value(symbol.inputs[0], symbol.dtype)
            self._line(f"{result}x = bitcast {kind} {value} to {whole}")
            self._line(f"{result}y = and {whole} {result}x, {2**sign - 1}")
            self._line(f"{result} = bitcast {whole} {result}y to {kind}")
        elif name in _INTRINSICS:
            suffix = "f64" if symbol.dtype == FLOAT else "f32"
            value = _value(symbol.inputs[0], symbol.dtype)
            self._line(f"{result} = call {kind} @llvm.{name}.{suffix}({kind} {value})")
        elif name in (*COMPARISONS.values(), "sle"):
            dtype = next(x.dtype for x in symbol.inputs if isinstance(x, Symbol))
            how = _of_whole(name) if dtype == WHOLE else f"fcmp {name}"
            one, other = (_value(x, dtype) for x in symbol.inputs)
            self._line(f"{result} = {how} {TYPES[dtype]} {one}, {other}")
        else:
            values = [_value(x, symbol.dtype) for x in symbol.inputs]
            self._line(f"{result} = {name} {kind} {', '.join(values)}")

    def _input(self, result: str, symbol: Symbol, *where: Any) -> None:
        self._load(result, symbol, self._at(*self._place[where]))

    def _output(self, result: str, symbol: Symbol, called: Symbol, index: int) -> None:
        first = self._results[called.number]
        self._load(result, symbol, self._in_work(first, index, symbol.dtype))

    def _select(self, result: str, symbol: Symbol, condition: Any, one: Any, other: Any) -> None:
        self._choose(result, _value(condition, TRUTH), symbol.dtype, one, other)

    def _choose(
        self, result: str, condition: str, dtype: np.dtype[Any], one: Any, other: Any
    ) -> None:
        """Choose between two numbers as whole ones: x86 has an instruction for these alone.

        For others, LLVM would divide the function here, in time that grows with the rest of it.
        """
        kind, whole = TYPES[dtype], f"i{max(32, 8 * dtype.itemsize)}"
        for name, value in ((f"{result}x", one), (f"{result}y", other)):
            how = "zext" if dtype == TRUTH else "bitcast"
            self._line(f"{name} = {how} {kind} {_value(value, dtype)} to {whole}")
        self._line(f"{result}w = select i1 {condition}, {whole} {result}x, {whole} {result}y")
        how = "trunc" if dtype == TRUTH else "bitcast"
        self._line(f"{result} = {how} {whole} {result}w to {kind}")

    def _extreme(self, result: str, symbol: Symbol, *inputs: Any) -> None:
        """The larger or the smaller number; NaN is passed on, as in NumPy."""
        kind = TYPES[symbol.dtype]
        one, other = (_value(x, symbol.dtype) for x in inputs)
        order = "ogt" if symbol.operation == "maximum" else "olt"
        self._line(f"{result}a = fcmp {order} {kind} {one}, {other}")
        self._line(f"{result}b = fcmp uno {kind} {one}, {_value(0.0, symbol.dtype)}")
        self._line(f"{result}c = or i1 {result}a, {result}b")
        self._choose(result, f"{result}c", symbol.dtype, *inputs)

    def _extreme_of_whole(self, result: str, symbol: Symbol, *inputs: Any) -> None:
        one, other = (_value(x, WHOLE) for x in inputs)
        self._line(f"{result} = call i64 @llvm.{symbol.operation}.i64(i64 {one}, i64 {other})")

    def _is_nan(self, result: str, symbol: Symbol, value: Symbol) -> None:
        zero = _value(0.0, value.dtype)
        self._line(f"{result} = fcmp uno {TYPES[value.dtype]} {_value(value, value.dtype)}, {zero}")

    def _is_finite(self, result: str, symbol: Symbol, value: Symbol) -> None:
        kind, zero = TYPES[value.dtype], _value(0.0, value.dtype)
        self._line(f"{result}z = fmul {kind} {_value(value, value.dtype)}, {zero}")
        self._line(f"{result} = fcmp ord {kind} {result}z, {zero}")

    def _load(self, result: str, symbol: Symbol, address: str) -> None:
        if symbol.dtype == TRUTH:
            self._line(f"{result}d = load i8, ptr {address}")
            self._line(f"{result} = icmp ne i8 {result}d, 0")
        elif symbol.dtype == SINGLE and symbol.inputs[:1] == ("action",):
            self._line(f"{result}d = load double, ptr {address}")
            self._line(f"{result} = fptrunc double {result}d to float")
        else:
            self._line(f"{result} = load {TYPES[symbol.dtype]}, ptr {address}")

    def _cast(self, result: str, symbol: Symbol, value: Symbol) -> None:
        dtype = symbol.dtype
        how = {
            (FLOAT, SINGLE): "fptrunc",
            (SINGLE, FLOAT): "fpext",
            (WHOLE, FLOAT): "sitofp",
            (WHOLE, SINGLE): "sitofp",
            (FLOAT, WHOLE): "fptosi",
            (SINGLE, WHOLE): "fptosi",
        }[value.dtype, dtype]
        text = f"{TYPES[value.dtype]} {_value(value, value.dtype)}"
        self._line(f"{result} = {how} {text} to {TYPES[dtype]}")

    def _divide(self, result: str, symbol: Symbol, *inputs: Any) -> None:
        """Python's division of whole numbers by a positive constant, which rounds down."""
        one, other = (_value(x, WHOLE) for x in inputs)
        self._line(f"{result}r = srem i64 {one}, {other}")
        self._line(f"{result}n = icmp slt i64 {result}r, 0")
        if symbol.operation == "mod":
            self._line(f"{result}m = add i64 {result}r, {other}")
            self._line(f"{result} = select i1 {result}n, i64 {result}m, i64 {result}r")
        else:
            self._line(f"{result}q = sdiv i64 {one}, {other}")
            self._line(f"{result}m = sub i64 {result}q, 1")
            self._line(f"{result} = select i1 {result}n, i64 {result}m, i64 {result}q")

    def _count(
        self, result: str, symbol: Symbol, order: str, ends: Sequence[float], value: Any
    ) -> None:
        total = "0"
        for i, end in enumerate(ends):
            number = _value(end, FLOAT)
            self._line(f"{result}c{i} = fcmp {order} double {number}, {_value(value, FLOAT)}")
            self._line(f"{result}n{i} = zext i1 {result}c{i} to i64")
            self._line(f"{result}s{i} = add i64 {total}, {result}n{i}")
            total = f"{result}s{i}"
        self._line(f"{result} = add i64 {total}, 0")

    def _look_up(self, result: str, symbol: Symbol, table: int, count: int, place: Symbol) -> None:
        low = f"call i64 @llvm.smax.i64(i64 {_value(place, WHOLE)}, i64 0)"
        self._line(f"{result}l = {low}")
        self._line(f"{result}h = call i64 @llvm.smin.i64(i64 {result}l, i64 {count - 1})")
        self._line(f"{result}p = getelementptr double, ptr {_pointer_to(table)}, i64 {result}h")
        self._line(f"{result} = load double, ptr {result}p")

    # Calls of NumPy's loops.

    def _call(
        self, result: str, symbol: Symbol, numbers: Sequence[Any], count: int, ufunc: np.ufunc,
        sizes: Sequence[int], starts: Sequence[int], steps: Sequence[int],
    ) -> None:  # fmt: skip
        """A ufunc's loop over numbers or matrices, whose places are in items."""
        dtype, loop = symbol.dtype, ufunc_loop(ufunc, symbol.dtype.char)
        first, results, pointers = map(self._reserve, (len(numbers), count, len(starts)))
        for i, value in enumerate(numbers):
            where = self._in_work(first, i, dtype)
            self._line(f"store {TYPES[dtype]} {_value(value, dtype)}, ptr {where}")
        for i, start in enumerate(starts):
            where = self._in_work(first if i < ufunc.nin else results, start, dtype)
            self._line(f"store ptr {where}, ptr {self._at('%work', pointers + i)}")
        bytes = [dtype.itemsize * step for step in steps]
        arguments = self._at("%work", pointers), self._constants(sizes), self._constants(bytes)
        listed = ", ".join(f"ptr {x}" for x in (*arguments, _pointer_to(loop[1])))
        self._line(f"call void {_pointer_to(loop[0])}({listed})")
        self._results[symbol.number] = results
        if ufunc.signature and ufunc not in (np.matmul, np.vecdot):
            # NumPy raises for a singular system, whose solution the loop fills with NaN.
            kind, where = TYPES[dtype], self._in_work(results, 0, dtype)
            self._line(f"{result} = load {kind}, ptr {where}")
            self._line(f"{result}s = fcmp uno {kind} {result}, {result}")
            self._line(f"{result}e = or i1 {self._failed}, {result}s")
            self._failed = f"{result}e"

    def _constants(self, numbers: Sequence[int]) -> str:
        """An array of whole numbers beside the function."""
        kind = f"[{len(numbers)} x i64]"
        values = f"constant {kind} [{', '.join(f'i64 {x}' for x in numbers)}]"
        return self._arrays.setdefault(values, f"@{self._name}.{len(self._arrays)}")

    def _reserve(self, count: int) -> int:
        first = self.work
        self.work += count
        return first

    def _in_work(self, first: int, index: int, dtype: np.dtype[Any]) -> str:
        """A number of an array in the scratch space."""
        pointer = "%work" if dtype == FLOAT else "%work32"
        return self._at(pointer, first * SIZE // dtype.itemsize + index)

    def _pointer(self, place: int) -> str:
        return f"ptr {self._at('%work', place)}"

    def _at(self, pointer: str, index: int) -> str:
        name = f"%p{len(self._lines)}"
        if pointer.isdigit():
            field = f"%f{pointer}"
            if field not in self._fields:
                self._fields.add(field)
                self._line(f"{field}p = getelementptr ptr, ptr %fields, i64 {pointer}")
                self._line(f"{field} = load ptr, ptr {field}p")
            pointer = field
        if pointer == "%results":  # one array per result
            self._line(f"{name}i = mul i64 %n, {index}")
            self._line(f"{name} = getelementptr double, ptr {pointer}, i64 {name}i")
            return name
        kind = "double"
        if pointer.endswith("32"):
            kind, pointer = "float", pointer.removesuffix("32")
        self._line(f"{name} = getelementptr {kind}, ptr {pointer}, i64 {index}")
        return name

    def _line(self, text: str) -> None:
        self._lines.append(text)


_WRITERS: dict[str, Any] = {
    "call": Function._call,
    "input": Function._input,
    "output": Function._output,
    "place": Function._count,
    "lookup": Function._look_up,
    "cast": Function._cast,
    "select": Function._select,
    "maximum": Function._extreme,
    "minimum": Function._extreme,
    "smax": Function._extreme_of_whole,
    "smin": Function._extreme_of_whole,
    "mod": Function._divide,
    "floordiv": Function._divide,
    "isnan": Function._is_nan,
    "isfinite": Function._is_finite,
}


def _of_whole(name: str) -> str:
    how = {"olt": "slt", "ole": "sle", "ogt": "sgt", "oge": "sge", "oeq": "eq", "une": "ne"}
    return f"icmp {how.get(name, name)}"


def _value(value: Any, dtype: np.dtype[Any]) -> str:
    if isinstance(value, Symbol):
        return f"%v{value.number}"
    if dtype == TRUTH:
        return str(bool(value)).lower()
    if dtype == WHOLE:
        return str(int(value))
    number = dtype.type(value).item()  # a float32's is written as a float64
    return f"0x{struct.unpack('<Q', struct.pack('<d', number))[0]:016X}"


def _pointer_to(address: int) -> str:
    return f"inttoptr (i64 {address} to ptr)"


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


_DECLARED = "".join(
    f"declare {kind} @llvm.{x}.{suffix}({kind})\n"
    for x in _INTRINSICS
    for kind, suffix in (("double", "f64"), ("float", "f32"))
) + "".join(f"declare i64 @llvm.{x}.i64(i64, i64)\n" for x in ("smax", "smin"))


class Code:
    """Compiled functions; they live as long as this object.

    Args:
        functions: hooks by name; long ones that do not run between physics steps are compiled
            without optimization, which takes a seventh of the time.
        loop: LLVM's text of the functions that call them.
        names: names of the functions that are looked up.

    Attributes:
        addresses: of these functions, by name.
    """

    def __init__(self, functions: Mapping[str, Function], loop: str, names: Sequence[str]) -> None:
        long = [
            x for x, f in functions.items() if f.size > LONG and x not in ("control", "substep")
        ]
        texts = [[_DECLARED, loop], [_DECLARED]]
        for name, function in functions.items():
            texts[name in long].append(function.text)
            if name in long:
                texts[0].append(f"declare i64 @{name}({ARGUMENTS})\n")
        builder = llvm.JITLibraryBuilder()
        tables: dict[str, list[int]] = {}
        for optimized, parts in zip((True, False), texts, strict=True):
            table = f"addresses{int(optimized)}"
            text, tables[table] = _with_table("".join(parts), table)
            builder.add_object_img(_object(text, optimized))
        for each in (*names, *tables):
            builder.export_symbol(each)
        self._library = builder.link(_linker(), f"hooks{next(_numbers)}")
        self.addresses: dict[str, int] = {each: self._library[each] for each in names}
        for table, known in tables.items():
            numbers = np.array(known, dtype=np.int64)
            ctypes.memmove(self._library[table], numbers.ctypes.data, numbers.nbytes)


def _with_table(text: str, table: str) -> tuple[str, list[int]]:
    """A text that loads addresses from a table, and these: in each process they are others."""
    known: dict[int, int] = {}
    lines: list[str] = []

    def load(match: re.Match[str]) -> str:
        name = f"%at{len(lines)}.{match.start()}"
        place = known.setdefault(int(match[1]), len(known))
        lines.append(f"  {name} = load ptr, ptr getelementptr (ptr, ptr @{table}, i64 {place})")
        return name

    for line in text.splitlines():
        lines.append(_ADDRESS.sub(load, line) if "inttoptr" in line else line)
    kind = f"[{len(known)} x i64]"
    return "\n".join((f"@{table} = global {kind} zeroinitializer", *lines, "")), list(known)


_ADDRESS = re.compile(r"inttoptr \(i64 (\d+) to ptr\)")


def _object(text: str, optimized: bool) -> bytes:
    processor = _processor(optimized)
    version = llvm.llvm_version_info, llvmlite.__version__
    features = llvm.get_host_cpu_features().flatten()
    settings = f"{version} {processor.triple} {llvm.get_host_cpu_name()} {features} {optimized}"

    def compile() -> bytes:
        code: bytes = processor.emit_object(llvm.parse_assembly(text))
        return code

    return object_of(text, settings, compile)


_numbers = itertools.count()
