"""Which ways of drawing without a window work here, each tried in a process of its own."""

import json
import os
import re
import signal
import subprocess
import sys
from typing import Any

BACKENDS: tuple[str, ...] = {"darwin": ("cgl", "glfw"), "win32": ("glfw",)}.get(
    sys.platform, ("egl", "osmesa", "glfw")
)
TIMEOUT = 60.0  # s
_MARK = "mjgym-gl:"

# An error of GLFW is a warning, after which the program goes on without a context.
_PROBE = """
import json, sys, time
import gymnasium, mujoco
import mjgym
backend, id, frames, size = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
if backend == "glfw":
    import glfw
    glfw.ERROR_REPORTING = "exception"
env = gymnasium.make(id)
model = env.unwrapped.task.model().compile()
data = mujoco.MjData(model)
mujoco.mj_forward(model, data)
renderer = mujoco.Renderer(model, size, size)
from OpenGL import GL
strings = {
    name: (GL.glGetString(getattr(GL, f"GL_{name.upper()}")) or b"").decode()
    for name in ("vendor", "renderer", "version")
}
def draw():
    renderer.update_scene(data, camera=0)
    return renderer.render()
black = not draw().any()
started = time.perf_counter()
for _ in range(frames):
    draw()
rate = frames / (time.perf_counter() - started)
renderer.close()
print("mjgym-gl:" + json.dumps({**strings, "black": black, "frames_per_second": rate}), flush=True)
"""


def gl_report(
    backends: tuple[str, ...] = BACKENDS,
    *,
    id: str = "dmc/cartpole-swingup-v0",
    frames: int = 16,
    size: int = 84,
    timeout: float = TIMEOUT,
) -> list[dict[str, Any]]:
    """Draw a few frames with each backend.

    Args:
        backends: as `MUJOCO_GL` names them.
        id: of the task to draw.
        frames: to time.
        size: of a frame, pixels on a side.
        timeout: s, for each.

    Returns:
        For each backend `backend`, `works`, `vendor`, `renderer`, `version`, `frames_per_second`
        and `error` (the last line of the failure, or None).
    """
    return [_probe(backend, [id, str(frames), str(size)], timeout) for backend in backends]


def _probe(backend: str, arguments: list[str], timeout: float) -> dict[str, Any]:
    environment = {**os.environ, "MUJOCO_GL": backend}
    environment.pop("PYOPENGL_PLATFORM", None)
    try:
        done = subprocess.run(
            [sys.executable, "-c", _PROBE, backend, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return _result(backend, f"no picture within {timeout:g} s")
    found = [line for line in done.stdout.splitlines() if line.startswith(_MARK)]
    if not found:
        return _result(backend, _last_line(done))
    drawn = json.loads(found[-1].removeprefix(_MARK))  # whatever happens while it cleans up
    return _result(backend, "the picture is black" if drawn.pop("black") else None, **drawn)


def _result(
    backend: str,
    error: str | None,
    *,
    vendor: str = "",
    renderer: str = "",
    version: str = "",
    frames_per_second: float | None = None,
) -> dict[str, Any]:
    return {
        "backend": backend,
        "works": error is None,
        "vendor": vendor,
        "renderer": renderer,
        "version": version,
        "frames_per_second": frames_per_second,
        "error": error,
    }


def _last_line(done: "subprocess.CompletedProcess[str]") -> str:
    if done.returncode < 0:
        names = {known.value: known.name for known in signal.Signals}
        return f"killed by {names.get(-done.returncode, -done.returncode)}"
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    # Errors have no indent; code and places in a traceback do.
    errors = [line for line in lines if not line.startswith(" ")] or lines
    if not errors:
        return f"ended with {done.returncode}"
    line = re.sub(r"b'(.*)'", r"\1", errors[-1].strip())  # words from C
    # How PyOpenGL says that it has not found a library.
    return f"a library is missing ({line})" if "'NoneType' object has no" in line else line
