"""Diagnosis of an installation: versions, hardware, OpenGL, and a fix for each problem."""

import contextlib
import ctypes
import importlib
import os
import re
import shutil
import subprocess
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from mjgym.util.packaged import install, package_folder

PEERS = (
    "dm_control",
    "envpool",
    "mujoco-warp",
    "robosuite",
    "shimmy",
    "stable-baselines3",
    "torch",
    "torchrl",
    "warp-lang",
)
BLAS_SIZE = 256  # of square matrices
NARROW = ("Haswell", "Zen")  # OpenBLAS's kernels of 256 bits
SAMPLE = "dmc/cartpole-swingup-v0"
HOOK_SAMPLE = "robosuite/Lift-v0"  # its hooks are compiled between physics steps, too
SWITCH = "MJGYM_DISABLE_COMPILED"  # 1: hooks run on arrays
REQUIRED = ("mujoco", "numpy", "gymnasium")
GPU_TIMEOUT = 20.0  # s

# Packages written for MuJoCo 3, and what lets them run.
_INSTALL_CALL = 'call mjgym_compat.install("{}") before its import'
_APART = 'install it in an environment of its own, with "mujoco<4"'
REMEDIES = {
    "dm_control": _INSTALL_CALL,
    "robosuite": _INSTALL_CALL,
    "gymnasium_robotics": _APART,
    "metaworld": _APART,
}
# Fields of MjModel and MjData that MuJoCo 4 removed, and those of MjData that are MjModel's now.
REMOVED = (
    *("cam_orthographic", "flex_evpair", "flex_evpairadr", "flex_evpairnum", "flex_internal"),
    *("nflexevpair", "qM", "iM", "iM_rownnz", "iM_rowadr", "iM_colind", "iLD", "iLDiagInv"),
    *("efc_diagApprox", "iefc_J", "iefc_J_rownnz", "iefc_J_rowadr", "iefc_J_rowsuper"),
    *("iefc_J_colind", "maxuse_threadstack"),
)
MOVED = (
    *("flexedge_J_rownnz", "flexedge_J_rowadr", "flexedge_J_colind"),
    *("ten_J_rownnz", "ten_J_rowadr", "ten_J_colind"),
)
# What code for MuJoCo 3 reads or writes, and why it fails.
OUTDATED = {
    "removed fields:": re.compile(rf"""[.'"]({"|".join(REMOVED)})\b"""),
    "fields that are MjModel's now:": re.compile(rf"""(?:data\.|['"])({"|".join(MOVED)})\b"""),
    "enumerations that equal no integer of NumPy:": re.compile(
        r"\bin [(\[]\s*mujoco\.(mjt\w+)|\bmujoco\.(mjt\w+)\.\w+ [!=]="
    ),
    "rows that are longer now:": re.compile(r"\.(eq_data)\[\w+\] = "),
}

# Any of these renders without a window; names of Debian and Ubuntu packages.
_INSTALL = "apt-get update && apt-get install -y --no-install-recommends"
_PACKAGES = {"egl": "libegl1 libgl1", "osmesa": "libosmesa6 libgl1"}
_OFF = ("disable", "disabled", "off", "false", "0")  # as MuJoCo reads MUJOCO_GL
_RELEVANT_PREFIXES = ("MUJOCO_", "PYOPENGL_", "OMP_NUM", "OPENBLAS_", "LP_NUM")
_RELEVANT = ("DISPLAY", "WAYLAND_DISPLAY", "CUDA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES")
_SOFTWARE = ("llvmpipe", "softpipe", "swrast")

Problem = dict[str, str]  # "problem" and its "fix"


def _add(problems: list[Problem], problem: str, fix: str) -> None:
    problems.append({"problem": problem, "fix": fix})


