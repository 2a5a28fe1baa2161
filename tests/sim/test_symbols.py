"""Functions of arrays, recorded on symbols and compiled, beside the same functions in NumPy."""

import numpy as np
import pytest

pytest.importorskip("llvmlite", reason='needs llvmlite: pip install -e ".[fast]"')

from mjgym.muscles.splines import Splines, cubic_spline
from mjgym_fast.machine_code import FAILED, Code, Function, Result
from mjgym_fast.stepping import Hook, address
from mjgym_fast.symbols import Symbols
from mjgym_fast.trace import Outside, Trace, UntraceableError
from mjgym_fast.tracing import entries_of, inputs

RNG = np.random.default_rng(0)
A, B, SQUARE = RNG.normal(size=(6, 7)), RNG.normal(size=(7, 4)), RNG.normal(size=(5, 5))
LONG, ROW, ODD = (
    RNG.normal(size=40),
    RNG.normal(size=7),
    np.array([0.0, -0.0, np.nan, np.inf, -1.5]),
)
SPLINES = Splines.from_pieces(
    [cubic_spline([0, 1, 2, 3], [0, 1, 4, 9]), cubic_spline([0, 2], [1, 0])]
)


def written(x):
    """Its rows in another order, with some changed in place."""
    result, rows = x * 2.0, np.copy(x)
    result[..., 0], result[1] = x[..., 1], 0.5
    result[2:4] += rows[:2]
    rows[0] *= rows[1]
    return result + rows


def laid_out(*arrays):
    """The dtype of a memory of arrays, by their number."""
    return np.dtype([(str(i), x.dtype, x.shape) for i, x in enumerate(arrays)], align=True)


def recorded(function, *arrays):
    """Its results on symbols, and the trace."""
    trace, entries = Trace(Outside()), entries_of(laid_out(*arrays)).values()
    given = (inputs(trace, "%memory", offset, x.shape, x.base) for x, offset in entries)
    return function(*given), trace


def compiled(function, *arrays):
    """Its results by machine code, and whether that succeeds and sums in NumPy's order."""
    result, trace = recorded(function, *arrays)
    assert isinstance(result, Symbols)
    found = np.empty(result.shape, result.dtype)
    kind = laid_out(*arrays, found)
    memory = np.zeros(1, kind)
    for name, x in zip(kind.names, (*arrays, found), strict=True):
        memory[name] = x
    name = kind.names[-1]
    results = [Result("hook", "%memory", entries_of(kind)[name][1], result, result.dtype)]
    text = Function("hook", results, trace)
    outside = {name[1:]: x for x, name in trace.outside.names.items()}
    code = Code({"hook": text}, "", ["hook"], outside)
    work = np.zeros(max(1, text.work))
    failed = Hook(code.addresses["hook"])(0, address(memory), 0, 0, 0, address(work)) & FAILED
    return memory[name][0], not failed, trace.exact


