"""State fields, model fields, warnings and the engine's log, for single and batched simulations."""

import functools
import os
import re
import threading
import warnings
from contextlib import AbstractContextManager
from typing import Any, Protocol

import mujoco
import numpy as np

# Components of mjtState whose field of MjData has another name.
_NAMED_OTHERWISE = {"warmstart": "qacc_warmstart", "plugin": "plugin_state"}

INTEGRATION = int(mujoco.mjtState.mjSTATE_INTEGRATION)
"""The state that a simulation's future depends on."""


def _components() -> dict[str, mujoco.mjtState]:
    """Components of the integration state by field of MjData."""
    parts = {}
    for name, part in mujoco.mjtState.__members__.items():
        word = name.removeprefix("mjSTATE_").lower()
        if int(part) & INTEGRATION and int(part).bit_count() == 1 and name.startswith("mjSTATE_"):
            parts[_NAMED_OTHERWISE.get(word, word)] = part
    return parts


_COMPONENTS = _components()
STATE_FIELDS = tuple(_COMPONENTS)
"""Fields of MjData in the integration state."""

LATENT_FIELDS = ("flexvert_lambda", "flexvert_conage")
"""Fields that it depends on, too, with the flag `ipc`, and that are no part of mjtState."""


# Range of mjtWarning: a position, velocity or acceleration was not finite or huge, and the engine
# has reset the simulation; or a control was, and the engine has set all controls to zero.
DIVERGED = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)

GAVE_UP = int(mujoco.mjtWarning.mjWARN_BADQACC)
"""The warning that is counted where the engine raised an error."""

HUGE = mujoco.mjMAXVAL
RESET_IF_HUGE = ("qpos", "qvel", "act")
"""Fields in which numbers beyond HUGE are a divergence: the engine resets the simulation."""

ACTUATION_OFF = int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
CONTACTS_OFF = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)

# Large arrays that a batch cannot hold per simulation.
ASSET_FIELDS = frozenset({"hfield_data", "mesh_vert", "mesh_normal", "tex_data"})

FOLLOWING = (
    "body_subtreemass",
    "body_invweight0",
    "dof_invweight0",
    "dof_M0",
    "dof_length",
    "geom_rbound",
    "geom_aabb",
    "bvh_aabb",
)
"""Fields of MjModel that depend on masses, inertias and geom sizes of free bodies.

For bodies moved by tendons or actuators, `tendon_invweight0` and `actuator_acc0` depend on them
too.
"""


def state_fields(model: mujoco.MjModel) -> tuple[str, ...]:
    return tuple(f for f, part in _COMPONENTS.items() if mujoco.mj_stateSize(model, int(part)))


def latent_fields(model: mujoco.MjModel) -> tuple[str, ...]:
    return LATENT_FIELDS if model.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_IPC) else ()


@functools.cache
def state_dtype(field: str) -> np.dtype[Any]:
    """The type of one of the STATE_FIELDS in MjData; a batch holds all as float64."""
    data = mujoco.MjData(mujoco.MjModel.from_xml_string("<mujoco/>"))
    return np.asarray(getattr(data, field)).dtype


def get_field(model: mujoco.MjModel, name: str) -> Any:
    """A field of a model by its dotted name: "geom_size", "opt.gravity"."""
    value: Any = model
    for part in name.split("."):
        value = getattr(value, part)
    return value


def episode_field(model: mujoco.MjModel, name: str) -> Any:
    """A field as states and batches hold it: bounding volumes without those of meshes."""
    value = get_field(model, name)
    return value[: int(model.body_bvhnum.sum())] if name == "bvh_aabb" else value


def set_episode_field(model: mujoco.MjModel, name: str, value: Any) -> None:
    """Overwrite a field with a value of `episode_field`."""
    if name == "bvh_aabb":
        episode_field(model, name)[...] = value
    else:
        set_field(model, name, value)


def set_field(model: mujoco.MjModel, name: str, value: Any) -> None:
    """Overwrite a field by its dotted name."""
    current = get_field(model, name)
    if isinstance(current, np.ndarray):
        current[...] = value
    else:
        head, _, leaf = name.rpartition(".")
        setattr(get_field(model, head) if head else model, leaf, type(current)(value))


def set_constants(
    model: mujoco.MjModel, scratch: mujoco.MjData, kept: tuple[str, ...] = ()
) -> None:
    """Recompute a model's derived fields as the compiler does; overwrites its MjData `scratch`.

    The statistics (`stat`) are kept: a batch holds them once for all simulations.

    Args:
        kept: names of other fields to keep.
    """
    names = [f"stat.{name}" for name in dir(model.stat) if not name.startswith("_")]
    before = {name: np.array(get_field(model, name)) for name in (*names, *kept)}
    with quiet():
        mujoco.mj_setConst(model, scratch)
    for name, value in before.items():
        set_field(model, name, value)


class Variation(Protocol):
    """Model fields that differ between episodes."""

    @property
    def fields(self) -> tuple[str, ...]:
        """The names of the fields of MjModel that are written."""

    @property
    def derived(self) -> tuple[str, ...]:
        """The names of the fields that depend on them."""

    def follow(self, model: mujoco.MjModel) -> None:
        """Recompute the derived fields."""


def give_up(error: object, model: mujoco.MjModel, data: mujoco.MjData) -> None:
    """Reset a simulation in which the engine raised an error, as it does after a divergence."""
    mujoco.mj_resetData(model, data)
    data.warning.number[GAVE_UP] = 1
    warn_of_error(str(error))


def warn_of_error(error: str) -> None:
    """Warn of an error by which an episode ends; numbers are left out, for one warning a kind."""
    what, *more = error.splitlines()
    hints = re.findall(r"\(.*\)", " ".join(more))
    words = " ".join(("an episode ends as diverged, since MuJoCo raised:", what, *hints))
    warnings.warn(words, RuntimeWarning, stacklevel=3)


_SILENT = mujoco.MjLogConfig.get()
_SILENT.logto_console = _SILENT.logto_file = False


class _Quiet:
    """Silences the engine's log, which is one per process, until the last of all callers leaves."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Reset the count; a fork leaves the other threads behind."""
        self._lock = threading.Lock()
        self._count = 0
        self._before = _SILENT

    def __enter__(self) -> None:
        with self._lock:
            if not self._count:
                self._before = mujoco.MjLogConfig.get()
                _SILENT.set()
            self._count += 1

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._count -= 1
            if not self._count:
                self._before.set()


_quiet = _Quiet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_quiet.begin)


def quiet() -> AbstractContextManager[None]:
    """Context that silences the engine's log: a divergence is reported in `info`."""
    return _quiet
