"""Symbolic arrays, which record the operations of hooks.

A hook runs once on symbols instead of numbers. They are in NumPy's arrays of objects, so indexing,
reshaping and broadcasting are NumPy's own, with the memory layouts of float64. Arithmetic is
recorded number by number. What NumPy leaves to a library (matrix products, systems, transcendental
functions) is recorded as a call of the same function, on numbers in the same layout. So compiled
numbers equal NumPy's to the bit, except for long sums, whose order may differ.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

MOST = 60_000  # operations; 16,000 compile for half a second
UNROLLED = 8  # from this many numbers on, NumPy adds several at once


class UntraceableError(TypeError):
    """A hook does something with an array that cannot be recorded."""


class Symbol:
    """The result of an operation.

    Args:
        trace: the trace that the operation belongs to.
        inputs: symbols, constants, or other arguments of the operation.
        truth: whether the result is a bool rather than a float64.
    """

    __slots__ = ("inputs", "number", "operation", "trace", "truth")

    def __init__(
        self, trace: "Trace", operation: str, inputs: tuple[Any, ...], truth: bool
    ) -> None:
        self.trace, self.operation, self.inputs, self.truth = trace, operation, inputs, truth
        self.number = trace.count = trace.count + 1
        if self.number > MOST:
            raise UntraceableError(f"takes more than {MOST} operations")


class Trace:
    """The operations of a hook.

    Attributes:
        exact: whether all sums are in NumPy's order.
    """

    def __init__(self) -> None:
        self.count, self.exact = 0, True
        self._known: dict[tuple[Any, ...], Symbol] = {}

    def symbol(self, operation: str, *inputs: Any, truth: bool = False) -> Symbol:
        """The result of an operation; equal operations are one symbol."""
        # Constants by their text: 0.0 equals -0.0 and False.
        key = operation, *(x if isinstance(x, Symbol) else repr(x) for x in inputs)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = Symbol(self, operation, inputs, truth)
        return known

    def call(self, function: str, inputs: Sequence[Any], count: int, *details: Any) -> list[Symbol]:
        """The results of a library's function on numbers in memory."""
        called = Symbol(self, function, (tuple(map(number, inputs)), count, *details), False)
        return [Symbol(self, "output", (called, i), False) for i in range(count)]


# Operations of LLVM by the names of NumPy's functions.
ARITHMETIC = {
    "add": "fadd", "subtract": "fsub", "multiply": "fmul", "divide": "fdiv", "negative": "fneg",
    "sqrt": "sqrt", "absolute": "fabs", "floor": "floor", "ceil": "ceil", "rint": "rint",
    "maximum": "maximum", "minimum": "minimum",
}  # fmt: skip
COMPARISONS = {
    "less": "olt", "less_equal": "ole", "greater": "ogt", "greater_equal": "oge",
    "equal": "oeq", "not_equal": "une",
}  # fmt: skip
LOGIC = {
    "logical_and": "and", "logical_or": "or", "logical_xor": "xor",
    "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
}  # fmt: skip


def _first(values: Sequence[Any]) -> Symbol | None:
    return next((x for x in values if isinstance(x, Symbol)), None)


def _is_truth(value: Any) -> bool:
    return value.truth if isinstance(value, Symbol) else isinstance(value, bool)


def number(value: Any) -> Any:
    """A symbol or a constant as a float64."""
    if not isinstance(value, Symbol):
        return float(value)
    return value.trace.symbol("select", value, 1.0, 0.0) if value.truth else value


@functools.cache
def _on_symbols(ufunc: np.ufunc) -> Callable[..., Any]:
    """A ufunc of single symbols and constants."""
    name = ufunc.__name__

    def apply(*values: Any) -> Any:
        symbol = _first(values)
        if symbol is None:
            with np.errstate(all="ignore"):
                return ufunc(*values).item()
        record = symbol.trace.symbol
        if name in (*LOGIC, "logical_not", "invert") and not all(map(_is_truth, values)):
            raise UntraceableError(f"calls {name} of numbers")
        if name in LOGIC:
            return record(LOGIC[name], *values, truth=True)
        if name in ("logical_not", "invert"):
            return record("xor", *values, True, truth=True)
        numbers = [number(x) for x in values]
        if name in COMPARISONS:
            return record(COMPARISONS[name], *numbers, truth=True)
        if name in ("square", "power"):  # powers of 1 and 2
            return numbers[0] if numbers[1:] == [1.0] else record("fmul", numbers[0], numbers[0])
        return numbers[0] if name == "positive" else record(ARITHMETIC[name], *numbers)

    return apply


def _choose(condition: Any, one: Any, other: Any) -> Any:
    if not isinstance(condition, Symbol):
        return one if condition else other
    if _is_truth(one) and _is_truth(other):
        return condition.trace.symbol("select", condition, one, other, truth=True)
    return condition.trace.symbol("select", condition, number(one), number(other))


def objects(x: Any) -> np.ndarray:
    """An array of Python's objects, symbols and constants, in the same layout."""
    return np.asarray(x.view(np.ndarray) if isinstance(x, Symbols) else x, dtype=object)


