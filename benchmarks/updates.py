"""Time of one update of TD3 on one core: the engines, and the same update by other libraries.

    python benchmarks/updates.py                     # fast, torch, torch.compile, JAX
    python benchmarks/updates.py --engines fast jax --widths 128
    python benchmarks/updates.py --critics           # distributions and heads, fast and torch

The recipe with two categorical critics: layer normalisation, AdamW, soft targets; the actor and the
targets in every second update. CPU time of the thread, the least of several turns, compilation left
out and named apart. JAX is installed apart and is no extra of the package.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from comparison import report
from comparison.command import described

OBSERVATION, ACTION = 24, 6  # of walker-walk
SIZES = {128: (128, 51), 256: (256, 101)}  # batch and atoms by width
TURNS, UPDATES = 12, 100
RATE, DECAY, TARGET, DISCOUNT, SUPPORT = 1e-3, 1e-2, 0.04, 0.99**3, 100.0
EPSILON = 1e-5

Update = Callable[[], object]


def batch(rows: int, seen: int = OBSERVATION, acts: int = ACTION) -> dict[str, np.ndarray]:
    """Random transitions."""
    draw = np.random.default_rng(0).standard_normal
    shapes = {"x": seen, "a": acts, "y": seen, "noise": acts}
    made = {name: draw((rows, size), np.float32) for name, size in shapes.items()}
    made["a"] = np.tanh(made["a"])
    made["noise"] = np.clip(0.2 * made["noise"], -0.5, 0.5)
    return made | {"r": np.abs(draw(rows, np.float32))}


def ours(engine: str, width: int) -> Update:
    """An engine of the package; "torch.compile" compiles PyTorch's update."""
    rows, atoms = SIZES[width]
    return of_settings(engine, OBSERVATION, ACTION, rows, hidden=(width, width), atoms=atoms)


def of_settings(engine: str, seen: int, acts: int, rows: int, **settings: Any) -> Update:
    """The update of TD3 with two critics, for the sizes of observations and actions."""
    import torch

    from mjgym_train.learn import algorithms, engines
    from mjgym_train.learn.buffer import Batch

    torch.set_num_threads(1)
    cls = algorithms.find("td3")
    about = {"id": "dmc/walker-walk-v0", "algorithm": "td3", "steps": 1000, "critics": 2}
    config = cls.Config(**about, batch_size=rows, average_rate=None, **settings)
    agent = cls(config, seen, acts)
    data = {name: torch.as_tensor(value) for name, value in batch(rows, seen, acts).items()}
    rewards = torch.stack([data["r"]] * config.n_step, 1)
    ends = torch.zeros(rows, dtype=torch.bool)
    steps = torch.full((rows,), config.n_step)
    made = Batch(data["x"][:, None], data["a"], rewards, steps, data["y"][:, None], ends)
    if engine == "torch.compile":
        for name in ("critic_loss", "target", "actor_loss"):
            setattr(agent, name, torch.compile(getattr(agent, name)))
        for module in (agent.actor, agent.critics):
            module.compile()
    update = engines.update_of("fast" if engine == "fast" else "torch", agent)
    return lambda: update(made)


def critics() -> str:
    """A table of critics, at the size of Catalyst.RL's networks for Learn to Move."""
    sizes: dict[str, Any] = {"hidden": (512, 256, 256), "atoms": 101}
    cells = []
    for heads in (1, 10):
        several = {"discounting": "hyperbolic", "heads": heads} if heads > 1 else {}
        for critic in ("categorical", "quantile"):
            cells.append([critic + f", {heads} heads" * (heads > 1)])
            for engine in ("fast", "torch"):
                update = of_settings(engine, 197, 22, 256, critic=critic, **several, **sizes)
                cells[-1].append(f"{measure(update, 10)[0]:.0f}")
            print(*cells[-1], flush=True)
    return report.table(("critic", "fast", "torch"), cells)


def layers(width: int, inputs: int, outputs: int, seed: int) -> list[dict[str, np.ndarray]]:
    """Weights of a perceptron with two hidden layers."""
    draw = np.random.default_rng(seed).standard_normal
    sizes = [inputs, width, width, outputs]
    return [
        {
            "w": draw((below, size), np.float32) / np.float32(np.sqrt(below)),
            "b": np.zeros(size, np.float32),
            "g": np.ones(size, np.float32),
            "e": np.zeros(size, np.float32),
        }
        for below, size in itertools.pairwise(sizes)
    ]