def examine() -> dict[str, Any]:
    """Collect and assess all facts; raises nothing."""
    problems: list[Problem] = []
    notes: list[str] = []
    environment = {
        name: value
        for name, value in sorted(os.environ.items())
        if name.startswith(_RELEVANT_PREFIXES) or name in _RELEVANT
    }
    chosen = chosen_backend()
    refusal = _load_engine()

    from mjgym.cli.gl import gl_report  # importable only now

    print_ = _simulate(problems)
    gpus = _gpus(problems)
    backends = gl_report()
    judge_gl(backends, gpus, problems, notes, chosen, refusal)
    judge_versions(problems)
    judge_migration(notes)
    problems += print_["warnings"]
    hooks = _hooks(problems)
    judge_hooks(hooks, _version("llvmlite"), problems, notes)
    load, quota = _load(), _quota()
    judge_cores(print_["machine"], load, quota, problems, notes)
    return {
        "fingerprint": print_,
        "hooks": hooks,
        "blas": judge_blas(print_["machine"], notes),
        "load": load,
        "quota": quota,
        "gpus": gpus,
        "warp": judge_warp(gpus, problems, notes),
        "gl": backends,
        "environment": environment,
        "peers": {name: _version(name) for name in PEERS},
        "problems": problems,
        "notes": notes,
    }


def chosen_backend() -> str:
    chosen = os.environ.get("MUJOCO_GL", "").lower().strip()
    return {"glx": "glfw", "wgl": "glfw"}.get(chosen, chosen)


def _load_engine() -> str:
    """Import the package, without MUJOCO_GL if that forbids it; returns the error."""
    import mjgym

    try:
        _ = mjgym.Task  # load the package, and the engine with it
    except ImportError as error:
        if os.environ.pop("MUJOCO_GL", None) is None:
            raise
        _ = mjgym.Task
        return str(error).partition(". ")[0]
    return ""


def _simulate(problems: list[Problem]) -> dict[str, Any]:
    import gymnasium

    import mjgym

    try:
        env = gymnasium.make(SAMPLE)
        envs = gymnasium.make_vec(SAMPLE, num_envs=4)
        alone, _ = env.reset(seed=0)
        together, _ = envs.reset(seed=0)
        for _ in range(10):
            alone = env.step(0 * env.action_space.sample())[0]
            together = envs.step(0 * envs.action_space.sample())[0]
        if not (alone == together[0]).all():
            raise RuntimeError("a batch computes other numbers than a single environment")
        return mjgym.fingerprint(env)
    except Exception as error:
        _add(problems, _broken(SAMPLE, error), "pip install --force-reinstall -e .")
        return mjgym.fingerprint()