EXACT = {
    "sums of zeros": (lambda x: np.sum(x * 0.0, axis=-1), -abs(LONG[:3])),
    "products of vectors": (np.vecdot, A, B.T.copy()[:1] + np.ones((6, 1))),
    "arithmetic": (lambda x: (x + 1.0) * x - 2 / x + -x, LONG),
    "powers": (lambda x: x**2 + x**1 + np.square(x), LONG),
    "roots": (lambda x: np.sqrt(abs(x)) + np.floor(x) - np.ceil(x), LONG),
    "functions of NumPy": (lambda x: np.sin(x) * np.exp(x) + np.tanh(x) - np.expm1(x), LONG),
    "functions of two": (lambda x: np.arctan2(x, 2 - x) + abs(x) ** 0.3 + np.hypot(0.1, x), LONG),
    "numbers that are not finite": (lambda x: x / 0.0 + x, ODD),
    "the larger": (lambda x: np.maximum(x, x[..., ::-1]) - np.minimum(x, 0.5), ODD),
    "the larger of a constant": (lambda x: np.maximum(0.25, x) - np.minimum(np.inf, x), ODD),
    "the larger of no number": (lambda x: np.maximum(np.nan, x) + np.minimum(x, np.nan), ODD),
    "clipped": (lambda x: np.clip(x, -0.5, None) + np.clip(x, 0.1, 0.2) + x.clip(x / 2, 1), LONG),
    "comparisons": (lambda x: np.where((x > 0) & ~(x >= 1) | (x == x), x, -x), ODD),
    "masks as numbers": (lambda x: np.astype(x > 0, np.float64) * 2 + (x < 0), LONG),
    "any and all": (lambda x: np.any(x > 2) * x + np.all(x < 3), LONG),
    "short sums": (lambda x: np.sum(x, axis=0) + np.add.reduce(x, 0) + x.sum(0), A),
    "sums that keep an axis": (lambda x: np.add.reduce(x, axis=-1, keepdims=True) * x, A),
    "the largest": (lambda x: np.max(x, axis=-1) - np.min(x, axis=-1), A),
    "a norm": (lambda x: np.linalg.vector_norm(x, axis=-1, keepdims=True), A),
    "a product": (lambda x, y: x @ y, A, B),
    "a product of transposed matrices": (lambda x, y: y.mT @ x.mT, A, B),
    "a product of parts": (lambda x, y: x[..., 1:, 2:5] @ y[..., 1:4, :], A, B),
    "a product with a constant": (lambda x: x @ B + np.matmul(A, x.mT[..., :, :4]), A),
    "a stack of products": (lambda x: np.stack([x, 2 * x]) @ B, A),
    "matrix and vector": (lambda x, y: x @ y + (x @ y[..., None])[..., 0], A, ROW),
    "transposed matrix and vector": (lambda x, y: (B.T @ y[..., None])[..., 0] + x[0, :4], A, ROW),
    "vector and matrix": (lambda x, y: x @ y, ROW, B),
    "an outer product": (lambda x: x[..., :, None] @ x[..., None, :], ROW),
    "an inner product": (lambda x: x[..., None, :] @ x[..., :, None], LONG),
    "a product with every other number": (
        lambda x: x[::2, ::2] @ x[:3, 1] + x[::2, 1] @ x[:3, :3],
        SQUARE,
    ),
    "a matrix's product with itself": (lambda x: x.mT @ x, A),
    "products of single precision": (
        lambda x: x @ x.mT @ x[..., :1],
        A.astype(np.float32),
    ),
    "eigenvectors": (lambda x: np.linalg.eigh(x.mT @ x)[1] + np.linalg.eigh(x.mT @ x)[0], A),
    "an inverse": (lambda x: np.linalg.inv(x) * np.linalg.det(x), SQUARE),
    "a factor": (lambda x: np.linalg.cholesky(x @ x.mT), SQUARE),
    "a system": (np.linalg.solve, SQUARE, A[:5]),
    "a system with a vector": (lambda x: np.linalg.solve(x.mT, x[..., 0]), SQUARE),
    "systems with a constant": (
        lambda x: np.linalg.solve(np.stack([SQUARE, 3 * SQUARE]), x),
        SQUARE,
    ),
    "arrays put together": (lambda x: np.concat([x, np.zeros_like(x), x[..., :2]], axis=-1), A),
    "places": (lambda x: x.take([1, 0], axis=-1) + np.take(x, np.array([2, 3]), axis=-1), A),
    "axes": (lambda x: np.moveaxis(np.broadcast_to(x, (2, 6, 7)), 0, -1).reshape(-1, 2), A),
    "a trace": (lambda x: x.trace(0, -2, -1)[..., None, None] * x, SQUARE),
    "whole numbers": (lambda x: (np.astype(x * 9, int) * 3 - 7) % 5 + np.astype(x, int) // 2, LONG),
    "counts": (lambda x: np.count_nonzero(x > 0, axis=-1) + (x < 0).sum(-1), A),
    "single precision": (lambda x: np.sin(x * 0.3) + x / 3 + 0.1, LONG.astype(np.float32)),
    "both precisions": (lambda x: x * ODD[:1] + np.astype(x * x, np.float32), LONG),
    "the place of the largest": (lambda x: np.argmax(x, axis=-1) - np.argmin(x, axis=0)[:6], A),
    "entries at such places": (lambda x: np.take(x, np.argmax(x[0]), axis=-1), A),
    "rows at places": (
        lambda x: np.take_along_axis(x, np.argmax(x, axis=-1)[..., None], axis=-1),
        A,
    ),
    "numbers without axes": (lambda x: x[0, 0] * x[1, 1] + sum(x[2]) * x.tolist()[0][0], A),
    "an array that is written": (written, A),
    "splines": (lambda x: np.concat(SPLINES(x), axis=-1), 2 * LONG),
}


@pytest.mark.parametrize(("function", "arrays"), [(f, x) for f, *x in EXACT.values()], ids=EXACT)
def test_the_same_bits(function, arrays):
    with np.errstate(all="ignore"):
        expected = function(*arrays)
    result, fine, exact = compiled(function, *arrays)
    assert fine
    assert exact
    np.testing.assert_array_equal(result, expected)
    if np.asarray(expected).dtype.kind == "f":
        known = ~np.isnan(expected)
        assert np.array_equal(np.signbit(result)[known], np.signbit(expected)[known])


@pytest.mark.parametrize(
    ("function", "arrays"),
    [
        (lambda x: np.sum(x, axis=-1), [LONG]),
        (lambda x: np.arctan2(x, x[..., ::-1]), [LONG]),
    ],
)
def test_what_rounds_by_its_layout_is_not_called_exact(function, arrays):
    result, _, exact = compiled(function, *arrays)
    assert not exact
    np.testing.assert_allclose(result, function(*arrays), rtol=1e-14)


def test_a_singular_system_fails():
    """As it is an error in NumPy."""
    singular = np.ones((3, 3))
    assert compiled(lambda x: np.linalg.solve(x, x), np.eye(3))[1]
    assert not compiled(lambda x: np.linalg.solve(x, x), singular)[1]
    assert not compiled(np.linalg.cholesky, -np.eye(3))[1]


def test_equal_operations_are_recorded_once():
    _, trace = recorded(lambda x: (x + 1.0) * (x + 1.0), ROW)
    _, trace_of_sums = recorded(lambda x: x + 1.0, ROW)
    assert trace.count == trace_of_sums.count + ROW.size


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (bool, "depends on an array's numbers"),
        (lambda x: x.tolist()[int(x[..., 0])], "depends on an array's numbers"),
        (lambda x: x.__setitem__(0, 1.0), "writes into an array"),
        (lambda x: np.astype(x, np.int32), "converts an array to int32"),
        (lambda x: x[x > 0], "indexes an array by a mask"),
        (lambda x: x.item(), "depends on an array's numbers"),
        (lambda x: np.multiply.outer(x, x), "calls multiply with outer"),
        (np.frexp, "calls frexp"),
        (lambda x: np.remainder(np.astype(x, int), np.astype(x, int)), "calls remainder of int64"),
    ],
)
def test_what_cannot_be_recorded(function, reason):
    with pytest.raises(UntraceableError, match=reason):
        recorded(function, ROW)
