"""Other implementations of the published tasks, timed in processes of their own if installed.

python -m mjgym.cli.peers dm_control dmc/walker-walk-v0 1 2.0
"""

import importlib
import importlib.util
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from mjgym import benchmark
from mjgym.vector import allowed_cores

NAMESPACE = "dmc"
_ID = re.compile(rf"{NAMESPACE}/(?P<domain>\w+)-(?P<task>\w+)-v\d+")
_START = 120.0  # s, that a peer may take to load and to make its environments


def installed(id: str, num_envs: int) -> list[str]:
    """The peers to compare an id of the published suite with, alone or in a batch."""
    if not _ID.fullmatch(id):
        return []
    names = ("dm_control",) if num_envs == 1 else ("envpool",)
    return [name for name in names if importlib.util.find_spec(name) is not None]


def rate(peer: str, id: str, num_envs: int, seconds: float) -> float:
    """Control steps per second of a peer.

    Raises:
        RuntimeError: it has no such task, or fails; the message is its last line.
    """
    arguments = [sys.executable, "-m", __name__, peer, id, str(num_envs), str(seconds)]
    timeout = _START + 10 * seconds
    try:
        done = subprocess.run(
            arguments, capture_output=True, text=True, check=False, timeout=timeout
        )
    except subprocess.TimeoutExpired:
        raise RuntimeError(f"no answer within {timeout:.0f} s") from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"ended with {done.returncode}"]
        raise RuntimeError(lines[-1])
    return float(json.loads(done.stdout.splitlines()[-1]))


def _domain_and_task(id: str) -> tuple[str, str]:
    match = _ID.fullmatch(id)
    if match is None:
        raise LookupError(f"{id} is not a task of the published suite")
    return match["domain"], match["task"]


def dm_control(id: str, num_envs: int) -> benchmark.Subject:
    """`suite.load` of the same task."""
    domain, task = _domain_and_task(id)
    env = _suite().load(domain, task, task_kwargs={"random": 0})
    env.reset()
    spec = env.action_spec()
    actions = benchmark.random_actions(spec.minimum, spec.maximum, (), spec.dtype, 1000, 0)
    return benchmark.Subject(
        lambda: bool(env.step(next(actions)).last()), 1, restart=env.reset, reset=env.reset
    )


def _suite() -> Any:
    """`dm_control.suite` without OpenGL, on an engine that is newer than its table of fields.

    The table names fields that MuJoCo 4.0 no longer has; they are dropped before they are read.
    """
    os.environ["MUJOCO_GL"] = "disable"
    import mujoco

    sizes = importlib.import_module("dm_control.mujoco.wrapper.mjbindings.sizes")
    structs = {name.lower(): getattr(mujoco, name) for name in dir(mujoco) if name[:2] == "Mj"}
    for struct, fields in sizes.array_sizes.items():
        for name in [n for n in fields if not hasattr(structs[struct], n)]:
            del fields[name]
    physics: Any = importlib.import_module("dm_control.mujoco").Physics
    physics.contexts = None  # to which a terrain would be sent at each reset
    return importlib.import_module("dm_control.suite")


def envpool(id: str, num_envs: int) -> benchmark.Subject:
    """EnvPool's synchronous batch of the same task."""
    peer: Any = importlib.import_module("envpool")
    words = "_".join(_domain_and_task(id)).split("_")
    name = "".join(word[0].upper() + word[1:] for word in words) + "-v1"
    if name not in peer.list_all_envs():
        raise LookupError(f"EnvPool has no {name}")
    threads = min(allowed_cores(), num_envs)
    envs = peer.make_gymnasium(name, num_envs=num_envs, num_threads=threads, seed=0)
    envs.reset()
    space = envs.action_space
    actions = benchmark.random_actions(space.low, space.high, (num_envs,), space.dtype, 16, 0)

    def call() -> bool:
        result = envs.step(next(actions))
        return bool((result[2] | result[3]).all())

    return benchmark.Subject(call, num_envs, num_envs, restart=call, reset=envs.reset)


PEERS: dict[str, Callable[[str, int], benchmark.Subject]] = {
    "dm_control": dm_control,
    "envpool": envpool,
}


def _main(peer: str, id: str, num_envs: str, seconds: str) -> None:
    import gymnasium

    subject = PEERS[peer](id, int(num_envs))
    limit = gymnasium.spec(id).max_episode_steps or float("inf")
    print(json.dumps(benchmark.median_rate(subject, float(seconds), limit)))


if __name__ == "__main__":
    _main(*sys.argv[1:])
