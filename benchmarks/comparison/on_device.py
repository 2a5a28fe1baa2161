"""Measurements on a device by `benchmarks/gpu.py --all`, each a line of JSON.

    with Lines(file, device) as lines: measure(plan, lines)

Failures do not end other measurements: their lines have the reason, as do lines of measurements
left out for lack of time.
"""

import contextlib
import json
import multiprocessing
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

import mjgym
from comparison import report
from mjgym.checks import benchmark
from mjgym.checks.benchmark import random_actions

WANTED = 950.0  # return on walker-walk that counts as learned
SETTLED = 10  # control steps before the compared state
ON_CPU = 256  # worlds of the batch on the CPU; more are no faster
MOST_SEEN = 1024  # limit of worlds with images
WARM_UP = 3  # calls that do not count
ROUNDS = 3
SEEN = ("dmc/cartpole-swingup-v0", "dmc/walker-walk-v0")  # ids with timed rendering


@dataclass(frozen=True)
class Plan:
    """Measurements on a device, by priority.

    Args:
        device: "cpu", "cuda" or "cuda:<number>".
        checked: ids with steps compared with those of the batch on the CPU.
        timed: timed ids, with Playground's names (None: missing there).
        sizes: numbers of worlds.
        compared: worlds of a comparison with the CPU.
        seconds: of each measurement.
        budget: seconds for everything.
        learned: seconds of it for learning walker-walk.
        learners: worlds for learning.
    """

    device: str
    checked: tuple[str, ...]
    timed: dict[str, str | None]
    sizes: tuple[int, ...]
    compared: int
    seconds: float
    budget: float
    learned: float
    learners: int


class Lines:
    """Incrementally written file of measurements, one line of JSON each.

    Args:
        file: output file.
        device: measured device.
    """

    def __init__(self, file: Path, device: str) -> None:
        self._file, self._begun = file, time.perf_counter()
        machine = report.machine(os.cpu_count() or 1)
        self._head = {
            "commit": machine["commit"],
            "changed_since_commit": machine["changed_since_commit"],
            "date": machine["date"],
            "device": device_name(device),
            "processor": machine["cpu"],
            "versions": mjgym.fingerprint()["versions"],
        }
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")

    def add(self, measurement: str, **facts: Any) -> None:
        """Write a measurement."""
        line = {"measurement": measurement, **facts, **self._head}
        with self._file.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        shown = ", ".join(f"{name} {_shown(value)}" for name, value in facts.items())
        print(f"{self.seconds():5.0f} s  {measurement}: {shown}", flush=True)

    def seconds(self) -> float:
        """Seconds since the beginning."""
        return time.perf_counter() - self._begun

    @contextlib.contextmanager
    def told(self, measurement: str, **facts: Any) -> Iterator[None]:
        """Context in which an error becomes a line."""
        try:
            yield
        except Exception as error:
            self.add(
                measurement, **facts, error=" ".join(f"{type(error).__name__}: {error}".split())
            )


def _shown(value: Any) -> str:
    return f"{value:,.3g}" if isinstance(value, float) else str(value)


def device_name(device: str) -> str:
    """Return the name of the GPU, or "cpu"."""
    import torch

    return torch.cuda.get_device_name(device) if device.startswith("cuda") else device


def measure(plan: Plan, lines: Lines) -> None:
    """Make all measurements of a plan within its time."""
    if plan.device.startswith("cuda"):
        with lines.told("kernels"):
            _compile(plan, lines)
    last = plan.budget - plan.learned

    def there_is_time(measurement: str, **facts: Any) -> bool:
        if lines.seconds() < last:
            return True
        lines.add(measurement, **facts, left_out="no time")
        return False

    first, *others = plan.checked
    with lines.told("correctness", id=first):
        lines.add("correctness", id=first, **difference(first, plan.compared, plan.device))
    for n in plan.sizes:
        for id, name in plan.timed.items():
            if there_is_time("speed", id=id, worlds=n):
                with lines.told("speed", id=id, worlds=n):
                    speed(id, name, n, plan, lines)
    for id in others:
        if there_is_time("correctness", id=id):
            with lines.told("correctness", id=id):
                lines.add("correctness", id=id, **difference(id, plan.compared, plan.device))
    for id in SEEN:
        n = min(plan.sizes[0], MOST_SEEN)
        if there_is_time("pictures", id=id, worlds=n):
            with lines.told("pictures", id=id, worlds=n):
                lines.add("pictures", id=id, worlds=n, **pictures(id, n, plan))
    with lines.told("learning"):
        lines.add("learning", **learning(plan, max(plan.budget - lines.seconds(), plan.learned)))


