"""Control steps per second on a device, beside the batch on the processor and MuJoCo Playground.

    python benchmarks/gpu.py                              # 1,024, 4,096 and 16,384 worlds, cuda
    python benchmarks/gpu.py --device cpu --quick         # a look at whether it runs
    python benchmarks/gpu.py dmc/walker-walk-v0 --num-envs 4096,32768

All of one row are timed by turns in one run: `make_vec(backend="warp")` with tensors, the batch of
MuJoCo on all cores, and Playground's own implementation of the task where it has one and is
installed (`pip install playground`), on JAX and on Warp. Resets count in their share.
"""

import argparse
import importlib
import importlib.util
import statistics
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np

import mjgym
from mjgym.inspect import benchmark
from mjgym.inspect.benchmark import Subject

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
SIZES = (1024, 4096, 16384)
HOST_SIZE = 256  # worlds of the batch on the processor, where more are no faster
IMPLEMENTATIONS = ("jax", "warp")  # of Playground


def playground(name: str, num_envs: int, implementation: str, seed: int = 0) -> Subject:
    """One of Playground's environments, compiled and vectorised by JAX, with random actions."""
    jax: Any = importlib.import_module("jax")
    registry: Any = importlib.import_module("mujoco_playground").registry
    env = registry.load(name, config_overrides={"impl": implementation})
    begin, advance = jax.jit(jax.vmap(env.reset)), jax.jit(jax.vmap(env.step))
    keys = jax.random.split(jax.random.PRNGKey(seed), num_envs)
    rng = np.random.default_rng(seed)
    drawn = rng.uniform(-1, 1, (benchmark.CYCLE, num_envs, env.action_size)).astype(np.float32)
    actions = [jax.device_put(action) for action in drawn]
    now = {"state": begin(keys), "step": 0}

    def call() -> bool:
        action = actions[now["step"] % len(actions)]
        now["state"] = jax.block_until_ready(advance(now["state"], action))
        now["step"] += 1
        return False

    def reset() -> None:
        now["state"] = jax.block_until_ready(begin(keys))

    return Subject(call, num_envs, num_envs, restart=reset, reset=reset)


def subjects(id: str, num_envs: int, device: str) -> dict[str, Callable[[], Subject]]:
    """The timed subjects, by name; each is made when it is needed."""
    found: dict[str, Callable[[], Subject]] = {
        "mjgym warp": lambda: benchmark.batch_on_device(id, num_envs, device=device),
        "mjgym mujoco": lambda: benchmark.batch(id, min(num_envs, HOST_SIZE)),
    }
    name = IDS.get(id)
    if name is not None and importlib.util.find_spec("mujoco_playground") is not None:
        for implementation in IMPLEMENTATIONS:
            found[f"playground {implementation}"] = lambda name=name, of=implementation: playground(
                name, num_envs, of
            )
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ids", nargs="*", default=list(IDS))
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--num-envs", help="comma-separated")
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    parser.add_argument("--quick", action="store_true", help="8 worlds, a moment each, one id")
    given = parser.parse_args()
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
