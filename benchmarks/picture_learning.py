"""CPU time of learning from images: rendering, acting and updates, by the size of the images.

    python benchmarks/picture_learning.py
    python benchmarks/picture_learning.py --sizes 48 64 --id dmc/cartpole-swingup-v0

SAC's settings of the guide: three images, four convolutions, batches of 128. Milliseconds of the
process's CPU time, all threads together, the least of several turns: of a step of all
sub-environments with and without images, of acting, and of an update. Beside them the bytes that a
transition takes in the replay buffer.
"""

import argparse
import time
from collections.abc import Callable

import torch
from comparison import report

from mjgym_train import config
from mjgym_train.learn import algorithms
from mjgym_train.learn.buffer import ReplayBuffer
from mjgym_train.learn.collector import Collector

ENVS, BATCH, TURNS = 16, 128, 5


def cpu_ms(action: Callable[[], object], count: int) -> float:
    """CPU milliseconds of an action, the least of several turns."""
    action()
    found = []
    for _ in range(TURNS):
        began = time.process_time()
        for _ in range(count):
            action()
        found.append(1e3 * (time.process_time() - began) / count)
    return min(found)


def measured(id: str, size: int) -> list[str]:
    """A line of the table."""
    cls = algorithms.find("sac")
    looks = {"pixels": {"width": size, "height": size}, "render_quality": "fast"}
    about = {"algorithm": "sac", "id": id, "steps": 1, "num_envs": ENVS, "threads": 1}
    small = ["history=3", f"batch_size={BATCH}", "channels=16"]
    seeing, blind = (
        Collector(config.read(cls.Config, (), small, **about, env=env))
        for env in ({"observation": "pixels", **looks}, {})
    )
    settings = config.read(cls.Config, (), small, **about)
    agent = cls(settings, seeing.observation_size, len(seeing.low))
    for collector in (seeing, blind):
        collector.begin()
    action = torch.zeros(ENVS, len(seeing.low))
    buffer = ReplayBuffer(2048, ENVS, seeing.observation_size, len(seeing.low), history=3)
    for _ in range(40):
        buffer.add(**vars(seeing.step(agent.random_action(ENVS))))
    stored = buffer.state_dict()
    total = sum(array.nbytes for array in (*stored["arrays"].values(), stored["ends"]))
    step, plain = cpu_ms(lambda: seeing.step(action), 10), cpu_ms(lambda: blind.step(action), 10)
    acting = cpu_ms(lambda: agent.act(seeing.stack), 5)
    drawing = cpu_ms(lambda: buffer.sample(BATCH), 5)
    update = cpu_ms(lambda: agent.update(agent.preprocess(buffer.sample(BATCH))), 3)
    numbers = ((step - plain) / ENVS, plain / ENVS, acting / ENVS, drawing, update)
    for collector in (seeing, blind):
        collector.close()
    bytes_ = f"{total / len(buffer) / 1e3:.1f}"
    return [f"{size} x {size}", *(f"{number:.2f}" for number in numbers), bytes_]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--id", default="dmc/walker-walk-v0")
    parser.add_argument("--sizes", nargs="+", type=int, default=[48, 64, 84])
    asked = parser.parse_args()
    torch.set_num_threads(1)
    head = ("images", "rendering", "physics", "acting", "drawing a batch", "update", "kB")
    print(report.table(head, [measured(asked.id, size) for size in asked.sizes]))


if __name__ == "__main__":
    main()