def judge_blas(machine: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """The kernels of NumPy's OpenBLAS, empty for another library, and its speed."""
    import numpy as np

    a = np.ones((BLAS_SIZE, BLAS_SIZE), np.float32)
    products = BLAS_SIZE // 8
    spent = []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(products):
            np.dot(a, a)
        spent.append(time.perf_counter() - began)
    rate = 2 * BLAS_SIZE**3 * products / max(min(spent), 1e-9) / 1e9
    kernels = ""
    with contextlib.suppress(OSError, AttributeError):
        for path in (Path(np.__file__).parents[1] / "numpy.libs").glob("*openblas64*"):
            name = ctypes.CDLL(str(path)).scipy_openblas_get_corename64_
            name.restype = ctypes.c_char_p
            kernels = name().decode()
    if "avx512f" in machine["features"] and kernels in NARROW:
        chosen = os.environ.get("OPENBLAS_CORETYPE")
        cause = f"by OPENBLAS_CORETYPE={chosen}" if chosen else "by OpenBLAS's choice"
        notes.append(
            f"NumPy's matrix products use {kernels} kernels, {cause}, though the processor has"
            " AVX-512: OPENBLAS_CORETYPE=SkylakeX may double the speed of training, and rounds"
            " otherwise"
        )
    return {"kernels": kernels, "gigaflops": rate}


def _hooks(problems: list[Problem]) -> dict[str, Any]:
    import gymnasium

    import mjgym

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the reason is reported
            hooks: dict[str, Any] = mjgym.fingerprint(gymnasium.make(HOOK_SAMPLE))["hooks"]
            return hooks
    except Exception as error:
        problem = _broken(HOOK_SAMPLE, error)
        _add(problems, problem, "pip install --force-reinstall -e .")
        return {"run": "", "reason": problem, "in_numpy": {}}


def judge_hooks(
    hooks: dict[str, Any], llvmlite: str | None, problems: list[Problem], notes: list[str]
) -> None:
    """Report hooks that run on arrays: a problem with this version of LLVM, None without it."""
    if hooks["run"] == "arrays":
        if llvmlite is None or os.environ.get(SWITCH) == "1":
            notes.append(f"hooks run on arrays, which takes longer: {hooks['reason']}")
        else:
            fix = "install NumPy's and MuJoCo's wheels"
            _add(problems, f"hooks are not compiled: {hooks['reason']}", fix)


def _broken(id: str, error: Exception) -> str:
    return f"{id} does not run: {type(error).__name__}: {error}"


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _gpus(problems: list[Problem]) -> list[dict[str, str]]:
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return []
    fields = ("name", "driver_version", "memory.total")
    try:
        done = subprocess.run(
            [tool, f"--query-gpu={','.join(fields)}", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=GPU_TIMEOUT,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        failure = str(error)
    else:
        if done.returncode == 0:
            rows = [line.split(", ") for line in done.stdout.splitlines() if line.strip()]
            return [dict(zip(fields, row, strict=False)) for row in rows]
        failure = " ".join((done.stdout + done.stderr).split())
    fix = "load the driver (reboot after an update), or start the container with --gpus all"
    _add(problems, f"nvidia-smi fails: {failure}", fix)
    return []


def judge_warp(
    gpus: list[dict[str, str]], problems: list[Problem], notes: list[str]
) -> list[dict[str, Any]]:
    """List the devices that Warp can use; a GPU missing from them is noted as a problem."""
    if _version("warp-lang") is None or _version("mujoco-warp") is None:
        if gpus:
            notes.append(f'{install("gpu")} for make_vec(..., backend="warp") on the GPU')
        return []
    try:
        warp: Any = importlib.import_module("warp")
        warp.config.log_level = warp.LOG_ERROR
        warp.init()
        devices = [
            {
                "device": str(device),
                "name": device.name,
                "memory": int(device.total_memory) if device.is_cuda else None,
                "free": int(device.free_memory) if device.is_cuda else None,
            }
            for device in warp.get_devices()
        ]
    except Exception as error:  # any error of a driver
        problem = f"Warp does not start: {type(error).__name__}: {error}"
        _add(problems, problem, "pip install --force-reinstall warp-lang")
        return []
    if gpus and len(devices) == 1:
        driver = gpus[0].get("driver_version", "?")
        fix = "update the driver, or install a warp-lang for the CUDA that it has"
        _add(problems, f"there is a GPU, but Warp does not see it (driver {driver})", fix)
    return devices


def judge_gl(
    backends: list[dict[str, Any]],
    gpus: list[dict[str, str]],
    problems: list[Problem],
    notes: list[str],
    chosen: str,
    refusal: str,
) -> None:
    """Report missing or unused OpenGL backends."""
    works = [b for b in backends if b["works"]]
    use = f"export MUJOCO_GL={works[0]['backend']}" if works else "unset MUJOCO_GL"
    if refusal:
        _add(problems, refusal, f"unset MUJOCO_GL, or {use}" if works else use)
    if chosen in _OFF:
        notes.append(f"MUJOCO_GL={chosen} switches rendering off")
    if not works:
        reasons = "; ".join(f"{b['backend']}: {b['error']}" for b in backends)
        packages = dict.fromkeys(" ".join(_PACKAGES.values()).split())
        _add(problems, f"nothing can be drawn. {reasons}", f"{_INSTALL} {' '.join(packages)}")
    else:
        for b in backends:
            if not b["works"] and b["backend"] in _PACKAGES:
                needs = _PACKAGES[b["backend"]]
                notes.append(f"{b['backend']} does not work here; it needs {needs}")
    if not refusal and chosen in [b["backend"] for b in backends if not b["works"]]:
        _add(problems, f"MUJOCO_GL={chosen}, which does not work here", use)
    for b in works:
        if b["backend"] == "egl" and gpus and b["renderer"].startswith(_SOFTWARE):
            major = gpus[0].get("driver_version", "").partition(".")[0]
            problem = f"there is a GPU, but EGL draws in software ({b['renderer']})"
            fix = (
                f"{_INSTALL} libnvidia-gl-{major} (Debian: libegl-nvidia0), or start the container"
                " with -e NVIDIA_DRIVER_CAPABILITIES=all"
            )
            _add(problems, problem, fix)


_BOUND = re.compile(r"(>=|<=|<|>)\s*([\d.]+)")


def judge_versions(
    problems: list[Problem], installed: Callable[[str], str | None] = _version
) -> None:
    """Compare the installed versions with the package's requirements."""
    try:
        wanted = metadata.requires("mjgym") or []
    except metadata.PackageNotFoundError:
        _add(problems, "mjgym runs without being installed", "pip install -e .")
        return
    for requirement in wanted:
        name = re.split(r"[\s<>=!;\[]", requirement, maxsplit=1)[0]
        version = installed(name)
        if name not in REQUIRED or version is None or "extra ==" in requirement:
            continue
        for sign, bound in _BOUND.findall(requirement.partition(";")[0]):
            if not _holds(version, sign, bound):
                problem = f"{name} {version} is installed, needed is {requirement}"
                _add(problems, problem, f'pip install "{requirement}"')


def judge_migration(notes: list[str]) -> None:
    """Note installed packages that use MuJoCo 3 features missing from this version."""
    for package, remedy in REMEDIES.items():
        with contextlib.suppress(ImportError):
            found = _outdated(package_folder(package))
            for requirement in metadata.requires(package) or []:
                if requirement.startswith(("mujoco==3", "mujoco<4")):
                    found.append(f"it requires {requirement}")
            if found:
                name = f"{package} {_version(package)}"
                notes.append(
                    f"{name} is written for MuJoCo 3 ({'; '.join(found)}): {remedy.format(package)}"
                )


def _outdated(folder: Path) -> list[str]:
    names: dict[str, set[str]] = {}
    files: dict[str, set[str]] = {}
    for path in folder.rglob("*.py"):
        if path.name.endswith("_test.py"):
            continue
        text = path.read_text(errors="replace")
        for kind, pattern in OUTDATED.items():
            for use in pattern.finditer(text):
                names.setdefault(kind, set()).add(use[use.lastindex or 0])
                files.setdefault(kind, set()).add(path.relative_to(folder).as_posix())
    return [
        f"{kind} {', '.join(sorted(names[kind]))} in {', '.join(sorted(files[kind]))}"
        for kind in names
    ]


def _holds(version: str, sign: str, bound: str) -> bool:
    a, b = ([int(n) for n in (*re.findall(r"\d+", v)[:3], 0, 0, 0)[:3]] for v in (version, bound))
    return {">=": a >= b, "<=": a <= b, "<": a < b, ">": a > b}[sign]


def _load() -> float | None:
    try:
        return os.getloadavg()[0]
    except (AttributeError, OSError):
        return None


def _quota() -> float | None:
    try:
        with open("/sys/fs/cgroup/cpu.max") as file:
            quota, period = file.read().split()
        return None if quota == "max" else int(quota) / int(period)
    except (OSError, ValueError):
        return None


def judge_cores(
    machine: dict[str, Any],
    load: float | None,
    quota: float | None,
    problems: list[Problem],
    notes: list[str],
) -> None:
    """Report a CPU quota, load, or missing processor features."""
    cores = machine["allowed_cores"]
    if quota is not None and quota < cores - 0.5:
        whole = max(1, int(quota))
        problem = (
            f"the container may use {quota:g} cores, but a batch starts {cores} threads, which then"
            " wait for each other"
        )
        cpus = f"--cpuset-cpus=0-{whole - 1} instead of --cpus"
        fix = f"make_vec(..., threads={whole}), or start the container with {cpus}"
        _add(problems, problem, fix)
    if load is not None and load > cores:
        notes.append(f"the machine is busy (load {load:.1f} on {cores} cores): timings will be off")
    x86 = machine["architecture"].lower() in ("x86_64", "amd64")
    if x86 and not any("avx" in f or f in ("X86_V3", "X86_V4") for f in machine["features"]):
        problem = "the processor reports no AVX, which MuJoCo's x86-64 builds use"
        fix = "in a virtual machine, pass the host's processor on (QEMU: -cpu host)"
        _add(problems, problem, fix)
