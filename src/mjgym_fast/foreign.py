"""Compiled functions of the engine and of NumPy, called by address.

Addresses are passed as arguments, so compiled code can be cached on disk.
"""

import ctypes
import functools
import os
from pathlib import Path
from typing import Any

import mujoco
import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

STEP1, STEP2, FORWARD_SKIP, SET_STATE, GET_STATE, RESET = range(6)
_ENGINE = (
    *("mj_step1", "mj_step2", "mj_forwardSkip", "mj_setState", "mj_getState", "mj_resetData"),
)
GEMV, GEMM, SOLVE = range(3)
# Names in NumPy's wheels, with 64-bit integers.
_BLAS = ("scipy_cblas_dgemv64_", "scipy_cblas_dgemm64_", "scipy_dgesv_64_")

compiled = functools.partial(njit, error_model="numpy")
inlined = functools.partial(compiled, inline="always")


def _caller(result: Any, value: ir.Type) -> Any:
    @intrinsic
    def call(typing: Any, address: Any, arguments: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            numbers = cgutils.unpack_tuple(builder, values[1], len(signature.args[1].types))
            function = ir.FunctionType(value, [x.type for x in numbers]).as_pointer()
            called = builder.call(builder.inttoptr(values[0], function), numbers)
            return context.get_dummy_value() if result is types.void else called

        return result(types.int64, arguments), generate

    return call


call = _caller(types.void, ir.VoidType())
succeeds = _caller(types.int64, ir.IntType(64))  # of a law, which returns 0 if it fails


@intrinsic
def counts_at(typing: Any, address: Any) -> Any:
    """A pointer to int32 at an address, for `numba.carray`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(types.int32)(types.int64), generate


@intrinsic
def copy_bytes(typing: Any, target: Any, source: Any, count: Any) -> Any:
    """Copy bytes between addresses that do not overlap."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        target, source = (builder.inttoptr(value, byte) for value in values[:2])
        cgutils.raw_memcpy(builder, target, source, values[2], ir.Constant(ir.IntType(64), 1))
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), generate


def _lookup(folders: tuple[Path, ...], pattern: str, names: tuple[str, ...]) -> np.ndarray | None:
    """Addresses of functions in the first library that has them all, or None."""
    for path in (path for folder in folders for path in sorted(folder.glob(pattern))):
        try:
            library = ctypes.CDLL(str(path))
            values = [ctypes.cast(getattr(library, name), ctypes.c_void_p).value for name in names]
        except (OSError, AttributeError):
            continue
        return np.array(values, dtype=np.int64)
    return None


@functools.cache
def engine() -> np.ndarray | None:
    """Addresses of the engine's functions, indexed by STEP1, STEP2, ...; None if not found."""
    pattern = "mujoco.dll" if os.name == "nt" else "libmujoco.*"
    return _lookup((Path(mujoco.__file__).parent,), pattern, _ENGINE)


@functools.cache
def blas() -> np.ndarray | None:
    """Addresses of NumPy's BLAS and LAPACK functions, indexed by GEMV, GEMM, SOLVE.

    None if NumPy uses another library than the OpenBLAS of its wheels.
    """
    package = Path(np.__file__).parent
    folders = (package.parent / "numpy.libs", package / ".dylibs")
    return _lookup(folders, "*openblas64*", _BLAS)
