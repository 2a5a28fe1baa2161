"""Machine code of traces, by LLVM.

Each operation is a line of LLVM's text. A call of a library's function stores its inputs in the
scratch space, calls the function by address, and loads its results.
"""

import ctypes
import functools
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import llvmlite.binding as llvm
import numpy as np

from mjgym_fast.foreign import GEMM, GEMV, SOLVE, blas
from mjgym_fast.symbols import COMPARISONS, Symbol, UntraceableError, number

BY_ROWS, BY_COLUMNS = 101, 102  # CBLAS
PLAIN, TRANSPOSED = 111, 112
SIZE = 8  # bytes of a number
_INTRINSICS = ("sqrt", "fabs", "floor", "ceil", "rint")
_ARGUMENTS = "ptr %fields, ptr %memory, ptr %work"
_LAW = f"""
define i64 @law(i64 %phase, {_ARGUMENTS}) {{
  %first = icmp eq i64 %phase, 0
  br i1 %first, label %before, label %after
before:
  %control = call i64 @control({_ARGUMENTS})
  ret i64 %control
after:
  %substep = call i64 @substep({_ARGUMENTS})
  ret i64 %substep
}}
"""

Place = tuple[str, int]
"""A pointer and an index: of the law's memory or scratch space, or of field i of the simulation."""


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


