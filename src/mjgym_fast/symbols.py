"""Symbolic arrays, which record the operations of hooks.

A hook runs once on symbols instead of numbers. They are in NumPy's arrays of objects, so indexing,
reshaping and broadcasting are NumPy's own, with the memory layouts of numbers. An array has the
dtype that NumPy would give it: float64, float32, int64 or bool. Arithmetic is recorded number by
number. What NumPy leaves to a library (matrix products, systems, transcendental functions) is
recorded as a call of the same function, on numbers in the same layout. So compiled numbers equal
NumPy's to the bit, except for some long sums, whose order may differ.
"""

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.linalg import _umath_linalg as _linalg

from mjgym_fast.trace import (
    FLOAT,
    TRUTH,
    TYPES,
    WHOLE,
    Symbol,
    UntraceableError,
    first_symbol,
    layout,
)

UNROLLED = 8  # from this many numbers on, NumPy adds several at once
FEW = 16  # up to this many numbers, a choice is faster than a table
BLOCK = 128  # up to this many; more are halved first
START = float(np.add.reduce(np.array([-0.0])))  # that NumPy's sums begin with, 0.0 or -0.0

Record = Callable[..., Symbol]
"""Records an operation of LLVM, on operands of one dtype unless another is given."""


def _extreme(order: str, record: Record, one: Any, other: Any) -> Any:
    """The larger or the smaller number; NaN is passed on, as in NumPy."""
    one_known, other_known = (not isinstance(x, Symbol) for x in (one, other))
    if one_known and math.isnan(one):
        return one
    unordered = other_known and not math.isnan(other)  # so that one alone may be NaN
    wins = record(f"fcmp {'u' if unordered else 'o'}{order}", one, other)
    if not one_known and not unordered:
        wins = record("or", wins, record("fcmp uno", one, 0.0), dtype=TRUTH)
    return record("select", wins, one, other)


_LARGER, _SMALLER = (functools.partial(_extreme, order) for order in ("gt", "lt"))


def _divided(remainder: bool, record: Record, one: Any, other: Any) -> Symbol | None:
    """Python's division of whole numbers by a positive constant, which rounds down."""
    if isinstance(other, Symbol) or other <= 0:
        return None
    rest, quotient = record("srem", one, other), record("sdiv", one, other)
    below = record("icmp slt", rest, 0)
    if remainder:
        return record("select", below, record("add", rest, other), rest)
    return record("select", below, record("sub", quotient, 1), quotient)


# Operations of LLVM by the names of NumPy's functions, for numbers of a dtype's kind, or functions
# that record several.
_BITS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
_OPERATIONS: dict[str, dict[str, str | Callable[..., Any]]] = {
    "f": {
        "add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv",
        "negative": "fneg", "sqrt": "@sqrt", "floor": "@floor", "ceil": "@ceil", "rint": "@rint",
        "trunc": "@trunc", "less": "fcmp olt", "less_equal": "fcmp ole", "greater": "fcmp ogt",
        "greater_equal": "fcmp oge", "equal": "fcmp oeq", "not_equal": "fcmp une",
        "positive": lambda record, x: x,
        "square": lambda record, x: record("fmul", x, x),
        "reciprocal": lambda record, x: record("fdiv", 1.0, x),
        "absolute": lambda record, x: x.trace.magnitude(x),
        "isnan": lambda record, x: record("fcmp uno", x, 0.0),
        "isfinite": lambda record, x: record("fcmp ord", record("fmul", x, 0.0), 0.0),
        "maximum": _LARGER, "minimum": _SMALLER,
        "clip": lambda record, x, *ends: _SMALLER(record, _LARGER(record, x, ends[0]), ends[1]),
    },
    "i": {
        "add": "add", "subtract": "sub", "multiply": "mul", "maximum": "@smax", "minimum": "@smin",
        "less": "icmp slt", "less_equal": "icmp sle", "greater": "icmp sgt",
        "greater_equal": "icmp sge", "equal": "icmp eq", "not_equal": "icmp ne", **_BITS,
        "positive": lambda record, x: x,
        "square": lambda record, x: record("mul", x, x),
        "negative": lambda record, x: record("sub", 0, x),
        "remainder": functools.partial(_divided, True),
        "floor_divide": functools.partial(_divided, False),
        "clip": lambda record, x, *ends: record("@smin", record("@smax", x, ends[0]), ends[1]),
    },
    "b": {
        "logical_and": "and", "logical_or": "or", "logical_xor": "xor", **_BITS,
        "equal": "icmp eq", "not_equal": "icmp ne", "add": "or", "multiply": "and",
        "maximum": "or", "minimum": "and",
        "logical_not": lambda record, x: record("xor", x, True),
        "invert": lambda record, x: record("xor", x, True),
    },
}  # fmt: skip


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """A symbol or a constant in another dtype."""
    if type(value) is float and dtype == FLOAT:
        return value
    if isinstance(value, Symbols):  # in a list, from which NumPy has made an array
        value = objects(value)[()]
    if not isinstance(value, Symbol):
        return dtype.type(value).item()
    return value if value.dtype == dtype else value.trace.cast(value, dtype)


