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
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.linalg import _umath_linalg as _linalg

MOST = 60_000  # operations; 16,000 compile for half a second
UNROLLED = 8  # from this many numbers on, NumPy adds several at once
FEW = 16  # up to this many numbers, a choice is faster than a table
BLOCK = 128  # up to this many; more are halved first
START = float(np.add.reduce(np.array([-0.0])))  # that NumPy's sums begin with, 0.0 or -0.0

FLOAT, SINGLE, WHOLE, TRUTH = (np.dtype(x) for x in (np.float64, np.float32, np.int64, np.bool_))
DTYPES = (FLOAT, SINGLE, WHOLE, TRUTH)


class UntraceableError(TypeError):
    """A hook does something with an array that cannot be recorded."""


class Symbol:
    """The result of an operation.

    Args:
        trace: the trace that the operation belongs to.
        inputs: symbols, constants, or other arguments of the operation.
        dtype: dtype of the result.
    """

    __slots__ = ("dtype", "inputs", "number", "operation", "trace")

    def __init__(
        self, trace: "Trace", operation: str, inputs: tuple[Any, ...], dtype: np.dtype[Any]
    ) -> None:
        self.trace, self.operation, self.inputs, self.dtype = trace, operation, inputs, dtype
        self.number = trace.count = trace.count + 1
        if self.number > MOST:
            raise UntraceableError(f"takes more than {MOST} operations")


class Trace:
    """The operations of some hooks.

    Attributes:
        exact: whether all sums are in NumPy's order.
        tables: constants that it looks up, whose addresses are among the inputs.
    """

    def __init__(self) -> None:
        self.count, self.exact = 0, True
        self._known: dict[tuple[Any, ...], Symbol] = {}
        self.tables: dict[Any, tuple[np.ndarray, np.ndarray]] = {}

    def table(self, numbers: np.ndarray) -> int:
        """The address of a table of constants."""
        key = _layout(numbers)
        if key not in self.tables:
            self.tables[key] = np.ascontiguousarray(numbers), numbers
        return int(self.tables[key][0].ctypes.data)

    def symbol(self, operation: str, *inputs: Any, dtype: np.dtype[Any] = FLOAT) -> Symbol:
        """The result of an operation; equal operations are one symbol."""
        key: tuple[Any, ...] = operation, dtype.char, *inputs
        if 0 in inputs:  # 0.0 equals -0.0
            key = *key, *[str(x) for x in inputs if x == 0]
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Symbol(self, operation, inputs, dtype)
        return known

    def call(
        self, ufunc: np.ufunc, inputs: Sequence[Any], count: int, *places: Any, dtype: np.dtype[Any]
    ) -> list[Symbol]:
        """The results of a ufunc's loop on numbers in memory.

        Args:
            count: number of results.
            places: the loop's sizes, where each operand starts, and steps, in items.
        """
        numbers = tuple(cast(x, dtype) for x in inputs)
        called = Symbol(self, "call", (numbers, count, ufunc, *places), dtype)
        return [Symbol(self, "output", (called, i), dtype) for i in range(count)]


# Operations of LLVM by the names of NumPy's functions, for numbers of a dtype's kind.
COMPARISONS = {
    "less": "olt", "less_equal": "ole", "greater": "ogt", "greater_equal": "oge",
    "equal": "oeq", "not_equal": "une",
}  # fmt: skip
_OPERATIONS = {
    "f": {
        "add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv",
        "negative": "fneg", "sqrt": "sqrt", "absolute": "fabs", "floor": "floor", "ceil": "ceil",
        "rint": "rint", "trunc": "trunc", **COMPARISONS,
    },
    "i": {
        "add": "add", "subtract": "sub", "multiply": "mul", "maximum": "smax", "minimum": "smin",
        "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", **COMPARISONS,
    },
    "b": {
        "logical_and": "and", "logical_or": "or", "logical_xor": "xor",
        "equal": "oeq", "not_equal": "une",
        "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
        "add": "or", "multiply": "and", "maximum": "or", "minimum": "and",
    },
}  # fmt: skip

Record = Callable[..., Symbol]
"""Records an operation, of the operands' dtype unless another is given."""