class Function:
    """The text of a function that writes symbols into memory.

    Args:
        outputs: symbols or constants, and where to write them.
        place: returns the place of an input, by its kind, name and index.

    Attributes:
        text: the function and the tables that it reads.
        work: size of the scratch space, in numbers.
    """

    def __init__(
        self, name: str, outputs: Sequence[tuple[Place, Any]], place: Callable[..., Place]
    ) -> None:
        self._place, self.work = place, 0
        self._lines: list[str] = []
        self._tables: list[str] = []
        self._name, self._failed = name, "false"
        self._fields: set[str] = set()
        self._results: dict[int, int] = {}  # places of called functions' results
        for symbol in needed(number(value) for _, value in outputs):
            self._write(symbol)
        for where, value in outputs:
            self._line(f"store double {_value(number(value))}, ptr {self._at(*where)}")
        self._line(f"%fine = select i1 {self._failed}, i64 0, i64 1")
        lines = "\n".join(f"  {line}" for line in self._lines)
        tables = "\n".join(self._tables)
        head = f"define internal i64 @{name}({_ARGUMENTS})"
        self.text = f"{tables}\n{head} {{\n{lines}\n  ret i64 %fine\n}}\n"

    def _write(self, symbol: Symbol) -> None:
        name, inputs = symbol.operation, symbol.inputs
        result, kind = f"%v{symbol.number}", "i1" if symbol.truth else "double"
        if name in _CALLS:
            self._call(symbol)
        elif name == "input":
            self._load(result, symbol, self._at(*self._place(*inputs)))
        elif name == "output":
            called, index = inputs
            self._load(result, symbol, self._at("%work", self._results[called.number] + index))
        elif name == "place":
            self._count(result, *inputs)
        elif name == "lookup":
            self._look_up(symbol)
        elif name == "select":
            condition, one, other = map(_value, inputs)
            self._line(f"{result} = select i1 {condition}, {kind} {one}, {kind} {other}")
        elif name in ("maximum", "minimum"):
            one, other = map(_value, inputs)
            # NaN is passed on, as in NumPy.
            order = "ogt" if name == "maximum" else "olt"
            self._line(f"{result}a = fcmp {order} double {one}, {other}")
            self._line(f"{result}b = fcmp uno double {one}, 0.0")
            self._line(f"{result}c = or i1 {result}a, {result}b")
            self._line(f"{result} = select i1 {result}c, double {one}, double {other}")
        elif name in _INTRINSICS:
            self._line(f"{result} = call double @llvm.{name}.f64(double {_value(*inputs)})")
        elif name in COMPARISONS.values():
            self._line(f"{result} = fcmp {name} double {', '.join(map(_value, inputs))}")
        else:
            self._line(f"{result} = {name} {kind} {', '.join(map(_value, inputs))}")

    def _load(self, result: str, symbol: Symbol, address: str) -> None:
        if symbol.truth:
            self._line(f"{result}d = load double, ptr {address}")
            self._line(f"{result} = fcmp une double {result}d, 0.0")
        else:
            self._line(f"{result} = load double, ptr {address}")

    def _count(self, result: str, order: str, ends: Sequence[float], value: Any) -> None:
        total = "0"
        for i, end in enumerate(ends):
            self._line(f"{result}c{i} = fcmp {order} double {_value(end)}, {_value(value)}")
            self._line(f"{result}n{i} = zext i1 {result}c{i} to i64")
            self._line(f"{result}s{i} = add i64 {total}, {result}n{i}")
            total = f"{result}s{i}"
        self._line(f"{result} = add i64 {total}, 0")

    def _look_up(self, symbol: Symbol) -> None:
        column, place = symbol.inputs
        result, table = f"%v{symbol.number}", f"@{self._name}{symbol.number}"
        numbers = ", ".join(f"double {_value(x)}" for x in column)
        self._tables.append(f"{table} = private constant [{len(column)} x double] [{numbers}]")
        self._line(f"{result}p = getelementptr double, ptr {table}, i64 {_value(place)}")
        self._line(f"{result} = load double, ptr {result}p")

    # Calls of functions.

    def _call(self, symbol: Symbol) -> None:
        inputs, count, *details = symbol.inputs
        first = self._reserve(len(inputs))
        for i, value in enumerate(inputs):
            self._line(f"store double {_value(value)}, ptr {self._at('%work', first + i)}")
        self._results[symbol.number] = _CALLS[symbol.operation](self, first, count, *details)

    def _gemv(self, first: int, count: int, m: int, n: int, columns: bool) -> int:
        """A matrix (m, n) times a vector."""
        result = self._reserve(count)
        order, stride = (BY_ROWS, m) if columns else (BY_COLUMNS, n)
        self._run(
            _blas(GEMV), f"i32 {order}", f"i32 {TRANSPOSED}", f"i64 {n}", f"i64 {m}",
            f"double {_value(1.0)}", self._pointer(first), f"i64 {stride}",
            self._pointer(first + m * n), "i64 1", "double 0.0", self._pointer(result), "i64 1",
        )  # fmt: skip
        return result

    def _gemm(
        self, first: int, count: int, m: int, n: int, p: int, columns: bool, other_columns: bool
    ) -> int:
        """A matrix (m, n) times a matrix (n, p)."""
        result = self._reserve(count)
        how = [f"i32 {TRANSPOSED if turned else PLAIN}" for turned in (columns, other_columns)]
        self._run(
            _blas(GEMM), f"i32 {BY_ROWS}", *how, f"i64 {m}", f"i64 {p}", f"i64 {n}",
            f"double {_value(1.0)}", self._pointer(first), f"i64 {m if columns else n}",
            self._pointer(first + m * n), f"i64 {n if other_columns else p}", "double 0.0",
            self._pointer(result), f"i64 {p}",
        )  # fmt: skip
        return result

    def _gesv(self, first: int, count: int, n: int, k: int) -> int:
        """The solutions of a system (n, n) with k right-hand sides, in their place."""
        result = first + n * n
        size, rights, info, pivots = (self._reserve(x) for x in (1, 1, 1, n))
        for place, value in ((size, n), (rights, k)):
            self._line(f"store i64 {value}, ptr {self._at('%work', place)}")
        pointers = size, rights, first, size, pivots, result, size, info
        self._run(_blas(SOLVE), *map(self._pointer, pointers))
        # A singular system is an error in NumPy.
        self._line(f"%i{info} = load i64, ptr {self._at('%work', info)}")
        self._line(f"%s{info} = icmp ne i64 %i{info}, 0")
        self._line(f"%e{info} = or i1 {self._failed}, %s{info}")
        self._failed = f"%e{info}"
        return result

    def _ufunc(self, first: int, count: int, ufunc: np.ufunc, single: Sequence[bool]) -> int:
        """A function of NumPy on several numbers, or the same single one each time."""
        result = self._reserve(count)
        pointers, steps, size = (self._reserve(x) for x in (len(single) + 1, len(single) + 1, 1))
        place = first
        for i, one in enumerate((*single, False)):
            array = result if i == len(single) else place
            self._line(f"store {self._pointer(array)}, ptr {self._at('%work', pointers + i)}")
            self._line(f"store i64 {0 if one else SIZE}, ptr {self._at('%work', steps + i)}")
            place += 1 if one else count
        self._line(f"store i64 {count}, ptr {self._at('%work', size)}")
        loop, data = ufunc_loop(ufunc)
        arguments = map(self._pointer, (pointers, size, steps))
        self._run(_pointer_to(loop), *arguments, f"ptr {_pointer_to(data)}")
        return result

    def _run(self, function: str, *arguments: str) -> None:
        self._line(f"call void {function}({', '.join(arguments)})")

    def _reserve(self, count: int) -> int:
        first = self.work
        self.work += count
        return first

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
        self._line(f"{name} = getelementptr double, ptr {pointer}, i64 {index}")
        return name

    def _line(self, text: str) -> None:
        self._lines.append(text)


