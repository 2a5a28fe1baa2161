"""Probes OpenGL backends, each in a separate process, and measures their speed."""

import os
import subprocess
import sys
from typing import Any

from mjgym.rendering import Probe, probe

BACKENDS: tuple[str, ...] = {"darwin": ("cgl", "glfw"), "win32": ("glfw",)}.get(
    sys.platform, ("egl", "osmesa", "glfw")
)
TIMEOUT = 60.0  # s
SAMPLE = "dmc/cartpole-swingup-v0"
FRAMES, SIZE = 16, 84  # number of frames, and their sides in pixels

_TIMER = """
import sys, time
import gymnasium
import mjgym
id, frames, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
env = gymnasium.make(id, width=size, height=size).unwrapped
env.reset(seed=0)
env.camera()
started = time.perf_counter()
for _ in range(frames):
    env.camera()
print(frames / (time.perf_counter() - started), flush=True)
"""


def gl_report(
    backends: tuple[str, ...] = BACKENDS, *, timeout: float = TIMEOUT
) -> list[dict[str, Any]]:
    """Try backends, and render a few frames of a task with those that work.

    Args:
        backends: as `MUJOCO_GL` names them.
        timeout: s, for each.

    Returns:
        For each backend `backend`, `works`, `vendor`, `renderer`, `version`, `frames_per_second`
        and `error` (why it does not work, or None).
    """
    return [_report(probe(backend, timeout), timeout) for backend in backends]


def _report(found: Probe, timeout: float) -> dict[str, Any]:
    rate, error = (None, found.reason)
    if found.works:
        rate, error = _rate(found.backend, timeout)
    return {
        "backend": found.backend,
        "works": not error,
        "vendor": found.vendor,
        "renderer": found.renderer,
        "version": found.version,
        "frames_per_second": rate,
        "error": error or None,
    }


def _rate(backend: str, timeout: float) -> tuple[float | None, str]:
    try:
        done = subprocess.run(
            [sys.executable, "-c", _TIMER, SAMPLE, str(FRAMES), str(SIZE)],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=timeout,
            env={**os.environ, "MUJOCO_GL": backend},
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return None, f"no picture within {timeout:g} s"
    try:
        return float(done.stdout.split()[-1]), ""
    except (IndexError, ValueError):
        lines = done.stderr.split("\n")
        said = next((line for line in reversed(lines) if line.strip()), "")
        return None, said or f"ended with {done.returncode}"