def symbols(x: Any) -> Any:
    """Symbols and constants, one or an array of them, as a symbolic array."""
    if isinstance(x, tuple | list):
        return type(x)(map(symbols, x))
    if isinstance(x, np.ndarray) and x.dtype != object:
        return x
    return np.asarray(x, dtype=object).view(Symbols)


class Symbols(np.ndarray):
    """An array of symbols and constants."""

    def __getitem__(self, index: Any) -> Any:
        return symbols(objects(self)[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        raise UntraceableError("writes into an array")

    def __bool__(self) -> bool:
        raise UntraceableError("depends on an array's numbers other than by `where`")

    __float__ = __int__ = __index__ = __bool__

    def trace(self, offset: int = 0, *axes: int) -> Any:  # type: ignore[override]
        """The sum of the diagonal."""
        return _reduce(np.add, np.diagonal(objects(self), offset, *axes), -1)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        options = {k: x for k, x in options.items() if x not in (None, True, np._NoValue)}
        if method == "reduce":
            return _reduce(ufunc, *inputs, **options)
        if method != "__call__" or options:
            raise UntraceableError(f"calls {ufunc.__name__} with {', '.join(options) or method}")
        arrays = [objects(x) for x in inputs]
        if ufunc is np.matmul:
            return symbols(_matmul(*arrays))
        known = *ARITHMETIC, *COMPARISONS, *LOGIC, "logical_not", "invert", "square", "positive"
        squares = ufunc is np.power and all(x in (1, 2) for x in arrays[1].flat)
        if ufunc.__name__ in known or squares:
            return symbols(np.frompyfunc(_on_symbols(ufunc), ufunc.nin, 1)(*arrays))
        return symbols(_library(ufunc, arrays))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        own = _FUNCTIONS.get(function)
        if own is not None:
            return own(*arguments, **options)
        return symbols(super().__array_function__(function, types, arguments, options))


class Places:
    """Symbolic places in a table, as `searchsorted` returns them."""

    device = "cpu"

    def __init__(self, places: list[Symbol]) -> None:
        self._places = places

    def __array_namespace__(self, api_version: str | None = None) -> type["Places"]:
        return Places

    @staticmethod
    def asarray(x: np.ndarray, device: str) -> np.ndarray:
        """A table."""
        return x

    @staticmethod
    def take(table: np.ndarray, places: "Places", axis: int) -> Any:
        """Rows of a table of constants."""
        columns = table.reshape(len(table), -1).T.tolist()
        rows = [
            place.trace.symbol("lookup", tuple(column), place)
            for place in places._places
            for column in columns
        ]
        return symbols(_filled(rows, (len(places._places), *table.shape[1:])))


def _searchsorted(ends: np.ndarray, x: Any, side: str = "left") -> Places:
    order = {"left": "olt", "right": "ole"}[side]
    numbers, values = tuple(ends.tolist()), objects(x).tolist()
    return Places([value.trace.symbol("place", order, numbers, value) for value in values])


def _filled(values: Sequence[Any], shape: tuple[int, ...]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array.reshape(shape)


def _library(ufunc: np.ufunc, arrays: Sequence[np.ndarray]) -> np.ndarray:
    """A function that NumPy computes by a loop of its own, e.g. the exponential."""
    if "d" * ufunc.nin + "->d" not in ufunc.types:
        raise UntraceableError(f"calls {ufunc.__name__}")
    shape = np.broadcast_shapes(*(x.shape for x in arrays))
    count = int(np.prod(shape))
    # NumPy repeats a single number by a step of 0, and may round by the layout of others.
    single = tuple(x.size == 1 for x in arrays)
    whole = [x if one else np.broadcast_to(x, shape) for x, one in zip(arrays, single, strict=True)]
    inputs = [x for array in whole for x in array.reshape(-1).tolist()]
    symbol = _first(inputs)
    if symbol is None:
        return np.asarray(ufunc(*(x.astype(float) for x in arrays))).astype(object)
    trace = symbol.trace
    trace.exact = trace.exact and all(x.size == 1 or x.flags.c_contiguous for x in whole)
    return _filled(trace.call("ufunc", inputs, count, ufunc, single), shape)


def _reduce(ufunc: np.ufunc, x: Any, axis: Any = 0, keepdims: bool = False) -> Any:
    array = objects(x)
    axes = [int(a) % array.ndim for a in np.atleast_1d(range(array.ndim) if axis is None else axis)]
    rows = np.moveaxis(array, axes, range(-len(axes), 0))
    rows = rows.reshape(*rows.shape[: array.ndim - len(axes)], -1)
    apply = np.frompyfunc(_on_symbols(ufunc), 2, 1)
    parts = [rows[..., i] for i in range(rows.shape[-1])]
    symbol = _first(rows.reshape(-1).tolist())
    if ufunc is np.add and len(parts) >= UNROLLED and symbol is not None:
        symbol.trace.exact = False  # the order depends on the layout
        sums, last = parts[:UNROLLED], len(parts) - len(parts) % UNROLLED
        for i in range(UNROLLED, last):
            sums[i % UNROLLED] = apply(sums[i % UNROLLED], parts[i])
        while len(sums) > 1:
            sums = [apply(*sums[i : i + 2]) for i in range(0, len(sums), 2)]
        parts = [sums[0], *parts[last:]]
    total = functools.reduce(apply, parts)
    return symbols(np.expand_dims(objects(total), tuple(axes)) if keepdims else total)


def _matmul(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    row, column = a.ndim == 1, b.ndim == 1
    a, b = (a[None] if row else a), (b[:, None] if column else b)
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = (np.broadcast_to(x, (*lead, *x.shape[-2:])) for x in (a, b))
    product = np.empty((*lead, a.shape[-2], b.shape[-1]), dtype=object)
    for i in np.ndindex(*lead):
        product[i] = _product(a[i], b[i])
    product = product[..., 0, :] if row else product
    return product[..., 0] if column else product


def _in_memory(x: np.ndarray) -> tuple[list[Any], bool, bool]:
    """A matrix's numbers, whether they are by columns, and whether BLAS takes their layout."""

    def by_rows(x: np.ndarray) -> bool:
        step, next_to = x.strides
        return next_to == x.itemsize and step % next_to == 0 and step // next_to >= x.shape[1]

    columns = not by_rows(x)
    numbers = (x.T if columns else x).reshape(-1).tolist()
    return numbers, columns, not columns or by_rows(x.T)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The product of two matrices by the function that NumPy chooses."""
    (m, n), p = a.shape, b.shape[1]
    symbol = _first((*a.reshape(-1).tolist(), *b.reshape(-1).tolist()))
    if symbol is None:
        product: np.ndarray = np.matmul(a.astype(float), b.astype(float))
        return product.astype(object)
    trace = symbol.trace
    if n > 1 and (m > 1) != (p > 1):
        matrix, vector = (b.T, a[0]) if m == 1 else (a, b[:, 0])
        numbers, columns, fits = _in_memory(matrix)
        if fits:
            inputs = [*numbers, *vector.tolist()]
            return _filled(trace.call("gemv", inputs, m * p, m * p, n, columns), (m, p))
    elif min(m, n, p) > 1:
        (one, by_columns, fits), (other, other_by_columns, other_fits) = map(_in_memory, (a, b))
        if fits and other_fits:
            details = m, n, p, by_columns, other_by_columns
            return _filled(trace.call("gemm", [*one, *other], m * p, *details), (m, p))
    trace.exact = trace.exact and n == 1
    add, multiply = _on_symbols(np.add), _on_symbols(np.multiply)
    sums = [
        functools.reduce(add, map(multiply, a[i].tolist(), b[:, j].tolist()))
        for i in range(m)
        for j in range(p)
    ]
    return _filled(sums, (m, p))


def _solve(a: Any, b: Any) -> Any:
    a, b = objects(a), objects(b)
    vector = b.ndim == 1
    b = b[:, None] if vector else b
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, k = b.shape[-2:]
    a, b = np.broadcast_to(a, (*lead, n, n)), np.broadcast_to(b, (*lead, n, k))
    solution = np.empty(b.shape, dtype=object)
    for i in np.ndindex(*lead):
        inputs = [*a[i].T.reshape(-1).tolist(), *b[i].T.reshape(-1).tolist()]
        symbol = _first(inputs)
        if symbol is None:
            solution[i] = np.linalg.solve(a[i].astype(float), b[i].astype(float))
        else:
            solution[i] = _filled(symbol.trace.call("gesv", inputs, n * k, n, k), (k, n)).T
    return symbols(solution[..., 0] if vector else solution)


def _where(condition: Any, one: Any, other: Any) -> Any:
    return symbols(np.frompyfunc(_choose, 3, 1)(*map(objects, (condition, one, other))))


def _clip(x: Any, low: Any = None, high: Any = None) -> Any:
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _astype(x: Any, dtype: Any, copy: bool = True) -> Any:
    if np.dtype(dtype) not in (np.dtype(float), np.dtype(object)):
        raise UntraceableError(f"converts an array to {np.dtype(dtype)}")
    return symbols(np.frompyfunc(number, 1, 1)(objects(x)))


def _reduction(ufunc: np.ufunc) -> Callable[..., Any]:
    def reduce(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
        return _reduce(ufunc, x, axis, keepdims)

    return reduce


def _norm(x: Any, axis: Any = None, keepdims: bool = False) -> Any:
    return np.sqrt(_reduce(np.add, x * x, axis, keepdims))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.linalg.solve: _solve,
    np.linalg.vector_norm: _norm,
    np.where: _where,
    np.clip: _clip,
    np.astype: _astype,
    np.searchsorted: _searchsorted,
    np.sum: _reduction(np.add),
    np.any: _reduction(np.logical_or),
    np.all: _reduction(np.logical_and),
    np.max: _reduction(np.maximum),
    np.min: _reduction(np.minimum),
}
"""Functions of NumPy that compute; others only move numbers."""
