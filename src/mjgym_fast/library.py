"""Functions of the engine, by address."""

import ctypes
import functools
import os
from pathlib import Path

import mujoco

ENGINE = (
    *("mj_step1", "mj_step2", "mj_step", "mj_forwardSkip"),
    *("mj_setState", "mj_getState", "mj_resetData", "mj_rnePostConstraint"),
    "mju_setLogHandler",
)


@functools.cache
def engine() -> dict[str, int] | None:
    """Addresses of the engine's functions by name; None if they are not found."""
    for path in sorted(
        Path(mujoco.__file__).parent.glob("mujoco.dll" if os.name == "nt" else "libmujoco.*")
    ):
        try:
            library = ctypes.CDLL(str(path))
            found = {x: ctypes.cast(getattr(library, x), ctypes.c_void_p).value for x in ENGINE}
        except (OSError, AttributeError):
            continue
        return {name: address or 0 for name, address in found.items()}
    return None
