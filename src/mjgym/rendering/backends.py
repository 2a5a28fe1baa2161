"""Choice of an OpenGL backend at the first rendering, tested in a separate process."""

import atexit
import importlib
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mjgym.util.bounded import UserError

PROBE_TIMEOUT = 30.0  # s, for one small image

INSTALL = {
    "glfw": "apt-get install libgl1",
    "egl": "apt-get install libegl1 libgl1",
    "osmesa": "apt-get install libosmesa6",
    "cgl": "part of macOS",
}
"""Libraries that a backend needs, with their Debian and Ubuntu packages."""

# As MuJoCo reads its variable MUJOCO_GL.
_BACKENDS = {
    "glfw": "glfw",
    "glx": "glfw",
    "wgl": "glfw",
    "egl": "egl",
    "osmesa": "osmesa",
    "cgl": "cgl",
}
_ANY = ("", "enable", "enabled", "on", "true", "1")
_NONE = ("disable", "disabled", "off", "false", "0")

# Mesa's software drivers. With their own threads they are slower at the image sizes of agents, and
# hang in a forked process; without, they draw in the calling thread.
_SOFTWARE = ("llvmpipe", "softpipe")
_SOFTWARE_THREADS = "LP_NUM_THREADS"
# The thread that writes Mesa's shader cache makes OSMesa hang when a forked process ends. Without
# the cache a renderer opens 0.3 s later.
_NO_SHADER_CACHE = "MESA_SHADER_CACHE_DISABLE"


class RenderingError(UserError, RuntimeError):
    """Nothing can be rendered: OpenGL does not work, or has stopped responding."""


@dataclass(frozen=True)
class Probe:
    """The result of rendering a small image with a backend in a separate process."""

    backend: str  # "glfw", "egl", "osmesa" or "cgl"
    works: bool  # whether it rendered
    reason: str = ""  # why it does not work, in one line; empty if it does
    vendor: str = ""  # as the driver reports it; empty if it does not work
    renderer: str = ""  # the same, of the device
    version: str = ""  # the same, of OpenGL


def candidates() -> tuple[str, ...]:
    """The backends to try on this machine, in order."""
    if sys.platform == "darwin":
        return ("cgl",)
    if sys.platform == "win32":
        return ("glfw",)
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    return ("glfw", "egl", "osmesa") if display else ("egl", "osmesa")


def probe(backend: str, timeout: float = PROBE_TIMEOUT) -> Probe:
    """Render a small image with a backend in a separate process."""
    environment = {**os.environ, "MUJOCO_GL": backend}
    script = Path(__file__).with_name("probe.py")
    process = subprocess.Popen(
        [sys.executable, "-P", str(script), backend],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )
    try:
        output, complaint = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        with suppress(subprocess.TimeoutExpired):  # it may sleep inside the kernel's driver
            process.wait(timeout=5)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        return Probe(backend, False, f"no answer within {timeout:g} s")
    if process.returncode in (0, 1) and output.strip():
        return Probe(backend, process.returncode == 0, **json.loads(output.splitlines()[-1]))
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    end = f"exit code {process.returncode}"
    if process.returncode < 0:
        end = f"signal {-process.returncode}"
    return Probe(backend, False, ": ".join(["the driver ended the process", end, *lines[-1:]]))


