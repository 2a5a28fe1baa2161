"""State fields, model fields, warnings and the engine's log, for single and batched simulations."""

import os
import threading
from collections.abc import Mapping
from typing import Any, Protocol

import mujoco
import numpy as np

# The parts of MjData that a simulation's future depends on (mjSTATE_INTEGRATION), by name.
STATE_FIELDS = (
    "time",
    "qpos",
    "qvel",
    "act",
    "history",
    "qacc_warmstart",
    "ctrl",
    "qfrc_applied",
    "xfrc_applied",
    "eq_active",
    "mocap_pos",
    "mocap_quat",
    "userdata",
    "plugin_state",
)

# Of mjtWarning: the engine found a position, velocity or acceleration that is not finite or is
# huge, and has reset the simulation by itself; or such a control, and has taken all for zero.
DIVERGED = slice(int(mujoco.mjtWarning.mjWARN_BADQPOS), int(mujoco.mjtWarning.mjWARN_BADCTRL) + 1)

ACTUATION_OFF = int(mujoco.mjtDisableBit.mjDSBL_ACTUATION)
CONTACTS_OFF = int(mujoco.mjtDisableBit.mjDSBL_CONTACT)

# Large blobs that models of one layout share and that a batch cannot hold per simulation.
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
"""The fields of MjModel that follow from masses, inertias and sizes of geoms of free bodies.

Where such a body hangs on joints that tendons or actuators move, `tendon_invweight0` and
`actuator_acc0` follow as well.
"""


def state_fields(model: mujoco.MjModel) -> tuple[str, ...]:
    """Those of STATE_FIELDS that are not empty in a model."""
    data = mujoco.MjData(model)
    return tuple(f for f in STATE_FIELDS if f == "time" or getattr(data, f).size)


def get_field(model: mujoco.MjModel, name: str) -> Any:
    """A field of a model, also one of its parts': "geom_size", "opt.gravity"."""
    found: Any = model
    for part in name.split("."):
        found = getattr(found, part)
    return found


def episode_field(model: mujoco.MjModel, name: str) -> Any:
    """A field as states and batches hold it: bounding volumes without those of meshes."""
    value = get_field(model, name)
    return value[: int(model.body_bvhnum.sum())] if name == "bvh_aabb" else value


def set_field(model: mujoco.MjModel, name: str, value: Any) -> None:
    """Overwrite a field that `get_field` gives."""
    found = get_field(model, name)
    if isinstance(found, np.ndarray):
        found[...] = value
    else:
        head, _, leaf = name.rpartition(".")
        setattr(get_field(model, head) if head else model, leaf, float(value))


def set_constants(model: mujoco.MjModel, scratch: mujoco.MjData) -> None:
    """Recompute what depends on other fields of a model, as the compiler does.

    The statistics (`stat`) stay: they are measures of the whole model, which a batch holds once.

    Args:
        model: some fields of it have been written.
        scratch: of that model; what it holds is lost.
    """
    names = [f"stat.{name}" for name in dir(model.stat) if not name.startswith("_")]
    statistics = {name: np.array(get_field(model, name)) for name in names}
    with quiet():
        mujoco.mj_setConst(model, scratch)
    for name, value in statistics.items():
        set_field(model, name, value)


class Variation(Protocol):
    """Numbers of a model that differ between episodes, written into a scratch simulation's."""

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of the fields of MjModel that are written."""

    @property
    def derived(self) -> tuple[str, ...]:
        """Names of the fields that follow from them."""

    def write(self, model: mujoco.MjModel, values: Mapping[str, np.ndarray]) -> None:
        """Write an episode's values, and the fields derived from them, into a model."""

    def follow(self, model: mujoco.MjModel) -> None:
        """Recompute the fields derived from those that are written."""


_SILENT = mujoco.MjLogConfig.get()
_SILENT.logto_console = _SILENT.logto_file = False


class _Muting:
    """Counts the callers that want the engine's log silent: a process has one for all threads."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Forget all of them: a fork leaves the other threads behind."""
        self._lock = threading.Lock()
        self._count = 0
        self._before = _SILENT  # what the first of them found

    def mute(self) -> None:
        """Keep the engine from writing a log file and to the console, until `unmute`."""
        with self._lock:
            if not self._count:
                self._before = _configuration()
                _silence()
            self._count += 1

    def unmute(self) -> None:
        """Let the engine write its log as before the first `mute`, once all have called this."""
        with self._lock:
            self._count -= 1
            if not self._count:
                self._before.set()


# Bound once: they come with every step, and cost as much as one of a pendulum.
_configuration, _silence = mujoco.MjLogConfig.get, _SILENT.set
_muting = _Muting()
mute, unmute = _muting.mute, _muting.unmute

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_muting.begin)


class quiet:
    """No log file and no console lines from the engine: a divergence is reported in `info`.

    A context; a class, because a step of a small model is not much dearer than a generator.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        mute()

    def __exit__(self, *error: object) -> None:
        unmute()