@functools.cache
def _on_symbols(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Any:
    """A ufunc of symbols and constants of a dtype; None if NumPy leaves it to a library."""
    operation = _OPERATIONS[dtype.kind].get(ufunc.__name__)
    if ufunc.signature or (operation is None and dtype.kind == "f"):
        return None

    def apply(*values: Any) -> Any:
        symbol = values[0] if isinstance(values[0], Symbol) else first_symbol(values)
        if symbol is None:
            with np.errstate(all="ignore"):
                return ufunc(*map(dtype.type, values)).item()
        if isinstance(operation, str):
            return symbol.trace.operation(operation, *values, dtype=dtype)
        record = functools.partial(symbol.trace.operation, dtype=dtype)
        found = None if operation is None else operation(record, *values)
        if found is None:
            raise UntraceableError(f"calls {ufunc.__name__} of {dtype} numbers")
        return found

    return np.frompyfunc(apply, ufunc.nin, 1)


def objects(x: Any) -> np.ndarray:
    """An array of Python's objects, symbols and constants, in the same layout."""
    return np.asarray(x.view(np.ndarray) if isinstance(x, Symbols) else x, dtype=object)


def flat(x: Any) -> list[Any]:
    """An array's objects, one after another."""
    return list(objects(x).reshape(-1).tolist())


def _kind(x: Any) -> Any:
    """The dtype of an operand, or the type of a Python number, whose dtype follows others'."""
    if isinstance(x, Symbols):
        return x.dtype
    if isinstance(x, np.ndarray) and x.dtype == object:  # symbols that a function has unwrapped
        return dtype_of(*(np.zeros((), v.dtype) if isinstance(v, Symbol) else v for v in x.flat))
    return type(x) if type(x) in (int, float) else np.asarray(x).dtype


def dtype_of(*values: Any) -> np.dtype[Any]:
    """The dtype that NumPy gives an array of some values."""
    return np.dtype(np.result_type(*(x if type(x) in (int, float) else _kind(x) for x in values)))


def converted(x: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """The objects of an array in another dtype."""
    if dtype not in TYPES:
        raise UntraceableError(f"converts an array to {dtype}")
    array = objects(x)
    if isinstance(x, np.ndarray) and x.dtype == dtype:
        return array
    return objects(np.frompyfunc(lambda value: cast(value, dtype), 1, 1)(array))


def symbols(x: Any, dtype: np.dtype[Any] = FLOAT) -> Any:
    """Symbols and constants of a dtype, one or an array of them, as a symbolic array."""
    array = np.asarray(x, dtype=object).view(Symbols)
    array._dtype = dtype
    return array


def filled(values: Sequence[Any], shape: tuple[int, ...], dtype: np.dtype[Any] = FLOAT) -> Any:
    """Symbols and constants of a dtype, one after another, as a symbolic array."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return symbols(array.reshape(shape), dtype)


def _mapped(function: Callable[[Any], Any], values: Any) -> Any:
    """Tuples, lists and dicts of a function's results for what is in them."""
    if isinstance(values, dict):
        return {name: _mapped(function, x) for name, x in values.items()}
    if isinstance(values, tuple | list):
        return type(values)(_mapped(function, x) for x in values)
    return function(values)


def _leaves(values: Any) -> list[Any]:
    leaves: list[Any] = []
    _mapped(leaves.append, values)
    return leaves


def _searchsorted(ends: np.ndarray, x: Any, side: str = "left") -> Any:
    below = {"left": np.less, "right": np.less_equal}[side]
    return np.count_nonzero(below(ends, x[..., None]), axis=-1)


def _entries(rows: Any, places: Any) -> Any:
    """The entries of rows, (..., n), at places, (..., k), whose leading axes are broadcast.

    Outside a row, it is the nearest one.
    """
    last = rows.shape[-1] - 1
    if isinstance(rows, Symbols) or rows.dtype != FLOAT or last < FEW:
        found = rows[..., last:]
        for i in range(last - 1, -1, -1):
            found = np.where(places <= i, rows[..., i : i + 1], found)
        return found
    lead = np.broadcast_shapes(rows.shape[:-1], places.shape[:-1])
    rows = np.broadcast_to(rows, (*lead, last + 1))
    inside = objects(np.broadcast_to(np.clip(places, 0, last), (*lead, places.shape[-1])))
    found = np.empty(inside.shape, dtype=object)
    for index in np.ndindex(inside.shape):
        row, place = rows[index[:-1]], inside[index]
        found[index] = place.trace.lookup(row, place) if isinstance(place, Symbol) else row[place]
    return symbols(found)


def _take(x: Any, indices: Any, axis: Any = None, **_: Any) -> Any:
    if not isinstance(indices, Symbols):
        if not isinstance(x, Symbols):
            return np.take(x, indices, axis=axis)
        return symbols(objects(x).take(indices, axis=axis), x.dtype)
    array = x if isinstance(x, Symbols) else np.asarray(x)
    rows = array.reshape(-1) if axis is None else np.moveaxis(array, axis, -1)
    axis = 0 if axis is None else axis % array.ndim
    taken = _entries(rows, indices.reshape(-1)).reshape(*rows.shape[:-1], *indices.shape)
    first = rows.ndim - 1
    ends = range(axis, axis + indices.ndim)
    return np.moveaxis(taken, range(first, first + indices.ndim), ends)


def _take_along_axis(x: Any, indices: Any, axis: int = -1) -> Any:
    rows, places = (np.moveaxis(array, axis, -1) for array in (x, indices))
    return np.moveaxis(_entries(rows, places), -1, axis)


def _reduce(ufunc: np.ufunc, x: Any, axis: Any = 0, keepdims: bool = False, **_: Any) -> Any:
    dtype = TRUTH if ufunc in (np.logical_or, np.logical_and) else dtype_of(x)
    if dtype == TRUTH and ufunc in (np.add, np.multiply):
        dtype = WHOLE
    apply, array = _on_symbols(ufunc, dtype), converted(x, dtype)
    if apply is None:
        raise UntraceableError(f"reduces by {ufunc.__name__}")
    axes = [int(a) % array.ndim for a in np.atleast_1d(range(array.ndim) if axis is None else axis)]
    rows = np.moveaxis(array, axes, range(-len(axes), 0))
    rows = rows.reshape(*rows.shape[: array.ndim - len(axes)], -1)
    count, sums = rows.shape[-1], ufunc is np.add and dtype.kind == "f"
    if not count:
        total: Any = np.full(rows.shape[:-1], cast(ufunc.identity, dtype), dtype=object)
    elif sums and count >= UNROLLED and _inner(array, axes):
        symbol = first_symbol(rows.flat)
        if symbol is not None:
            symbol.trace.exact = False  # the order depends on the layout
        total = _pairwise(apply, rows)
    else:
        total = apply.reduce(rows, axis=-1)
    total = objects(apply(total, START) if sums else total)
    return symbols(np.expand_dims(total, tuple(axes)) if keepdims else total, dtype)


def _inner(array: np.ndarray, axes: list[int]) -> bool:
    """True if the reduced axes are the innermost in memory, so that NumPy adds several at once."""
    steps = [abs(s) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    reduced = [abs(array.strides[a]) for a in axes if array.shape[a] > 1]
    return not steps or min(steps) in reduced


def _pairwise(add: np.ufunc, rows: np.ndarray) -> Any:
    """NumPy's sum along an axis: eight at once, of halves if there are many."""
    n = rows.shape[-1]
    if n > BLOCK:
        half = n // 2 - n // 2 % UNROLLED
        return add(_pairwise(add, rows[..., :half]), _pairwise(add, rows[..., half:]))
    last = n - n % UNROLLED
    sums = add.reduce(rows[..., :last].reshape(*rows.shape[:-1], -1, UNROLLED), axis=-2)
    while sums.shape[-1] > 1:
        sums = add(sums[..., ::2], sums[..., 1::2])
    return add.reduce(np.concatenate([sums, rows[..., last:]], axis=-1), axis=-1)


def _matmul(a: Any, b: Any) -> Any:
    product = np.matmul(np.atleast_2d(a), b[:, None] if np.ndim(b) == 1 else b)
    product = product[..., 0, :] if np.ndim(a) == 1 else product
    return product[..., 0] if np.ndim(b) == 1 else product


_CORES = re.compile(r"\(([^)]*)\)")


def _by_loop(ufunc: np.ufunc, arrays: Sequence[np.ndarray], dtype: np.dtype[Any]) -> list[Any]:
    """The results of a function that NumPy computes by a loop of its own.

    It is one of numbers, as the exponential, or of vectors and matrices, the last axes of arrays.
    """
    symbol = first_symbol(x for array in arrays for x in array.flat)
    if symbol is None:
        found = ufunc(*(x.astype(dtype) for x in arrays))
        return [symbols(x, dtype) for x in (found if ufunc.nout > 1 else (found,))]
    trace, sizes = symbol.trace, dict[str, int]()
    cores = _CORES.findall(ufunc.signature or "()" * ufunc.nargs)
    axes = [x.replace("?", "").split(",") if x else [] for x in cores]
    for x, names in zip(arrays, axes, strict=False):
        for name, size in zip(names, x.shape[x.ndim - len(names) :], strict=True):
            if sizes.setdefault(name, size) != size:
                raise UntraceableError(f"calls {ufunc.__name__} with arrays that do not match")
    shapes = [tuple(sizes[name] for name in names) for names in axes]
    leads = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, shapes, strict=False)]
    lead = np.broadcast_shapes(*leads)
    count, lines = math.prod(lead), list[Symbol]()
    operands: list[tuple[Any, int, list[int]]] = []  # addresses, outer and inner steps
    for x, own, core in zip(arrays, leads, shapes, strict=False):
        turned = arrays[0].mT if len(core) == 2 else arrays[0]
        if operands and layout(x) == layout(turned):  # BLAS has a function for x.T @ x
            address, step, steps = operands[0]
            operands.append((address, step, steps[::-1]))
            continue
        # NumPy repeats a single one by a step of 0, and may round by the layout of others.
        single = math.prod(own) == 1
        whole = x.reshape(core) if single else np.broadcast_to(x, (*lead, *core))
        trace.exact &= bool(ufunc.signature) or single or whole.flags.c_contiguous
        numbers, steps = _in_memory(whole, len(core))
        address, stores = trace.stored(numbers, dtype)
        operands.append((address, 0 if single else len(numbers) // count, steps))
        lines += stores
    results = shapes[ufunc.nin :]
    ends = list(itertools.accumulate((count * math.prod(x) for x in results), initial=0))
    first = trace.reserve(ends[-1])
    for end, core in zip(ends, results, strict=False):
        address = trace.place("%work", first + dtype.itemsize * end)
        operands.append((address, math.prod(core), _in_memory(np.empty(core), len(core))[1]))
    addresses, outer, inner = zip(*operands, strict=True)
    steps = [*outer, *itertools.chain(*inner)]
    called = trace.call(ufunc, dtype, addresses, (count, *sizes.values()), steps, lines)
    offsets = (first + dtype.itemsize * i for i in range(ends[-1]))
    given = [trace.load("%work", offset, called, dtype=dtype) for offset in offsets]
    if ufunc.signature and ufunc not in (np.matmul, np.vecdot):
        # NumPy raises for a singular system, whose solution the loop fills with NaN.
        for number in given[: ends[1] : math.prod(results[0])]:
            nan = trace.operation("fcmp uno", number, number, dtype=dtype)
            trace.checks.append((called, nan))
    return [
        filled(given[start:end], (*lead, *core), dtype)
        for (start, end), core in zip(itertools.pairwise(ends), results, strict=True)
    ]


def _in_memory(x: np.ndarray, count: int) -> tuple[list[Any], list[int]]:
    """An array's numbers in memory order, and the steps between entries along its last axes.

    BLAS takes no layout whose rows overlap or whose numbers are not next to one another; NumPy
    copies such an array first, and here a gap after each number has the same effect.
    """
    lead = x.ndim - count
    order = sorted(range(lead, x.ndim), key=lambda axis: -x.strides[axis])
    steps, step, fits = [0] * count, 1, True  # no steps along single entries, as in NumPy
    for axis in reversed([axis for axis in order if x.shape[axis] > 1]):
        own = x.strides[axis] // x.itemsize
        fits = fits and (own == 1 if step == 1 else own >= step)
        steps[axis - lead], step = step, step * x.shape[axis]
    numbers = x.transpose(*range(lead), *order).reshape(-1).tolist()
    if fits:
        return numbers, steps
    return [y for number in numbers for y in (number, 0.0)], [2 * step for step in steps]


def _where(condition: Any, one: Any, other: Any) -> Any:
    dtype = dtype_of(one, other)

    def choose(condition: Any, one: Any, other: Any) -> Any:
        if not isinstance(condition, Symbol):
            return one if condition else other
        return condition.trace.select(condition, one, other, dtype=dtype)

    values = converted(condition, TRUTH), converted(one, dtype), converted(other, dtype)
    return symbols(np.frompyfunc(choose, 3, 1)(*values), dtype)


def _norm(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None and not keepdims:
        numbers = np.ravel(x)
        return np.sqrt(np.vecdot(numbers, numbers))
    return np.sqrt((x * x).sum(axis=axis, keepdims=keepdims))


def _argument(comparison: np.ufunc) -> Callable[..., Any]:
    """The place of the first largest or smallest number along an axis."""

    def find(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        array = x.reshape(-1) if axis is None else np.moveaxis(x, axis, -1)
        best, place = array[..., 0], symbols(np.zeros(array.shape[:-1]), WHOLE)
        for i in range(1, array.shape[-1]):
            entry = array[..., i]
            wins = comparison(entry, best)
            if array.dtype.kind == "f":  # the first NaN wins, as in NumPy
                wins = wins | (np.isnan(entry) & ~np.isnan(best))
            best, place = np.where(wins, entry, best), np.where(wins, i, place)
        return np.expand_dims(place, -1 if axis is None else axis) if keepdims else place

    return find


def _full_like(x: Any, value: Any, dtype: Any = None, **_: Any) -> Any:
    kind = np.dtype(dtype or dtype_of(x))
    return symbols(np.broadcast_to(converted(value, kind), np.shape(x)), kind)


def _called(ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    """The results of a ufunc, or of a reduction by it."""
    if method == "reduce":
        return _reduce(ufunc, *inputs, **options)
    options = {k: x for k, x in options.items() if x not in (None, True, np._NoValue)}
    if method != "__call__" or options:
        raise UntraceableError(f"calls {ufunc.__name__} with {', '.join(options) or method}")
    if ufunc is np.matmul and 1 in map(np.ndim, inputs):
        return _matmul(*inputs)
    dtype, result = TRUTH, TRUTH
    if not ufunc.__name__.startswith("logical"):
        dtypes = ufunc.resolve_dtypes((*map(_kind, inputs), *[None] * ufunc.nout))
        dtype, result = dtypes[0], dtypes[-1]
    arrays = [converted(x, dtype) for x in inputs]
    if by_number := _on_symbols(ufunc, dtype):
        return symbols(by_number(*arrays), result)
    results = _by_loop(ufunc, arrays, dtype)
    return results[0] if ufunc.nout == 1 else tuple(results)


class Symbols(np.ndarray):
    """An array of symbols and constants, which can be written if NumPy's array could be."""

    _dtype = FLOAT

    def __array_finalize__(self, of: Any) -> None:
        self._dtype = getattr(of, "_dtype", FLOAT)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the numbers that the symbols stand for."""
        return self._dtype

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, Symbols) and index.dtype == WHOLE:
            return _take(self, index, 0)
        if any(isinstance(i, Symbols) for i in (index if isinstance(index, tuple) else (index,))):
            raise UntraceableError("indexes an array by a mask or by several numbers")
        return symbols(objects(self)[index], self._dtype)

    def __setitem__(self, index: Any, value: Any) -> None:
        if not self.flags.writeable:
            raise UntraceableError("writes into an array")
        objects(self)[index] = converted(NAMESPACE.asarray(value), self._dtype)[()]

    def __bool__(self, *_: Any) -> bool:
        raise UntraceableError("depends on an array's numbers other than by `where`")

    __float__ = __int__ = __index__ = item = __bool__

    def __pow__(self, exponent: Any) -> Any:  # type: ignore[override]
        plain = {1: np.positive, 2: np.square, 0.5: np.sqrt, -1: np.reciprocal}
        function = plain.get(exponent) if type(exponent) in (int, float) else None
        return function(self) if function else np.power(self, exponent)

    def tolist(self) -> Any:
        """The numbers, each an array without axes."""
        return [x.tolist() for x in self] if self.ndim else self

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return NAMESPACE

    def astype(self, dtype: Any, *_: Any, **__: Any) -> Any:
        """The same numbers in another dtype."""
        return symbols(np.array(converted(self, np.dtype(dtype))), np.dtype(dtype))

    take: Any = _take

    def mean(  # type: ignore[override]
        self, axis: Any = None, *_: Any, keepdims: bool = False, **__: Any
    ) -> Any:
        """The mean along some axes."""
        total = self.sum(axis=axis, keepdims=keepdims)
        return total / (self.size // max(1, total.size))

    def trace(self, offset: int = 0, *axes: int) -> Any:  # type: ignore[override]
        """The sum of the diagonal."""
        return self.diagonal(offset, *axes).sum(-1)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (None,), **options: Any
    ) -> Any:
        (target,) = out
        if target is None:
            return _called(ufunc, method, *inputs, **options)
        if not (isinstance(target, Symbols) and target.flags.writeable):
            raise UntraceableError(f"calls {ufunc.__name__} with out")
        target[...] = _called(ufunc, method, *inputs, **options)
        return target

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        own = _FUNCTIONS.get(function)
        if own is not None:
            return own(*arguments, **options)
        # The others only move numbers.
        given: Any = arguments, options
        dtype = dtype_of(*(x for x in _leaves(given) if _is_array(x, "fb")))
        given = _mapped(
            lambda x: symbols(converted(x, dtype), dtype) if _is_array(x, "f") else x, given
        )
        moved = super().__array_function__(function, types, *given)
        return _mapped(
            lambda x: symbols(x, dtype) if isinstance(x, Symbol) or _is_array(x, "O") else x, moved
        )


def _is_array(x: Any, kinds: str) -> bool:
    """True for an array of symbols, or of dtypes of some kinds."""
    return isinstance(x, Symbols) or (isinstance(x, np.ndarray) and x.dtype.kind in kinds)


class _Namespace:
    """NumPy's functions, with replacements for those without operator dispatch."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def asarray(x: Any, dtype: Any = None, **_: Any) -> Any:
        """An array of symbols, numbers, or a list of them."""
        listed = isinstance(x, tuple | list)
        if listed and any(isinstance(each, Symbols | Symbol) for each in _leaves(x)):
            x = np.stack([_Namespace.asarray(each) for each in x])
        if not isinstance(x, Symbols):
            return np.asarray(x, dtype=dtype)
        return x if dtype is None else x.astype(dtype)

    @staticmethod
    def array(x: Any, dtype: Any = None, **_: Any) -> Any:
        """A copy of these."""
        return np.copy(_Namespace.asarray(x, dtype))

    take = staticmethod(_take)


NAMESPACE = _Namespace()
_METHODS = ("sum", "prod", "max", "min", "all", "any", "mean", "astype")  # functions, too

_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.linalg.solve: lambda a, b: (_linalg.solve1 if np.ndim(b) == 1 else _linalg.solve)(a, b),
    np.linalg.eigh: _linalg.eigh_lo,
    np.linalg.inv: _linalg.inv,
    np.linalg.det: _linalg.det,
    np.linalg.cholesky: _linalg.cholesky_lo,
    np.linalg.vector_norm: _norm,
    np.linalg.norm: lambda x, ord=None, axis=None, keepdims=False: _norm(x, axis, keepdims),
    **{getattr(np, name): getattr(Symbols, name) for name in _METHODS},
    np.clip: lambda x, low=None, high=None: np.asanyarray(x).clip(low, high),
    np.where: _where,
    np.searchsorted: _searchsorted,
    np.count_nonzero: lambda x, *places, **options: x.astype(TRUTH).sum(*places, **options),
    np.argmax: _argument(np.greater),
    np.argmin: _argument(np.less),
    np.zeros_like: lambda x, dtype=None, **_: np.zeros(np.shape(x), dtype or dtype_of(x)),
    np.ones_like: lambda x, dtype=None, **_: np.ones(np.shape(x), dtype or dtype_of(x)),
    np.full_like: _full_like,
    np.take: _take,
    np.take_along_axis: _take_along_axis,
    np.result_type: dtype_of,
}
"""Functions of NumPy that compute; others only move numbers."""