class _State:
    """The backend and context of this process."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.chosen: str | None = None
        self.opened: str | None = None  # the backend of the first context
        self.outlives_fork = False  # whether a forked process can use open contexts
        self.inherited: str | None = None  # unusable backend of the parent process


_state = _State()


def choose() -> str:
    """The backend of this process: MUJOCO_GL if set, else the first that works.

    The first call decides, and may take some seconds. With MUJOCO_GL set nothing is probed.

    Raises:
        RenderingError: no backend works (the message lists the attempts, their errors and what to
            install), or MUJOCO_GL forbids rendering or is unknown.
    """
    with _state.lock:
        if _state.chosen is None:
            _state.chosen = _choose()
        return _state.chosen


def opened() -> str | None:
    return _state.opened


def draws_in_caller() -> bool:
    return _state.outlives_fork


def _choose() -> str:
    inherited = _state.inherited
    wanted = os.environ.get("MUJOCO_GL", "").lower().strip()
    if wanted in _NONE:
        raise RenderingError(f"rendering is switched off by MUJOCO_GL={wanted}; unset it to render")
    if wanted not in _ANY and wanted not in _BACKENDS:
        known = ", ".join(sorted(set(_BACKENDS)))
        raise RenderingError(f"MUJOCO_GL={wanted} is not known; unset it, or use one of {known}")
    backend = _BACKENDS.get(wanted)
    # After a parent's EGL or OSMesa neither works here; after GLFW the other two do.
    if inherited is not None and (inherited != "glfw" or backend == "glfw"):
        raise RenderingError(
            f"this process was forked after its parent had rendered with {inherited}, which cannot"
            " go on in a forked process. Start processes with multiprocessing's 'spawn' or"
            " 'forkserver', or render in the parent only after the fork"
        )
    if backend is not None:
        return backend
    tried = []
    for candidate in candidates():
        if candidate == inherited:
            continue
        result = probe(candidate)
        if result.works:
            return candidate
        tried.append(result)
    lines = ["no OpenGL works here, so there can be no pictures. Tried:"]
    lines += [f"  {result.backend}: {result.reason}" for result in tried]
    lines += ["Any one of these is enough (Debian, Ubuntu):"]
    lines += [f"  {result.backend}: {INSTALL[result.backend]}" for result in tried]
    raise RenderingError("\n".join(lines))


def open_context(backend: str) -> Any:
    """A GL context of the `mujoco` package, current in this thread.

    The caller must call its `free` in the same thread: it does not free itself.
    """
    with _state.lock, _environment(backend):
        try:
            module = importlib.import_module(f"mujoco.{backend}")
            others = getattr(module, "EGL_DISPLAY", None) is not None  # opened it with threads
            # Without the destructor, which may run in any thread and after the bindings are gone.
            owned = type("GLContext", (module.GLContext,), {"__del__": lambda self: None})
            context: Any = owned(64, 64)
            context.make_current()
            if backend == "glfw" and not importlib.import_module("glfw").get_current_context():
                raise RuntimeError("not even a hidden window can be opened; is there a display?")
            if _state.opened is None:
                _state.outlives_fork = (
                    backend in ("egl", "osmesa") and not others and _draws_in_caller()
                )
                _state.opened = backend
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            raise RenderingError(
                f"OpenGL through {backend} does not work: {reason}\n"
                f"It needs (Debian, Ubuntu): {INSTALL[backend]}\n"
                "Without the environment variable MUJOCO_GL another one may be found."
            ) from error
    return context


@contextmanager
def _environment(backend: str) -> Iterator[None]:
    names = (_SOFTWARE_THREADS, _NO_SHADER_CACHE, "PYOPENGL_PLATFORM")
    before = {name: os.environ.get(name) for name in names}
    os.environ.setdefault(_SOFTWARE_THREADS, "0")
    if backend == "osmesa":
        os.environ.setdefault(_NO_SHADER_CACHE, "true")
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _draws_in_caller() -> bool:
    """Tell whether the current context is a software driver's without its own threads."""
    GL = importlib.import_module("OpenGL.GL")
    name = (GL.glGetString(GL.GL_RENDERER) or b"").decode().lower()
    return any(s in name for s in _SOFTWARE) and os.environ[_SOFTWARE_THREADS] == "0"


def after_fork() -> None:
    """Update the state in a forked process for contexts of its parent."""
    _state.lock = threading.RLock()  # another thread of the parent may have held it
    if _state.opened is not None and not _state.outlives_fork:
        _state.inherited, _state.opened, _state.chosen = _state.opened, None, None
    # At exit MuJoCo would close EGL, and wait for threads that only the parent has.
    egl: Any = sys.modules.get("mujoco.egl")
    if egl is not None:
        atexit.unregister(egl._terminate_display)