def _extreme(order: str, record: Record, one: Any, other: Any) -> Any:
    """The larger or the smaller number; NaN is passed on, as in NumPy."""
    one_known, other_known = (not isinstance(x, Symbol) for x in (one, other))
    if one_known and math.isnan(one):
        return one
    unordered = other_known and not math.isnan(other)  # so that one alone may be NaN
    wins = record(f"{'u' if unordered else 'o'}{order}", one, other, dtype=TRUTH)
    if not one_known and not unordered:
        wins = record("or", wins, record("uno", one, 0.0, dtype=TRUTH), dtype=TRUTH)
    return record("select", wins, one, other)


def _divided(remainder: bool, record: Record, one: Any, other: Any) -> Symbol | None:
    """Python's division of whole numbers by a positive constant, which rounds down."""
    if isinstance(other, Symbol) or other <= 0:
        return None
    rest, quotient = record("srem", one, other), record("sdiv", one, other)
    below = record("olt", rest, 0, dtype=TRUTH)
    if remainder:
        return record("select", below, record("add", rest, other), rest)
    return record("select", below, record("sub", quotient, 1), quotient)


_COMPOSED: dict[str, dict[str, Callable[..., Any]]] = {
    "f": {
        "square": lambda record, x: record("fmul", x, x),
        "positive": lambda record, x: x,
        "isnan": lambda record, x: record("uno", x, 0.0, dtype=TRUTH),
        "isfinite": lambda record, x: record("ord", record("fmul", x, 0.0), 0.0, dtype=TRUTH),
        "maximum": functools.partial(_extreme, "gt"),
        "minimum": functools.partial(_extreme, "lt"),
    },
    "i": {
        "square": lambda record, x: record("mul", x, x),
        "positive": lambda record, x: x,
        "negative": lambda record, x: record("sub", 0, x),
        "remainder": functools.partial(_divided, True),
        "floor_divide": functools.partial(_divided, False),
    },
    "b": {
        "logical_not": lambda record, x: record("xor", x, True),
        "invert": lambda record, x: record("xor", x, True),
    },
}
"""Functions of NumPy that take several operations."""


def _first(values: Iterable[Any]) -> Symbol | None:
    return next((x for x in values if isinstance(x, Symbol)), None)


def _number_by_number(function: Callable[..., Any], *arrays: np.ndarray) -> np.ndarray:
    """The results of a function of objects for each number of arrays, in their layout."""
    with np.errstate(all="ignore"):  # of constants
        return np.asarray(np.frompyfunc(function, len(arrays), 1)(*arrays), dtype=object)


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """A symbol or a constant in another dtype."""
    if type(value) is float and dtype == FLOAT:
        return value
    if isinstance(value, Symbols):  # in a list, from which NumPy has made an array
        value = objects(value)[()]
    if not isinstance(value, Symbol):
        return dtype.type(value).item()
    if value.dtype == dtype:
        return value
    if dtype == TRUTH:
        return value.trace.symbol("une", value, cast(0, value.dtype), dtype=dtype)
    return value.trace.symbol("cast", value, dtype=dtype)


@functools.cache
def _on_symbols(ufunc: np.ufunc, dtype: np.dtype[Any]) -> Callable[..., Any] | None:
    """A ufunc of single symbols and constants of a dtype; None if NumPy leaves it to a library."""
    name = ufunc.__name__
    operation = _OPERATIONS[dtype.kind].get(name)
    composed = _COMPOSED[dtype.kind].get(name)
    result = TRUTH if operation in COMPARISONS.values() else dtype
    if operation is None and composed is None and dtype.kind == "f":
        return None

    def apply(*values: Any) -> Any:
        symbol = values[0] if isinstance(values[0], Symbol) else _first(values)
        if symbol is None:
            return ufunc(*map(dtype.type, values)).item()
        if operation is not None:
            return symbol.trace.symbol(operation, *values, dtype=result)
        record = functools.partial(symbol.trace.symbol, dtype=dtype)
        found = None if composed is None else composed(record, *values)
        if found is None:
            raise UntraceableError(f"calls {name} of {dtype} numbers")
        return found

    return apply


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
    kinds = [_kind(x) for x in values]
    return np.dtype(np.result_type(*(x(1) if isinstance(x, type) else x for x in kinds)))


