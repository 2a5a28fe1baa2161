"""Probes OpenGL backends, each in a separate process, and measures their speed."""

import sys
from typing import Any

from mjgym.rendering import Probe, probe
from mjgym.util.processes import last_word

BACKENDS: tuple[str, ...] = {"darwin": ("cgl", "glfw"), "win32": ("glfw",)}.get(
    sys.platform, ("egl", "osmesa", "glfw")
)
TIMEOUT = 60.0  # s
SAMPLE = "dmc/cartpole-swingup-v0"
FRAMES, SIZE = 16, 84  # number of frames, and their sides in pixels

TIMER = """
import os, sys, time
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
os._exit(0)  # a driver that crashes at exit has still rendered
"""


def gl_report(
    backends: tuple[str, ...] = BACKENDS, *, timeout: float = TIMEOUT
) -> list[dict[str, Any]]:
    """Try backends, and render some frames of a task with those that work; see `measured`."""
    return [measured(probe(backend, timeout), timeout) for backend in backends]


def measured(found: Probe, timeout: float, program: str = TIMER) -> dict[str, Any]:
    """A backend's driver, frames per second, and `error`, None if it works."""
    rate, error = None, found.reason
    if found.works:
        try:
            words = ["-c", program, SAMPLE, str(FRAMES), str(SIZE)]
            rate = float(last_word(words, timeout, {"MUJOCO_GL": found.backend}))
        except RuntimeError as failure:
            error = str(failure)
    return {
        "backend": found.backend,
        "works": not error,
        "vendor": found.vendor,
        "renderer": found.renderer,
        "version": found.version,
        "frames_per_second": rate,
        "error": error or None,
    }