_CALLS: dict[str, Any] = {
    "gemv": Function._gemv,
    "gemm": Function._gemm,
    "gesv": Function._gesv,
    "ufunc": Function._ufunc,
}


def _value(value: Any) -> str:
    if isinstance(value, Symbol):
        return f"%v{value.number}"
    if isinstance(value, bool | int):
        return str(value).lower()
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


def _pointer_to(address: int) -> str:
    return f"inttoptr (i64 {address} to ptr)"


def _blas(which: int) -> str:
    addresses = blas()
    assert addresses is not None
    return _pointer_to(int(addresses[which]))


class _Ufunc(ctypes.Structure):
    """The beginning of NumPy's PyUFuncObject, after the head of an object."""

    _fields_ = (
        *((name, ctypes.c_int) for name in ("nin", "nout", "nargs", "identity")),
        *((name, ctypes.POINTER(ctypes.c_void_p)) for name in ("functions", "data")),
        ("ntypes", ctypes.c_int),
    )


def ufunc_loop(ufunc: np.ufunc) -> tuple[int, int]:
    """Addresses of a ufunc's loop over float64 and of its data.

    Raises:
        UntraceableError: this version of NumPy has them elsewhere.
    """
    head = _Ufunc.from_address(id(ufunc) + object.__basicsize__)
    if (head.nin, head.nout, head.ntypes) != (ufunc.nin, ufunc.nout, ufunc.ntypes):
        raise UntraceableError(f"calls {ufunc.__name__}, whose loops are elsewhere in this NumPy")
    which = ufunc.types.index("d" * ufunc.nin + "->d")
    return head.functions[which] or 0, head.data[which] or 0


def _processor() -> Any:
    """A description of this machine's processor, which a compiler takes and frees with itself."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(),
        features=llvm.get_host_cpu_features().flatten(),
        opt=1,  # more takes longer, and the code is as fast
    )


@functools.lru_cache(maxsize=64)
def law_code(control: str, substep: str) -> tuple[int, Any]:
    """The address of a law made of two functions, and the object that owns its memory."""
    declared = "".join(f"declare double @llvm.{x}.f64(double)\n" for x in _INTRINSICS)
    module = llvm.parse_assembly(f"{declared}{control}{substep}{_LAW}")
    code = llvm.create_mcjit_compiler(module, _processor())
    code.finalize_object()
    return int(code.get_function_address("law")), code