def converted(x: Any, dtype: np.dtype[Any]) -> np.ndarray:
    """The objects of an array in another dtype."""
    array = objects(x)
    if isinstance(x, Symbols) and x.dtype == dtype:
        return array
    if dtype not in DTYPES:
        raise UntraceableError(f"converts an array to {dtype}")
    if isinstance(x, np.ndarray) and x.dtype == dtype:
        return array
    return _number_by_number(lambda value: cast(value, dtype), array)


def symbols(x: Any, dtype: np.dtype[Any] = FLOAT) -> Any:
    """Symbols and constants of a dtype, one or an array of them, as a symbolic array."""
    array = np.asarray(x, dtype=object).view(Symbols)
    array._dtype = dtype
    return array


def _reduction(ufunc: np.ufunc) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any = None, *_: Any, keepdims: bool = False, **__: Any) -> Any:
        return _reduce(ufunc, x, axis, keepdims)

    return reduce


def _leaves(values: Any) -> Iterable[Any]:
    for value in values:
        if isinstance(value, tuple | list):
            yield from _leaves(value)
        else:
            yield value


def _numbers(values: Any) -> list[Any]:
    """The arrays of numbers among arguments, without indices."""
    return [
        x
        for x in _leaves(values)
        if isinstance(x, Symbols) or (isinstance(x, np.ndarray) and x.dtype.kind in "fb")
    ]


def _in(dtype: np.dtype[Any], values: Any) -> Any:
    """Arguments whose arrays of floats have become symbols of a dtype."""
    if isinstance(values, dict):
        return {name: _in(dtype, x) for name, x in values.items()}
    if isinstance(values, tuple | list):
        return type(values)(_in(dtype, x) for x in values)
    if isinstance(values, Symbols) or (isinstance(values, np.ndarray) and values.dtype.kind in "f"):
        return symbols(converted(values, dtype), dtype)
    return values


def _marked(x: Any, dtype: np.dtype[Any]) -> Any:
    if isinstance(x, tuple | list):
        return type(x)(_marked(each, dtype) for each in x)
    if isinstance(x, Symbols | Symbol) or (isinstance(x, np.ndarray) and x.dtype == object):
        return symbols(objects(x), dtype)
    return x


def _searchsorted(ends: np.ndarray, x: Any, side: str = "left") -> Any:
    below = {"left": np.less, "right": np.less_equal}[side]
    return np.count_nonzero(below(ends, x[..., None]), axis=-1)


