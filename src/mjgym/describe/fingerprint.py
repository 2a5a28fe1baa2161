"""Fingerprints for papers and bug reports: versions, task, hash of the model, machine."""

import contextlib
import copy
import dataclasses
import hashlib
import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any

import gymnasium
import mujoco
import numpy as np

from mjgym.sim.engine import get_field, set_field
from mjgym.task import Task
from mjgym.task.models import compile_model, fields
from mjgym.util.processes import allowed_cores
from mjgym.util.values import plain
from mjgym.version import __version__

FAULTY_ENGINE = "4.0.0"
ENGINE_FAULT = {
    "problem": "MuJoCo's core 4.0.0 gives the Newton solver a wrong Hessian where the constraint"
    " Jacobian is sparse, as that of a large model is; 4.0.1 does not",
    "fix": "pip install --no-deps --force-reinstall mujoco-core==4.0.1",
}

# Fields of MjModel that only rendering and names depend on.
_LOOKS = re.compile(
    r"^(cam|light|mat|tex|skin|name|names|text)_|_(rgba|matid|group)$|pathadr$|texcoord|castshadow"
)

# CPU flags by which numerical libraries choose their code.
_FEATURES = re.compile(r"^(sse4_2|avx\w*|fma|f16c|amx\w*|neon|asimd\w*|sve\w*)$")

# Spec arguments that are redundant or say nothing about results.
_GYMNASIUM = ("task_class", "max_episode_steps", "vectorization_mode")


def fingerprint(
    env: gymnasium.Env[Any, Any] | gymnasium.vector.VectorEnv[Any, Any, Any] | None = None,
) -> dict[str, Any]:
    """Everything besides the seed that affects results, as plain data for JSON.

    Args:
        env: an environment of this package, single or batched, wrapped or not; None for `versions`,
            `warnings` and `machine` alone.

    Returns:
        `id`, `version` (of the id), `task` ("module:Class"), `arguments` (the task's fields),
        `options` (other arguments of make), `max_episode_steps`, `model_sha256`, `hooks`,
        `versions`, `warnings` (known faults of these), `machine`. `hooks` says how the task's hooks
        run: `run` is "compiled" or "arrays", `reason` why they are not compiled, and `in_numpy` why
        NumPy runs some of them, by hook.

    Raises:
        TypeError: not an environment of this package.
    """
    about = {"versions": versions(), "warnings": faults(), "machine": machine()}
    if env is None:
        return about
    bare: Any = env.unwrapped
    task = getattr(bare, "task", None)
    if not isinstance(task, Task):
        raise TypeError(f"{type(bare).__name__} is not an environment of mjgym: it has no task")
    arguments = {f.name: plain(getattr(task, f.name)) for f in dataclasses.fields(task)}
    spec = env.spec  # a wrapper's spec has the time limit
    kwargs = {} if spec is None else spec.kwargs
    options = {k: plain(v) for k, v in kwargs.items() if k not in arguments and k not in _GYMNASIUM}
    return {
        "id": None if spec is None else spec.id,
        "version": None if spec is None else spec.version,
        "task": f"{type(task).__module__}:{type(task).__qualname__}",
        "arguments": arguments,
        "options": options,
        "max_episode_steps": None if spec is None else spec.max_episode_steps,
        "model_sha256": model_sha256(_between_episodes(bare)),
        "hooks": {
            "run": "arrays" if bare.uncompiled else "compiled",
            "reason": bare.uncompiled,
            "in_numpy": bare.in_numpy,
        },
        **about,
    }


def model_sha256(model: mujoco.MjModel) -> str:
    """A hash of every physical number of a model.

    It is reproducible with the same MuJoCo on the same kind of processor; another processor may
    round the last bit of a compiled number differently. Names, colours, cameras, lights, materials
    and textures do not count.
    """
    digest = hashlib.sha256()

    def add(name: str, value: Any) -> None:
        array = np.ascontiguousarray(value)
        digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(array.tobytes())

    for name, value in fields(model):
        if not _LOOKS.search(name):
            add(name, value)
    add("stat.meaninertia", model.stat.meaninertia)  # scales the solver's tolerance
    return digest.hexdigest()


def _between_episodes(env: Any) -> mujoco.MjModel:
    defaults, rested = compile_model(env.task), copy.copy(env.model)
    for name in env.varied:
        set_field(rested, name, get_field(defaults, name))
    return rested


def versions() -> dict[str, str]:
    """Versions of mjgym, MuJoCo's engine, numpy, gymnasium, python, llvmlite and numba."""
    computing = {
        "mjgym": __version__,
        "mujoco": mujoco.mj_versionString(),
        "numpy": np.__version__,
        "gymnasium": gymnasium.__version__,
        "python": platform.python_version(),
    }
    for name in ("llvmlite", "numba"):
        with contextlib.suppress(metadata.PackageNotFoundError):
            computing[name] = metadata.version(name)
    return computing


def faults() -> list[dict[str, str]]:
    """Known faults of the installed versions: the `problem` and the `fix` of each."""
    return [ENGINE_FAULT] if mujoco.mj_versionString() == FAULTY_ENGINE else []


def machine() -> dict[str, Any]:
    """The computer: `os`, `architecture`, `processor`, its `features`, `cores`, `allowed_cores`."""
    processor, features = _processor()
    return {
        "os": platform.platform(),
        "architecture": platform.machine(),
        "processor": processor,
        "features": features,
        "cores": os.cpu_count(),
        "allowed_cores": allowed_cores(),
    }


def _processor() -> tuple[str, list[str]]:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    facts: dict[str, str] = {}
    for line in lines:
        key, _, value = line.partition(":")
        facts.setdefault(key.strip().lower(), value.strip())
    flags = facts.get("flags") or facts.get("features") or ""
    features = sorted({f for f in flags.split() if _FEATURES.match(f)})
    if not features:
        extensions: Any = np.show_config("dicts")
        extensions = extensions.get("SIMD Extensions", {})
        features = [*extensions.get("baseline", []), *extensions.get("found", [])]
    return facts.get("model name") or platform.processor() or platform.machine(), features
