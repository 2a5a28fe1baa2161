"""Other implementations of the published tasks: names and loading.

Imports are deferred, apart from the standard library, so that a peer's loading time can be
measured.
"""

import importlib
import os
import re
from collections.abc import Callable
from typing import Any

NAMESPACE, GYMNASIUM = "dmc", "gymnasium"
_ID = re.compile(rf"{NAMESPACE}/(?P<domain>\w+)-(?P<task>\w+)-v\d+")


def domain_and_task(id: str) -> tuple[str, str]:
    """Domain and task of an id, in dm_control's spelling.

    Raises:
        ValueError: not an id of the published suite.
    """
    match = _ID.fullmatch(id)
    if match is None:
        raise ValueError(f"{id!r} is not of the form {NAMESPACE}/<domain>-<task>-v<number>")
    return match["domain"], match["task"]


def gymnasium_name(id: str) -> str:
    """Gymnasium's own name of an id: "Ant-v5" for "gymnasium/Ant-v5", others as they are."""
    return id.removeprefix(f"{GYMNASIUM}/")


def envpool_name(id: str) -> str:
    """EnvPool's name: "BallInCupCatch-v1" for "dmc/ball_in_cup-catch-v0".

    It has version 4 of Gymnasium's tasks: "Ant-v4" for "gymnasium/Ant-v5".

    Raises:
        ValueError: an id of neither.
    """
    if id.startswith(f"{GYMNASIUM}/"):
        return re.sub(r"-v\d+$", "-v4", gymnasium_name(id))
    words = "_".join(domain_and_task(id)).split("_")
    return "".join(word[0].upper() + word[1:] for word in words) + "-v1"


def load_dm_control() -> Any:
    """`dm_control.suite` without OpenGL, on an engine newer than its table of fields.

    Raises:
        ImportError: it is not installed.
    """
    os.environ["MUJOCO_GL"] = "disable"
    drop_stale_fields()
    # A terrain is uploaded to the renderer at each reset, if there is a renderer.
    physics: Any = importlib.import_module("dm_control.mujoco").Physics
    physics.contexts = None
    return importlib.import_module("dm_control.suite")


def drop_stale_fields() -> None:
    """Make dm_control load.

    Its table names fields of MjModel and MjData that MuJoCo 4.0 has removed, and reading any of
    them fails; these entries are dropped.
    """
    import mujoco

    sizes = importlib.import_module("dm_control.mujoco.wrapper.mjbindings.sizes")
    structs = {name.lower(): getattr(mujoco, name) for name in dir(mujoco) if name[:2] == "Mj"}
    for struct, fields in sizes.array_sizes.items():
        for name in [n for n in fields if not hasattr(structs[struct], n)]:
            del fields[name]


def load_envpool() -> Any:
    """`envpool`; ImportError if it is not installed."""
    return importlib.import_module("envpool")


LOADERS: dict[str, Callable[[], Any]] = {
    "dm_control": load_dm_control,
    "envpool": load_envpool,
}


def make_dm_control(id: str, *, seed: int = 0) -> Any:
    """`suite.load` of the same task.

    Raises:
        ValueError: not an id of the published suite.
        ImportError: dm_control is not installed.
    """
    domain, task = domain_and_task(id)
    return load_dm_control().load(domain, task, task_kwargs={"random": seed})


def make_envpool(id: str, num_envs: int, threads: int, *, seed: int = 0) -> Any:
    """The same task in EnvPool's Gymnasium interface, synchronous.

    Raises:
        ValueError: not an id of the published suite.
        LookupError: EnvPool has no such task.
        ImportError: EnvPool is not installed.
    """
    name, peer = envpool_name(id), load_envpool()
    if name not in peer.list_all_envs():
        raise LookupError(f"EnvPool has no {name}")
    return peer.make_gymnasium(name, num_envs=num_envs, num_threads=threads, seed=seed)
