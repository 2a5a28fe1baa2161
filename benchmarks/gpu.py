"""Control steps per second on a device, beside the batch on the CPU and MuJoCo Playground.

    python benchmarks/gpu.py --all                        # everything, in 8 minutes, on cuda
    python benchmarks/gpu.py --all --quick --device cpu   # the same in a small form: does it run?
    python benchmarks/gpu.py --table FILE                 # the table of the output of --all
    python benchmarks/gpu.py                              # 1,024, 4,096 and 16,384 worlds, cuda
    python benchmarks/gpu.py --device cpu --quick         # a look at whether it runs
    python benchmarks/gpu.py dmc/walker-walk-v0 --num-envs 4096,32768

All of one row are timed by turns in one run: `make_vec(backend="warp")` with tensors, the batch of
MuJoCo on all cores, and Playground's implementation of the task if it exists and is
installed (`pip install playground`), on JAX and on Warp. Resets count in their share.

`--all` writes a line of JSON for each measurement to `--out`, with commit, device and versions:

- `correctness`: errors of a control step of twelve ids against the batch on the CPU;
- `speed`: control steps per second at 1,024 to 16,384 worlds, beside mujoco_warp alone on the same
  model, the batch of MuJoCo on all cores, and Playground;
- `parts`: seconds of a whole step, of its physics and of the hooks after it;
- `memory`: of each world;
- `pictures`: control steps per second with an observation of 84 x 84 pixels rendered on the device;
- `learning`: TD3 on walker-walk for the remaining time, with the goal of a return of 950.
"""

import argparse
import importlib.util
import statistics
from collections.abc import Callable
from pathlib import Path

import gymnasium
from comparison import on_device
from comparison.command import RESULTS
from comparison.on_device import Lines, Plan, playground

import mjgym
from mjgym.checks import benchmark
from mjgym.checks.benchmark import Subject

IDS = {
    "dmc/cartpole-swingup-v0": "CartpoleSwingup",
    "dmc/walker-walk-v0": "WalkerWalk",
    "dmc/cheetah-run-v0": "CheetahRun",
    "dmc/humanoid-walk-v0": "HumanoidWalk",
    "dmc/quadruped-walk-v0": None,
    "dmc/dog-walk-v0": None,
    "locomotion/cmu_humanoid-run_walls-v0": None,
}
"""Ids, and what Playground calls its implementation of the task."""
CHECKED = (
    *("dmc/walker-walk-v0", "dmc/humanoid-walk-v0", "dmc/cartpole-swingup-v0"),
    *("dmc/cheetah-run-v0", "dmc/hopper-hop-v0", "dmc/quadruped-walk-v0", "dmc/finger-spin-v0"),
    *("dmc/ball_in_cup-catch-v0", "dmc/fish-swim-v0", "dmc/reacher-hard-v0"),
    *("locomotion/cmu_humanoid-run_walls-v0", "robosuite/Lift-v0"),
)
TIMED = (
    *("dmc/walker-walk-v0", "legged/go1-velocity-v0", "dmc/humanoid-walk-v0"),
    *("robosuite/Lift-v0", "dmc/cartpole-swingup-v0"),
)
BUDGET = 480.0  # s, of everything
LEARNED = 120.0  # s of it, for TD3
SIZES = (1024, 4096, 16384)
IMPLEMENTATIONS = ("jax", "warp")  # of Playground


def subjects(id: str, num_envs: int, device: str) -> dict[str, Callable[[], Subject]]:
    """Timed subjects, by name; each is made on demand."""
    builders: dict[str, Callable[[], Subject]] = {
        "mjgym warp": lambda: benchmark.batch(
            id, num_envs, on={"backend": "warp", "device": device}
        ),
        "mjgym mujoco": lambda: benchmark.batch(id, min(num_envs, on_device.ON_CPU)),
    }
    name = IDS.get(id)
    if name is not None and importlib.util.find_spec("mujoco_playground") is not None:
        for implementation in IMPLEMENTATIONS:
            builders[f"playground {implementation}"] = lambda name=name, of=implementation: (
                playground(name, num_envs, of)
            )
    return builders


def plan(device: str, *, quick: bool) -> Plan:
    """Measurements of `--all`."""
    if quick:
        ids = {id: IDS[id] for id in ("dmc/walker-walk-v0",)}
        return Plan(device, CHECKED[:1], ids, (4,), 4, 0.05, 60.0, 6.0, 4)
    timed = {id: IDS.get(id) for id in TIMED}
    sizes = (4096, 16384, 1024)
    return Plan(device, CHECKED, timed, sizes, 64, 0.5, BUDGET, LEARNED, 4096)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", default=list(IDS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--num-envs", help="comma-separated")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--quick", action="store_true", help="8 worlds, a moment each, one id")
    parser.add_argument("--all", action="store_true", help="everything, in 8 minutes")
    parser.add_argument("--out", type=Path, default=RESULTS / "gpu.jsonl", help="of --all")
    parser.add_argument("--table", type=Path, help="print the table of a file of --all")
    given = parser.parse_args()
    if given.table is not None:
        print(on_device.table(given.table))
        return
    if given.all:
        on_device.measure(plan(given.device, quick=given.quick), Lines(given.out, given.device))
        print(f"\n{on_device.table(given.out)}\n\nWritten: {given.out}")
        return
    sizes = [int(n) for n in given.num_envs.split(",")] if given.num_envs else list(SIZES)
    ids, seconds = given.ids, given.seconds
    if given.quick:
        ids, sizes, seconds = ids[:1], [8], 0.05
    versions = mjgym.fingerprint()["versions"]
    print(", ".join(f"{name} {version}" for name, version in versions.items()))
    print(f"device: {given.device}; steps/s, MB of the device's memory per world\n")
    print(f"{'id':40} {'worlds':>7}  rates")
    for id in ids:
        limit = gymnasium.spec(id).max_episode_steps or float("inf")
        for n in sizes:
            made: dict[str, Subject] = {}
            lacking = []
            for name, make in subjects(id, n, given.device).items():
                try:
                    made[name] = make()
                except Exception as error:  # of a peer, or of memory
                    lacking.append(f"{name}: {type(error).__name__}: {error}")
            rates = benchmark.rates(made, seconds, limit)
            for subject in made.values():
                subject.close()
            cells = [f"{name} {statistics.median(rate):,.0f}" for name, rate in rates.items()]
            memory = benchmark.memory_on_device(id, n, given.device) / 1e6
            print(f"{id:40} {n:>7}  {', '.join([*cells, f'{memory:.2f} MB'])}", flush=True)
            for line in lacking:
                print(f"{'':48}  left out: {line}")


if __name__ == "__main__":
    main()