# Kernels.


def _compile(plan: Plan, lines: Lines) -> None:
    """Compile the kernels of all ids in parallel processes, which takes minutes."""
    ids = list(dict.fromkeys([*plan.timed, *plan.checked]))
    started = lines.seconds()
    processes = min(len(ids), os.cpu_count() or 1)
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        answers = [(id, pool.apply_async(_first_steps, (id, plan.device))) for id in ids]
        for id, answer in answers:
            with lines.told("kernels", id=id):
                answer.get(max(plan.budget / 2 - lines.seconds(), 1.0))
    lines.add("kernels", ids=len(ids), seconds=lines.seconds() - started)


def _first_steps(id: str, device: str) -> None:
    envs: Any = gymnasium.make_vec(id, 64, backend="warp", device=device)
    envs.reset(seed=0)
    for _ in range(2):
        envs.step(np.zeros(envs.action_space.shape, dtype=np.float32))
    envs.close()


# Correctness.


def difference(id: str, n: int, device: str) -> dict[str, Any]:
    """Errors of a control step against the batch on the CPU, from states of its episodes.

    Errors of observations and rewards are relative to max(1, |value|); the largest per world.
    """
    host: Any = gymnasium.make_vec(id, n)
    there: Any = gymnasium.make_vec(id, n, backend="warp", device=device)
    space = host.single_action_space
    actions = random_actions(space.low, space.high, (n,), np.float32, SETTLED + 1, seed=0)
    host.reset(seed=0)
    there.reset(seed=0)
    for _ in range(SETTLED):
        host.step(next(actions))
    state, action = host.unwrapped.get_state(), next(actions)
    for envs in (host, there):
        envs.unwrapped.set_state(state)
    observed, rewards = host.step(action)[:2]
    theirs = there.step(action)
    errors = _relative(observed, theirs[0].cpu().numpy()).reshape(n, -1).max(axis=1)
    of_rewards = _relative(rewards, theirs[1].cpu().numpy())
    for envs in (host, there):
        envs.close()
    return {
        "worlds": n,
        "median": float(np.median(errors)),
        "ninety_percent": float(np.quantile(errors, 0.9)),
        "largest": float(errors.max()),
        "reward_largest": float(of_rewards.max()),
    }