def by_jax(width: int) -> Update:
    """The update as one function compiled by JAX."""
    import jax
    import jax.numpy as jnp

    rows, atoms = SIZES[width]
    z = jnp.linspace(0, SUPPORT, atoms)

    def forward(net, x):
        for layer in net[:-1]:
            x = x @ layer["w"] + layer["b"]
            x = (x - x.mean(-1, keepdims=True)) * jax.lax.rsqrt(x.var(-1, keepdims=True) + EPSILON)
            x = jax.nn.relu(x * layer["g"] + layer["e"])
        return x @ net[-1]["w"] + net[-1]["b"]

    def logits(critics, x, a):
        return jax.vmap(forward, (0, None))(critics, jnp.concatenate([x, a], 1))

    def project(p, r):
        place = jnp.clip(r[:, None] + DISCOUNT * z, 0, SUPPORT) / SUPPORT * (atoms - 1)
        below = jnp.minimum(place.astype(int), atoms - 2)
        share = place - below
        row = jnp.arange(rows)[:, None]
        return (
            jnp.zeros_like(p).at[row, below].add(p * (1 - share)).at[row, below + 1].add(p * share)
        )

    def adam(state, gradient):
        p, m, v, t = state
        t = t + 1
        of = jax.tree.map
        m = of(lambda m, g: 0.9 * m + 0.1 * g, m, gradient)
        v = of(lambda v, g: 0.999 * v + 0.001 * g * g, v, gradient)
        a, b = 1 - 0.9**t, 1 - 0.999**t
        step = of(lambda m, v: RATE * m / a / (jnp.sqrt(v / b) + 1e-8), m, v)
        return of(lambda p, s: p * (1 - RATE * DECAY) - s, p, step), m, v, t

    def soft(target, net):
        return jax.tree.map(lambda t, p: t + TARGET * (p - t), target, net)

    def update(state, data, *, turn):
        critics, actor, target_critics, target_actor = state
        a = jnp.clip(jnp.tanh(forward(target_actor, data["y"])) + data["noise"], -1, 1)
        p = jax.nn.softmax(logits(target_critics, data["y"], a))
        lowest = (p @ z).argmin(0)
        y = project(jnp.where((lowest == 0)[:, None], p[0], p[1]), data["r"])

        def critic_loss(net):
            return (
                -(y * jax.nn.log_softmax(logits(net, data["x"], data["a"]))).sum(-1).mean(1).sum()
            )

        critics = adam(critics, jax.grad(critic_loss)(critics[0]))
        if turn:
            first = jax.tree.map(lambda w: w[0], critics[0])

            def actor_loss(net):
                x = jnp.concatenate([data["x"], jnp.tanh(forward(net, data["x"]))], 1)
                return -(jax.nn.softmax(forward(first, x)) @ z).mean()

            actor = adam(actor, jax.grad(actor_loss)(actor[0]))
            target_critics = soft(target_critics, critics[0])
            target_actor = soft(target_actor, actor[0])
        return critics, actor, target_critics, target_actor

    critics = jax.tree.map(
        lambda *w: jnp.stack(w), *(layers(width, OBSERVATION + ACTION, atoms, k) for k in (1, 2))
    )
    actor = jax.tree.map(jnp.asarray, layers(width, OBSERVATION, ACTION, 3))
    zeros = [jax.tree.map(jnp.zeros_like, net) for net in (critics, actor)]
    begun = [(net, zero, zero, 0.0) for net, zero in zip((critics, actor), zeros, strict=True)]
    compiled = [jax.jit(lambda s, d, turn=turn: update(s, d, turn=turn)) for turn in (False, True)]
    kept = {"state": (*begun, critics, actor), "count": 0}
    data = {name: jnp.asarray(value) for name, value in batch(rows).items()}

    def once() -> None:
        kept["count"] += 1
        kept["state"] = jax.block_until_ready(compiled[kept["count"] % 2](kept["state"], data))

    return once


MAKERS: dict[str, Callable[[int], Update]] = {
    "fast": lambda width: ours("fast", width),
    "torch": lambda width: ours("torch", width),
    "torch.compile": lambda width: ours("torch.compile", width),
    "jax": by_jax,
}


def measure(update: Update, updates: int = UPDATES) -> tuple[float, float]:
    """Milliseconds of an update, and seconds until the tenth, which compile."""
    began = time.process_time()
    for _ in range(10):
        update()
    compiled = time.process_time() - began
    spent = []
    for _ in range(TURNS):
        began = time.process_time()
        for _ in range(updates):
            update()
        spent.append(time.process_time() - began)
    return 1000 * min(spent) / updates, compiled


def main() -> int:
    """Measure and print a table."""
    parser = described(__doc__ or "")
    parser.add_argument("--engines", nargs="+", choices=list(MAKERS), default=list(MAKERS))
    parser.add_argument("--widths", nargs="+", type=int, choices=list(SIZES), default=list(SIZES))
    parser.add_argument("--critics", action="store_true", help="a table of critics instead")
    given: argparse.Namespace = parser.parse_args()
    if given.critics:
        print(critics())
        return 0
    cells = []
    for name in given.engines:
        for width in given.widths:
            rows, atoms = SIZES[width]
            milliseconds, compiled = measure(MAKERS[name](width))
            about = [name, str(width), str(rows), str(atoms)]
            cells.append([*about, f"{milliseconds:.2f}", f"{compiled:.1f}"])
            print(*cells[-1], flush=True)
    print(report.table(("engine", "units", "batch", "atoms", "ms", "compiling, s"), cells))
    return 0


if __name__ == "__main__":
    sys.exit(main())
