"""Frames per second of our rendering, by quality and backend, against the peers'.

    python benchmarks/pixels.py                         # the defaults
    python benchmarks/pixels.py dmc/dog-run-v0 --seconds 5 --venv FOLDER

Each subject renders camera 0 at 84 x 84 pixels in a separate process, one after the other: state
in, image out, without physics. Peers run in the virtual environment of `peers.py`; errors of a peer
are shown in its place.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from comparison import installation
from comparison.other_suites import domain_and_task, envpool_name

from mjgym.util import atomic

IDS = ("dmc/cartpole-swingup-v0", "dmc/walker-walk-v0", "dmc/humanoid-run-v0", "dmc/dog-run-v0")
BACKENDS = ("egl", "osmesa")

OURS = """
import sys, time
import gymnasium
import mjgym
id, quality, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
env = gymnasium.make(id, render_quality=quality).unwrapped
env.reset(seed=0)
draw = env.camera
"""
DM_CONTROL = """
import sys, time
from comparison.other_suites import drop_stale_fields
drop_stale_fields()
from dm_control import suite
domain, task = sys.argv[1].split(":")
seconds = float(sys.argv[3])
env = suite.load(domain, task, task_kwargs={"random": 0})
env.reset()
draw = lambda: env.physics.render(84, 84, camera_id=0)
"""
ENVPOOL = """
import sys, time
import envpool
seconds = float(sys.argv[3])
env = envpool.make_gymnasium(
    sys.argv[1], num_envs=1, render_mode="rgb_array", render_width=84, render_height=84
)
env.reset()
draw = env.render
"""
TIMER = """
draw()
frames, started = 0, time.perf_counter()
while time.perf_counter() - started < seconds:
    draw()
    frames += 1
print("frames per second:", frames / (time.perf_counter() - started), flush=True)
"""


def rate(python: Path, script: str, arguments: list[str], backend: str) -> float | str:
    """Frames per second of a subject, or the last line of its error."""
    paths = filter(None, (str(Path(__file__).parent), os.environ.get("PYTHONPATH")))
    done = subprocess.run(
        [str(python), "-c", script + TIMER, *arguments],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "MUJOCO_GL": backend, "PYTHONPATH": os.pathsep.join(paths)},
    )
    for line in done.stdout.splitlines():
        if line.startswith("frames per second:"):
            return float(line.split(":")[1])
    complaint = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return complaint[-1] if complaint else f"ended with {done.returncode}"


def main() -> None:
    """Measure, print a table, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", default=list(IDS))
    parser.add_argument("--seconds", type=float, default=2.0, help="of each measurement")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--venv", type=Path, default=Path(__file__).parent / "results" / "venv")
    given = parser.parse_args()
    installation.make(given.venv)
    python = installation.python_of(given.venv)
    seconds = str(given.seconds)
    results: dict[str, dict[str, float | str]] = {}
    for id in given.ids:
        row = results[id] = {}
        for backend in BACKENDS:
            for quality in ("reference", "fast"):
                subject = f"mjgym {quality}, {backend}"
                row[subject] = rate(Path(sys.executable), OURS, [id, quality, seconds], backend)
            task = ":".join(domain_and_task(id))
            row[f"dm_control, {backend}"] = rate(python, DM_CONTROL, [task, "", seconds], backend)
        row["EnvPool"] = rate(python, ENVPOOL, [envpool_name(id), "", seconds], "egl")
        print(id)
        for subject, value in row.items():
            print(f"  {subject:24s} {value if isinstance(value, str) else f'{value:,.0f}'}")
    given.out.mkdir(parents=True, exist_ok=True)
    atomic.write_text(given.out / "pixels.json", json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