def _relative(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    return np.abs(ours - theirs) / np.maximum(1.0, np.abs(ours))


# Speed.


def speed(id: str, peer: str | None, n: int, plan: Plan, lines: Lines) -> None:
    """Control steps per second of all subjects, the parts of a step, and memory."""
    device = plan.device
    subjects: dict[str, Callable[[], Any]] = {
        "mjgym": lambda: benchmark.batch(id, n, on={"backend": "warp", "device": device}),
        "mujoco_warp": lambda: bare(id, n, device),
    }
    if n == plan.sizes[0]:
        subjects["CPU"] = lambda: benchmark.batch(id, min(n, ON_CPU))
    for implementation in ("jax", "warp") if peer is not None else ():
        name = f"playground {implementation}"
        if importlib_has("mujoco_playground"):
            subjects[name] = lambda of=implementation: playground(str(peer), n, of)
        else:
            lines.add("speed", id=id, worlds=n, subject=name, left_out="not installed")
    made = {}
    for name, make in subjects.items():
        with lines.told("speed", id=id, worlds=n, subject=name):
            made[name] = make()
    limit = gymnasium.spec(id).max_episode_steps or float("inf")
    rates = benchmark.rates(made, ROUNDS * plan.seconds, limit, ROUNDS)
    for name, measured in rates.items():
        lines.add(
            "speed", id=id, worlds=n, subject=name, steps_per_second=float(np.median(measured))
        )
    for subject in made.values():
        subject.close()
    with lines.told("parts", id=id, worlds=n):
        parts(id, n, plan, lines)


def pictures(id: str, n: int, plan: Plan) -> dict[str, Any]:
    """Control steps per second with image observations rendered on the device."""
    subject = benchmark.batch(
        id, n, on={"backend": "warp", "device": plan.device}, observation="pixels"
    )
    seconds = clocked(subject.call, plan.seconds, plan.device)
    subject.close()
    return {"steps_per_second": n / seconds}


def importlib_has(name: str) -> bool:
    """Tell whether a package is installed."""
    import importlib.util

    return importlib.util.find_spec(name) is not None


def bare(id: str, n: int, device: str) -> benchmark.Subject:
    """MuJoCo Warp alone on the task's model: the physics steps of a control step, as one graph."""
    import mujoco_warp
    import torch
    import warp

    from mjgym.sim.warp import Device

    envs: Any = gymnasium.make_vec(id, n, backend="warp", device=device).unwrapped
    envs.reset(seed=0)
    state, buffers, model = envs.get_state(), envs.buffers, envs.model
    substeps = round(envs.control_timestep / envs.physics_timestep)
    envs.close()
    where = Device(device)
    with where.use():
        engine = mujoco_warp.put_model(model)
        engine.opt.warn_overflow = 0  # else it prints in each step
        data = mujoco_warp.make_data(model, nworld=n, nconmax=buffers.nconmax, njmax=buffers.njmax)
        for name in ("qpos", "qvel"):
            held = warp.to_torch(getattr(data, name))
            held.copy_(torch.as_tensor(state[name], dtype=held.dtype))
        low, high = model.actuator_ctrlrange.T
        drawn = random_actions(low, high, (n,), np.float32, benchmark.CYCLE, seed=0)
        control = warp.to_torch(data.ctrl)
        actions = [control.new_tensor(next(drawn)) for _ in range(benchmark.CYCLE)]

        def advance() -> None:
            for _ in range(substeps):
                mujoco_warp.step(engine, data)

        advance()  # compile on first use
        graph = None
        if where.captures:
            with warp.ScopedCapture(where.warp) as capture:
                advance()
            graph = capture.graph
    made = {"steps": 0}

    def call() -> bool:
        with where.use():
            control.copy_(actions[made["steps"] % len(actions)])
            if graph is None:
                advance()
            else:
                warp.capture_launch(graph)
            warp.synchronize_device(where.warp)
        made["steps"] += 1
        return False

    return benchmark.Subject(call, n, n)


def playground(name: str, num_envs: int, implementation: str, seed: int = 0) -> benchmark.Subject:
    """A Playground environment, compiled and vectorised by JAX, with random actions."""
    import importlib

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

    return benchmark.Subject(call, num_envs, num_envs, restart=reset, reset=reset)


def parts(id: str, n: int, plan: Plan, lines: Lines) -> None:
    """Seconds of a whole step, of its physics, and of the hooks after it; memory."""
    import torch

    on_cuda = plan.device.startswith("cuda")
    if on_cuda:
        torch.cuda.reset_peak_memory_stats(plan.device)
    envs: Any = gymnasium.make_vec(id, n, backend="warp", device=plan.device).unwrapped
    envs.reset(seed=0)
    action = torch.zeros(envs.action_space.shape, device=plan.device)
    worlds, task = envs._simulations, envs._episodes.task
    view = worlds.view
    substeps = round(envs.control_timestep / envs.physics_timestep)

    def hooks() -> tuple[Any, ...]:
        ends = task.terminated(view), task.truncated(view)
        return task.reward(task.terms(view)), *ends, task.observation(view)

    def clock(act: Callable[[], Any]) -> float:
        return clocked(act, plan.seconds, plan.device)

    found = {"step": clock(lambda: envs.step(action))}
    with envs.enter():
        control = torch.zeros((n, envs.model.nu), device=plan.device)
        found["physics"] = clock(lambda: worlds.step(control, substeps))
        found["hooks"] = clock(hooks)
    lines.add("parts", id=id, worlds=n, seconds=found)
    memory = {"bytes_per_world": envs.nbytes / n}
    if on_cuda:
        import warp

        memory["torch_peak_bytes"] = float(torch.cuda.max_memory_allocated(plan.device))
        memory["warp_pool_bytes"] = float(warp.get_mempool_used_mem_high(plan.device))
    lines.add("memory", id=id, worlds=n, **memory)
    envs.close()


def clocked(act: Callable[[], Any], seconds: float, device: str) -> float:
    """Seconds per call, with device synchronisation before and after all of them."""
    import torch

    def wait() -> None:
        if device.startswith("cuda"):
            torch.cuda.synchronize(device)

    for _ in range(WARM_UP):
        act()
    wait()
    calls, started = 0, time.perf_counter()
    while calls == 0 or time.perf_counter() - started < seconds:
        act()
        calls += 1
        if calls % 16 == 0:
            wait()  # or thousands would queue behind the clock
    wait()
    return (time.perf_counter() - started) / calls


# Learning.


def learning(plan: Plan, seconds: float) -> dict[str, Any]:
    """Train TD3 on walker-walk, from as many worlds, for a time: its best evaluation."""
    from mjgym_train.cli.seeds import MJGYM
    from mjgym_train.metrics import RETURN
    from mjgym_train.run import Run

    with tempfile.TemporaryDirectory(prefix="mjgym-gpu-") as folder:
        run = Path(folder) / "run"
        command = [
            *(*MJGYM, "train", "td3"),
            *("walker-walk", "env.backend=warp", f"env.device={plan.device}"),
            *(f"num_envs={plan.learners}", f"updates_per_step={min(1.0, 64 / plan.learners)}"),
            *("--minutes", f"{0.8 * seconds / 60:.3f}", "--out", str(run)),
        ]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=2 * seconds + 600
        )
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines() or ["no message"]
            raise RuntimeError(lines[-1])
        measured = Run(run).metrics()
    returns = [metric for metric in measured if metric.metric == RETURN]
    last = measured[-1]
    reached = next((metric for metric in returns if metric.value >= WANTED), None)
    return {
        "id": "dmc/walker-walk-v0",
        "worlds": plan.learners,
        "env_steps": last.env_step,
        "updates": last.updates,
        "seconds": last.wall_s,
        "best_return": max((metric.value for metric in returns), default=None),
        "wanted": WANTED,
        "seconds_to_wanted": None if reached is None else reached.wall_s,
    }