def _filled(values: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def _gathered(rows: np.ndarray, places: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """The entries of rows, (..., n), at places, (..., k), whose leading axes are broadcast.

    Outside a row, it is the nearest one.
    """
    lead = np.broadcast_shapes(rows.shape[:-1], places.shape[:-1])
    last, plain = rows.shape[-1] - 1, rows.dtype != object
    rows = np.broadcast_to(rows, (*lead, last + 1))
    taken = np.empty((*lead, places.shape[-1]), dtype=object)

    def inside(place: Any) -> Any:
        if not isinstance(place, Symbol):
            return place
        record = functools.partial(place.trace.symbol, dtype=WHOLE)
        return record("smin", record("smax", place, 0), last)

    def entry(row: np.ndarray, place: Any) -> Any:
        if not isinstance(place, Symbol):
            return row[place]
        record = place.trace.symbol
        if plain and last >= FEW:
            return record("lookup", place.trace.table(row), place)
        nearest = row[last]
        for i in range(last - 1, -1, -1):
            here = record("ole", place, i, dtype=TRUTH)
            nearest = record("select", here, row[i], nearest, dtype=dtype)
        return nearest

    if plain and last >= FEW:
        places = _number_by_number(inside, places)
    for i, place in np.ndenumerate(np.broadcast_to(places, taken.shape)):
        taken[i] = entry(rows[i[:-1]], place)
    return taken


def _take(x: Any, indices: Any, axis: Any = None, **_: Any) -> Any:
    dtype = dtype_of(x)
    if not isinstance(indices, Symbols):
        if not isinstance(x, Symbols):
            return np.take(x, indices, axis=axis)
        return symbols(objects(x).take(indices, axis=axis), dtype)
    array = converted(x, dtype) if isinstance(x, Symbols) or dtype != FLOAT else np.asarray(x)
    rows = array.reshape(-1) if axis is None else np.moveaxis(array, axis, -1)
    axis = 0 if axis is None else axis % array.ndim
    places = objects(indices)
    taken = _gathered(rows, places.reshape(-1), dtype).reshape(*rows.shape[:-1], *places.shape)
    first = rows.ndim - 1
    ends = range(axis, axis + places.ndim)
    return symbols(np.moveaxis(taken, range(first, first + places.ndim), ends), dtype)


def _take_along_axis(x: Any, indices: Any, axis: int = -1) -> Any:
    dtype = dtype_of(x)
    rows, places = (
        np.moveaxis(converted(x, dtype), axis, -1),
        np.moveaxis(objects(indices), axis, -1),
    )
    return symbols(np.moveaxis(_gathered(rows, places, dtype), -1, axis), dtype)


def _library(ufunc: np.ufunc, arrays: Sequence[np.ndarray], dtype: np.dtype[Any]) -> np.ndarray:
    """A function that NumPy computes by a loop of its own, e.g. the exponential."""
    _require_loop(ufunc, dtype)
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    count = int(np.prod(shape))
    # NumPy repeats a single number by a step of 0, and may round by the layout of others.
    steps = [int(x.size > 1) for x in arrays]
    whole = [np.broadcast_to(x, shape) if x.size > 1 else x for x in arrays]
    inputs = [x.reshape(-1).tolist() for x in whole]
    symbol = _first(x for numbers in inputs for x in numbers)
    if symbol is None:
        return np.asarray(ufunc(*(x.astype(dtype) for x in arrays))).astype(object)
    trace = symbol.trace
    trace.exact = trace.exact and all(x.size == 1 or x.flags.c_contiguous for x in whole)
    starts = [*itertools.accumulate(map(len, inputs[:-1]), initial=0), 0]
    numbers = [x for each in inputs for x in each]
    found = trace.call(ufunc, numbers, count, (count,), starts, (*steps, 1), dtype=dtype)
    return _filled(found, shape)


def _require_loop(ufunc: np.ufunc, dtype: np.dtype[Any]) -> None:
    if f"{dtype.char * ufunc.nin}->{dtype.char * ufunc.nout}" not in ufunc.types:
        raise UntraceableError(f"calls {ufunc.__name__} of {dtype}")


def _reduce(ufunc: np.ufunc, x: Any, axis: Any = 0, keepdims: bool = False, **options: Any) -> Any:
    dtype = TRUTH if ufunc in (np.logical_or, np.logical_and) else dtype_of(x)
    if dtype == TRUTH and ufunc in (np.add, np.multiply):
        dtype = WHOLE
    array = converted(x, dtype)
    axes = [int(a) % array.ndim for a in np.atleast_1d(range(array.ndim) if axis is None else axis)]
    rows = np.moveaxis(array, axes, range(-len(axes), 0))
    rows = rows.reshape(*rows.shape[: array.ndim - len(axes)], -1)
    by_number = _on_symbols(ufunc, dtype)
    if by_number is None:
        raise UntraceableError(f"reduces by {ufunc.__name__}")
    apply = functools.partial(_number_by_number, by_number)
    parts = [rows[..., i] for i in range(rows.shape[-1])]
    if ufunc is np.add and dtype.kind == "f" and len(parts) >= UNROLLED and _inner(array, axes):
        symbol = _first(rows.reshape(-1).tolist())
        if symbol is not None:
            symbol.trace.exact = False  # the order depends on the layout
        total = _pairwise(parts, apply)
    elif parts:
        total = functools.reduce(apply, parts)
    else:
        total = np.full(rows.shape[:-1], cast(ufunc.identity, dtype), dtype=object)
    if ufunc is np.add and dtype.kind == "f":
        total = apply(total, np.array(START, dtype=object))
    return symbols(np.expand_dims(total, tuple(axes)) if keepdims else total, dtype)


def _inner(array: np.ndarray, axes: list[int]) -> bool:
    """True if the reduced axes are the innermost in memory, so that NumPy adds several at once."""
    steps = [abs(s) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    reduced = [abs(array.strides[a]) for a in axes if array.shape[a] > 1]
    return not steps or min(steps) in reduced


def _pairwise(parts: list[Any], add: Callable[..., Any]) -> Any:
    """NumPy's sum along an axis: eight at once, of halves if there are many."""
    n = len(parts)
    if n > BLOCK:
        half = n // 2
        half -= half % UNROLLED
        return add(_pairwise(parts[:half], add), _pairwise(parts[half:], add))
    if n < UNROLLED:
        return functools.reduce(add, parts)
    sums, last = parts[:UNROLLED], n - n % UNROLLED
    for i in range(UNROLLED, last):
        sums[i % UNROLLED] = add(sums[i % UNROLLED], parts[i])
    while len(sums) > 1:
        sums = [add(*sums[i : i + 2]) for i in range(0, len(sums), 2)]
    return functools.reduce(add, parts[last:], sums[0])


def _matmul(a: Any, b: Any) -> Any:
    row, column = np.ndim(a) == 1, np.ndim(b) == 1
    (product,) = _by_matrices(np.matmul, a[None] if row else a, b[:, None] if column else b)
    product = product[..., 0, :] if row else product
    return product[..., 0] if column else product


def _by_matrices(ufunc: np.ufunc, *inputs: Any) -> list[Any]:
    """The results of a function of matrices and vectors, which NumPy computes one by one."""
    dtype = dtype_of(*inputs)
    _require_loop(ufunc, dtype)
    arrays = [converted(x, dtype) for x in inputs]
    axes = [
        x.replace("?", "").split(",") if x else [] for x in _CORES.findall(ufunc.signature or "")
    ]
    sizes: dict[str, int] = {}
    for x, names in zip(arrays, axes, strict=False):
        for name, size in zip(names, x.shape[x.ndim - len(names) :], strict=True):
            if sizes.setdefault(name, size) != size:
                raise UntraceableError(f"calls {ufunc.__name__} with arrays that do not match")
    shapes = [tuple(sizes[name] for name in names) for names in axes]
    leads = [x.shape[: x.ndim - len(core)] for x, core in zip(arrays, shapes, strict=False)]
    lead = np.broadcast_shapes(*leads)
    arrays = [np.broadcast_to(x, (*lead, *s)) for x, s in zip(arrays, shapes, strict=False)]
    results = [np.empty((*lead, *shape), dtype=object) for shape in shapes[ufunc.nin :]]
    for i in np.ndindex(*lead):
        found = _loop(ufunc, [x[i] for x in arrays], sizes, shapes[ufunc.nin :], dtype)
        for result, numbers in zip(results, found, strict=True):
            result[i] = numbers[()]
    return [symbols(x, dtype) for x in results]


_CORES = re.compile(r"\(([^)]*)\)")


def _loop(
    ufunc: np.ufunc,
    arrays: Sequence[np.ndarray],
    sizes: Mapping[str, int],
    shapes: Sequence[tuple[int, ...]],
    dtype: np.dtype[Any],
) -> list[np.ndarray]:
    """One run of a ufunc's loop over matrices and vectors."""
    inputs: list[Any] = []
    starts: list[int] = []
    steps: list[list[int]] = []
    for x in arrays:
        if starts and _layout(x) == _layout(arrays[0].T):  # BLAS has a function for x.T @ x
            starts.append(0)
            steps.append(steps[0][::-1])
        else:
            starts.append(len(inputs))
            numbers, step = _in_memory(x)
            inputs += numbers
            steps.append(step)
    symbol = _first(inputs)
    if symbol is None:
        found = ufunc(*(x.astype(dtype) for x in arrays))
        return [np.asarray(x, dtype=object) for x in (found if ufunc.nout > 1 else (found,))]
    counts = [int(np.prod(shape)) for shape in shapes]
    ends = list(itertools.accumulate(counts, initial=0))
    steps += [_in_memory(np.empty(shape))[1] for shape in shapes]
    core = [step for each in steps for step in each]
    numbers = symbol.trace.call(
        ufunc, inputs, ends[-1], (1, *sizes.values()), (*starts, *ends[:-1]),
        (*[0] * len(steps), *core), dtype=dtype,
    )  # fmt: skip
    return [
        _filled(numbers[first : first + count], shape)
        for first, count, shape in zip(ends, counts, shapes, strict=False)
    ]


def _layout(x: np.ndarray) -> tuple[Any, ...]:
    return x.ctypes.data, x.shape, x.strides


def _in_memory(x: np.ndarray) -> tuple[list[Any], list[int]]:
    """An array's numbers in memory order, and the steps between entries along each axis.

    BLAS takes no layout whose rows overlap or whose numbers are not next to one another; NumPy
    copies such an array first, and here a gap after each number has the same effect.
    """
    order = sorted(range(x.ndim), key=lambda axis: -x.strides[axis])
    long = [axis for axis in order if x.shape[axis] > 1]
    steps, step, fits = [0] * x.ndim, 1, True  # no steps along single entries, as in NumPy
    for axis in reversed(long):
        own = x.strides[axis] // x.itemsize
        fits = fits and (own == 1 if step == 1 else own >= step)
        steps[axis], step = step, step * x.shape[axis]
    numbers = x.transpose(order).reshape(-1).tolist()
    if fits:
        return numbers, steps
    return [y for number in numbers for y in (number, 0.0)], [2 * step for step in steps]


def _of_matrices(ufunc: np.ufunc, *inputs: Any) -> Any:
    (result,) = _by_matrices(ufunc, *inputs)
    return result


def _solve(a: Any, b: Any) -> Any:
    vector = np.ndim(b) == 1
    solution = _of_matrices(_linalg.solve, a, b[:, None] if vector else b)
    return solution[..., 0] if vector else solution


def _choose(dtype: np.dtype[Any], condition: Any, one: Any, other: Any) -> Any:
    if not isinstance(condition, Symbol):
        return one if condition else other
    return condition.trace.symbol("select", condition, one, other, dtype=dtype)


def _where(condition: Any, one: Any, other: Any) -> Any:
    dtype = dtype_of(one, other)
    values = converted(condition, TRUTH), converted(one, dtype), converted(other, dtype)
    chosen = _number_by_number(functools.partial(_choose, dtype), *values)
    return symbols(chosen, dtype)


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _astype(x: Any, dtype: Any, *_: Any, **__: Any) -> Any:
    dtype = np.dtype(dtype)
    return symbols(converted(x, dtype), dtype)


def _norm(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    if axis is None and not keepdims:
        numbers = np.ravel(x)
        return np.sqrt(np.vecdot(numbers, numbers))
    return np.sqrt(_reduce(np.add, x * x, axis, keepdims))


def _mean(x: Any, axis: Any = None, *_: Any, keepdims: bool = False, **__: Any) -> Any:
    total = _reduce(np.add, x, axis, keepdims)
    return total / (np.size(x) // max(1, total.size))


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


class Symbols(np.ndarray):
    """An array of symbols and constants."""

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
        raise UntraceableError("writes into an array")

    def __bool__(self, *_: Any) -> bool:
        raise UntraceableError("depends on an array's numbers other than by `where`")

    __float__ = __int__ = __index__ = item = __bool__

    def __pow__(self, exponent: Any) -> Any:  # type: ignore[override]
        plain = {1: np.positive, 2: np.square, 0.5: np.sqrt, -1: np.reciprocal}
        function = plain.get(exponent) if type(exponent) in (int, float) else None
        if function is np.reciprocal:
            return 1.0 / self
        return np.power(self, exponent) if function is None else function(self)

    def copy(self, *_: Any) -> Any:
        """The same numbers, which cannot be written."""
        return self

    def tolist(self) -> Any:
        """The numbers, each an array without axes."""
        if not self.ndim:
            return self
        return [x.tolist() for x in self]

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        return NAMESPACE

    astype: Any = _astype
    take: Any = _take
    mean: Any = _mean
    sum, prod = _reduction(np.add), _reduction(np.multiply)
    max, min = _reduction(np.maximum), _reduction(np.minimum)
    all, any = _reduction(np.logical_and), _reduction(np.logical_or)

    def trace(self, offset: int = 0, *axes: int) -> Any:  # type: ignore[override]
        """The sum of the diagonal."""
        return _reduce(np.add, symbols(np.diagonal(objects(self), offset, *axes), self._dtype), -1)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        options = {k: x for k, x in options.items() if x not in (None, True, np._NoValue)}
        if method == "reduce":
            return _reduce(ufunc, *inputs, **options)
        if method != "__call__" or options:
            raise UntraceableError(f"calls {ufunc.__name__} with {', '.join(options) or method}")
        if ufunc.nout > 1:
            raise UntraceableError(f"calls {ufunc.__name__}")
        if ufunc is np.matmul:
            return _matmul(*inputs)
        if ufunc is np.vecdot:
            return _of_matrices(ufunc, *inputs)
        if ufunc.__name__ in ("logical_and", "logical_or", "logical_xor", "logical_not"):
            dtype = result = TRUTH
        elif ufunc.__name__ in ("isnan", "isfinite"):
            dtype, result = FLOAT, TRUTH
        else:
            *dtypes, result = ufunc.resolve_dtypes((*map(_kind, inputs), None))
            dtype = dtypes[0]
        arrays = [converted(x, dtype) for x in inputs]
        squares = ufunc is np.power and all(x in (1, 2) for x in arrays[1].flat)
        if squares:
            return np.square(inputs[0]) if (arrays[1] == 2).all() else inputs[0]
        by_number = _on_symbols(ufunc, dtype)
        found = (
            _number_by_number(by_number, *arrays) if by_number else _library(ufunc, arrays, dtype)
        )
        return symbols(found, result)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        own = _FUNCTIONS.get(function)
        if own is not None:
            return own(*arguments, **options)
        # The others only move numbers.
        dtype = dtype_of(*_numbers((*arguments, *options.values())))
        moved = super().__array_function__(
            function, types, _in(dtype, arguments), _in(dtype, options)
        )
        return _marked(moved, dtype)


class Writable(Symbols):
    """An array of symbols and constants that can be written, as the starts of episodes are."""

    def copy(self, *_: Any) -> Any:
        """The same numbers, apart from these."""
        return symbols(objects(self).copy(), self._dtype).view(Writable)

    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index).view(Writable)

    def __setitem__(self, index: Any, value: Any) -> None:
        objects(self)[index] = converted(NAMESPACE.asarray(value), self._dtype)[()]

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any
    ) -> Any:
        result = super().__array_ufunc__(ufunc, method, *inputs, **options)
        if not out:
            return result
        out[0][...] = result
        return out[0]


class _Namespace:
    """NumPy's functions, with replacements for those without operator dispatch."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    @staticmethod
    def asarray(x: Any, dtype: Any = None, **_: Any) -> Any:
        """An array of symbols, numbers, or a list of them."""
        if isinstance(x, tuple | list):
            if not any(isinstance(each, Symbols | Symbol) for each in _leaves(x)):
                return np.asarray(x, dtype=dtype)
            x = np.stack([_Namespace.asarray(each) for each in x])
        if not isinstance(x, Symbols):
            return np.asarray(x, dtype=dtype)
        return x if dtype is None else _astype(x, dtype)

    array = asarray

    take = staticmethod(_take)


NAMESPACE = _Namespace()
_REDUCTIONS = ("sum", "prod", "max", "min", "all", "any", "mean")  # functions and methods

_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.linalg.solve: _solve,
    np.linalg.eigh: lambda x: tuple(_by_matrices(_linalg.eigh_lo, x)),
    np.linalg.inv: functools.partial(_of_matrices, _linalg.inv),
    np.linalg.det: functools.partial(_of_matrices, _linalg.det),
    np.linalg.cholesky: functools.partial(_of_matrices, _linalg.cholesky_lo),
    np.linalg.vector_norm: _norm,
    np.linalg.norm: lambda x, ord=None, axis=None, keepdims=False: _norm(x, axis, keepdims),
    np.where: _where,
    np.clip: _clip,
    np.astype: _astype,
    np.searchsorted: _searchsorted,
    **{getattr(np, name): getattr(Symbols, name) for name in _REDUCTIONS},
    np.count_nonzero: lambda x, axis=None, keepdims=False: _reduce(
        np.add, _astype(x, TRUTH), axis, keepdims
    ),
    np.argmax: _argument(np.greater),
    np.argmin: _argument(np.less),
    np.zeros_like: lambda x, dtype=None, **_: np.zeros(np.shape(x), dtype or dtype_of(x)),
    np.ones_like: lambda x, dtype=None, **_: np.ones(np.shape(x), dtype or dtype_of(x)),
    np.full_like: _full_like,
    np.take: _take,
    np.take_along_axis: _take_along_axis,
    np.shape: lambda x: objects(x).shape,
    np.ndim: lambda x: objects(x).ndim,
    np.size: lambda x: objects(x).size,
    np.copy: lambda x, **_: x,
    np.result_type: dtype_of,
}
"""Functions of NumPy that compute; others only move numbers."""
