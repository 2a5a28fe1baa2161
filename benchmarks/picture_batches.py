"""Steps per second of a batch whose observations have pictures, against EnvPool's.

    python benchmarks/picture_batches.py --python python3.12
    python benchmarks/picture_batches.py --num-envs 16 --turns 3

Both step as many CMU humanoids between walls, which see 64 x 64 pixels with their egocentric camera
at the published quality, on as many threads. Each runs in a process of its own, and they take turns
on the same machine; the ratio is that of the medians. EnvPool draws these pictures from 1.2.7 on,
which needs Python 3.12 or newer: `--python` makes the virtual environment.
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from comparison import command, installation

from mjgym.vector import allowed_cores

PEERS = {"envpool": "envpool==1.2.7"}
STEPS = 2  # of a turn

OURS = """
import gymnasium, mjgym
envs = gymnasium.make_vec("locomotion/cmu_humanoid-run_walls-v0", num_envs=n, threads=threads,
                          observation="dict+pixels")
envs.reset(seed=0)
assert envs.single_observation_space["walker/egocentric_camera"].shape == (64, 64, 3)
"""
ENVPOOL = """
import envpool
envs = envpool.make_gymnasium("DmcCmuHumanoidRunWalls-v1", num_envs=n, num_threads=threads, seed=0)
observation, _ = envs.reset()
assert observation["walker/egocentric_camera"].shape == (n, 64, 64, 3)
"""
BEFORE = """
import sys
n, threads = map(int, sys.argv[1:])
"""
AFTER = """
import numpy
rng = numpy.random.default_rng(0)
def step():
    envs.step(rng.uniform(-1, 1, (n, 56)))
for _ in range(3):  # pictures that take long have more processes from the second on
    step()
print("ready", flush=True)
for line in sys.stdin:
    for _ in range(int(line)):
        step()
    print("done", flush=True)
"""


def turn(process: "subprocess.Popen[str]") -> float:
    """Seconds that a subject takes for its turn."""
    assert process.stdin is not None
    assert process.stdout is not None
    began = time.perf_counter()
    process.stdin.write(f"{STEPS}\n")
    process.stdin.flush()
    if process.stdout.readline() != "done\n":
        raise RuntimeError("a subject has ended")
    return time.perf_counter() - began


def main() -> int:
    """Run the command; returns its status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--num-envs", type=int, default=64)
    parser.add_argument("--turns", type=int, default=8, help="of each subject")
    parser.add_argument("--venv", type=Path, default=command.RESULTS / "venv-pictures")
    parser.add_argument("--python", default=sys.executable, help="makes the virtual environment")
    options = parser.parse_args()
    installation.make(options.venv, options.python, PEERS)
    for why in installation.refusals(options.venv).values():
        print(why, file=sys.stderr)
        return 1
    threads = allowed_cores()
    processes: dict[str, subprocess.Popen[str]] = {}
    try:
        for name, script in (("mjgym", OURS), ("EnvPool", ENVPOOL)):
            processes[name] = subprocess.Popen(
                [
                    *(str(installation.python_of(options.venv)), "-c", BEFORE + script + AFTER),
                    *(str(options.num_envs), str(threads)),
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            ready = processes[name].stdout
            if ready is None or ready.readline() != "ready\n":
                raise RuntimeError(f"{name} cannot be run here")
        seconds: dict[str, list[float]] = {name: [] for name in processes}
        for _ in range(options.turns):
            for name, process in processes.items():
                seconds[name].append(turn(process))
    finally:
        for process in processes.values():
            process.kill()
    rates = {
        name: STEPS * options.num_envs / statistics.median(spent) for name, spent in seconds.items()
    }
    for name, rate in rates.items():
        print(f"{name:8s} {rate:6.1f} environment steps per second")
    print(f"ratio    {rates['mjgym'] / rates['EnvPool']:6.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