# The table.


def table(file: Path) -> str:
    """Format the measurements of a file as Markdown."""
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    first = rows[0]
    versions = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    commit = str(first["commit"])[:10] + "+" * first["changed_since_commit"]
    shown = [f"{first['device']}, commit {commit}, {versions}.", ""]
    header = (
        "id",
        "worlds",
        "mjgym",
        "mujoco_warp",
        "ratio",
        "physics",
        "hooks",
        "MB a world",
        "CPU",
    )
    shown += [_line(header), _line(["---"] * len(header))]
    for id, n in dict.fromkeys((r["id"], r["worlds"]) for r in rows if r["measurement"] == "speed"):
        own = [r for r in rows if r.get("id") == id and r.get("worlds") == n]
        rates = {r["subject"]: r.get("steps_per_second") for r in own if "subject" in r}
        if not any(rates.values()):  # no time
            continue
        seconds = next(
            (r["seconds"] for r in own if r["measurement"] == "parts" and "seconds" in r), {}
        )
        memory = next((r["bytes_per_world"] / 1e6 for r in own if "bytes_per_world" in r), None)
        ours, theirs = rates.get("mjgym"), rates.get("mujoco_warp")
        cells = [
            *(_number(x, ",.0f") for x in (ours, theirs)),
            _number(ours / theirs if ours and theirs else None, ".2f"),
            *(
                _number(seconds[part] / seconds["step"] if "step" in seconds else None, ".2f")
                for part in ("physics", "hooks")
            ),
            _number(memory, ".3f"),
            _number(rates.get("CPU"), ",.0f"),
        ]
        shown.append(_line([f"`{id}`", f"{n:,}", *cells]))
    shown += ["", _line(("id", "worlds", "median error", "90 %", "largest", "of rewards"))]
    shown.append(_line(["---"] * 6))
    for r in rows:
        if r["measurement"] == "correctness" and "median" in r:
            numbers = (r["median"], r["ninety_percent"], r["largest"], r["reward_largest"])
            shown.append(_line([f"`{r['id']}`", str(r["worlds"]), *(f"{x:.1e}" for x in numbers)]))
    for r in rows:
        if r["measurement"] == "pictures" and "steps_per_second" in r:
            rate = _number(r["steps_per_second"], ",.0f")
            shown += ["", f"Pictures of 84 x 84 pixels, `{r['id']}`, {r['worlds']:,} worlds:"
                      f" {rate} control steps per second."]  # fmt: skip
    for r in rows:
        if r["measurement"] == "learning" and "best_return" in r:
            best, reached = _number(r["best_return"], ".0f"), r["seconds_to_wanted"]
            until = "not reached" if reached is None else f"after {reached:.0f} s"
            shown += ["", f"TD3 on `walker-walk`, {r['worlds']:,} worlds, {r['seconds']:.0f} s:"
                      f" best return {best or 'none'}; {WANTED:.0f} {until}."]  # fmt: skip
    missing = [r for r in rows if "error" in r]
    if missing:
        shown += ["", "Failed: " + "; ".join(
            f"{r['measurement']} {r.get('id', '')}: {r['error']}" for r in missing
        )]  # fmt: skip
    return "\n".join(shown)


def _line(cells: Any) -> str:
    return f"| {' | '.join(cells)} |"


def _number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)
